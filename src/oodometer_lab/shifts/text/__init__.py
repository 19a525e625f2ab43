"""Text shifts: words exchanged, by what the model never saw, or mistyped."""

from __future__ import annotations

from .base import Dropped, ShiftedText, TextShift, WordShift
from .spelling import Casing, TypingErrors
from .synonyms import ImportantWords, KnownWords, UnknownWords
from .wordnet import WordNet, find_wordnet
from .words import Vocabulary

__all__ = [
    "KINDS",
    "Casing",
    "Dropped",
    "ImportantWords",
    "KnownWords",
    "ShiftedText",
    "TextShift",
    "TypingErrors",
    "UnknownWords",
    "Vocabulary",
    "WordNet",
    "WordShift",
    "find_wordnet",
]

KINDS: tuple[type[TextShift], ...] = (
    UnknownWords,
    KnownWords,
    ImportantWords,
    TypingErrors,
    Casing,
)
