"""Synonyms: what unknown and known words have in common: the words of WordNet that may stand for another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ...errors import MissingExtraError, UsageError
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
