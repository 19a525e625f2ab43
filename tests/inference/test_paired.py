"""Differences on the same rows against independent references: scipy, sign flips and bootstraps by loop, Tukey."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.stats

from oodometer.inference.paired import Paired, holm


def binary(ahead: int, behind: int, rows: int) -> Paired:
    scores = np.zeros((2, rows))
    scores[0, :ahead] = 1
    scores[1, ahead : ahead + behind] = 1
    return Paired(scores)


@pytest.mark.parametrize(
    ("ahead", "behind", "rows"),
    [(12, 4, 40), (87, 62, 400), (0, 0, 30), (0, 8, 30), (900, 800, 4000)],
)
def test_zeros_and_ones_are_those_of_mcnemar_and_bonett_and_price(
    ahead: int, behind: int, rows: int
) -> None:
    made = binary(ahead, behind, rows).difference(0, 1, 0.95)
    p = scipy.stats.binomtest(ahead, ahead + behind).pvalue if ahead + behind else 1.0
    assert made.p_value == pytest.approx(p)
    one, two, n = (ahead + 1) / (rows + 2), (behind + 1) / (rows + 2), rows + 2
    half = 1.959964 * np.sqrt((one + two - (one - two) ** 2) / n)
    if p < 0.05:
        assert (made.lower, made.upper) == pytest.approx(
            (one - two - half, one - two + half), abs=1e-6
        )
    assert made.lower <= made.value <= made.upper
    assert (made.lower <= 0 <= made.upper) == (p > 0.05)
    assert (made.ahead, made.behind, made.ties) == (ahead, behind, rows - ahead - behind)


def test_the_smallest_visible_difference_is_shown_with_its_power() -> None:
    rng = np.random.default_rng(0)
    size = binary(60, 40, 400).difference(0, 1, 0.95).smallest_visible
    shown = 0
    for _ in range(400):
        ahead, behind, _ = rng.multinomial(400, [0.125 + size / 2, 0.125 - size / 2, 0.75])
        shown += binary(ahead, behind, 400).difference(0, 1, 0.95).lower > 0
    assert 0.72 < shown / 400 < 0.88


def clustered(sizes: list[int], seed: int = 0) -> tuple[Paired, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    scores = np.clip(
        rng.normal(0.5, 0.2, (2, len(sizes)))[:, clusters] + rng.normal(0, 0.1, (2, len(clusters))),
        0,
        1,
    )
    return Paired(scores, clusters), scores[0] - scores[1], clusters


def test_clusters_by_loop() -> None:
    sizes = [3, 5, 7, 2, 9, 4, 6, 8, 3, 5]
    paired, d, clusters = clustered(sizes)
    made = paired.difference(0, 1, 0.95)
    without = np.array([d[clusters != g].mean() for g in range(10)])
    assert made.error == pytest.approx(np.sqrt(9 / 10 * np.square(without - d.mean()).sum()))
    sums = np.array([d[clusters == g].sum() for g in range(10)])
    flipped = [abs(np.dot(signs, sums)) for signs in product((-1, 1), repeat=10)]
    assert made.p_value == pytest.approx(np.mean(np.array(flipped) >= abs(sums.sum()) - 1e-9))
    assert paired.degrees == pytest.approx(sum(sizes) ** 2 / sum(s * s for s in sizes) - 1)
    half = scipy.stats.t.ppf(0.975, paired.degrees) * made.error
    assert (
        0.9 * half < (made.upper - made.lower) / 2 < 1.1 * half
    )  # by flipping signs of ten clusters
    rng, drawn = np.random.default_rng(5), []
    for _ in range(2000):
        at = rng.integers(0, 10, 10)
        drawn.append(sums[at].sum() / np.array(sizes)[at].sum())
    assert paired.bootstrap(0, 1, 0.95) == pytest.approx(
        tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.02
    )


def test_many_clusters_are_drawn_in_groups() -> None:
    paired, d, _ = clustered([2] * 3000, seed=2)
    made = paired.difference(0, 1, 0.95)
    t = scipy.stats.ttest_1samp(d.reshape(-1, 2).mean(axis=1), 0)
    assert made.p_value == pytest.approx(t.pvalue, abs=0.02)
    assert paired.bootstrap(0, 1, 0.95) == pytest.approx((made.lower, made.upper), abs=0.002)
    assert len(paired._signs) == 1024


def test_what_a_few_clusters_cannot_show_is_undecided() -> None:
    paired = Paired(np.stack([np.ones(50), np.zeros(50)]), np.repeat(np.arange(5), 10))
    made = paired.difference(0, 1, 0.95)
    assert made.p_value == 2 / 32
    assert made.lower <= 0


def test_scores_move_and_scale() -> None:
    rng = np.random.default_rng(1)
    scores = rng.random((3, 60))
    plain, graded = Paired(scores), Paired(1 + 4 * scores, low=1, high=5)
    one, other = plain.difference(0, 1, 0.95), graded.difference(0, 1, 0.95)
    assert (other.value, other.lower, other.upper) == pytest.approx(
        (4 * one.value, 4 * one.lower, 4 * one.upper)
    )
    assert (other.p_value, other.share) == pytest.approx((one.p_value, one.share))
    turned = plain.difference(1, 0, 0.95)
    assert (turned.value, turned.lower, turned.upper) == pytest.approx(
        (-one.value, -one.upper, -one.lower)
    )
    assert one.p_value == pytest.approx(
        scipy.stats.ttest_rel(scores[0], scores[1]).pvalue, abs=0.03
    )


def test_intervals_of_all_pairs_are_those_of_tukey() -> None:
    rng = np.random.default_rng(3)
    paired = Paired(rng.normal(size=(5, 20_000)), low=-5, high=5)
    tukey = scipy.stats.studentized_range.ppf(0.95, 5, 1e6) / np.sqrt(2)
    assert paired.simultaneous(0.95) == pytest.approx(tukey, abs=0.05)
    assert Paired(rng.random((2, 50))).simultaneous(0.95) == pytest.approx(1.96, abs=1e-3)
    few = Paired(rng.normal(size=(4, 120)), np.repeat(np.arange(12), 10), low=-5, high=5)
    assert few.simultaneous(0.95) > scipy.stats.studentized_range.ppf(0.95, 4, 1e6) / np.sqrt(2)
    assert 0 <= paired.adjusted(0, 1) <= 1


def test_tasks_weigh_alike() -> None:
    rng = np.random.default_rng(4)
    tasks = np.repeat([0, 1, 2], [300, 60, 40])
    scores = (rng.random((2, 400)) < np.array([[0.6], [0.4]])).astype(float)
    value, lower, upper = Paired(scores).macro(0, 1, tasks, 1.96)
    d = scores[0] - scores[1]
    parts = [d[tasks == t] for t in range(3)]
    assert value == pytest.approx(np.mean([part.mean() for part in parts]))
    error = np.sqrt(sum(part.var(ddof=1) / len(part) for part in parts)) / 3
    assert (upper - lower) / 2 == pytest.approx(1.96 * error, rel=0.08)


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@pytest.mark.parametrize("seed", range(6))
def test_ends_are_the_differences_that_the_test_does_not_reject(seed: int) -> None:
    """Against the test itself, on scores moved by each difference, all 2^9 patterns of signs looked at."""
    rng = np.random.default_rng(seed)
    d = (
        0.1 + 0.6 * rng.choice((-1, 1), 9) + rng.normal(0, 0.1, 9)
    )  # several rows tell of the spread
    scores = np.stack([0.5 + d / 2, 0.5 - d / 2])
    made = Paired(scores).difference(0, 1, 0.9)
    gaps = scores[0] - scores[1]
    signs = np.array(list(product((-1, 1), repeat=9)))

    def p_value(moved: float) -> float:
        rest = gaps - moved
        return float(np.mean(np.abs(signs @ rest) >= abs(rest.sum()) - 1e-9))

    assert (p_value(0.0) > 0.1) == (made.lower <= 0 <= made.upper)
    for end, way in ((made.lower, -1), (made.upper, 1)):
        assert p_value(end - way * 1e-6) > 0.1
        assert p_value(end + way * 1e-6) <= 0.1
    assert made.lower <= scipy.stats.ttest_rel(*scores).confidence_interval(0.5).low


@pytest.mark.parametrize("rows", [12, 20, 50])
def test_interval_and_test_say_the_same(rows: int) -> None:
    rng = np.random.default_rng(rows)
    for _ in range(40):
        a = rng.random(rows)
        b = np.clip(a + rng.normal(0.06, 0.12, rows), 0, 1)
        made = Paired(np.stack([b, a])).difference(0, 1, 0.95)
        assert (made.p_value <= 0.05) == (made.lower > 0 or made.upper < 0)


def test_losses_that_were_met_once_are_not_taken_for_known() -> None:
    """A gain of 0.05 in most rows and a loss of 1 in one of twenty: few samples of 50 rows tell how rare it is."""
    held = 0
    for seed in range(200):
        lost = np.random.default_rng(seed).random(50) < 0.05
        gap = Paired(np.stack([np.where(lost, 0.0, 1.0), np.where(lost, 1.0, 0.95)]))
        found = gap.difference(0, 1, 0.95)
        held += found.lower <= 0.05 * 0.95 - 0.05 <= found.upper
    assert held >= 190  # 157 by flipped signs alone


def weighted_rows(rows: int = 160) -> tuple[np.ndarray, np.ndarray]:
    """Right and wrong answers of two models, and weights that are larger where the first is right."""
    rng = np.random.default_rng(11)
    scores = (rng.random((2, rows)) < np.array([[0.7], [0.6]])).astype(float)
    return scores, rng.lognormal(0, 0.8, rows) * (1 + scores[0])


def test_weighted_mean_and_error_are_those_of_statsmodels() -> None:
    """Its error with HC3, which leaves one row out at a time, and the jackknife's (n - 1) / n."""
    regression = pytest.importorskip("statsmodels.api")
    scores, weights = weighted_rows()
    made = Paired(scores, weights=weights).difference(0, 1, 0.95)
    d = scores[0] - scores[1]
    fitted = regression.WLS(d, np.ones(len(d)), weights=weights).fit(cov_type="HC3")
    assert made.value == pytest.approx(float(fitted.params[0]))
    assert made.error == pytest.approx(float(fitted.bse[0]) * np.sqrt(1 - 1 / len(d)))
    assert made.lower < made.value < made.upper
    # two rows are made up, as without weights
    assert (made.upper - made.lower) / 2 == pytest.approx(1.98 * made.error, rel=0.06)


def test_a_weight_is_a_cluster_of_so_many_copies() -> None:
    scores, _ = weighted_rows(60)
    times = np.random.default_rng(12).integers(1, 5, 60)
    rows = np.repeat(np.arange(60), times)
    copies = Paired(scores[:, rows], rows).difference(0, 1, 0.9)
    weighted = Paired(scores, weights=7.0 * times).difference(0, 1, 0.9)
    assert (weighted.value, weighted.error) == pytest.approx((copies.value, copies.error))
    assert (weighted.lower, weighted.upper) == pytest.approx((copies.lower, copies.upper))
    assert weighted.p_value == pytest.approx(copies.p_value, abs=0.02)


def test_weights_in_clusters_are_those_of_a_bootstrap_of_clusters() -> None:
    rng = np.random.default_rng(13)
    by, weights = np.repeat(np.arange(80), 5), np.repeat(rng.lognormal(0, 0.6, 80), 5)
    scores = (rng.random((2, 400)) < rng.beta(2, 1, (2, 80))[:, by]).astype(float)
    made = Paired(scores, by, weights=weights).difference(0, 1, 0.95)
    wd = np.bincount(by, weights * (scores[0] - scores[1]))
    drawn = rng.integers(0, 80, (4000, 80))
    means = wd[drawn].sum(axis=1) / np.bincount(by, weights)[drawn].sum(axis=1)
    assert made.value == pytest.approx(wd.sum() / weights.sum())
    assert made.error == pytest.approx(means.std(), rel=0.08)
    assert made.upper - made.lower == pytest.approx(
        np.ptp(np.quantile(means, [0.025, 0.975])), rel=0.1
    )


def test_weights_that_are_alike_change_no_error() -> None:
    scores, _ = weighted_rows()
    made, plain = (
        Paired(scores, weights=w).difference(0, 1, 0.95) for w in (np.full(160, 3), None)
    )
    assert (made.value, made.error) == pytest.approx((plain.value, plain.error))
    assert (made.lower, made.upper) == pytest.approx((plain.lower, plain.upper), abs=0.005)


def test_weighted_tasks_weigh_alike() -> None:
    scores, weights = weighted_rows(1600)
    tasks = np.repeat([0, 1], [1200, 400])
    value, lower, upper = Paired(scores, weights=weights).macro(0, 1, tasks, 1.96)
    d = scores[0] - scores[1]
    means, variances = [], []
    for task in range(2):
        w, part = weights[tasks == task], d[tasks == task]
        means.append(np.average(part, weights=w))
        variances.append(float((w**2 * (part - means[-1]) ** 2).sum() / w.sum() ** 2))
    assert value == pytest.approx(np.mean(means))
    assert (upper - lower) / 2 == pytest.approx(1.96 * np.sqrt(np.sum(variances)) / 2, rel=0.05)


def test_models_that_answer_alike_leave_the_intervals_of_the_others() -> None:
    """Of two copies only rounding is left, which is no difference however it is drawn."""
    rng = np.random.default_rng(14)
    scores = (rng.random((2, 300)) < 0.7).astype(float)
    pair = Paired(scores).quantile(0.95)
    assert Paired(scores[[0, 1, 0]]).simultaneous(0.95) == pytest.approx(pair, abs=0.05)
    assert Paired(scores[[0, 0, 0]]).simultaneous(0.95) == pytest.approx(pair)
    assert Paired(scores[[0, 1, 0]]).adjusted(0, 2) == 1
