"""Intervals against scipy, against formulas worked by hand, and against the promise that they make."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import UsageError
from oodometer.intervals import (
    check_level,
    clopper_pearson,
    from_replicates,
    from_spread,
    holm,
    normal_quantile,
    wilson,
    wilson_from_variance,
)

from .snapshots import raises_snapshot

LEVELS = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])


@given(p=st.lists(st.floats(0, 1), max_size=8))
def test_holm_against_its_definition(p: list[float]) -> None:
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted = holm(p)
    for rank, i in enumerate(order):
        assert adjusted[i] == pytest.approx(
            max(min(1.0, (len(p) - k) * p[order[k]]) for k in range(rank + 1))
        )


@given(n=st.integers(1, 400), share=st.floats(0, 1), level=LEVELS)
def test_clopper_pearson_and_wilson_are_scipys(n: int, share: float, level: float) -> None:
    k = round(share * n)
    found = scipy.stats.binomtest(k, n)
    exact = found.proportion_ci(level, method="exact")
    assert clopper_pearson(k, n, level) == pytest.approx((exact.low, exact.high), abs=1e-9)
    score = found.proportion_ci(level, method="wilson")
    assert wilson(k / n, n, level) == pytest.approx((score.low, score.high), abs=1e-9)


def test_clopper_pearson_by_hand() -> None:
    """No success in n: the upper end solves (1 - p)^n = a / 2."""
    assert clopper_pearson(0, 10, 0.9) == pytest.approx((0, 1 - 0.05 ** (1 / 10)))
    assert clopper_pearson(10, 10, 0.9) == pytest.approx((0.05 ** (1 / 10), 1))
    assert clopper_pearson(0, 0, 0.95) == (0.0, 1.0)


@pytest.mark.parametrize("n", [1, 5, 30])
def test_clopper_pearson_keeps_its_promise(n: int) -> None:
    """Coverage by enumeration, for a grid of truths: never below the level."""
    ends = [clopper_pearson(k, n, 0.9) for k in range(n + 1)]
    for p in np.linspace(0.001, 0.999, 200):
        weights = scipy.stats.binom.pmf(np.arange(n + 1), n, p)
        covered = sum(w for w, (low, high) in zip(weights, ends, strict=True) if low <= p <= high)
        assert covered >= 0.9 - 1e-12


@given(value=st.floats(0, 1), n=st.floats(0.5, 1e7), level=LEVELS)
def test_wilson_lies_in_the_unit_interval_and_holds_the_share(
    value: float, n: float, level: float
) -> None:
    low, high = wilson(value, n, level)
    assert 0 <= low <= value <= high <= 1
    wider = wilson(value, n / 2, level)
    assert wider[0] <= low + 1e-12
    assert wider[1] >= high - 1e-12


@pytest.mark.parametrize("trials", [0, -1, float("nan")])
def test_no_trial_tells_nothing(trials: float) -> None:
    assert wilson(0.5, trials, 0.9) == (0.0, 1.0)


@given(value=st.floats(0, 1), n=st.integers(1, 10_000), level=LEVELS)
def test_a_binomial_variance_gives_wilsons_interval(value: float, n: int, level: float) -> None:
    got = wilson_from_variance(value, value * (1 - value) / n, n, level)
    assert got == pytest.approx(wilson(value, n, level))


@given(value=st.floats(0, 1), variance=st.floats(0, 0.1), n=st.floats(1, 1e6), level=LEVELS)
def test_another_variance_by_formula(value: float, variance: float, n: float, level: float) -> None:
    """The share is drawn towards one half by z^2 pseudo-samples; the variance stands where v (1 - v) / n stood."""
    z = scipy.stats.norm.ppf(0.5 + level / 2)
    centre = (n * value + z**2 / 2) / (n + z**2)
    half = z * math.sqrt(variance + z**2 / (4 * n**2)) * n / (n + z**2)
    want = (max(0.0, min(centre - half, value)), min(1.0, max(centre + half, value)))
    got = wilson_from_variance(value, variance, n, level)
    assert got == pytest.approx(want, abs=1e-9)
    assert 0 <= got[0] <= value <= got[1] <= 1


@pytest.mark.parametrize("value", [0.0, 0.4, 1.0])
def test_a_larger_variance_is_wider_at_the_edges_too(value: float) -> None:
    widths = [
        high - low
        for low, high in (wilson_from_variance(value, v, 50, 0.9) for v in (0.0, 0.001, 0.01))
    ]
    assert 0 < widths[0] < widths[1] < widths[2]


@pytest.mark.parametrize("trials", [0, -2, math.nan])
def test_a_variance_of_no_sample_tells_nothing(trials: float) -> None:
    assert wilson_from_variance(0.5, 0.001, trials, 0.9) == (0.0, 1.0)


def test_normal_quantile() -> None:
    for level in (0.5, 0.9, 0.95, 0.99):
        assert normal_quantile(level) == pytest.approx(scipy.stats.norm.ppf(0.5 + level / 2))


def test_from_spread_by_hand() -> None:
    """The standard deviation of (0.4, 0.5, 0.6) is 0.1, with n - 1 in the denominator; the mean does not matter."""
    z = normal_quantile(0.9)
    for shift in (0.0, 0.3):
        got = from_spread(np.array([0.4, 0.5, 0.6]) + shift, 0.5, 0.9)
        assert got == pytest.approx((0.5 - 0.1 * z, 0.5 + 0.1 * z))
    assert from_spread(np.array([0.0, 1.0]), 0.5, 0.99) == (0.0, 1.0)
    assert from_spread(np.array([0.4, np.nan, 0.6]), 0.5, 0.9) == from_spread(
        np.array([0.4, 0.6]), 0.5, 0.9
    )


def test_from_replicates_by_hand() -> None:
    """Replicates 0 to 100 in hundredths, about their mean 0.5: the 5 % and 95 % quantiles are -0.45 and +0.45."""
    replicates = np.arange(101) / 100
    assert from_replicates(replicates, 0.5, 0.9) == pytest.approx((0.05, 0.95))
    assert from_replicates(replicates, 0.3, 0.9) == pytest.approx((0.0, 0.75))
    lopsided = np.array([0.0] * 8 + [1.0] * 2)
    low, high = from_replicates(lopsided, 0.5, 0.8)
    assert 0.5 - low < high - 0.5


@pytest.mark.parametrize("make", [from_spread, from_replicates])
def test_too_few_replicates_tell_nothing(make: object) -> None:
    assert callable(make)
    assert make(np.array([0.5, np.nan]), 0.5, 0.9) == (0.0, 1.0)
    assert make(np.array([]), 0.5, 0.9, -1.0, 2.0) == (-1.0, 2.0)


@given(
    replicates=st.lists(st.floats(0, 1), min_size=2, max_size=30),
    value=st.floats(0, 1),
    level=LEVELS,
)
def test_replicates_always_hold_the_value(
    replicates: list[float], value: float, level: float
) -> None:
    for make in (from_spread, from_replicates):
        low, high = make(np.array(replicates), value, level)
        assert 0 <= low <= value <= high <= 1


@pytest.mark.parametrize("level", [0, 1, -0.1, 95, math.nan, math.inf])
def test_a_level_is_no_percent(level: float) -> None:
    with raises_snapshot(UsageError):
        check_level(level)
    assert check_level(0.9) == 0.9
