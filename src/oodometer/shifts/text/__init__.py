"""Text shifts: words exchanged, by what the model never saw, or mistyped. One kind, one file."""

from __future__ import annotations

from .base import Dropped, ShiftedText, TextShift, WordShift
from .casing import Casing
from .synonyms import ImportantWords, KnownWords
from .typing_errors import TypingErrors
from .unknown_words import UnknownWords
from .wordnet import WordNet, find_wordnet
from .words import Vocabulary

__all__ = [
    "KINDS", "Casing", "Dropped", "ImportantWords", "KnownWords", "ShiftedText", "TextShift", "TypingErrors",
    "UnknownWords", "Vocabulary", "WordNet", "WordShift", "find_wordnet",
]  # fmt: skip

KINDS: tuple[type[TextShift], ...] = (UnknownWords, KnownWords, ImportantWords, TypingErrors, Casing)
