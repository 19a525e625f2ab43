"""MAX-DIFF: the largest attribution of the first part minus that of the second."""

from __future__ import annotations

from typing import final

from ...registry import register
from ..base import WordAttributions
from .base import Factor, pair_values


@final
@register("factor")
class MaxDiff(Factor):
    """max(phi_a) - max(phi_b), phi the attributions of the words of parts a and b; in units of probability.

    Heuristic: one word of the first part decides, and the second part is not compared with it. A higher mean is ranked
    lower. None where a part has no word. Source: Singhal et al. (2022), section 6.1.

    >>> import numpy as np
    >>> from oodometer.attributions.words import Words
    >>> pair = Words(("he ran", "he sat"))
    >>> MaxDiff().value(WordAttributions(pair, np.array([0.5, -0.75, 0.25, 0.0]), 0.0, 1, 0.9))
    0.25
    """

    name = "max-diff"
    about = "largest attribution of the first part minus that of the second"
    needs = ("pair",)
    heuristic = "one word of the first part decides, whatever the second part says"

    def value(self, found: WordAttributions) -> float | None:
        """The difference of the largest attributions."""
        parts = pair_values(found)
        return None if parts is None else float(parts[0].max() - parts[1].max())
