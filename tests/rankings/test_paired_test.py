"""Paired tests: against scipy and by hand, and that each says what it draws again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from oodometer.errors import UsageError
from oodometer.rankings import draws_test, suites_test


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


@pytest.mark.parametrize("seed", range(3))
def test_sign_flips_and_t_are_those_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.random((2, 9))
    exact = stats.permutation_test(
        (first - second,), lambda d: float(np.mean(d)), permutation_type="samples", alternative="greater"
    )
    assert suites_test(first, second).p_value == pytest.approx(exact.pvalue)
    t = stats.ttest_rel(first, second, alternative="greater")
    found = suites_test(first, second, test="t")
    assert found.p_value == pytest.approx(t.pvalue)
    assert found.p_two_sided == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert found.over == "suites"


def test_three_suites_cannot_prove_anything() -> None:
    assert suites_test([0.9, 0.9, 0.9], [0.1, 0.1, 0.1]).p_value == 1 / 8


def test_many_suites_draw_flips() -> None:
    rng = np.random.default_rng(0)
    first = rng.random(40)
    second = first - rng.normal(0.05, 0.2, 40)
    drawn, t = suites_test(first, second), suites_test(first, second, test="t")
    assert drawn.test == "sign flips"
    assert drawn.p_value == pytest.approx(t.p_value, abs=0.02)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError, match="same pairs and draws"):
        draws_test(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(UsageError, match="at least two"):
        suites_test([0.5], [0.4])
    with pytest.raises(UsageError, match="sign-flip"):
        suites_test([0.5, 0.6], [0.4, 0.5], test="rank")  # type: ignore[arg-type]


def test_suites_that_all_differ_alike() -> None:
    assert suites_test([0.5, 0.5], [0.5, 0.5], test="t").p_two_sided == 1
    assert suites_test([0.75, 0.75], [0.5, 0.5], test="t").p_value == 0


def test_outcomes_that_are_no_numbers_are_refused() -> None:
    for wrong in (np.nan, np.inf):
        with pytest.raises(UsageError, match="finite numbers"):
            suites_test([0.9, wrong, 0.8], [0.5, 0.5, 0.5])
        with pytest.raises(UsageError, match="finite numbers"):
            suites_test([0.9, 0.8, 0.8], [0.5, wrong, 0.5], test="t")
        with pytest.raises(UsageError, match="finite numbers"):
            draws_test(np.array([[0.5, wrong]]), np.array([[0.5, 0.5]]))


def test_rounding_is_no_difference() -> None:
    found = suites_test([0.3, 0.1 + 0.2, 0.3], [0.3, 0.3, 0.3], test="t")
    assert (found.p_value, found.p_two_sided) == (0.5, 1.0)
    assert suites_test([0.9, 0.8, 0.7], [0.8, 0.7, 0.6], test="t").p_value == 0
