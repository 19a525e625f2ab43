"""Normalization: sizes by hand, the separator counts where it is known."""

from __future__ import annotations

import numpy as np
import pytest

from oodometer.errors import UsageError
from oodometer_lab.attributions import NORMALIZATIONS, WordAttributions, Words, normalized

from ..snapshots import raises_snapshot

PAIR = WordAttributions(Words(("a b", "c")), np.array([3.0, 0.0, -1.0]), -4.0, 0, 0.8, 0.1, 0.9)
SINGLE = WordAttributions(Words("a b"), np.array([3.0, -4.0]), float("nan"), 0, 0.8)
NOTHING = WordAttributions(Words("a b"), np.zeros(2), float("nan"), 0, 0.8)


@pytest.mark.parametrize(
    ("how", "of_pair", "of_single"),
    [("none", 1.0, 1.0), ("l1", 8.0, 7.0), ("l2", 26**0.5, 5.0), ("max", 4.0, 4.0)],
)
def test_sizes_by_hand(how: str, of_pair: float, of_single: float) -> None:
    found = normalized(PAIR, how)
    assert found.values == pytest.approx(PAIR.values / of_pair)
    assert found.separator == pytest.approx(-4 / of_pair)
    assert (found.target, found.probability, found.base, found.fit) == (0, 0.8, 0.1, 0.9)
    assert normalized(SINGLE, how).values == pytest.approx(SINGLE.values / of_single)
    assert np.isnan(normalized(SINGLE, how).separator)
    assert normalized(NOTHING, how).values.tolist() == [0, 0]


def test_names() -> None:
    assert NORMALIZATIONS == ("none", "l1", "l2", "max")
    with raises_snapshot(UsageError):
        normalized(PAIR, "l3")
