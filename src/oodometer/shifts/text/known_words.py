"""Known words: words exchanged by synonyms that were frequent in training; what is left of a shift to unknown ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import final

from ...errors import UsageError
from ...registry import register
from .synonyms import SynonymShift
from .words import Vocabulary


@final
@register("shift")
class KnownWords(SynonymShift):
    """A share of the words exchanged by synonyms that occur in the training texts at least ``least`` times (KW).

    The control of `UnknownWords`: the same rules, but the synonym is known, so that only the meaning suffers. The paper
    asks for more than 5,000 occurrences; in its own data so few words have them that its counts can only come from
    synonyms that occur at all, and so ``least`` is 1 by default. Source: Lee et al. (2021).

    >>> from oodometer.shifts.text.words import Vocabulary
    >>> meanings = {"house": ["dwelling", "family"]}
    >>> training = Vocabulary.of(["a big house", "my family"])
    >>> shift = KnownWords(training, synonyms=lambda word: meanings.get(word, []))
    >>> shift.apply(["A big house."], 0.3).turns
    ('A big family.',)
    """

    name = "known-words"
    about = "words become synonyms that occur in training"
    citation = "lee2021"
    deviation = "a known word occurs in training at all; the paper's more than 5,000 times cannot give its own counts"

    def __init__(
        self,
        training: Vocabulary | None = None,
        *,
        synonyms: Callable[[str], Iterable[str]] | None = None,
        pieces: bool = False,
        least: int = 1,
    ) -> None:
        super().__init__(training, synonyms=synonyms, pieces=pieces)
        if least < 1:
            raise UsageError(f"expected least to be a number of occurrences from 1 on, got {least!r}")
        self._least = least

    def _fits(self, synonym: str) -> bool:
        return self.training.count(synonym) >= self._least
