"""ADJ: minus the attributions around an adjective, which should decide in ADJECT of MSGS."""

from __future__ import annotations

from typing import final

from ...registry import register
from ..words import Words
from .window import WindowFactor

__all__ = ["Adj"]

# The adjectives of MSGS.
_LISTED = (
    "attractive bad beautiful big careful careless clever cold cool cruel damp disorganized dry dull dumb elderly "
    "fat giant good great healthy hot ill interesting intriguing kind large little mean nice normal obese old "
    "ordinary organized short sick skinny slim small smart strange stupid tall terrible thin tiny ugly "
    "unattractive unusual warm wet young youthful"
)
ADJECTIVES = tuple(_LISTED.split())


@final
@register("factor")
class Adj(WindowFactor):
    """-sum of phi over m - 2 ... m + 2, m an adjective ("tall"); in units of probability.

    Heuristic: something other than the adjective decides, such as whether "the" occurs. A higher mean is ranked lower.
    Where the data set marks no word, m is the first of the 54 adjectives that MSGS has. None where there is none.
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
