"""Means and quantiles of amounts: ends by hand and by scipy, coverage of skewed ones, what tells nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from oodometer.inference.amounts import amount_mean, amount_quantile


def test_the_quantile_lies_between_the_order_statistics_of_the_binomial() -> None:
    values = np.random.default_rng(0).lognormal(size=137)
    for share in (0.1, 0.5, 0.9):
        found = amount_quantile(values, share)
        by_scipy: Any = stats.quantile_test(values, p=share).confidence_interval(0.95)
        assert found is not None
        assert (found.lower, found.upper) == pytest.approx((by_scipy.low, by_scipy.high))
        assert found.value == pytest.approx(np.quantile(values, share))


def test_of_copies_only_the_originals_count() -> None:
    values = np.random.default_rng(1).lognormal(size=40)
    copied, keys = np.repeat(values, 6), np.repeat(np.arange(40), 6)
    alone, copies = amount_mean(values), amount_mean(copied, keys)
    assert alone is not None
    assert copies is not None
    assert copies.value == pytest.approx(alone.value)
    assert copies.width == pytest.approx(alone.width, rel=0.25)
    middle, clustered = amount_quantile(values, 0.5), amount_quantile(copied, 0.5, keys)
    assert middle is not None
    assert clustered is not None
    assert clustered.width >= 0.6 * middle.width


def test_too_few_or_equal_amounts_tell_no_spread() -> None:
    assert amount_mean(np.ones(50)) is None
    assert amount_mean(np.arange(9.0)) is None
    assert amount_mean(np.arange(40.0), np.arange(40) % 9) is None
    assert amount_quantile(np.arange(71.0), 0.95) is None
    assert amount_quantile(np.arange(72.0), 0.95) is not None
    assert amount_quantile(np.zeros(0), 0.5) is None


def test_the_mean_of_skewed_amounts_is_covered() -> None:
    rng, held, plain = np.random.default_rng(5), 0, 0
    for _ in range(300):
        values = rng.lognormal(0, 1, 60)
        found = amount_mean(values)
        assert found is not None
        held += found.lower <= np.exp(0.5) <= found.upper
        low, high = stats.t.interval(0.95, 59, values.mean(), values.std(ddof=1) / np.sqrt(60))
        plain += low <= np.exp(0.5) <= high
    assert held >= 273  # 91 %
    assert held > plain
