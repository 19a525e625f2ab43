"""SUM-DIFF: the summed attributions of the first part minus those of the second."""

from __future__ import annotations

from typing import final

from ...registry import register
from ..base import WordAttributions
from .base import Factor, pair_values


@final
@register("factor")
class SumDiff(Factor):
    """sum(phi_a) - sum(phi_b), phi the attributions of the words of parts a and b; in units of probability.

    Heuristic: the first part decides alone, as in models that read one part only. A higher mean is ranked lower. None
    where a part has no word. Source: Singhal et al. (2022), section 6.1.

    >>> import numpy as np
    >>> from oodometer.attributions.words import Words
    >>> pair = Words(("he ran", "he sat"))
    >>> SumDiff().value(WordAttributions(pair, np.array([0.5, -0.75, 0.25, 0.0]), 0.0, 1, 0.9))
    -0.5
    """

    name = "sum-diff"
    about = "summed attributions of the first part minus those of the second"
    needs = ("pair",)
    heuristic = "the first part decides alone"

    def value(self, found: WordAttributions) -> float | None:
        """The difference of the sums."""
        parts = pair_values(found)
        return None if parts is None else float(parts[0].sum() - parts[1].sum())
