"""FIRST-TOK: the attribution of the first separator."""

from __future__ import annotations

import math
from typing import final

from ...registry import register
from ..base import WordAttributions
from .base import Factor


@final
@register("factor")
class FirstTok(Factor):
    """phi of the separator between the parts; in units of probability.

    Heuristic: the input is told by its form as a pair and not by its words. A higher mean is ranked lower. None where
    the method of attribution says nothing of the separator, and for a single text. Source: Singhal et al. (2022),
    section 6.1 ("the attribution at the first <SEP> token").

    >>> import numpy as np
    >>> from oodometer.attributions.words import Words
    >>> FirstTok().value(WordAttributions(Words(("he ran", "he")), np.zeros(3), 0.125, 1, 0.9))
    0.125
    """

    name = "first-tok"
    about = "attribution of the first separator"
    needs = ("pair",)
    heuristic = "the answer hangs on the form of the input, not on its words"

    def value(self, found: WordAttributions) -> float | None:
        """The separator's attribution."""
        separator = float(found.separator)
        return None if math.isnan(separator) else separator
