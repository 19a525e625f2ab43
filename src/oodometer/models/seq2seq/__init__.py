"""Sequence models: any Hugging Face encoder-decoder, or a small one from scratch; beams, exact match with gold."""

from __future__ import annotations

from .beams import Beams
from .encoder_decoder import EncoderDecoder
from .exact_match import Clean, close_brackets, composed, exact_match, squeeze
from .snapshots import snapshot_folders
from .stand_ins import StandIns, check_spelling, find_stand_ins
from .tokens import learn_pieces, learn_words

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
    "learn_pieces",
    "learn_words",
    "snapshot_folders",
    "squeeze",
]
