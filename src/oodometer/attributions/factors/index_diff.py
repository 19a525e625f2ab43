"""INDEX-DIFF: what the words that both parts share say more in the first part than in the second."""

from __future__ import annotations

from typing import final

import numpy as np

from ...registry import register
from ..base import WordAttributions
from .alignment import aligned
from .base import Factor


@final
@register("factor")
class IndexDiff(Factor):
    """sum over shared words of (phi_a - phi_b), shared words aligned in order (`aligned`); in units of probability.

    Heuristic: the subsequence heuristic, "the second part follows because its words stand in the first": attribution
    lies on the copies of the hypothesis's words in the premise. A higher mean is ranked lower. A repeated word counts
    as often as it can be aligned. None where no word is shared, and for a single text. Source: Singhal et al. (2022),
    section 6.1, which names the difference and leaves sign and pairing open.

    >>> import numpy as np
    >>> from oodometer.attributions.words import Words
    >>> pair = Words(("The old man ran", "the man sat"))
    >>> IndexDiff().value(WordAttributions(pair, np.array([0.5, 9.0, 0.25, 9.0, 0.25, -0.5, 9.0]), 0.0, 1, 0.9))
    1.0
    """

    name = "index-diff"
    about = "attributions of shared words in the first part minus those in the second, aligned in order"
    needs = ("pair",)
    heuristic = "a second part whose words stand in the first is taken to follow from it"

    def value(self, found: WordAttributions) -> float | None:
        """The sum over shared words."""
        shared = aligned(found.words).shared
        if not shared:
            return None
        a, b = np.array(shared).T
        return float(found.values[a].sum() - found.values[b].sum())
