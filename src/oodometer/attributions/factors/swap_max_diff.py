"""SWAP-MAX-DIFF: the largest attribution of a swapped word in the first part minus that in the second."""

from __future__ import annotations

from typing import final

import numpy as np

from ...registry import register
from ..base import WordAttributions
from .alignment import aligned
from .base import Factor


@final
@register("factor")
class SwapMaxDiff(Factor):
    """max |phi_a| - max |phi_b| over the swapped words of each part (`aligned`); in units of probability.

    Heuristic: the first order of the swapped words decides and the second is not compared with it. A higher mean is
    ranked lower. None where no word is swapped, and for a single text. Source: Singhal et al. (2022), section 6.1
    ("the highest magnitude attribution of swapped tokens").

    >>> import numpy as np
    >>> from oodometer.attributions.words import Words
    >>> pair = Words(("good men become bad", "bad men become good"))
    >>> SwapMaxDiff().value(WordAttributions(pair, np.array([-0.75, 9, 9, 0.25, 0.5, 9, 9, 0.0]), 0.0, 1, 0.9))
    0.25
    """

    name = "swap-max-diff"
    about = "largest magnitude among the swapped words of the first part minus that of the second"
    needs = ("pair",)
    heuristic = "the order of the first part decides, and that of the second is not read"

    def value(self, found: WordAttributions) -> float | None:
        """The difference of the largest magnitudes."""
        _, a, b = aligned(found.words)
        size = np.abs(found.values)
        return float(size[list(a)].max() - size[list(b)].max()) if a else None
