"""Label shift (cells, prior, tests of shift, BBSE, SLD, LEAP) against hand-made examples, loops and scipy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions
from oodometer.arrays import Array, softmax
from oodometer.errors import NotApplicable, UsageError
from oodometer.estimators.base import Sums
from oodometer.estimators.cot import COT, COTT
from oodometer.estimators.label_shift import (
    BBSE,
    LEAP,
    SLD,
    SLEAP,
    LabelShift,
    adjust,
    adjusted_prior,
    balance,
    choose_prior,
    invert_confusion,
    scaled_table,
)
from oodometer.estimators.target_prior import (
    Conditionals,
    conditionals,
    count_labels,
    fit_prior,
    g_statistic,
    label_shift_test,
    no_shift_test,
)
from oodometer.registry import create

from ..snapshots import assert_snapshot, raises_snapshot

METHODS = [LabelShift, BBSE, SLD, SLEAP, LEAP]


def draw(
    rows: int, prior: Any, seed: int, *, signal: float = 2.0, calibrated: bool = True
) -> Predictions:
    """Gaussian classes with the exact posteriors under a uniform prior: the assumption of every method here."""
    rng = np.random.default_rng([seed, rows])
    classes = len(prior)
    label = rng.choice(classes, p=prior, size=rows)
    seen = signal * np.eye(classes)[label] + rng.standard_normal((rows, classes))
    return Predictions.from_probabilities(
        softmax(signal * seen * (1 if calibrated else 3)), label=label
    )


def two_classes(ones_right: int = 60) -> Predictions:
    """Recall 0.9 of class 0 and ones_right/100 of class 1, 100 rows each."""
    predicted = [0] * 90 + [1] * 10 + [1] * ones_right + [0] * (100 - ones_right)
    return Predictions.from_classes(predicted, label=[0] * 100 + [1] * 100)


@given(data=st.data())
def test_cells_count_like_a_loop_and_keep_the_order_of_confidence(data: Any) -> None:
    seed = data.draw(st.integers(0, 10_000))
    rows = data.draw(st.integers(1, 120))
    record = draw(rows, [0.5, 0.3, 0.2], seed)
    cells = count_labels(record)
    one_by_one = np.array([cells.count(record.slice(i, i + 1)).argmax() for i in range(rows)])
    table = np.zeros((len(cells), 3), dtype=int)
    hits = np.zeros(len(cells), dtype=int)
    for cell, label, verdict in zip(one_by_one, record.label, record.verdicts, strict=True):
        table[cell, label] += 1
        hits[cell] += verdict
    assert (cells.rows_by_cell_and_label == table).all()
    assert (cells.hits == hits).all()
    assert (cells.count(record) == cells.rows).all()
    assert (cells.owner[one_by_one] == record.predicted).all()
    order = np.lexsort((record.top.first, record.predicted))
    assert (np.diff(one_by_one[order]) >= 0).all(), (
        "cells ascend with confidence within a predicted class"
    )


def test_cells_hold_enough_rows_and_are_about_even() -> None:
    cells = count_labels(draw(5000, [0.2] * 5, 1))
    filled = cells.rows[:-1]
    assert len(filled) == 50
    assert filled.min() >= 60
    assert filled.max() <= 2.5 * filled.min()


def test_cells_of_ties_are_not_split() -> None:
    record = Predictions.from_confidence(
        [1.0] * 300, prediction=[0] * 300, label=[0] * 200 + [1] * 100
    )
    assert len(count_labels(record)) == 3  # one of each predicted class, one for unknown classes
    assert count_labels(record).count(record).tolist() == [300, 0, 0]


def test_members_stand_in_for_confidence_and_plain_classes_for_both() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=400)
    members = np.where(rng.random((4, 400)) < 0.8, label, 1 - label)
    with_members = Predictions.from_arrays(prediction=members[0], members=members[1:], label=label)
    plain = Predictions.from_classes(members[0], label=label)
    assert count_labels(with_members).score.name == "model_agreement"
    assert len(count_labels(with_members)) > len(count_labels(plain)) == 3
    fitted = LabelShift().fit(with_members)
    assert_snapshot(fitted.why_not(plain))
    assert fitted.estimate(with_members).value == pytest.approx(with_members.accuracy, abs=0.02)


def test_reference_without_true_classes_says_so() -> None:
    bare = Predictions.from_arrays(probabilities=[[0.9, 0.1]] * 4, correct=[1, 1, 0, 1])
    for method in METHODS:
        with raises_snapshot(NotApplicable):
            method().fit(bare)


@pytest.mark.parametrize("seed", range(5))
def test_prior_is_the_maximum_of_the_likelihood(seed: int) -> None:
    """SQUAREM against scipy's own constrained optimiser, at corners, too."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(12), size=4).T  # cell, class
    counts = rng.multinomial(500, table @ [0.7, 0.3, 0.0, 0.0])

    def loss(q: Array) -> float:
        return -float(counts @ np.log(np.maximum(table @ q, 1e-300)))

    best = scipy.optimize.minimize(
        loss, np.full(4, 0.25), bounds=[(0, 1)] * 4, method="SLSQP", tol=1e-12,
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
    )  # fmt: skip
    found = fit_prior(Conditionals(table), counts[None], np.full((1, 4), 0.25))[0]
    assert found.sum() == pytest.approx(1)
    assert loss(found) <= best.fun + 1e-6
    assert found == pytest.approx(best.x, abs=2e-3)


def test_sparse_and_dense_tables_give_the_same_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = count_labels(draw(1500, [0.25] * 4, 3))
    counts = cells.count(draw(800, [0.6, 0.2, 0.1, 0.1], 4))
    again = (
        np.random.default_rng(0)
        .poisson(cells.pair_rows, size=(3, len(cells.pair_rows)))
        .astype(float)
    )
    dense = conditionals(cells, again)
    assert dense.table.sum(axis=1) == pytest.approx(np.ones((3, 4))), "P(cell | class) sums to 1"
    start, many = np.full((3, 4), 0.25), np.repeat(counts[None], 3, axis=0)
    first = fit_prior(dense, many, start)
    monkeypatch.setattr("oodometer.estimators.target_prior._DENSE", 0)
    sparse = conditionals(cells, again)
    assert sparse.mix(start) == pytest.approx(dense.mix(start))
    assert sparse.pull(dense.mix(start)) == pytest.approx(dense.pull(dense.mix(start)))
    assert fit_prior(sparse, many, start) == pytest.approx(first, abs=1e-6)


@given(counts=st.lists(st.integers(0, 50), min_size=2, max_size=6))
def test_g_is_twice_a_sum_of_logs(counts: list[int]) -> None:
    total = sum(counts)
    expected = np.full(len(counts), max(total, 1) / len(counts))
    by_hand = 2 * sum(n * np.log(n / e) for n, e in zip(counts, expected, strict=True) if n)
    assert float(g_statistic(np.array(counts, float), expected)) == pytest.approx(
        max(by_hand, 0), abs=1e-9
    )


def test_homogeneity_agrees_with_scipy() -> None:
    a, b = np.array([50, 30, 20]), np.array([30, 45, 25])
    found = no_shift_test(a, b, draws=2000)
    oracle = scipy.stats.chi2_contingency(
        np.stack([a, b]), lambda_="log-likelihood", correction=False
    )
    assert found.statistic == pytest.approx(oracle.statistic)
    assert found.p_value == pytest.approx(oracle.pvalue, abs=0.03)


def test_p_values_are_level_under_label_shift_and_tiny_under_another_shift() -> None:
    p_values, ratios = [], []
    for seed in range(30):
        cells = count_labels(draw(1500, [0.25] * 4, seed))
        fit = label_shift_test(
            cells, cells.count(draw(1000, [0.55, 0.3, 0.1, 0.05], seed + 100)), seed=seed
        )
        p_values.append(fit.p_value)
        ratios.append(fit.ratio)
    assert 0.3 < np.mean(p_values) < 0.75
    assert np.mean(np.array(p_values) < 0.1) <= 0.27
    assert np.median(ratios) < 1.4
    harder = draw(1000, [0.25] * 4, 7, signal=1.0)
    cells = count_labels(draw(1500, [0.25] * 4, 1))
    fit = label_shift_test(cells, cells.count(harder))
    assert fit.p_value <= 0.02
    assert fit.ratio > 3
    note = LabelShift().fit(draw(1500, [0.25] * 4, 1)).estimate(harder).warnings
    assert_snapshot(note)


def test_by_hand_with_two_classes() -> None:
    """A share 0.475 of class 0 predicted: 0.9 q + 0.4 (1 - q) = 0.475, so q = 0.15 and 0.9 q + 0.6 (1 - q) = 0.645."""
    target = Predictions.from_classes([0] * 190 + [1] * 210)
    exact = BBSE().fit(two_classes()).estimate(target)
    assert exact.value == pytest.approx(0.645)
    assert exact.details["prior"] == pytest.approx([0.15, 0.85])
    assert exact.details["condition"] == pytest.approx(np.linalg.cond([[0.9, 0.4], [0.1, 0.6]]))
    assert SLEAP(prior="bbse").fit(two_classes()).estimate(target).value == pytest.approx(0.645)
    assert LEAP(prior="bbse").fit(two_classes()).estimate(target).value == pytest.approx(
        0.645, abs=0.01
    )
    for method in (LabelShift, SLEAP, LEAP):  # smoothing moves these a little
        assert method().fit(two_classes()).estimate(target).value == pytest.approx(0.645, abs=0.01)


def test_without_shift_the_reference_accuracy_comes_back() -> None:
    record = draw(4000, [0.4, 0.3, 0.2, 0.1], 2)
    for method in METHODS:
        expected = record.accuracy if method is not SLD else adjust_by_label(record)
        assert method().fit(record).estimate(record).value == pytest.approx(expected, abs=0.012), (
            method
        )


def adjust_by_label(record: Predictions) -> float:
    """Mean posterior of the prediction, which on its own sample SLD leaves as it is but for a new prior."""
    source = np.bincount(record.label) / len(record)
    found = adjusted_prior(record.probabilities, record.predicted, np.bincount(record.label))
    posterior = adjust(record.probabilities, found.prior, source)
    return float(posterior[np.arange(len(record)), record.predicted].mean())


@pytest.mark.parametrize("method", METHODS)
def test_label_shift_is_followed_and_the_interval_covers(method: Any) -> None:
    """30 pairs of samples under label shift: small errors, and the interval of level 0.9 holds the truth mostly."""
    errors, source_errors, covered, widths = [], [], 0, []
    prior = np.array([0.05, 0.05, 0.2, 0.7])
    for seed in range(30):
        reference = uneven(1500, [0.25] * 4, seed)
        target = uneven(1500, prior, seed + 1000)
        found = method(level=0.9).fit(reference).estimate(target)
        errors.append(abs(found.value - target.accuracy))
        source_errors.append(abs(reference.accuracy - target.accuracy))
        covered += found.lower <= target.accuracy <= found.upper
        widths.append(found.upper - found.lower)
    assert np.mean(errors) < 0.02
    assert np.mean(errors) < 0.35 * np.mean(source_errors)
    assert covered >= 25
    assert np.mean(widths) < 0.12


def uneven(rows: int, prior: Any, seed: int) -> Predictions:
    """Classes of unlike difficulty with exact posteriors under a uniform prior."""
    rng = np.random.default_rng([seed, rows, 5])
    means = np.array([[0, 0], [1.0, 0], [0, 2.5], [4.0, 4.0]])
    label = rng.choice(4, p=prior, size=rows)
    seen = means[label] + rng.standard_normal((rows, 2))
    logits = -0.5 * np.square(seen[:, None] - means).sum(axis=2)
    return Predictions.from_probabilities(softmax(logits), label=label)


def test_sld_is_the_fixed_point_of_saerens() -> None:
    record = uneven(600, [0.1, 0.2, 0.3, 0.4], 1)
    source = np.array([0.25, 0.25, 0.25, 0.25])
    prior = source.copy()
    for _ in range(3000):  # the paper's iteration, as it stands
        posterior = record.probabilities * (prior / source)
        posterior /= posterior.sum(axis=1, keepdims=True)
        prior = posterior.mean(axis=0)
    found = adjusted_prior(record.probabilities, record.predicted, np.array([100] * 4))
    assert found.prior == pytest.approx(prior, abs=1e-4)
    assert found.accuracy == pytest.approx(
        float(posterior[np.arange(600), record.predicted].mean()), abs=1e-4
    )
    assert (found.priors.std(axis=0) > 0.002).all(), "the bootstrap moves the prior"


def test_sld_believes_the_probabilities_and_cells_do_not() -> None:
    """Over-confident probabilities mislead EM on posteriors; counts of cells are calibrated by construction."""
    prior = [0.1, 0.1, 0.2, 0.6]
    reference = draw(3000, [0.25] * 4, 1, signal=1.2, calibrated=False)
    target = draw(3000, prior, 2, signal=1.2, calibrated=False)
    cells, posteriors = (
        LabelShift().fit(reference).estimate(target),
        SLD().fit(reference).estimate(target),
    )
    assert abs(cells.value - target.accuracy) < 0.03
    assert abs(posteriors.value - target.accuracy) > 0.08
    assert posteriors.lower < target.accuracy < posteriors.upper, (
        "the reference's own gap is part of the doubt"
    )


def test_bbse_variance_is_that_of_a_bootstrap() -> None:
    reference, target = uneven(800, [0.25] * 4, 3), uneven(500, [0.4, 0.3, 0.2, 0.1], 4)
    found = BBSE(level=0.6826895).fit(reference).estimate(target)
    value = found.value
    rng = np.random.default_rng(0)
    again = [
        BBSE()
        .fit(reference.take(rng.integers(800, size=800)))
        .estimate(target.take(rng.integers(500, size=500)))
        .value
        for _ in range(300)
    ]
    expected = np.sqrt(np.var(again) + value * (1 - value) / 500)
    assert (found.upper - found.lower) / 2 == pytest.approx(expected, rel=0.12)


def test_bbse_refuses_what_cannot_be_inverted() -> None:
    blind = Predictions.from_classes([0, 1] * 100, label=[0] * 100 + [1] * 100)
    with raises_snapshot(NotApplicable):
        BBSE().fit(blind)
    singular = np.array([[0.25, 0.25], [0.25, 0.25]])
    with raises_snapshot(NotApplicable):
        invert_confusion(singular, np.diag(singular), np.array([0.5, 0.5]))
    # an impossible share of predictions: the negative weight is cut, and said
    found = BBSE().fit(two_classes()).estimate(Predictions.from_classes([0] * 100))
    assert found.value == pytest.approx(0.9)
    assert_snapshot(found.warnings)


def paper_leap(rows: Array, prior: Array, predicted: Array, left_out: int) -> float:
    """The paper's n^2 equations for the class that is left out, solved as they stand; the accuracy of the table."""
    n = len(rows)
    given = (rows / rows.sum(axis=0)).T  # true, predicted
    a, b = [np.ones((n, n))], [1.0]
    kept = [k for k in range(n) if k != left_out]
    for i in kept:
        for j in kept:
            row = np.zeros((n, n))
            row[i] -= given[i, j]
            row[i, j] += 1
            a.append(row)
            b.append(0.0)
    for j in kept:
        column = np.zeros((n, n))
        column[:, j] = 1
        a.append(column)
        b.append(predicted[j])
    for i in kept:
        line = np.zeros((n, n))
        line[i] = 1
        a.append(line)
        b.append(prior[i])
    table = np.linalg.solve(np.stack([x.ravel() for x in a]), np.array(b)).reshape(n, n)
    return float(np.trace(table))


def test_s_leap_is_the_papers_system_averaged_over_the_class_left_out() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(5, 30, size=(4, 4)) + np.diag([100, 80, 60, 50])
    prior, predicted = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
    each = [paper_leap(rows, prior, predicted, k) for k in range(4)]
    assert np.ptp(each) > 0.05, "the paper's answer depends on which class is left out"
    assert np.mean(each) == pytest.approx(float(np.trace(scaled_table(rows, prior))))


@given(seed=st.integers(0, 1000), classes=st.integers(2, 6))
def test_balanced_tables_have_both_margins_and_the_odds_ratios(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(classes**2)).reshape(classes, classes) + 1e-3
    predicted, prior = rng.dirichlet(np.full(classes, 3.0)), rng.dirichlet(np.full(classes, 3.0))
    made, miss = balance(table, predicted, prior)
    assert made.sum(axis=0) == pytest.approx(prior, abs=1e-8)
    assert made.sum(axis=1) == pytest.approx(predicted, abs=1e-6)
    assert miss < 1e-6
    assert (made >= 0).all()
    ratios = [np.log(t[:-1, :-1] * t[1:, 1:] / t[:-1, 1:] / t[1:, :-1]) for t in (made, table)]
    assert ratios[0] == pytest.approx(ratios[1], abs=1e-6), (
        "so that it is the nearest in Kullback-Leibler"
    )


def test_s_leap_with_its_default_prior_answers_as_label_shift() -> None:
    reference, target = uneven(900, [0.25] * 4, 5), uneven(700, [0.1, 0.2, 0.3, 0.4], 6)
    simple, cells = (
        SLEAP().fit(reference).estimate(target),
        LabelShift().fit(reference).estimate(target),
    )
    assert simple.value == pytest.approx(cells.value)
    leap = LEAP().fit(reference).estimate(target)
    predicted = np.bincount(target.predicted, minlength=4) / len(target)
    assert leap.details["contingency"].sum(axis=1) == pytest.approx(predicted, abs=1e-6)
    assert leap.details["contingency"].sum(axis=0) == pytest.approx(leap.details["prior"], abs=1e-8)


@pytest.mark.parametrize("choice", ["mle", "bbse", "sld"])
def test_every_way_to_the_prior_finds_it(choice: Any) -> None:
    prior = np.array([0.1, 0.2, 0.1, 0.6])
    reference, target = uneven(4000, [0.25] * 4, 7), uneven(4000, prior, 8)
    leap = LEAP(prior=choice).fit(reference).estimate(target)
    assert leap.details["prior"] == pytest.approx(prior, abs=0.06)
    assert leap.value == pytest.approx(target.accuracy, abs=0.02)
    with raises_snapshot(UsageError):
        LEAP(prior="kde")


def test_source_prior_is_the_reference() -> None:
    cells = count_labels(two_classes())
    fit = choose_prior("source", cells, Sums(rows=1, counts=np.array([1, 0, 0])))
    assert fit.prior.tolist() == [0.5, 0.5]
    assert fit.accuracy == pytest.approx(0.75)
    assert SLEAP(prior="source").fit(two_classes()).estimate(two_classes()).value == pytest.approx(
        0.75
    )


def test_leap_refuses_verdicts_that_are_no_matter_of_classes() -> None:
    odd = Predictions.from_arrays(prediction=[0, 1] * 20, label=[0, 1] * 20, correct=[0, 1] * 20)
    with raises_snapshot(NotApplicable):
        LEAP().fit(odd)
    assert LabelShift().fit(odd).estimate(odd).value == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("method", [*METHODS, COT, COTT])
def test_edges(method: Any) -> None:
    one_class = Predictions.from_probabilities([[0.9, 0.1]] * 40, label=[0] * 40)
    flawless = Predictions.from_probabilities(
        [[0.9, 0.1]] * 40 + [[0.2, 0.8]] * 40, label=[0] * 40 + [1] * 40
    )
    hopeless = Predictions.from_probabilities(
        [[0.9, 0.1]] * 30 + [[0.3, 0.7]] * 70, label=[1] * 30 + [0] * 70
    )
    for reference in (one_class, flawless, hopeless):
        for target in (flawless, flawless.slice(0, 1), one_class):
            found = method().fit(reference).estimate(target)
            assert np.isfinite([found.value, found.lower, found.upper]).all()
            assert found.upper - found.lower > 0.005, "never certain"
    assert any("classes have no reference row" in t for t in method().fit(one_class).estimate(flawless).warnings) or (
        method in (SLD, COT, COTT)
    )  # fmt: skip
    assert any(
        "only 10 rows" in t
        for t in LabelShift().fit(flawless.slice(35, 45)).estimate(flawless).warnings
    )


def test_classes_that_the_reference_does_not_know_count_as_misfit() -> None:
    reference = Predictions.from_classes([0, 1] * 200, label=[0, 1] * 200)
    other = Predictions.from_arrays(prediction=[0] * 50 + [2] * 50, classes=[0, 1, 2])
    found = LabelShift().fit(reference).estimate(other)
    assert_snapshot(found.warnings)
    wide = Predictions.from_probabilities([[0.5, 0.3, 0.2]] * 5)
    narrow = Predictions.from_probabilities([[0.9, 0.1], [0.1, 0.9]] * 5, label=[0, 1] * 5)
    with raises_snapshot(NotApplicable):
        SLD().fit(narrow).estimate(wide)


def test_a_thousand_classes() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(1000, size=3000)
    wrong = rng.random(3000) < 0.2
    predicted = np.where(wrong, rng.integers(1000, size=3000), label)
    record = Predictions.from_confidence(
        0.5 + 0.5 * rng.random(3000), prediction=predicted, label=label, classes=list(range(1000))
    )
    for method in (LabelShift, SLEAP, LEAP):
        found = method().fit(record).estimate(record)
        assert found.value == pytest.approx(record.accuracy, abs=0.06)
        assert any("rows a class" in text for text in found.warnings)
        assert found.lower < record.accuracy < found.upper
    with raises_snapshot(NotApplicable):
        BBSE().fit(record)


def test_divisions_by_other_scores_keep_counts_of_their_own() -> None:
    """Counts are kept with the record: two divisions with one table must not take each other's."""
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1.0, 1.0], 4000)
    record = Predictions.from_probabilities(p, label=rng.integers(0, 2, 4000))
    one = count_labels(record)
    other = replace(one, score=create("score", "margin"))
    assert len(one.table) <= len(record)  # so that they are counted from shared cells
    alone = other.count(replace(record, _cache={}))
    assert one.count(record).tolist() != alone.tolist()
    assert other.count(record).tolist() == alone.tolist()
