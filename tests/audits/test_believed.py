"""The believed interval: a prior times the likelihood of labels, on hand-made priors and over random ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binom

from oodometer.audits.judge import (
    FALL,
    RISE,
    Believed,
    believed_interval,
    hypergeometric,
    likelihood_labels,
    linear_cdf,
    prior_cdf,
)
from oodometer.audits.suggestion import suggest
from oodometer.headline.label_posterior import LabelEvidence, LabelPosterior
from oodometer.headline.natural_shifts import ShiftSigns, packaged_prior
from oodometer.inference.betting import SampledRows
from oodometer.intervals import clopper_pearson

from ..snapshots import assert_snapshot

LEVELS = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
QUANTILES = np.array([0.4, 0.55, 0.75, 0.8, 0.84, 0.9, 0.93])
PRIOR = prior_cdf(LEVELS, QUANTILES)
EVEN = prior_cdf(LEVELS, LEVELS)

priors = st.lists(st.floats(0, 1), min_size=7, max_size=7).map(
    lambda q: prior_cdf(LEVELS, np.array(sorted(q)))
)


@given(priors)
def test_no_accuracy_is_impossible(prior: np.ndarray) -> None:
    assert prior[0] == 0
    assert prior[-1] == pytest.approx(1)
    assert np.diff(prior).min() > 1e-6  # a hundred labels weigh more than that


@given(priors, st.floats(0.5, 0.99))
@settings(max_examples=50)
def test_without_labels_the_prior_is_what_is_believed(prior: np.ndarray, level: float) -> None:
    value, lower, upper = believed_interval(prior, 0, 0, level)
    even = np.linspace(0, 1, len(prior))
    at = np.interp([lower, value, upper], even, prior)
    assert at[1] == pytest.approx(0.5, abs=0.005)
    assert at[2] - at[0] == pytest.approx(level, abs=0.01)
    assert at[0] == pytest.approx((1 - level) / 2, abs=0.005)


def test_an_even_prior_gives_the_quantiles_of_a_beta_law() -> None:
    even = np.linspace(0, 1, 1001)
    law = stats.beta(19, 8)
    assert believed_interval(even, 18, 25, 0.9) == pytest.approx(
        law.ppf([0.5, 0.05, 0.95]), abs=0.003
    )


def test_an_unseen_change_is_more_likely_a_fall() -> None:
    """A prior that is a point becomes Cauchy's law of two scales, more of it below than above."""
    cdf = prior_cdf(LEVELS, np.full(7, 0.7))
    even = np.linspace(0, 1, len(cdf))
    assert np.interp(0.7, even, cdf) == pytest.approx(FALL / (FALL + RISE), abs=0.02)
    below = np.interp([0.7 - FALL, 0.7 + RISE], even, cdf) - np.interp(0.7, even, cdf)
    assert below == pytest.approx([-FALL / (FALL + RISE) / 2, RISE / (FALL + RISE) / 2], abs=0.02)


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.65, 0.97])
def test_many_labels_agree_with_the_binomial_whatever_the_prior(rate: float) -> None:
    labels = 20_000
    _, lower, upper = believed_interval(PRIOR, rate * labels, labels, 0.9)
    low, high = clopper_pearson(rate * labels, labels, 0.9)
    assert lower == pytest.approx(low, abs=0.05 * (high - low))
    assert upper == pytest.approx(high, abs=0.05 * (high - low))


@given(priors, st.floats(0.05, 0.95))
@settings(max_examples=30, deadline=None)
def test_more_labels_are_narrower_on_average(prior: np.ndarray, truth: float) -> None:
    def width(labels: int) -> float:
        chance = stats.binom.pmf(np.arange(labels + 1), labels, truth)
        likely = np.flatnonzero(chance > 1e-4)
        ends = [believed_interval(prior, int(k), labels, 0.9) for k in likely]
        return float(
            sum(chance[k] * (e[2] - e[1]) for k, e in zip(likely, ends, strict=True))
            / chance[likely].sum()
        )

    # a prior that is wrong is first left for its tail, which may widen it: from 50 to 400 labels nothing can
    assert width(400) < width(50)


@given(st.integers(0, 12), st.integers(0, 40))
def test_labels_of_a_small_target_leave_only_what_can_be(hits: int, more: int) -> None:
    rows = 12 + more
    value, lower, upper = believed_interval(PRIOR, hits, 12, 0.95, rows)
    assert hits / rows <= lower <= value <= upper <= (rows - 12 + hits) / rows


def test_a_target_that_is_labelled_whole_is_known() -> None:
    assert believed_interval(PRIOR, 33, 40, 0.95, 40) == (0.825, 0.825, 0.825)


def test_a_small_target_is_narrower_than_a_large_one() -> None:
    _, low, high = believed_interval(EVEN, 30, 50, 0.9, 80)
    _, lower, upper = believed_interval(EVEN, 30, 50, 0.9)
    assert high - low < 0.7 * (upper - lower)
    exact = hypergeometric(30, 50, 80, 0.9)
    assert high - low <= exact[1] - exact[0] + 1 / 80


def test_labels_can_prove_what_the_prior_did_not_expect() -> None:
    narrow = prior_cdf(LEVELS, np.linspace(0.93, 0.95, 7))
    _, lower, upper = believed_interval(narrow, 20, 100, 0.95)
    assert lower < 0.2 < upper < 0.35


def test_suggested_rows_count_by_their_weights() -> None:
    """Hard rows are drawn more often; the plain rate of hits is far too low, the weighted one is not."""
    rng = np.random.default_rng(3)
    score = rng.choice([0.55, 0.99], 4000)
    right = (rng.random(4000) < score).astype(float)
    rates, plain, worth = [], [], []
    for seed in range(200):
        found = suggest(score, 1.0, 100, 0.9, share=0.4, seed=seed)
        drawn = SampledRows(
            found.row,
            right[found.row],
            np.full(100, 0.4),
            found.probability,
            np.zeros(0, dtype=int),
        )
        hits, labels, _ = likelihood_labels(drawn, score)
        rates.append(hits / labels)
        worth.append(labels)
        plain.append(right[found.row].mean())
    assert np.mean(rates) == pytest.approx(right.mean(), abs=0.012)
    assert np.mean(plain) < right.mean() - 0.05
    assert 60 < np.mean(worth) < 100


def believed(drawn: SampledRows, score: np.ndarray) -> Believed:
    evidence = LabelEvidence.of_sample(drawn, score, len(drawn), None)
    return LabelPosterior(linear_cdf(LEVELS, QUANTILES), evidence, "like public shifts").believed(
        0.9, None
    )


def test_rows_passed_over_may_hold_any_truth() -> None:
    score = np.full(1000, 0.8)
    rows = np.arange(20)
    share, nan = np.full(20, 0.5), np.full(20, np.nan)
    whole = SampledRows(rows, (rows % 4 > 0).astype(float), share, nan, np.zeros(0, dtype=int))
    holed = SampledRows(rows, whole.correct, share, nan, np.arange(900, 950))
    a, b = (believed(drawn, score).interval for drawn in (whole, holed))
    assert b.upper - b.lower == pytest.approx((a.upper - a.lower) * 0.95 + 0.05, abs=0.01)


def test_it_says_what_the_labels_are_worth() -> None:
    rows = np.arange(25)
    drawn = SampledRows.evenly(rows, (rows % 5 > 0).astype(int))
    found = believed(drawn, np.full(50_000, 0.8))
    assert found.interval.kind == "empirical"
    assert found.effective_labels is not None
    assert found.effective_labels > 35
    low, high = clopper_pearson(
        found.effective_labels * found.interval.value, found.effective_labels, 0.9
    )
    assert high - low == pytest.approx(found.interval.upper - found.interval.lower, abs=1e-6)
    assert_snapshot(found.to_dict()["assumes"])


@pytest.mark.parametrize(
    ("labels", "least", "far", "width"),
    [(25, 0.93, 0.87, 0.175), (50, 0.93, 0.88, 0.138), (100, 0.91, 0.88, 0.106)],
)
def test_labels_win_over_a_prior_that_an_unseen_fall_contradicts(
    labels: int, least: float, far: float, width: float
) -> None:
    """Eight and fifteen points down and nothing to see: 95 % intervals once held 50 to 70 % of the first, and later 40
    to 60 % of the second.
    """
    prior = packaged_prior()
    signs = ShiftSigns(0.9, 0.9, 5000, 5000, moved=0.1, unexplained=0.05, separation=0.1)
    cdf = prior_cdf(prior.levels, prior.quantile(signs, prior.levels))
    ends = [believed_interval(cdf, float(k), float(labels), 0.95)[1:] for k in range(labels + 1)]
    value = prior.value(signs)
    still = binom.pmf(np.arange(labels + 1), labels, value)
    for fall, share in ((0.08, least), (0.15, far)):
        chance = binom.pmf(np.arange(labels + 1), labels, value - fall)
        assert chance @ [low <= value - fall <= high for low, high in ends] > share
    assert still @ [high - low for low, high in ends] < width
