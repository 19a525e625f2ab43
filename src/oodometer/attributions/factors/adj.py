"""ADJ: minus the attributions around an adjective, which should decide in ADJECT of MSGS."""

from __future__ import annotations

from typing import final

from ...datasets.sentences import ADJECTIVES as MSGS_ADJECTIVES
from ...registry import register
from ..words import Words
from .window import WindowFactor

# Those of MSGS; "boring" stands there as a verb, too, where no adjective decides.
ADJECTIVES = tuple(sorted(MSGS_ADJECTIVES - {"boring"}))


@final
@register("factor")
class Adj(WindowFactor):
    """-sum of phi over m - 2 ... m + 2, m an adjective ("tall"); in units of probability.

    Heuristic: something other than the adjective decides, such as whether "the" occurs. A higher mean is ranked lower.
    Where the data set marks no word, m is the first of 54 adjectives of MSGS. None where there is none.
    Source: Singhal et al. (2022), section 5; the adjectives: Warstadt et al. (2020).

    >>> import numpy as np
    >>> from oodometer.attributions.base import WordAttributions
    >>> text = Words("a tall man sat there now")
    >>> Adj().value(WordAttributions(text, np.array([0.25, 0.25, 0.25, 0.25, 9, 9]), float("nan"), 1, 0.9))
    -1.0
    """

    name = "adj"
    about = "minus the attributions around an adjective"
    heuristic = "something other than an adjective decides"

    def feature(self, words: Words) -> int | None:
        """The first of the adjectives."""
        return words.place(ADJECTIVES)
