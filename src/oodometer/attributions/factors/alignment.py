"""Alignment: which words two parts share in the same order, and which they share in another order (swapped words)."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

from ..words import Words


class Alignment(NamedTuple):
    """Positions among all words of an example; part a is the first, part b the second.

    shared : (position in a, position in b) of each word that both have in the same order.
    swapped_a, swapped_b : positions of the words that both have, but in another order.
    """

    shared: tuple[tuple[int, int], ...]
    swapped_a: tuple[int, ...]
    swapped_b: tuple[int, ...]


def aligned(words: Words) -> Alignment:
    """The alignment of the two parts of an example.

    Shared words are a longest common subsequence of both parts, whatever the case of their letters; of several equally
    long ones, that whose words stand earliest in a. Swapped words are the others that both parts have: the first k
    occurrences that are left over of a word in a and in b, k the smaller of the two counts. So a word that stands
    twice in a and once in b counts once. Punctuation marks are no words. A single text has nothing shared.

    >>> found = aligned(Words(("a good person, become bad?", "a bad person become good")))
    >>> found.shared, found.swapped_a, found.swapped_b
    (((0, 7), (2, 9), (4, 10)), (1, 5), (8, 11))
    """
    if not words.is_pair:
        return Alignment((), (), ())
    return _aligned(words.words, int((words.parts == 0).sum()))


@lru_cache(maxsize=1 << 13)  # every model and every method of attribution asks for the same examples
def _aligned(words: tuple[str, ...], split: int) -> Alignment:
    places = [place for place, word in enumerate(words) if any(sign.isalnum() for sign in word)]
    a = [place for place in places if place < split]
    b = [place for place in places if place >= split]
    lower = [word.lower() for word in words]
    # pairs of positions of a longest common subsequence, the earliest in a
    first, second = [lower[place] for place in a], [lower[place] for place in b]
    longest = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]  # of what is left of a and b; cells of an array are slow
    for i in range(len(a) - 1, -1, -1):
        word, row, below = first[i], longest[i], longest[i + 1]
        right = 0
        for j in range(len(b) - 1, -1, -1):
            if word == second[j]:
                right = below[j + 1] + 1
            elif below[j] > right:
                right = below[j]
            row[j] = right
    shared = []
    i = j = 0
    while i < len(a) and j < len(b):
        if first[i] == second[j]:
            shared.append((a[i], b[j]))
            i, j = i + 1, j + 1
        elif longest[i][j + 1] >= longest[i + 1][j]:  # a's word is kept for later words of b
            j += 1
        else:
            i += 1
    left_a, left_b = _by_word(a, {i for i, _ in shared}, lower), _by_word(b, {j for _, j in shared}, lower)
    count = {word: min(len(left_a[word]), len(left_b[word])) for word in left_a.keys() & left_b.keys()}
    return Alignment(
        tuple(shared),
        tuple(sorted(place for word, k in count.items() for place in left_a[word][:k])),
        tuple(sorted(place for word, k in count.items() for place in left_b[word][:k])),
    )


def _by_word(places: list[int], taken: set[int], lower: list[str]) -> dict[str, list[int]]:
    """Positions of each word that are not taken, in order."""
    out: dict[str, list[int]] = defaultdict(list)
    for place in places:
        if place not in taken:
            out[lower[place]].append(place)
    return out
