"""Tests of one look and of several: against scipy, by hand, and by drawing looks that chance alone made."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from oodometer.recipes.kit.claims import (
    Look,
    above,
    all_of,
    at_least,
    binomial,
    either,
    gap,
    holm,
    partial_conjunction,
    share,
    sign_flips,
)

P = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def test_one_look_against_scipy() -> None:
    for value, error in ((1.0, 0.5), (-2.0, 1.0), (0.3, 3.0)):
        assert gap(value, error).supports == pytest.approx(stats.norm.sf(value / error))
        assert gap(value, error).refutes == pytest.approx(stats.norm.cdf(value / error))
    for successes, trials, chance in ((9, 10, 0.5), (3, 20, 0.2), (0, 4, 0.9)):
        more = stats.binomtest(successes, trials, chance, alternative="greater").pvalue
        less = stats.binomtest(successes, trials, chance, alternative="less").pvalue
        assert binomial(successes, trials, chance).supports == pytest.approx(more)
        assert binomial(successes, trials, chance).refutes == pytest.approx(less)


def test_the_arm_on_the_side_of_the_bound_counts() -> None:
    skewed = {"value": 0.5, "lower": 0.4, "upper": 0.9, "level": 0.95}
    assert above(skewed, 0.4).supports == pytest.approx(0.025)
    assert above(skewed, 0.9).refutes == pytest.approx(0.025)
    assert above(skewed, 0.5).supports == pytest.approx(0.5)
    certain = {"value": 0.5, "lower": 0.5, "upper": 0.5, "level": 0.95}
    assert (above(certain, 0.4), above(certain, 0.6)) == (Look(0.0, 1.0), Look(1.0, 0.0))


def test_replicates_have_a_least_p_value() -> None:
    assert share(1.0, 199).supports == 1 / 200
    assert share(0.0, 199).refutes == 1 / 200
    assert share(0.5, 199).supports == pytest.approx(100 / 200)


def test_several_looks_by_hand() -> None:
    p = [0.01, 0.02, 0.03, 0.5]
    assert partial_conjunction(p, 1) == pytest.approx(0.04)  # Simes: min(4 * .01, 4/2 * .02, 4/3 * .03, .5)
    assert partial_conjunction(p, 3) == pytest.approx(0.06)  # min(2 * .03, .5)
    looks = [Look(value, 1 - value) for value in p]
    assert either(looks).supports == pytest.approx(0.04)
    assert all_of(looks) == Look(0.5, 0.99)  # 1 or more against: min(4 * .5, 4/2 * .97, 4/3 * .98, .99)
    assert at_least(3, looks).refutes == pytest.approx(0.99)  # 2 or more against: min(3 * .97, 3/2 * .98, .99)
    assert all_of([]) == at_least(3, looks[:2]) == Look()
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(P)
def test_simes_and_the_largest_are_the_ends(p: list[float]) -> None:
    assert partial_conjunction(p, 1) == pytest.approx(float(stats.false_discovery_control(p).min()))
    assert partial_conjunction(p, len(p)) == max(p)
    for count in range(1, len(p)):
        assert partial_conjunction(p, count) <= partial_conjunction(p, count + 1) + 1e-12


@given(P)
def test_holm_is_between_the_p_value_and_bonferroni(p: list[float]) -> None:
    for before, after in zip(p, holm(p), strict=True):
        assert before <= after <= min(1.0, len(p) * before)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=8))
def test_flipped_signs_against_scipy(differences: list[int]) -> None:
    values = np.array(differences, dtype=float)
    found = sign_flips(differences)
    for alternative, p in (("greater", found.supports), ("less", found.refutes)):
        exact = stats.permutation_test((values,), np.sum, permutation_type="samples", alternative=alternative)
        assert p == pytest.approx(float(exact.pvalue))


def test_many_differences_are_tested_by_student() -> None:
    values = np.random.default_rng(0).normal(0.3, 1.0, 30)
    exact = float(stats.ttest_1samp(values, 0.0, alternative="greater").pvalue)
    assert sign_flips(values.tolist()).supports == pytest.approx(exact)


def test_a_false_claim_seldom_holds() -> None:
    """More than half of five, where two are true and three are just not: at 5 %, in at most 5 % of the draws."""
    rng = np.random.default_rng(0)
    shared = 0.5**0.5 * rng.normal(size=(4000, 1))  # rows that all looks share make them alike
    z = shared + 0.5**0.5 * rng.normal(size=(4000, 5)) + np.array([9.0, 9.0, 0.0, 0.0, 0.0])
    held = [partial_conjunction(stats.norm.sf(row).tolist(), 3) <= 0.05 for row in z]
    assert 0.01 < np.mean(held) < 0.06
