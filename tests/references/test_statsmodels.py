"""Intervals of shares and the correction for many tests against statsmodels."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from oodometer.intervals import clopper_pearson, holm, wilson


@pytest.mark.parametrize("trials", [1, 10, 137, 100_000])
@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_share(
    library: Callable[[str], ModuleType], trials: int, share: float, level: float
) -> None:
    proportion = library("statsmodels.stats.proportion")
    right = round(share * trials)
    for ours, method in ((clopper_pearson(right, trials, level), "beta"),
                         (wilson(right / trials, trials, level), "wilson")):  # fmt: skip
        expected = proportion.proportion_confint(right, trials, 1 - level, method=method)
        assert ours == pytest.approx(tuple(map(float, expected)), abs=1e-9)


def test_holm(library: Callable[[str], ModuleType]) -> None:
    multitest = library("statsmodels.stats.multitest")
    rng = np.random.default_rng(0)
    for size in (1, 2, 9):
        values = rng.random(size) ** 3
        expected = multitest.multipletests(values, method="holm")[1]
        assert holm(values.tolist()) == pytest.approx(expected.tolist())
