"""Start: what a training starts from, the tokenizer with its stand-ins and the weights, learnt, drawn or pretrained."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...errors import UsageError
from ..torch.library import transformers as load_transformers
from .pretrained import build, load_tokenizer, stand_ins_of
from .stand_ins import StandIns, find_stand_ins
from .tokens import learn_pieces, learn_words

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
    if kind not in _types():
        raise UsageError(f"expected model_type of an encoder-decoder such as t5 or bart, got {kind!r}")
    return build(library.AutoConfig.for_model(kind, **{**sizes, **tokens}))


def _types() -> Collection[str]:
    """Types of model that transformers knows as encoder-decoders for text."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES

    found: Collection[str] = MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES
    return found
