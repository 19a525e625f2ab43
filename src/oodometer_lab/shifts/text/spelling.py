"""Spelling: typing errors, as letters swapped, left out, doubled or mistyped; and capitals exchanged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oodometer.registry import register

from .base import WordShift
from .words import Word, in_the_case_of

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
# the keys beside, and diagonally below or above, each letter of an English keyboard
_NEAR: dict[str, str] = {}
for _y, _row in enumerate(_ROWS):
    for _x, _letter in enumerate(_row):
        _keys = [
            (_y, _x - 1),
            (_y, _x + 1),
            (_y - 1, _x),
            (_y - 1, _x + 1),
            (_y + 1, _x - 1),
            (_y + 1, _x),
        ]
        _NEAR[_letter] = "".join(
            _ROWS[b][a] for b, a in _keys if 0 <= b < len(_ROWS) and 0 <= a < len(_ROWS[b])
        )


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

    def _new(self, words: Sequence[Word], at: int, rng: np.random.Generator) -> str | None:
        word = words[at].text
        if not words[at].is_plain or len(word) < 3:
            return None
        error, letter, key = (int(rng.integers(n)) for n in (4, len(word) - 1, 1 << 16))
        letter += 1
        # it is swapped with that before, or behind the first letter
        low = letter - 1 if letter > 1 else letter
        if error == 0 and word[low] != word[low + 1]:
            return word[:low] + word[low + 1] + word[low] + word[low + 2 :]
        if error == 1:  # left out
            return word[:letter] + word[letter + 1 :]
        near = _NEAR.get(word[letter].lower())
        if error == 3 and near is not None:  # mistyped, as far as it is on an English keyboard
            return (
                word[:letter]
                + in_the_case_of(word[letter], near[key % len(near)])
                + word[letter + 1 :]
            )
        return word[: letter + 1] + word[letter:]  # doubled


@register("shift")
class Casing(WordShift):
    """A share of the words in another case: small letters become capitals, a word with a capital gets small letters.

    The severity is the share of words and punctuation marks. Source: noise of the kind that Belinkov and Bisk (2018)
    study; it is not among theirs.

    >>> Casing().apply(["Keep calm"], 1).turns
    ('keep CALM',)
    """

    name = "casing"
    about = "words change between small letters and capitals"
    citation = "belinkov2018"
    counts = "words in another case"

    def _new(self, words: Sequence[Word], at: int, rng: np.random.Generator) -> str | None:
        word = words[at].text
        new = word.upper() if word == word.lower() else word.lower()
        return None if new == word else new
