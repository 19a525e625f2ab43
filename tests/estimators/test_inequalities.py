"""Inequalities over several models: they hold for every labelling, and their sampling ends cover."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions
from oodometer.errors import NotApplicable, UsageError
from oodometer.estimators.inequalities import (
    accuracy_from_other,
    bounds_from_members,
    count_members,
    mean_accuracy_bound,
    pair_bounds,
    plurality_votes,
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Any, Any]:
    """Codes (model, sample) and any labels at all."""
    models, rows, classes = draw(st.integers(2, 6)), draw(st.integers(1, 15)), draw(st.integers(1, 5))
    cells = st.lists(st.integers(0, classes - 1), min_size=rows, max_size=rows)
    codes = np.array([draw(cells) for _ in range(models)])
    return codes, np.array(draw(cells))


def record(codes: Any) -> Predictions:
    return Predictions.from_arrays(prediction=codes[0], members=codes[1:], classes=range(5))


@given(table=tables())
def test_every_inequality_holds_for_every_labelling(table: tuple[Any, Any]) -> None:
    codes, label = table
    accuracy = (codes == label).mean(axis=1)
    state = count_members(record(codes))
    assert accuracy.mean() <= mean_accuracy_bound(state).sample_upper + 1e-12
    for pair in pair_bounds(state):
        wrong = 1 - accuracy[[pair.i, pair.j]]
        assert wrong.sum() >= pair.disagreement - 1e-12
        assert abs(wrong[0] - wrong[1]) <= pair.disagreement + 1e-12
        for model, other in ((pair.i, pair.j), (pair.j, pair.i)):
            known = float(accuracy[other])
            bound = accuracy_from_other(state, other, known, known, model=model)
            assert bound.sample_lower - 1e-12 <= accuracy[model] <= bound.sample_upper + 1e-12
            bound = accuracy_from_other(state, other, known, model=model)
            assert bound.sample_lower - 1e-12 <= accuracy[model] <= bound.sample_upper + 1e-12


@given(table=tables())
def test_votes_and_ends_are_those_of_loops(table: tuple[Any, Any]) -> None:
    codes, _ = table
    want = [Counter(column).most_common(1)[0][1] for column in codes.T.tolist()]
    assert plurality_votes(codes).tolist() == want
    bound = mean_accuracy_bound(count_members(record(codes)), 0.9)
    n, shares = len(want), np.array(want) / len(codes)
    assert bound.sample_upper == pytest.approx(shares.mean())
    if n > 1:
        log_term = np.log(2 / 0.1)
        end = shares.mean() + np.sqrt(2 * shares.var(ddof=1) * log_term / n) + 7 * log_term / (3 * (n - 1))
        assert bound.upper == pytest.approx(min(end, 1))
    else:
        assert bound.upper == 1


@given(table=tables(), cut=st.integers(0, 15))
def test_states_merge(table: tuple[Any, Any], cut: int) -> None:
    codes, _ = table
    whole = count_members(record(codes))
    cut = min(cut, codes.shape[1])
    parts = count_members(record(codes[:, cut:])) + count_members(record(codes[:, :cut]))
    assert parts["rows"] == whole["rows"]
    assert parts["votes"] == whole["votes"]
    assert parts["squares"] == whole["squares"]
    assert (parts["agreement"] == whole["agreement"]).all()


def test_bounds_are_reached() -> None:
    """The plurality right everywhere; and errors that are disjoint: no better bound is possible."""
    codes = np.array([[0, 0, 1, 1], [0, 1, 1, 0], [0, 0, 1, 0]])
    state = count_members(record(codes))
    best = np.array([0, 0, 1, 0])
    assert (codes == best).mean() == mean_accuracy_bound(state).sample_upper == pytest.approx(10 / 12)
    label = np.array([0, 0, 1, 0])  # models 0 and 1 err on rows 3 and 1
    assert (codes[0] != label).mean() + (codes[1] != label).mean() == pair_bounds(state)[0].disagreement


def test_pairs_have_the_exact_binomial_interval() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (3, 50))
    for pair in pair_bounds(count_members(record(codes)), 0.9):
        apart = int((codes[pair.i] != codes[pair.j]).sum())
        want = scipy.stats.binomtest(apart, 50).proportion_ci(0.9)
        assert (pair.errors_at_least, pair.gap_at_most) == pytest.approx((want.low, want.high))
        assert pair.kind == "exact"
    assert [(p.i, p.j) for p in pair_bounds(count_members(record(codes)))] == list(itertools.combinations(range(3), 2))


@pytest.mark.parametrize("rows", [5, 40, 400])
def test_sampling_end_covers_the_population(rows: int) -> None:
    """Mean plurality share of a population of rows, from samples of it: at least the level, at every size."""
    rng = np.random.default_rng(rows)
    population = np.where(rng.random((7, 20_000)) < rng.beta(2, 1, 20_000), 0, rng.integers(1, 4, (7, 20_000)))
    truth = plurality_votes(population).mean() / 7
    misses = [
        mean_accuracy_bound(count_members(record(population[:, rng.integers(20_000, size=rows)])), 0.8).upper < truth
        for _ in range(300)
    ]
    assert np.mean(misses) <= 0.2
    if rows == 400:
        bound = mean_accuracy_bound(count_members(record(population[:, :400])))
        assert bound.upper < bound.sample_upper + 0.1, "a bound that says something"


def test_other_model_with_a_sampling_end() -> None:
    """Covers the judged model's accuracy at the level when the other's is known."""
    rng = np.random.default_rng(2)
    covered = []
    for _ in range(300):
        label = rng.integers(0, 3, 100)
        codes = np.where(rng.random((2, 100)) < [[0.7], [0.9]], label, (label + 1) % 3)
        bound = accuracy_from_other(count_members(record(codes)), 1, 0.9, 0.9, level=0.8)
        covered.append(bound.lower <= 0.7 <= bound.upper)
    assert np.mean(covered) >= 0.8


def test_ends_for_the_population_are_those_of_the_exact_interval() -> None:
    codes = np.zeros((2, 50), dtype=int)
    codes[1, :10] = 1
    ends = scipy.stats.binomtest(10, 50).proportion_ci(0.9)
    bound = accuracy_from_other(count_members(record(codes)), 1, 0.95, 0.96, level=0.9)
    assert (bound.sample_lower, bound.sample_upper) == pytest.approx((0.75, 0.85))
    assert (bound.lower, bound.upper) == pytest.approx((0.95 - ends.high, 2 - 0.95 - ends.low))


def test_everything_at_once_is_plain() -> None:
    rng = np.random.default_rng(0)
    state = count_members(record(rng.integers(0, 3, (4, 30))))
    found = bounds_from_members(state, other=2, other_lower=0.6)
    assert found.judged.kind == found.mean_accuracy.kind == "exact"
    plain = json.loads(json.dumps(found.to_dict()))
    assert len(plain["pairs"]) == 6
    assert plain["judged"]["of"] == "accuracy of model 0"
    assert bounds_from_members(state).to_dict()["judged"] is None


def test_members_alone_and_what_cannot_be_bounded() -> None:
    alone = Predictions.from_arrays(members=[[0, 1], [0, 0]])
    assert count_members(alone)["agreement"].shape == (2, 2)
    with pytest.raises(NotApplicable, match="needs `members`"):
        count_members(Predictions.from_classes([0]))
    with pytest.raises(NotApplicable, match="two models"):
        count_members(Predictions.from_arrays(members=[[0, 1]]))
    with pytest.raises(NotApplicable, match="one row"):
        mean_accuracy_bound(count_members(alone.slice(0, 0)))
    state = count_members(alone)
    for arguments in [(0, 0.5), (2, 0.5), (-1, 0.5), (1, 0.7, 0.6), (1, -0.1), (1, 0.5, 1.1)]:
        with pytest.raises(UsageError):
            accuracy_from_other(state, *arguments)
    with pytest.raises(UsageError):
        mean_accuracy_bound(state, 95)


def test_many_models_and_classes() -> None:
    codes = np.random.default_rng(0).integers(0, 1000, (60, 5000))
    state = count_members(Predictions.from_arrays(members=codes, classes=range(1000)))
    assert mean_accuracy_bound(state).upper < 0.1, "models that never agree cannot be right"
