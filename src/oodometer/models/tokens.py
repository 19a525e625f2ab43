"""Words: a text to lower-case words in the manner of the Penn Treebank, and words to numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import final

import numpy as np

from ..arrays import Array, Ragged
from .base import Text
from .torch.batches import ragged

PAIR = "<pair>"  # stands between the parts of a pair
_TAG = re.compile(r"<[a-z/][^>]{0,40}>")
_PART = re.compile(r"<pair>|n't\b|'(?:s|re|ve|ll|d|m)\b|[^\W\d_]+?(?=n't\b)|[^\W\d_]+|\d+|[!?]")


def words(text: Text) -> list[str]:
    """Lower-case words, numbers, and the marks ! and ?; clitics stand alone as in the Penn Treebank, mark-up goes.

    So a text that was split before ("does n't") and one that was not ("doesn't") give the same words.

    >>> words("It doesn't work!<br />Why, it's 2 bad") == words("it does n't work ! why , it 's 2 bad")
    True
    >>> words("It doesn't work!")
    ['it', 'does', "n't", 'work', '!']
    """
    parts = (text,) if isinstance(text, str) else text
    return _PART.findall(f" {PAIR} ".join(_TAG.sub(" ", part.lower()) for part in parts))


@final
class Vocabulary:
    """Words and their numbers: 0 is padding, 1 any word that is not known, the rest from the most frequent on.

    >>> v = Vocabulary.learn([["a", "b"], ["a"]], most=1)
    >>> v.encode([["a", "b", "a"]]).values.tolist(), len(v)
    ([2, 1, 2], 3)
    """

    def __init__(self, known: Sequence[str]) -> None:
        self.words = tuple(known)
        self._place = {word: place for place, word in enumerate(self.words, 2)}

    def __len__(self) -> int:
        return len(self.words) + 2

    @classmethod
    def learn(cls, texts: Iterable[Sequence[str]], *, most: int = 30_000, least_count: int = 1) -> Vocabulary:
        """The ``most`` frequent words that occur at least ``least_count`` times; equal counts by the alphabet."""
        counts = Counter(chain.from_iterable(texts))
        order = sorted((-count, word) for word, count in counts.items() if count >= least_count)
        return cls([word for _, word in order[:most]])

    def encode(self, texts: Sequence[Sequence[str]], *, max_length: int | None = None) -> Ragged:
        """Numbers of the words of each text; a text longer than ``max_length`` loses its middle (see `ends`)."""
        find = self._place.get
        rows = [[find(word, 1) for word in text] for text in texts]
        return ragged(rows if max_length is None else [ends(row, max_length) for row in rows])

    def rows_of(self, known: Sequence[str], vectors: Array) -> Array:
        """A matrix (word, dimension) in the order of this vocabulary; rows of words without a vector are 0."""
        place = {word: i for i, word in enumerate(known)}
        at = np.array([place.get(word, -1) for word in self.words], dtype=np.int64)
        out = np.zeros((len(self), vectors.shape[1]), dtype=np.float32)
        out[2:][at >= 0] = vectors[at[at >= 0]]
        return out


def ends(row: list[int], max_length: int) -> list[int]:
    """The first quarter and the rest from the end, where a sequence is too long.

    Source: Sun et al. (2019), who find that for reviews the two ends say more than the beginning alone.

    >>> ends([1, 2, 3, 4, 5, 6], 4)
    [1, 4, 5, 6]
    """
    if len(row) <= max_length:
        return row
    head = max_length // 4
    return row[:head] + row[len(row) - (max_length - head) :]
