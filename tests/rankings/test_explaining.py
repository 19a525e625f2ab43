"""Explaining: the words that a factor looks at are found in long pairs too."""

from __future__ import annotations

import numpy as np
import pytest

from oodometer.registry import create
from oodometer_lab.attributions import WordAttributions, Words
from oodometer_lab.rankings.explaining import words_of


@pytest.mark.parametrize("many", [3, 120, 400])
def test_all_swapped_words_are_found_in_a_long_pair(many: int) -> None:
    """The mean of n words moves by a share of 1 / n where one of them moves."""
    first = [f"w{i}" for i in range(many)]
    words = Words((" ".join(first), " ".join(first[::-1])))
    found = WordAttributions(words, np.linspace(-1, 1, 2 * many), 0.0, 1, 0.9)
    # The reverse order has one word in common in the same order; all others are swapped.
    assert len(words_of(create("factor", "swap-avg"), found)) == 2 * (many - 1)
    assert len(words_of(create("factor", "sum-diff"), found)) == 2 * many
    assert len(words_of(create("factor", "max-diff"), found)) == 2
