"""Posterior: limits, exact values of two models, symmetry, calibration over random suites; labels to settle."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from oodometer.arrays import Array
from oodometer.errors import InputError, UsageError
from oodometer.rankings import labels_to_settle, posterior, rows_to_label

from ..snapshots import assert_snapshot, raises_snapshot


def test_without_disagreement_nothing_is_known() -> None:
    found = posterior(np.zeros((2, 10), dtype=int), np.zeros(10, dtype=int))
    assert found.p_better.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert found.p_best.tolist() == [0.5, 0.5]
    pool = np.array([[0, 1, 1, 0], [0, 0, 0, 0]])  # they do differ, but no label says how
    with_pool = posterior(np.zeros((2, 10), dtype=int), np.zeros(10, dtype=int), pool)
    assert with_pool.p_better[0, 1] == pytest.approx(0.5)
    assert with_pool.p_best[0] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("pooled", [0, 500])
def test_one_disagreement_of_ten_is_two_thirds(pooled: int) -> None:
    truth = np.zeros(10, dtype=int)
    predicted = np.zeros((2, 10), dtype=int)
    predicted[1, 3] = 1
    pool = np.zeros((2, pooled), dtype=int)
    pool[0, : pooled // 20] = 1
    found = posterior(predicted, truth, pool)
    assert found.p_better[0, 1] == pytest.approx(stats.beta(4, 3).sf(0.5))
    assert found.p_best[0] == pytest.approx(stats.beta(4, 3).sf(0.5), abs=0.015)


@pytest.mark.parametrize(("wins", "losses"), [(3, 0), (4, 1), (2, 2), (0, 5)])
def test_two_models_are_a_beta(wins: int, losses: int) -> None:
    truth = np.zeros(12, dtype=int)
    predicted = np.zeros((2, 12), dtype=int)
    predicted[1, :wins] = 1
    predicted[0, wins : wins + losses] = 1
    found = posterior(predicted, truth)
    assert found.p_better[0, 1] == pytest.approx(stats.beta(3 + wins, 3 + losses).sf(0.5))
    assert found.p_best[0] == pytest.approx(found.p_better[0, 1], abs=0.02)
    assert (found.wins[0, 1], found.wins[1, 0]) == (wins, losses)


@pytest.mark.parametrize(("wins", "losses"), [(12, 4), (5, 0), (10, 3), (20, 11), (87, 62)])
def test_two_models_promise_no_more_than_a_paired_test(wins: int, losses: int) -> None:
    """With every row labelled P(a beats b) is near 1 - p of McNemar's one-sided test, below its mid-p form."""
    predicted = np.zeros((2, wins + losses + 9), dtype=int)
    predicted[1, :wins] = 1
    predicted[0, wins : wins + losses] = 1
    found = posterior(predicted, np.zeros(wins + losses + 9, dtype=int))
    exact = 1 - stats.binomtest(wins, wins + losses, alternative="greater").pvalue
    middle = exact + stats.binom(wins + losses, 0.5).pmf(wins) / 2
    assert exact - 0.03 < found.p_better[0, 1] < middle
    assert found.p_better[0, 1] == pytest.approx(exact, abs=0.03)
    assert found.p_best[0] == pytest.approx(found.p_better[0, 1], abs=0.02)


def test_rows_that_are_all_labelled_are_ordered_by_their_accuracy() -> None:
    """Whoever has more right answers is first, however likely the odd model is to be the best."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        truth = rng.integers(0, 3, 30)
        predicted = np.where(
            rng.random((5, 30)) < rng.uniform(0.3, 0.9, (5, 1)), truth, rng.integers(0, 3, (5, 30))
        )
        right = (predicted == truth).sum(axis=1)
        assert np.all(np.diff(right[list(posterior(predicted, truth, draws=50).order)]) <= 0)


def test_no_labels_prefer_no_model_of_a_pair() -> None:
    pool = np.random.default_rng(0).integers(0, 3, (5, 200))
    found = posterior(pool[:, :0], np.zeros(0, dtype=int), pool)
    assert np.allclose(found.p_better, 0.5)
    assert found.p_best.sum() == pytest.approx(1)


def test_equal_models_share_and_rows_of_unknown_truth_are_pool() -> None:
    predicted = np.array([[0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [1, 1, 1, 0, 0]])
    found = posterior(predicted, [0, 0, 0, 0, -1])
    assert found.p_best[0] == found.p_best[1]
    assert found.p_better[0, 1] == 0.5
    assert (found.labels, found.pool) == (4, 1)
    assert found.disagreement[0, 2] == pytest.approx(4 / 5)
    assert found.order[2] == 2


def test_many_labels_are_certain_and_the_order_of_models_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 4, 400)
    predicted = np.where(
        rng.random((4, 400)) < np.array([[0.9], [0.7], [0.5], [0.3]]), truth, (truth + 1) % 4
    )
    found = posterior(predicted, truth)
    assert found.order == (0, 1, 2, 3)
    assert found.p_best[0] > 0.999
    turned = posterior(predicted[::-1], truth)
    assert np.allclose(turned.p_better, found.p_better[::-1, ::-1])
    assert np.allclose(found.p_better + found.p_better.T, 1)


def test_the_best_of_all_is_at_most_as_likely_as_the_better_of_two() -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 10)
    predicted = np.where(rng.random((6, 10)) < 0.7, truth, 1 - truth)
    pool = np.where(rng.random((6, 300)) < 0.7, 0, 1)
    found = posterior(predicted, truth, pool)
    worst = np.where(np.eye(6), 1, found.p_better).min(axis=1)
    assert (found.p_best <= worst + 0.02).all()
    assert (
        found.prior[~np.eye(6, dtype=bool)] >= 1
    ).all()  # half of two imaginary rows and more on either side


def test_a_label_that_no_model_predicts_tells_nothing() -> None:
    predicted = np.array([[0, 1, 0], [0, 0, 1]])
    found = posterior(predicted, [2, 2, 2])
    assert found.p_better[0, 1] == pytest.approx(0.5)


def _suite(rng: np.random.Generator, models: int, rows: int) -> tuple[Array, Array]:
    """Models of uneven quality whose mistakes are correlated, and the truth."""
    truth = rng.integers(0, 2, rows)
    share = rng.uniform(0, 0.9)
    hardness = np.sqrt(share) * rng.standard_normal(rows) + np.sqrt(
        1 - share
    ) * rng.standard_normal((models, rows))
    right = hardness < stats.norm.ppf(rng.uniform(0.3, 0.98, (models, 1)))
    return np.where(right, truth, 1 - truth), truth


def test_probabilities_come_true() -> None:
    rng = np.random.default_rng(7)
    said, came, best, was = [], [], [], []
    for _ in range(250):
        predicted, truth = _suite(rng, 4, 400)
        accuracy = (predicted == truth).mean(axis=1)
        found = posterior(predicted[:, :10], truth[:10], predicted[:, 10:], draws=1000, prior=2)
        a, b = np.nonzero((found.p_better >= 0.5) & (accuracy[:, None] != accuracy))
        said += found.p_better[a, b].tolist()
        came += (accuracy[a] > accuracy[b]).tolist()
        best.append(found.p_best.max())
        was.append(accuracy[found.order[0]] == accuracy.max())
    p, true = np.array(said), np.array(came)
    for low, high, least, most in (
        (0.6, 0.7, 0.55, 0.8),
        (0.7, 0.8, 0.67, 0.87),
        (0.8, 0.9, 0.8, 0.92),
        (0.95, 1, 0.96, 1),
    ):
        inside = (p >= low) & (p <= high)
        assert inside.sum() > 80
        assert least <= true[inside].mean() <= most, (low, true[inside].mean())
    assert np.mean(best) == pytest.approx(np.mean(was), abs=0.08)


def test_labels_to_settle_by_hand() -> None:
    # a wins every disagreement so far, and all rows are disagreements
    truth = np.zeros(3, dtype=int)
    predicted = np.array([[0, 0, 0], [1, 1, 1]])
    found = posterior(predicted, truth, prior=2)
    assert found.p_better[0, 1] == pytest.approx(15 / 16)
    now = labels_to_settle(found)
    # one more win settles (31/32), which comes with probability 4/5
    assert (now.labels, now.chosen, now.lower) == (1, 1, 1)
    assert now.upper is not None
    assert now.upper > 1
    assert labels_to_settle(found, 0.9).labels == 0


def test_rare_disagreements_take_more_labels() -> None:
    truth = np.zeros(2, dtype=int)
    often = posterior([[0, 0], [0, 1]], truth, np.array([[0] * 10, [1] * 10]))
    seldom = posterior([[0, 0], [0, 1]], truth, np.array([[0] * 100, [1] * 9 + [0] * 91]))
    a, b = labels_to_settle(often), labels_to_settle(seldom)
    assert a.labels is not None
    assert b.labels is not None
    assert b.labels > 5 * a.labels
    assert a.chosen == b.chosen
    assert json.dumps(b.to_dict(), allow_nan=False)


def test_models_that_never_differ_are_never_settled() -> None:
    same = posterior(
        np.zeros((2, 5), dtype=int), np.zeros(5, dtype=int), np.ones((2, 50), dtype=int)
    )
    found = labels_to_settle(same)
    assert found.labels is None
    assert "never differ" in found.why


def test_settling_is_what_a_simulation_of_labels_gives() -> None:
    rng = np.random.default_rng(0)
    start = posterior([[0, 0, 0, 0], [0, 0, 1, 1]], [0, 0, 0, 0], prior=2)
    found = labels_to_settle(start, 0.9)
    needed = []
    for _ in range(400):
        share, wins, losses, rows = rng.beta(3, 1), 2, 0, 0
        while 0.1 < stats.beta.sf(0.5, 1 + wins, 1 + losses) < 0.9 and rows < 400:
            rows += 1
            if rng.random() < 0.5:
                won = rng.random() < share
                wins, losses = wins + won, losses + (not won)
        needed.append(rows)
    assert found.labels is not None
    assert abs(found.labels - np.median(needed)) <= 1
    assert found.upper is not None
    assert found.upper == pytest.approx(np.quantile(needed, 0.9), rel=0.4)


def test_settling_begins_with_the_probability_that_is_said() -> None:
    """Where other models told of a pair, imaginary wins make up for it: surer means fewer labels."""
    two = posterior([[0] * 8, [0, 0, 0, 0, 1, 1, 1, 0]], [0] * 7 + [1])
    needed = []
    for p in (0.6, float(two.p_better[0, 1]), 0.9):
        found = labels_to_settle(replace(two, p_better=np.array([[0.5, p], [1 - p, 0.5]])))
        assert found.p_better == p
        assert found.labels is not None
        needed.append(found.labels)
    assert needed[0] > needed[1] > needed[2] > 0


def test_rows_to_label_first() -> None:
    pool = np.array([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]])
    assert rows_to_label(pool, [0.5, 0.4, 0.1], 4).tolist() == [3, 2, 1]
    assert len(rows_to_label(pool, [1, 0, 0], 4)) == 0
    with raises_snapshot(UsageError):
        rows_to_label(pool, [0.5, 0.4, 0.1], 0)


def test_what_makes_no_sense_is_refused() -> None:
    with raises_snapshot(UsageError):
        posterior([[0, 1]], [0, 1])
    with raises_snapshot(UsageError):
        posterior([[0, 1], [1, 1]], [0])
    with raises_snapshot(UsageError):
        posterior([[0, 1], [1, 1]], [0, 1], [[0, 1]])
    with raises_snapshot(UsageError):
        posterior([[0, 1], [1, 1]], [0, 1], prior=0)
    with raises_snapshot(InputError):
        posterior([[0.5, 1], [1, 1]], [0, 1])
    with raises_snapshot(InputError):
        posterior(np.zeros((2, 0), dtype=int), np.zeros(0, dtype=int))
    with raises_snapshot(UsageError):
        labels_to_settle(posterior([[0, 1], [1, 1]], [0, 1]), 0.4)
    with raises_snapshot(UsageError):
        labels_to_settle(posterior([[0, 1], [1, 1]], [0, 1]), pair=(0, 0))


def test_without_a_label_no_model_is_the_likeliest_best() -> None:
    """The one that stands alone most often varies most, and would be first by the prior alone."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 2000)
    pool = np.where(rng.random((8, 2000)) < np.array([[0.55], *[[0.9]] * 7]), truth, 1 - truth)
    found = posterior(pool[:, :0], truth[:0], pool)
    assert found.p_best == pytest.approx(np.full(8, 1 / 8))
    twins = posterior(pool[[0, 1, 1]][:, :0], truth[:0], pool[[0, 1, 1]])
    assert twins.p_best.tolist() == [0.5, 0.25, 0.25]


def test_every_pair_has_its_imaginary_rows_with_many_classes() -> None:
    rng = np.random.default_rng(0)
    for predicted in (np.repeat([[0], [1], [2]], 10, axis=1), rng.integers(0, 6, (5, 50))):
        found = posterior(predicted, np.full(predicted.shape[1], -1))
        assert (found.prior[~np.eye(len(predicted), dtype=bool)] >= 1 - 1e-12).all()


def test_ties_of_tiny_priors_go_to_no_model() -> None:
    """Weights that draw zeros are ties; who is right where the others are wrong is ahead whatever the prior."""
    says = [[1, 0, 0], [0, 1, 0]]
    found = posterior([*says, [0, 0, 1]], [1, -1, -1], prior=0.001)
    assert found.p_best[0] > 0.9
    assert found.p_best[1] == pytest.approx(found.p_best[2], abs=0.02)
    turned = posterior([says[1], says[0], [0, 0, 1]], [1, -1, -1], prior=0.001)
    assert turned.p_best[1] == pytest.approx(found.p_best[0], abs=0.02)


def test_a_thousand_classes_take_no_more_than_two() -> None:
    rng = np.random.default_rng(0)
    said = rng.integers(0, 2, (3, 3000)) * 10**9  # a table of pattern and class would not fit
    found = posterior(said[:, :10], said[0, :10], said[:, 10:], draws=500)
    small = posterior(
        said[:, :10] // 10**9, said[0, :10] // 10**9, said[:, 10:] // 10**9, draws=500
    )
    assert found.p_best.tolist() == small.p_best.tolist()


def test_settling_knows_that_both_may_be_wrong() -> None:
    """Ten classes: of 12 labelled disagreements two are won, ten are right for neither."""
    predicted = np.stack([np.zeros(12, dtype=int), np.ones(12, dtype=int)])
    truth = np.array([0, 0, *range(2, 10), 2, 3])
    found = posterior(predicted, truth, prior=2)
    assert (found.neither[0, 1], found.wins[0, 1], found.classes) == (10, 2, 10)
    now, binary = (
        labels_to_settle(found),
        labels_to_settle(posterior(predicted[:, :2], truth[:2], prior=2)),
    )
    rng = np.random.default_rng(0)
    needed = []
    for _ in range(600):
        share, decisive, wins, losses, rows = rng.beta(3, 1), rng.beta(3, 11), 2, 0, 0
        while 0.05 < stats.beta.sf(0.5, 1 + wins, 1 + losses) < 0.95 and rows < 400:
            step = rng.negative_binomial(1, decisive) + 1
            won = rng.random() < share
            wins, losses, rows = wins + won, losses + (not won), rows + step
        needed.append(rows)
    assert now.labels is not None
    assert binary.labels is not None
    assert now.labels == pytest.approx(np.median(needed), rel=0.25)
    assert now.chosen == pytest.approx(now.labels, rel=0.25)  # every row is a disagreement
    assert now.labels > 3 * binary.labels


def test_arguments_that_are_none_are_refused() -> None:
    two = [[0, 1], [1, 1]]
    for wrong in (
        {"draws": 0},
        {"draws": -5},
        {"draws": 2.5},
        {"prior": np.inf},
        {"prior": "a"},
        {"seed": -1},
    ):
        with pytest.raises(UsageError, match="expected"):
            posterior(two, [0, 1], **wrong)  # type: ignore[arg-type]
    with raises_snapshot(UsageError):
        rows_to_label(two, [0.5, 0.5], 1.5)  # type: ignore[arg-type]
    with raises_snapshot(UsageError):
        rows_to_label(two, [0.5, np.nan], 1)


def test_settled_is_said_to_be_one_sided() -> None:
    from oodometer.results.ranking import Settling, ranking_view

    rows = [{"model": "a", "p_best": 0.9}, {"model": "b", "p_best": 0.1}]
    done = Settling("a", "b", 0.97, 0.95, 0)
    more = Settling("a", "b", 0.8, 0.95, 50, 7, 332, 20)
    said = [
        " ".join(ranking_view({"ranking": rows, "settling": one.to_dict()}).sentences)
        for one in (done, more)
    ]
    assert_snapshot(said[0])
    assert_snapshot(said[1])
