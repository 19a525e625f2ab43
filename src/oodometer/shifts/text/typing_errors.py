"""Typing errors: letters swapped, left out, doubled, or the neighbouring key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from ...registry import register
from .base import WordShift
from .words import Word, in_the_case_of

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_SHORTEST = 3


def _neighbours() -> dict[str, str]:
    """Keys beside and diagonally below or above each letter of an English keyboard."""
    out = {}
    for y, row in enumerate(_ROWS):
        for x, letter in enumerate(row):
            near = [(y, x - 1), (y, x + 1), (y - 1, x), (y - 1, x + 1), (y + 1, x - 1), (y + 1, x)]
            out[letter] = "".join(_ROWS[b][a] for b, a in near if 0 <= b < len(_ROWS) and 0 <= a < len(_ROWS[b]))
    return out


_NEAR = _neighbours()


@final
@register("shift")
class TypingErrors(WordShift):
    """A share of the words gets one typing error each: two letters swapped, one left out, doubled, or a wrong key.

    Each of the four is drawn with the same chance, at a place behind the first letter. Words shorter than three letters
    stay as they are. The severity is the share of words and punctuation marks.
    Source: Belinkov and Bisk (2018), who swap letters and mistype keys.

    >>> TypingErrors().apply(["nothing to see here"], 0.5, row=1).targets
    2
    """

    name = "typing-errors"
    about = "words get one typing error each"
    citation = "belinkov2018"
    counts = "words with an error"

    def _new(self, words: Sequence[Word], place: int, rng: np.random.Generator) -> str | None:
        word = words[place].text
        if not words[place].is_plain or len(word) < _SHORTEST:
            return None
        how, at, key = (int(rng.integers(n)) for n in (len(_ERRORS), len(word) - 1, 1 << 16))
        return _ERRORS[how](word, at + 1, key)


def _doubled(word: str, at: int, key: int) -> str:
    return word[: at + 1] + word[at:]


def _left_out(word: str, at: int, key: int) -> str:
    return word[:at] + word[at + 1 :]


def _swapped(word: str, at: int, key: int) -> str:
    """With the letter before, or behind where that one is the first; letters that are alike are doubled instead."""
    low = at - 1 if at > 1 else at
    if word[low] == word[low + 1]:
        return _doubled(word, at, key)
    return word[:low] + word[low + 1] + word[low] + word[low + 2 :]


def _mistyped(word: str, at: int, key: int) -> str:
    near = _NEAR.get(word[at].lower())
    if near is None:  # not on an English keyboard
        return _doubled(word, at, key)
    return word[:at] + in_the_case_of(word[at], near[key % len(near)]) + word[at + 1 :]


_ERRORS = (_swapped, _left_out, _doubled, _mistyped)
