"""Synonyms: what unknown and known words have in common: the words of WordNet that may stand for another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...errors import InputError, UsageError, needed
from ...registry import register
from .base import Dropped, ShiftedText, WordShift, parsed
from .wordnet import find_wordnet
from .words import Vocabulary, Word, in_the_case_of, is_piece, words_of


class SynonymShift(WordShift):
    """Words exchanged by a synonym from WordNet that the ``training`` texts show to be unknown, or known.

    ``synonyms`` gives those of a word in small letters, by default those of `find_wordnet`; ``pieces`` says whether
    parts of contractions ("don" in "don't") may be exchanged, too, as in the counts of the paper. Neither word nor
    synonym has a digit; synonyms of several words, or with a hyphen, are left out. Of the others the one with the
    largest Levenshtein distance is taken, the first in the order of the alphabet where several have it.
    """

    citation = "lee2021"

    def __init__(
        self,
        training: Vocabulary | None = None,
        *,
        synonyms: Callable[[str], Iterable[str]] | None = None,
        pieces: bool = False,
    ) -> None:
        self._training, self._synonyms, self._pieces = training, synonyms, pieces
        self._synonym_of: dict[str, str | None] = {}

    @property
    def training(self) -> Vocabulary:
        """The counts; `UsageError` where there are none."""
        if self._training is None or not len(self._training):
            raise UsageError(
                f"{self.name} needs the texts that the model was trained on; name them (training=, --training FILE)"
            )
        return self._training

    def synonym(self, word: str) -> str | None:
        """The synonym that stands for a word, in small letters unless it is a name, or None."""
        small = word.lower()
        if small not in self._synonym_of:
            distance = needed("rapidfuzz.distance", "a shift by synonyms", extra="text").Levenshtein.distance
            left: list[str] = []
            if small.isalpha():
                if not self.training or self._synonyms is None:  # where both are lacking, the texts are asked for
                    self._synonyms = find_wordnet().synonyms
                left = sorted(other for other in self._synonyms(small) if other.isalpha() and self._fits(other))
            self._synonym_of[small] = max(left, key=lambda other: distance(small, other.lower()), default=None)
        return self._synonym_of[small]

    def _fits(self, synonym: str) -> bool:
        """Whether the training texts allow a synonym: those that they do not hold."""
        return not self.training.count(synonym)

    def can_exchange(self, words: Sequence[Word], at: int) -> bool:
        """Whether the word at a place has a synonym that fits."""
        if not words[at].is_plain or (not self._pieces and is_piece(words, at)):
            return False
        return self.synonym(words[at].text) is not None

    def _new(self, words: Sequence[Word], at: int, rng: np.random.Generator) -> str | None:
        synonym = self.synonym(words[at].text) if self.can_exchange(words, at) else None
        return None if synonym is None else in_the_case_of(words[at].text, synonym)


@register("shift")
class ImportantWords(SynonymShift):
    """One fifth of the words that can be exchanged, by importance, becomes unknown words (UW by word importance).

    Of the R words that have an unknown synonym, sorted by importance, severity s exchanges those from floor((s - 1) R /
    5) up to floor(s R / 5): 1 the least important fifth, 5 the most important one. Texts with fewer than five such
    words are dropped, so that every severity has the same texts. ``importance`` gives a number for each word and
    punctuation mark, such as `AttentionImportance` or any attribution. Source: Lee et al. (2021), who fix the share of
    replaced words at 20 %; their counts fit a fifth of these words.

    >>> shift = ImportantWords(
    ...     Vocabulary.of(["a b c d e"]), synonyms=lambda word: [f"{word}x"], importance=lambda turns: np.arange(5.0)
    ... )
    >>> shift.apply(["a b c d e"], 5).turns, shift.apply(["a b c d e"], 1).turns
    (('a b c d ex',), ('ax b c d e',))
    """

    name = "important-words"
    about = "a fifth of the words, by importance, becomes synonyms that never occur in training"
    severities = (1, 2, 3, 4, 5)
    usual = ("1", "2", "3", "4", "5")

    def __init__(self, training: Vocabulary | None = None, *, importance: Any = None, **more: Any) -> None:
        super().__init__(training, **more)
        self._importance = importance

    def check_severity(self, severity: Any) -> int:  # type: ignore[override]
        """The fifth, a whole number from 1 to 5."""
        expected = f"a severity of {self.name} from 1 to 5, the fifth by importance"
        return parsed(int, severity, expected, lambda fifth: fifth in self.severities)

    def _shifted(  # type: ignore[override]
        self, turns: tuple[str, ...], severity: int, rng: np.random.Generator
    ) -> ShiftedText | Dropped:
        if self._importance is None:
            raise UsageError(f"{self.name} needs the importance of words; give importance=, a model or a function")
        words = [words_of(turn) for turn in turns]
        positions = [(turn, at) for turn, some in enumerate(words) for at in range(len(some))]
        weights = np.asarray(self._importance(turns), dtype=np.float64)
        if weights.shape != (len(positions),) or not np.isfinite(weights).all():
            expected = f"an importance for each of {len(positions)} words and punctuation marks"
            got = f"shape {weights.shape}" if weights.shape != (len(positions),) else "numbers that are not finite"
            raise InputError(expected, got=got, remedy="mend the function that gives them")
        able = [i for i, (turn, at) in enumerate(positions) if self.can_exchange(words[turn], at)]
        fifths = len(self.severities)
        if len(able) < fifths:
            return Dropped("fewer than five words that can be exchanged")
        order = sorted(able, key=lambda i: (weights[i], i))
        chosen = order[(severity - 1) * len(order) // fifths : severity * len(order) // fifths]
        return self._exchange(turns, words, [positions[i] for i in chosen], "all", rng)


@register("shift")
class UnknownWords(SynonymShift):
    """A share of the words exchanged by synonyms that occur nowhere in the training texts (UW).

    Of the synonyms that WordNet has for a word those are left out that are numbers, that consist of several words, and
    that occur in training; the one farthest in Levenshtein distance is taken. The severity is the share of words and
    punctuation marks that are exchanged. Texts with too few such words are dropped. Source: Lee et al. (2021).

    >>> meanings = {"house": ["dwelling", "family", "home"]}
    >>> training = Vocabulary.of(["a big house", "my family"])
    >>> shift = UnknownWords(training, synonyms=lambda word: meanings.get(word, []))
    >>> shift.apply(["A big house."], 0.3)
    ShiftedText(turns=('A big dwelling.',), words=4, targets=1)
    """

    name = "unknown-words"
    about = "words become synonyms that never occur in training"


@register("shift")
class KnownWords(SynonymShift):
    """A share of the words exchanged by synonyms that occur in the training texts at least ``least`` times (KW).

    The control of `UnknownWords`: the same rules, but the synonym is known, so that only the meaning suffers. The paper
    asks for more than 5,000 occurrences; in its own data so few words have them that its counts can only come from
    synonyms that occur at all, and so ``least`` is 1 by default. Source: Lee et al. (2021).

    >>> meanings = {"house": ["dwelling", "family"]}
    >>> training = Vocabulary.of(["a big house", "my family"])
    >>> shift = KnownWords(training, synonyms=lambda word: meanings.get(word, []))
    >>> shift.apply(["A big house."], 0.3).turns
    ('A big family.',)
    """

    name = "known-words"
    about = "words become synonyms that occur in training"
    deviation = "a known word occurs in training at all; the paper's more than 5,000 times cannot give its own counts"

    def __init__(self, training: Vocabulary | None = None, *, least: int = 1, **more: Any) -> None:
        super().__init__(training, **more)
        if least < 1:
            raise UsageError(f"expected least to be a number of occurrences from 1 on, got {least!r}")
        self._least = least

    def _fits(self, synonym: str) -> bool:
        return self.training.count(synonym) >= self._least
