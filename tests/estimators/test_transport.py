"""Transport, COT and COTT against linear programmes, linear assignment and hand-made examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer import Predictions
from oodometer.arrays import Array, softmax
from oodometer.errors import NotApplicable, UsageError
from oodometer.estimators.cot import COT, COTT, transport
from oodometer.estimators.label_shift import LabelShift

from ..snapshots import raises_snapshot


def programme(probabilities: Array, prior: Array) -> float:
    """The transport as a linear programme over all (sample, class) pairs."""
    rows, classes = probabilities.shape
    each_sample = scipy.sparse.kron(scipy.sparse.eye(rows), np.ones((1, classes)))
    each_class = scipy.sparse.kron(np.ones((1, rows)), scipy.sparse.eye(classes))
    found = scipy.optimize.linprog(
        (1 - probabilities).ravel(),
        A_eq=scipy.sparse.vstack([each_sample, each_class]).tocsr(),
        b_eq=np.concatenate([np.full(rows, 1 / rows), prior]),
    )
    return float(found.fun)


def random_rows(rows: int, classes: int, seed: int, spread: float = 3.0) -> Array:
    return softmax(spread * np.random.default_rng([seed, rows]).standard_normal((rows, classes)))


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    rows=st.integers(1, 60),
    classes=st.integers(1, 5),
    spread=st.floats(0.1, 6.0),
)
def test_cost_is_that_of_the_linear_programme(
    seed: int, rows: int, classes: int, spread: float
) -> None:
    probabilities = random_rows(rows, classes, seed, spread)
    prior = np.random.default_rng(seed).dirichlet(np.ones(classes))
    plan = transport(probabilities, prior)
    best = programme(probabilities, prior)
    assert plan.cost <= best + 1e-9, "the dual is a lower bound"
    assert plan.cost == pytest.approx(best, abs=2e-3 if rows < 20 else 5e-4)
    assert plan.cost == pytest.approx(float(plan.surplus.mean() + plan.potentials @ prior))


@pytest.mark.parametrize(("rows", "classes"), [(1500, 10), (400, 100)])
def test_cost_of_larger_problems(rows: int, classes: int) -> None:
    probabilities = random_rows(rows, classes, 1)
    prior = np.random.default_rng(1).dirichlet(np.ones(classes))
    plan = transport(probabilities, prior)
    assert plan.cost == pytest.approx(programme(probabilities, prior), abs=1e-4)
    assert plan.gap < 0.1


def test_equal_shares_are_a_linear_assignment() -> None:
    probabilities = random_rows(120, 4, 3)
    seats = np.repeat(1 - probabilities, 30, axis=1)  # 30 seats in each class
    row, seat = scipy.optimize.linear_sum_assignment(seats)
    expected = float(seats[row, seat].mean())
    assert transport(probabilities, np.full(4, 0.25)).cost == pytest.approx(expected, abs=1e-4)


def test_cost_is_half_the_distance_to_one_hots() -> None:
    """The cost 0.5 ||p - e_y||_1 is 1 - p_y, and the prior of the argmax makes it 1 - mean max p."""
    probabilities = random_rows(50, 3, 5)
    one_hot = np.eye(3)[1]
    assert 0.5 * np.abs(probabilities - one_hot).sum(axis=1) == pytest.approx(
        1 - probabilities[:, 1]
    )
    own = np.bincount(probabilities.argmax(axis=1), minlength=3) / 50
    plan = transport(probabilities, own)
    assert plan.cost == pytest.approx(float(1 - probabilities.max(axis=1).mean()))
    assert (plan.assigned == probabilities.argmax(axis=1)).all()


def test_potentials_are_the_derivative_by_the_prior() -> None:
    probabilities, prior = random_rows(800, 4, 6), np.array([0.1, 0.2, 0.3, 0.4])
    plan = transport(probabilities, prior)
    move = np.array([0.01, 0.0, 0.0, -0.01])
    change = (
        transport(probabilities, prior + move).cost - transport(probabilities, prior - move).cost
    )
    assert change == pytest.approx(2 * float(plan.potentials @ move), rel=0.05)


def test_a_class_of_no_share_takes_nothing() -> None:
    probabilities = random_rows(200, 3, 7)
    plan = transport(probabilities, np.array([0.5, 0.5, 0.0]))
    assert set(plan.assigned.tolist()) == {0, 1}
    assert np.isfinite(plan.potentials).all()
    alone = transport(probabilities, np.array([0.0, 1.0, 0.0]))
    assert alone.cost == pytest.approx(float(1 - probabilities[:, 1].mean()))


def uneven(rows: int, prior: Any, seed: int) -> Predictions:
    """Classes of unlike difficulty with exact posteriors under a uniform prior."""
    rng = np.random.default_rng([seed, rows, 5])
    means = np.array([[0, 0], [2.0, 0], [0, 3.5], [5.0, 5.0]])
    label = rng.choice(4, p=prior, size=rows)
    seen = means[label] + rng.standard_normal((rows, 2))
    logits = -0.5 * np.square(seen[:, None] - means).sum(axis=2)
    return Predictions.from_probabilities(softmax(logits), label=label)


def test_by_hand() -> None:
    """Four samples to two classes of two samples each: costs 0.1, 0.2, 0.6 (moved) and 0.3, so 1 - 1.2/4 = 0.7."""
    p = [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7]]
    record = Predictions.from_probabilities(p, label=[0, 0, 1, 1])
    assert COT(prior="source").fit(record).estimate(record).value == pytest.approx(0.7)
    # on the reference three of four are correct; carried to its own classes the scores are 0.9, 0.8, 0.4, 0.7
    found = COTT(prior="source").fit(record).estimate(record)
    assert found.value == pytest.approx(0.75)
    assert found.details["threshold"] == pytest.approx(0.7)


def test_the_source_prior_is_catastrophic_under_label_shift_and_the_estimated_one_is_not() -> None:
    reference = uneven(3000, [0.25] * 4, 1)
    target = uneven(3000, [0.02, 0.03, 0.05, 0.9], 2)
    right, published = (COT(prior=p).fit(reference).estimate(target) for p in ("mle", "source"))
    assert abs(right.value - target.accuracy) < 0.05
    assert target.accuracy - published.value > 0.4
    assert any("source prior" in text for text in published.warnings)
    assert not any("source prior" in text for text in right.warnings)
    assert right.details["prior"] == pytest.approx(
        LabelShift().fit(reference).estimate(target).details["prior"]
    )


@pytest.mark.parametrize("method", [COT, COTT])
def test_without_shift_it_is_near_the_truth_and_covers(method: Any) -> None:
    errors, covered = [], 0
    for seed in range(12):
        reference, target = uneven(1200, [0.25] * 4, seed), uneven(1000, [0.25] * 4, seed + 50)
        found = method(level=0.9).fit(reference).estimate(target)
        errors.append(abs(found.value - target.accuracy))
        covered += found.lower <= target.accuracy <= found.upper
    assert np.mean(errors) < 0.04
    assert method is COT or covered >= 9


def test_threshold_gives_the_reference_accuracy_back_even_with_ties() -> None:
    rng = np.random.default_rng(0)
    p = np.round(0.5 + 0.5 * rng.random(400), 1)  # six levels of confidence
    label = (rng.random(400) > p).astype(int)
    record = Predictions.from_probabilities(np.stack([p, 1 - p], axis=1), label=label)
    assert COTT(prior="source").fit(record).estimate(record).value == pytest.approx(
        record.accuracy, abs=1e-9
    )


@pytest.mark.parametrize("method", [COT, COTT])
def test_what_is_refused(method: Any) -> None:
    two = Predictions.from_probabilities(
        [[0.9, 0.1]] * 40 + [[0.2, 0.8]] * 40, label=[0] * 40 + [1] * 40
    )
    with raises_snapshot(NotApplicable):
        method().fit(Predictions.from_arrays(probabilities=[[0.9, 0.1]] * 3, correct=[1, 0, 1]))
    with raises_snapshot(NotApplicable):
        method().fit(two).estimate(Predictions.from_probabilities([[0.5, 0.3, 0.2]]))
    with raises_snapshot(UsageError):
        method(prior="kde")


def test_many_classes_are_bounded() -> None:
    rng = np.random.default_rng(1)
    label = rng.integers(300, size=1500)
    logits = 4.0 * (rng.standard_normal((1500, 300)) + 3.5 * np.eye(300)[label])
    record = Predictions.from_probabilities(softmax(logits), label=label)
    found = COT().fit(record).estimate(record)
    assert 0 < found.lower < found.value < found.upper <= 1
    assert found.details["rows_used"] == 1500
    assert found.value == pytest.approx(record.accuracy, abs=0.15)
