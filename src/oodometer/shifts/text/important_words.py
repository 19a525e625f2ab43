"""Important words: unknown words in the place of the least, or the most, important words of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...errors import InputError, UsageError
from ...registry import register
from .base import Dropped, ShiftedText, parsed
from .synonyms import SynonymShift
from .words import Vocabulary, words_of

Importance = Callable[[Sequence[str]], Array]
"""The turns of a text -> one number for each of its words and punctuation marks, in order."""


@final
@register("shift")
class ImportantWords(SynonymShift):
    """One fifth of the words that can be exchanged, by importance, becomes unknown words (UW by word importance).

    Of the R words that have an unknown synonym, sorted by importance, severity s exchanges those from floor((s - 1) R /
    5) up to floor(s R / 5): 1 the least important fifth, 5 the most important one. Texts with fewer than five such
    words are dropped, so that every severity has the same texts. ``importance`` gives a number for each word and
    punctuation mark, such as `AttentionImportance` or any attribution.

    Source: Lee et al. (2021), who fix the share of replaced words at 20 %; their counts fit a fifth of these words.

    >>> from oodometer.shifts.text.words import Vocabulary
    >>> shift = ImportantWords(
    ...     Vocabulary.of(["a b c d e"]), synonyms=lambda word: [f"{word}x"], importance=lambda turns: np.arange(5.0)
    ... )
    >>> shift.apply(["a b c d e"], 5).turns, shift.apply(["a b c d e"], 1).turns
    (('a b c d ex',), ('ax b c d e',))
    """

    name = "important-words"
    about = "a fifth of the words, by importance, becomes synonyms that never occur in training"
    citation = "lee2021"
    severities = (1, 2, 3, 4, 5)
    usual = ("1", "2", "3", "4", "5")

    def __init__(
        self,
        training: Vocabulary | None = None,
        *,
        synonyms: Callable[[str], Iterable[str]] | None = None,
        pieces: bool = False,
        importance: Importance | None = None,
    ) -> None:
        super().__init__(training, synonyms=synonyms, pieces=pieces)
        self._importance = importance

    def check_severity(self, severity: Any) -> int:  # type: ignore[override]
        """The fifth, a whole number from 1 to 5."""
        found = parsed(int, severity)
        if found is None or found not in self.severities:
            known = f"expected a severity of {self.name} from 1 to 5, the fifth by importance"
            raise UsageError(f"{known}, got {severity!r}")
        return found

    def _fits(self, synonym: str) -> bool:
        return not self.training.count(synonym)

    def _shifted(  # type: ignore[override]
        self, turns: tuple[str, ...], severity: int, rng: np.random.Generator
    ) -> ShiftedText | Dropped:
        if self._importance is None:
            raise UsageError(f"{self.name} needs the importance of words; give importance=, a model or a function")
        words = [words_of(turn) for turn in turns]
        places = [(turn, place) for turn, found in enumerate(words) for place in range(len(found))]
        weights = np.asarray(self._importance(turns), dtype=np.float64)
        if weights.shape != (len(places),) or not np.isfinite(weights).all():
            raise InputError(
                f"an importance for each of {len(places)} words and punctuation marks",
                got=f"shape {weights.shape}" if weights.shape != (len(places),) else "numbers that are not finite",
                remedy="mend the function that gives them",
            )
        able = [i for i, (turn, place) in enumerate(places) if self.can_exchange(words[turn], place)]
        fifths = len(self.severities)
        if len(able) < fifths:
            return Dropped("fewer than five words that can be exchanged")
        order = sorted(able, key=lambda i: (weights[i], i))
        chosen = order[(severity - 1) * len(order) // fifths : severity * len(order) // fifths]
        return self._exchange(turns, words, [places[i] for i in chosen], "all", rng)
