"""Sequence models: any Hugging Face encoder-decoder, or a small one from scratch; beams, exact match with gold."""

from __future__ import annotations

from ..tokens import learn_pieces, learn_words
from .codec import StandIns, check_spelling, find_stand_ins
from .decoding import Beams
from .encoder_decoder import (
    Clean,
    EncoderDecoder,
    close_brackets,
    composed,
    exact_match,
    is_sequence_model,
    open_sequence_model,
    snapshot_folders,
    squeeze,
)

__all__ = [
    "Beams",
    "Clean",
    "EncoderDecoder",
    "StandIns",
    "check_spelling",
    "close_brackets",
    "composed",
    "exact_match",
    "find_stand_ins",
    "is_sequence_model",
    "learn_pieces",
    "learn_words",
    "open_sequence_model",
    "snapshot_folders",
    "squeeze",
]
