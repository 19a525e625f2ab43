"""SWAP-AVG: the mean attribution of the words that both parts have, but in another order."""

from __future__ import annotations

from typing import final

import numpy as np

from ...registry import register
from ..base import WordAttributions
from .alignment import aligned
from .base import Factor


@final
@register("factor")
class SwapAvg(Factor):
    """mean of phi over the swapped words of both parts (`aligned`); in units of probability.

    Heuristic: the overlap heuristic, "the same words mean the same": swapped words speak for the answer although their
    order is another. A higher mean is ranked lower. None where no word is swapped, and for a single text. Source:
    Singhal et al. (2022), section 6.1.

    >>> import numpy as np
    >>> from oodometer.attributions.words import Words
    >>> pair = Words(("good men become bad", "bad men become good"))
    >>> SwapAvg().value(WordAttributions(pair, np.array([0.5, 9, 9, 0.25, 0.25, 9, 9, 1.0]), 0.0, 1, 0.9))
    0.5
    """

    name = "swap-avg"
    about = "mean attribution of the words that both parts have in another order"
    needs = ("pair",)
    heuristic = "the same words are taken to mean the same, whatever their order"

    def value(self, found: WordAttributions) -> float | None:
        """The mean over the swapped words."""
        _, a, b = aligned(found.words)
        return float(np.mean(found.values[[*a, *b]])) if a else None
