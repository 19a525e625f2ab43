"""Means of scores: intervals against brute force, scipy and exact sums over every sample."""

from __future__ import annotations

import itertools
from math import comb

import numpy as np
import pytest
from scipy import stats

from oodometer.inference.clusters import student_quantile
from oodometer.inference.means import (
    MOST_ROUNDS,
    ScoreSums,
    bounded_mean,
    mean_of_means,
    share_mean,
)
from oodometer.intervals import clopper_pearson


def test_t_is_that_of_scipy() -> None:
    x = np.random.default_rng(0).random(30)
    found = stats.ttest_1samp(x, 0).confidence_interval(0.9)
    mean = bounded_mean(x, 0.9)
    assert mean.t == pytest.approx((found.low, found.high), abs=1e-12)
    assert (mean.effect, mean.clusters, mean.kind) == (1.0, 30, "exact")


@pytest.mark.parametrize("scale", [(0.0, 1.0), (1.0, 5.0)])
def test_scores_at_both_ends_have_clopper_and_pearsons(scale: tuple[float, float]) -> None:
    low, high = scale
    x = np.array([low] * 7 + [high] * 13)
    ends = [low + end * (high - low) for end in clopper_pearson(13, 20, 0.95)]
    mean = bounded_mean(x, low=low, high=high)
    assert [mean.lower, mean.upper] == pytest.approx(ends)


def test_the_clustered_error_is_that_of_a_jackknife_by_hand() -> None:
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 9, 60).astype(np.uint64)
    x = rng.random(60).round(2)
    names, sizes = np.unique(keys, return_counts=True)
    left = np.array([x[keys != name].mean() for name in names])
    error = np.sqrt((len(names) - 1) / len(names) * np.square(left - x.mean()).sum())
    half = student_quantile(0.95, sizes.sum() ** 2 / np.square(sizes).sum() - 1) * error
    mean = bounded_mean(x, keys=keys)
    assert mean.t == pytest.approx((x.mean() - half, x.mean() + half))
    assert mean.effect == pytest.approx(error**2 / (x.var(ddof=1) / 60))
    assert mean.clusters == len(names)


@pytest.mark.parametrize(
    ("values", "shares"), [((0, 0.5, 1), (0.2, 0.5, 0.3)), ((0, 0.9, 1), (0.05, 0.15, 0.8))]
)
def test_it_holds_over_every_sample_of_a_few_rows(
    values: tuple[float, ...], shares: tuple[float, ...]
) -> None:
    """All multisets of nine grades with their chances: no simulation."""
    truth, inside, n = float(np.dot(values, shares)), 0.0, 9
    for counts in itertools.product(range(n + 1), repeat=2):
        rest = n - sum(counts)
        if rest < 0:
            continue
        chance = (
            comb(n, counts[0])
            * comb(n - counts[0], counts[1])
            * np.prod(np.power(shares, (*counts, rest)))
        )
        mean = bounded_mean(np.repeat(values, (*counts, rest)), 0.9)
        inside += float(chance) * (mean.lower <= truth <= mean.upper)
    assert inside >= 0.9


def test_rows_of_equal_clusters_count_as_one_each() -> None:
    means = np.random.default_rng(2).random(15).round(2)
    alone = bounded_mean(means)
    together = bounded_mean(means.repeat(6), keys=np.arange(15, dtype=np.uint64).repeat(6))
    assert together[:3] == pytest.approx(alone[:3])
    assert together.t == pytest.approx(alone.t)
    assert together.effect > 5


def test_order_and_batches_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    x, keys = rng.random(200).round(2), rng.integers(0, 40, 200).astype(np.uint64)
    order = rng.permutation(200)
    whole, shuffled = bounded_mean(x, keys=keys), bounded_mean(x[order], keys=keys[order])
    parts = ScoreSums.of(x[:70], keys[:70]) + ScoreSums.of(x[70:], keys[70:])
    assert whole[:3] == pytest.approx(shuffled[:3]) == parts.mean(0.95)[:3]
    first, second = ScoreSums.of(x[:70]), ScoreSums.of(x[70:], first_row=70)
    assert (first + second).mean(0.95)[:3] == pytest.approx(bounded_mean(x)[:3])


@pytest.mark.parametrize("clustered", [False, True])
def test_a_state_of_many_rows_stays_small_and_nearly_as_narrow(clustered: bool) -> None:
    x = np.random.default_rng(4).beta(2, 1, 12_000)
    keys = np.random.default_rng(5).integers(0, 2**62, 6000).astype(np.uint64).repeat(2)
    state = None
    for at in range(0, len(x), 3000):
        part = slice(at, at + 3000)
        one = ScoreSums.of(x[part], keys[part] if clustered else None, at)
        state = one if state is None else state + one
    assert state is not None
    assert state.groups.count <= MOST_ROUNDS
    mean = state.mean(0.95)
    assert mean.value == pytest.approx(x.mean())
    assert 1 < (mean.upper - mean.lower) / (mean.t[1] - mean.t[0]) < 1.08
    assert mean.clusters == (None if clustered else 12_000)


def test_so_many_rows_have_students_interval() -> None:
    mean = ScoreSums.of(np.random.default_rng(6).random(70_000)).mean(0.95)
    assert (mean.lower, mean.upper, mean.kind) == (*mean.t, "asymptotic")
    equal = ScoreSums.of(np.full(70_000, 0.9)).mean(0.95)
    assert equal.kind == "exact"
    assert equal.upper > 0.9


def test_one_cluster_tells_next_to_nothing() -> None:
    mean = bounded_mean(np.array([0.4, 0.6, 0.5]), keys=np.zeros(3, dtype=np.uint64))
    assert (mean.lower, mean.upper) == pytest.approx((0, 1), abs=0.05)
    assert mean.t == (0, 1)


def test_the_mean_of_tasks_adds_their_errors() -> None:
    ends = [(0.5, 0.4, 0.6), (0.7, 0.65, 0.75), (0.9, 0.8, 0.95)]
    value, lower, upper = mean_of_means(ends)
    assert value == pytest.approx(0.7)
    assert (lower, upper) == pytest.approx((0.7 - 0.15 / 3, 0.7 + np.sqrt(0.01 + 2 * 0.0025) / 3))


def test_a_share_has_two_rows_more_and_copies_count_once() -> None:
    x = np.random.default_rng(3).beta(2, 1, 60)
    mean, more = share_mean(x), np.append(x, [0.0, 1.0])
    half = stats.t.ppf(0.975, 59) * more.std() / np.sqrt(62)
    assert (mean.lower, mean.upper) == pytest.approx((more.mean() - half, more.mean() + half))
    assert mean.value == pytest.approx(x.mean())
    copies = share_mean(np.repeat(x, 5), keys=np.repeat(np.arange(60), 5))
    assert copies.effect == pytest.approx(5, rel=0.02)
    assert copies.upper - copies.lower == pytest.approx(mean.upper - mean.lower, rel=0.02)
    hits = share_mean(np.repeat([1.0, 0.0], [30, 10]))
    assert (hits.lower, hits.upper) == pytest.approx(clopper_pearson(30, 40, 0.95))
    certain = share_mean(np.ones(40), keys=np.repeat(np.arange(10), 4))
    assert certain.upper == 1
    assert certain.lower < 0.8


def test_a_share_holds_where_a_few_questions_are_hard() -> None:
    rng, held, plain = np.random.default_rng(9), 0, 0
    for _ in range(400):
        x = 1 - rng.beta(0.5, 5, 40) * (rng.random(40) < 0.3)
        mean, truth = share_mean(x), 1 - 0.3 * 0.5 / 5.5
        held += mean.lower <= truth <= mean.upper
        half = stats.t.ppf(0.975, 39) * x.std(ddof=1) / np.sqrt(40)
        plain += abs(x.mean() - truth) <= half
    assert held >= 376 > plain  # 94 %
