"""Vocabulary: how often each word stands in the texts that a model was trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import final

from .words import plain_words


@final
class Vocabulary:
    """Counts of words and punctuation marks, in small letters.

    >>> seen = Vocabulary.of(["The house.", "the end"])
    >>> seen.count("The"), seen.count("hut"), len(seen)
    (2, 0, 4)
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = dict(counts)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Vocabulary:
        """The words of these texts."""
        written: Counter[str] = Counter()
        for text in texts:
            written.update(plain_words(text))
        counts: Counter[str] = Counter()
        for word, many in written.items():
            counts[word.lower()] += many
        return cls(counts)

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, word: str) -> int:
        """How often a word was seen."""
        return self._counts.get(word.lower(), 0)

    @cached_property
    def total(self) -> int:
        """Words that were seen, each as often as it was."""
        return sum(self._counts.values())
