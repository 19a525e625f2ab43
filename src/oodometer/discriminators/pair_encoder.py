"""Pair encoder: the untrained encoder that reads an input and an output side by side, pretrained or from scratch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from ..errors import UsageError
from ..models.text.encoder import Encoder
from ..models.text.token_encoder import TokenEncoder
from ..models.torch.training import TrainingConfig
from .tokenizer import learn_pair_pieces

HEADS: Mapping[str, type[Encoder | TokenEncoder]] = {"mark": Encoder, "tokens": TokenEncoder}
"""What a verdict is read from: the mark before the pair, or every token of the output."""

SMALL: Mapping[str, Any] = {
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 512,
}
"""Sizes of an encoder that learns on one CPU core in minutes."""

NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def pair_encoder(
    source: str | None,
    config: Mapping[str, Any] | None,
    *,
    vocab_size: int,
    max_length: int,
    training: TrainingConfig | None,
    device: str | None,
    head: str = "mark",
    texts: Sequence[Sequence[str]] = (),
) -> Encoder | TokenEncoder:
    """An encoder of a pretrained ``source``, or of the sizes in ``config`` with pieces learnt from ``texts``.

    Training from scratch is longer and has larger steps than that of a pretrained model. What ``config`` leaves open is
    chosen so that a small encoder learns at all: weights are drawn with the standard deviation 1 / sqrt(hidden_size),
    not BERT's 0.02, which suits 768 units, and there is no dropout. `UsageError` for a head that is not among `HEADS`.
    """
    if head not in HEADS:
        raise UsageError(f"expected a head of {' or '.join(HEADS)}, got {head!r}")
    if training is None and source is None:
        training = TrainingConfig(epochs=10, batch_size=64, learning_rate=1e-3, weight_decay=0.01, warmup=0.1)
    tokenizer = None
    if config is not None:
        config = sizes_of(config)
        tokenizer = learn_pair_pieces(chain(*texts), vocab_size, max_length) if texts else None
    return HEADS[head](
        source,
        config=config,
        vocab_size=vocab_size,
        max_length=max_length,
        tokenizer=tokenizer,
        training=training,
        device=device,
    )


def sizes_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes of an encoder from scratch with what they leave open."""
    return {"initializer_range": config.get("hidden_size", 768) ** -0.5, **NO_DROPOUT, **config}
