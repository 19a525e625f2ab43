"""Pretrained: an encoder-decoder and its tokenizer by path or hub name, in 32-bit floats, no habits kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ..artifacts import DESCRIPTION, WEIGHTS, read_description
from ..hub import load_pretrained
from ..torch.checkpoint import load_weights, read_tensors
from ..torch.library import torch as load_torch
from ..torch.library import transformers as load_transformers


def load_tokenizer(source: str) -> Any:
    """The tokenizer of a folder or a hub name; `InputError` where there is none."""
    home = _saved_here(source)
    return _read("AutoTokenizer", source if home is None else str(home / "tokenizer"))


def load_config(source: str) -> Any:
    """transformers' configuration of a folder or a hub name; `InputError` where it is of no encoder-decoder."""
    found = _read("AutoConfig", source)
    if not getattr(found, "is_encoder_decoder", False):
        raise InputError(
            "an encoder-decoder such as T5 or BART",
            got=f"a model of the type {found.model_type!r}",
            remedy="name another model",
            file=source,
        )
    return found


def load_weights_of(source: str) -> Any:
    """The torch module with its trained weights, float32; of a folder that `EncoderDecoder.save` wrote, too."""
    config, home = load_config(source), _saved_here(source)
    if home is not None:
        net = build(config)
        load_weights(net, read_tensors(home / WEIGHTS)[0])
        return net
    return _plain(_read("AutoModelForSeq2SeqLM", source, dtype=load_torch().float32))


def build(config: Any) -> Any:
    """The torch module of a configuration, its weights drawn by torch's seed, float32."""
    library = load_transformers()
    return _plain(library.AutoModelForSeq2SeqLM.from_config(config, dtype=load_torch().float32))


def _plain(net: Any) -> Any:
    """The module without the options of decoding that it was published with.

    Summarisers forbid repeated n-grams or ask for a least length; a parser that may not repeat is another parser. Its
    tokens of start, end and padding stay.
    """
    library = load_transformers()
    own, config = net.generation_config, net.config
    found: dict[str, Any] = {}
    for name in ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id"):
        value = getattr(own, name, None)
        found[name] = getattr(config, name, None) if value is None else value
    if found["decoder_start_token_id"] is None:
        found["decoder_start_token_id"] = found["bos_token_id"]
    for name in ("eos_token_id", "pad_token_id", "decoder_start_token_id"):
        if found[name] is None:
            raise InputError(
                f"a model that names its {name}", got="none", remedy="set it in its config.json", column="source"
            )
    net.generation_config = library.GenerationConfig(**found)
    for name, value in found.items():  # a saved model is built from its configuration alone
        setattr(config, name, value)
    return net


def special_ids(net: Any) -> list[int]:
    """Ids of a module's tokens of start, end and padding, which are no part of a text."""
    own = net.generation_config
    found = (own.decoder_start_token_id, own.bos_token_id, own.eos_token_id, own.pad_token_id)
    return sorted({int(one) for some in found if some is not None for one in np.atleast_1d(some)})


def stand_ins_of(source: str) -> dict[str, str] | None:
    """The stand-ins of a folder that `EncoderDecoder.save` wrote; None for any other source."""
    home = _saved_here(source)
    return None if home is None else dict(read_description(home)["stand_ins"])


def _saved_here(source: str) -> Path | None:
    """The folder that a source is, if `EncoderDecoder.save` wrote it."""
    home = Path(source).expanduser()
    return home if (home / DESCRIPTION).is_file() else None


def _read(loader: str, source: str, **options: Any) -> Any:
    return load_pretrained(loader, source, expected="an encoder-decoder", **options)
