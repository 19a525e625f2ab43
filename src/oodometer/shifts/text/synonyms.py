"""Synonyms: words exchanged by words of WordNet that the training texts never had (unknown words), or had (known)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import final

import numpy as np

from ...errors import MissingExtraError, UsageError
from ...registry import register
from .base import WordShift
from .wordnet import find_wordnet
from .words import Vocabulary, Word, in_the_case_of, is_piece


class SynonymShift(WordShift):
    """Words exchanged by a synonym from WordNet that the training texts show to be unknown, or known.

    Parameters
    ----------
    training : counts of the words of the training texts.
    synonyms : gives the synonyms of a word in small letters; by default those of the WordNet that `find_wordnet` finds.
    pieces : whether parts of contractions ("don" in "don't") may be exchanged, too, as in the counts of the paper.

    Numbers are not exchanged, and neither word nor synonym has a digit; synonyms of several words, or with a hyphen,
    are left out. Of those that are left the one with the largest Levenshtein distance is taken, the first in the order
    of the alphabet where several have it. Each distinct word is looked up once.
    """

    def __init__(
        self,
        training: Vocabulary | None = None,
        *,
        synonyms: Callable[[str], Iterable[str]] | None = None,
        pieces: bool = False,
    ) -> None:
        self._training, self._synonyms, self._pieces = training, synonyms, pieces
        self._found: dict[str, str | None] = {}

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
        if small not in self._found:
            left: list[str] = []
            if small.isalpha():
                if not self.training or self._synonyms is None:  # where both are lacking, the texts are asked for
                    self._synonyms = find_wordnet().synonyms
                left = sorted(one for one in self._synonyms(small) if one.isalpha() and self._fits(one))
            self._found[small] = max(left, key=lambda one: _distance(small, one.lower()), default=None)
        return self._found[small]

    @abstractmethod
    def _fits(self, synonym: str) -> bool:
        """Whether the training texts allow a synonym."""

    def can_exchange(self, words: Sequence[Word], place: int) -> bool:
        """Whether the word at a place has a synonym that fits."""
        if not words[place].is_plain or (not self._pieces and is_piece(words, place)):
            return False
        return self.synonym(words[place].text) is not None

    def _new(self, words: Sequence[Word], place: int, rng: np.random.Generator) -> str | None:
        found = self.synonym(words[place].text) if self.can_exchange(words, place) else None
        return None if found is None else in_the_case_of(words[place].text, found)


def _distance(first: str, second: str) -> int:
    try:
        from rapidfuzz.distance import Levenshtein
    except ImportError as error:
        raise MissingExtraError("a shift by synonyms", "rapidfuzz", extra="text") from error
    found: int = Levenshtein.distance(first, second)
    return found


@final
@register("shift")
class UnknownWords(SynonymShift):
    """A share of the words exchanged by synonyms that occur nowhere in the training texts (UW).

    Of the synonyms that WordNet has for a word those are left out that are numbers, that consist of several words, and
    that occur in training; the one farthest in Levenshtein distance is taken. The severity is the share of words and
    punctuation marks that are exchanged. Texts that have too few words with such a synonym are dropped.

    Source: Lee et al. (2021).

    >>> from oodometer.shifts.text.words import Vocabulary
    >>> meanings = {"house": ["dwelling", "family", "home"]}
    >>> training = Vocabulary.of(["a big house", "my family"])
    >>> shift = UnknownWords(training, synonyms=lambda word: meanings.get(word, []))
    >>> shift.apply(["A big house."], 0.3)
    ShiftedText(turns=('A big dwelling.',), words=4, targets=1)
    """

    name = "unknown-words"
    about = "words become synonyms that never occur in training"
    citation = "lee2021"

    def _fits(self, synonym: str) -> bool:
        return not self.training.count(synonym)


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
