"""Casing: words in capitals, or without their capitals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...registry import register
from .base import WordShift
from .words import Word


@register("shift")
class Casing(WordShift):
    """A share of the words in another case: small letters become capitals, a word with a capital gets small letters.

    The severity is the share of words and punctuation marks. Source: noise of the kind
    that Belinkov and Bisk (2018) study; it is not among theirs.

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
