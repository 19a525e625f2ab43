"""Pretrained: an encoder-decoder and its tokenizer by path or hub name, or a new one; no habits of decoding kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import InputError, UsageError
from ..artifacts import DESCRIPTION, WEIGHTS, read_description
from ..tokens import learn_pieces, learn_words
from ..torch.library import load_pretrained
from ..torch.library import torch as load_torch
from ..torch.library import transformers as load_transformers
from ..torch.training import load_weights, read_tensors
from .codec import StandIns, find_stand_ins


def load_tokenizer(source: str) -> Any:
    """The tokenizer of a folder or a hub name; `InputError` where there is none."""
    home = _saved_here(source)
    return _read("AutoTokenizer", source if home is None else str(home / "tokenizer"))


def load_config(source: str) -> Any:
    """transformers' configuration of a folder or a hub name; `InputError` where it is of no encoder-decoder."""
    found = _read("AutoConfig", source)
    if not getattr(found, "is_encoder_decoder", False):
        got = f"a model of the type {found.model_type!r}"
        raise InputError("an encoder-decoder such as T5 or BART", got=got, remedy="name another model", file=source)
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
            remedy = "set it in its config.json"
            raise InputError(f"a model that names its {name}", got="none", remedy=remedy, column="source")
    net.generation_config = library.GenerationConfig(**found)
    for name, value in found.items():  # a saved model is built from its configuration alone
        setattr(config, name, value)
    return net


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


SIZES = {"d_model": 128, "d_ff": 512, "d_kv": 32, "num_layers": 2, "num_heads": 4}
"""What a configuration leaves out: a small T5 that two cores can train in minutes."""


def new_tokens(inputs: Sequence[str], outputs: Sequence[str], kind: str, vocab_size: int) -> Any:
    """A tokenizer learnt from inputs and outputs together: "words", or at most ``pieces`` "pieces"."""
    both = [*outputs, *inputs]
    return learn_words(both) if kind == "words" else learn_pieces(both, vocab_size)


def pretrained_tokens(
    source: str, inputs: Sequence[str], outputs: Sequence[str], stand_ins: Mapping[str, str] | str | None
) -> tuple[Any, StandIns]:
    """The tokenizer of ``source``, and the stand-ins: those given, or for "auto" those that the texts call for.

    "auto" of a model that was saved here are those that it learnt with.
    """
    tokenizer, known = load_tokenizer(source), stand_ins_of(source)
    if isinstance(stand_ins, str) and known is not None:
        return tokenizer, StandIns(known)
    if isinstance(stand_ins, str):
        return tokenizer, StandIns(find_stand_ins(tokenizer, sorted({*outputs, *inputs})))
    return tokenizer, StandIns(stand_ins)


def new_net(config: Mapping[str, Any] | None, tokenizer: Any) -> Any:
    """An encoder-decoder of the given sizes for the tokens of a tokenizer, its weights drawn by torch's seed.

    A T5, or what ``model_type`` among the sizes says, such as "bart". A T5 knows where two tokens stand only relative
    to one another; from scratch it takes long to find the input word that an output token belongs to. BART's positions
    are learnt for input and output alike, and two cores find the word in a minute.

    Raises `UsageError` for a type that is of no encoder-decoder. Source: Raffel et al. (2020); Lewis et al. (2020).
    """
    library, sizes = load_transformers(), dict(config or {})
    kind = str(sizes.pop("model_type", "t5"))
    tokens = {
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "decoder_start_token_id": tokenizer.pad_token_id,
    }
    if kind == "t5":
        sizes = {**SIZES, **sizes}
    else:  # the usual numbers of these tokens are those of another vocabulary
        tokens |= {"bos_token_id": tokenizer.eos_token_id, "forced_eos_token_id": None}
    from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES

    if kind not in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES:
        raise UsageError(f"expected model_type of an encoder-decoder such as t5 or bart, got {kind!r}")
    return build(library.AutoConfig.for_model(kind, **{**sizes, **tokens}))
