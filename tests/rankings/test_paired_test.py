"""The paired bootstrap: near the normal test of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from oodometer.errors import UsageError
from oodometer.rankings import draws_test

from ..snapshots import raises_snapshot


def test_bootstrap_of_draws_is_near_the_normal_test() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.choice([0.0, 0.5, 1.0], (15, 400)), rng.choice([0.0, 0.5, 1.0], (15, 400))
    gap = (first - second).mean(axis=0)
    found = draws_test(first, second)
    expected = stats.norm.sf(gap.mean() / (gap.std() / 20))
    assert found.p_value == pytest.approx(expected, abs=0.02)
    assert found.difference == pytest.approx(gap.mean())
    assert (found.over, found.units) == ("draws", 400)
    assert draws_test(second, first).p_value == pytest.approx(1 - expected, abs=0.02)
    assert draws_test(first + 0.5, second).p_value == pytest.approx(1 / 10_001)


def test_what_makes_no_sense_is_refused() -> None:
    with raises_snapshot(UsageError):
        draws_test(np.ones((2, 3)), np.ones((2, 4)))
    for wrong in (np.nan, np.inf):
        with raises_snapshot(UsageError):
            draws_test(np.array([[0.5, wrong]]), np.array([[0.5, 0.5]]))
