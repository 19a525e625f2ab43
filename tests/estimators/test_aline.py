"""ALine-S and ALine-D against scipy, least squares and a bootstrap; where the line holds and where it does not."""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions
from oodometer.errors import NotApplicable, UsageError
from oodometer.estimators import ALineD, ALineS
from oodometer.estimators.disagreement import agreement_counts, fit_line, probit, weigh_pairs
from oodometer.estimators.inequalities import (
    accuracy_from_other,
    bounds_from_members,
    count_members,
    mean_accuracy_bound,
    pair_bounds,
    plurality_votes,
)

from ..snapshots import assert_snapshot, raises_snapshot


@pytest.fixture(scope="module", params=[ALineS, ALineD])
def cls(request: pytest.FixtureRequest) -> Any:
    return request.param


def quantile(counts: Any, rows: int) -> Any:
    """The probit of a share, with half a count of room at both ends."""
    return scipy.stats.norm.ppf(np.clip(np.asarray(counts, dtype=float), 0.5, rows - 0.5) / rows)


def draw(rng: np.random.Generator, skill: Any, rows: int) -> tuple[Any, Any]:
    """Two classes; each model and the truth are signs of noisy looks at one number, so that all obey one curve.

    The last entry of ``skill`` is the truth's. Codes of the models, shape (model, sample), and labels.
    """
    common = rng.standard_normal(rows)
    noise = rng.standard_normal((len(skill), rows))
    codes = (skill[:, None] * common + np.sqrt(1 - skill[:, None] ** 2) * noise > 0).astype(int)
    return codes[:-1], codes[-1]


def accuracy_of(skill: Any) -> Any:
    """P(sign of model = sign of truth) for each model: 1/2 + arcsin(product)/pi."""
    return 0.5 + np.arcsin(skill[:-1] * skill[-1]) / np.pi


def record(codes: Any, label: Any = None, classes: int = 2) -> Predictions:
    return Predictions.from_arrays(
        prediction=codes[0], members=codes[1:], label=label, classes=range(classes)
    )


def world(seed: int, models: int = 6, rows: int = 800) -> tuple[Predictions, Predictions, Any]:
    """Reference, target (skills shrunk) and the judged model's accuracy on the target's population."""
    rng = np.random.default_rng([seed, models, rows])
    skill = np.append(rng.uniform(0.75, 0.98, models), 0.9)
    worse = skill * np.sqrt(0.85)
    known, label = draw(rng, skill, rows)
    seen, _ = draw(rng, worse, rows)
    return record(known, label), record(seen), accuracy_of(worse)[0]


@given(
    codes=st.integers(1, 7).flatmap(
        lambda m: st.lists(
            st.lists(st.integers(0, 3), min_size=m, max_size=m), min_size=1, max_size=12
        )
    )
)
def test_counts_and_weights_are_those_of_loops(codes: list[list[int]]) -> None:
    models = np.array(codes).T
    counts = agreement_counts(models)
    for i, j in itertools.product(range(len(models)), repeat=2):
        assert counts[i, j] == sum(a == b for a, b in zip(models[i], models[j], strict=True))
    weights = np.random.default_rng(0).standard_normal((len(models),) * 2)
    weights += weights.T
    for r, found in enumerate(weigh_pairs(models, weights)):
        pairs = itertools.combinations(range(len(models)), 2)
        assert found == pytest.approx(
            sum(weights[i, j] for i, j in pairs if models[i, r] == models[j, r])
        )


def test_counts_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.random.default_rng(0).integers(0, 5, (9, 101))
    whole = agreement_counts(codes)
    monkeypatch.setattr("oodometer.estimators.disagreement._CHUNK_VALUES", 70)
    assert (agreement_counts(codes) == whole).all()


def test_line_is_that_of_scipy() -> None:
    x, y = np.random.default_rng(0).standard_normal((2, 20))
    found, want = fit_line(x, y), scipy.stats.linregress(x, y)
    assert found[:3] == pytest.approx((want.slope, want.intercept, want.rvalue**2))
    assert found.variance == pytest.approx(
        np.square(y - want.slope * x - want.intercept).sum() / 18
    )
    assert fit_line(np.ones(4), np.arange(4.0)) is None


def test_three_models_by_hand() -> None:
    """Agreements 0.9, 0.8, 0.6 become 0.8, 0.7, 0.5 or so: the line is fitted through three points."""
    label = np.zeros(10, dtype=int)
    known = np.zeros((3, 10), dtype=int)
    known[1, :1] = 1
    known[2, 1:3] = 1  # agreements 0.9, 0.8, 0.7; accuracies 1, 0.9, 0.8
    seen = np.zeros((3, 10), dtype=int)
    seen[1, :2] = 1
    seen[2, 2:5] = 1  # agreements 0.8, 0.7, 0.5
    x, y = quantile([9, 8, 7], 10), quantile([8, 7, 5], 10)
    slope, intercept = np.polyfit(x, y, 1)
    want = scipy.stats.norm.cdf(slope * quantile(10, 10) + intercept)
    found = ALineS().fit(record(known, label)).estimate(record(seen))
    assert found.value == pytest.approx(want)
    assert (found.details["slope"], found.details["intercept"]) == pytest.approx((slope, intercept))
    # three pairs, three unknowns: (w0+w1)/2, (w0+w2)/2, (w1+w2)/2 are known, so that w0 = first + second - third
    u = quantile([10, 9, 8], 10)
    first, second, third = y + slope * ((np.array([u[0] + u[1], u[0] + u[2], u[1] + u[2]])) / 2 - x)
    found = ALineD().fit(record(known, label)).estimate(record(seen))
    assert found.value == pytest.approx(scipy.stats.norm.cdf(first + second - third))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("models", [3, 5, 11])
def test_estimates_are_those_of_the_written_out_method(seed: int, models: int) -> None:
    reference, target, _ = world(seed, models, 300)
    known = np.vstack([reference.predicted, reference.members])
    seen = np.vstack([target.predicted, target.members])
    pairs = list(itertools.combinations(range(models), 2))
    x = quantile([np.sum(known[i] == known[j]) for i, j in pairs], 300)
    y = quantile([np.sum(seen[i] == seen[j]) for i, j in pairs], 300)
    u = quantile([np.sum(k == reference.label) for k in known], 300)
    fit = scipy.stats.linregress(x, y)
    simple = scipy.stats.norm.cdf(fit.slope * u + fit.intercept)
    system = np.zeros((len(pairs), models))
    for row, pair in enumerate(pairs):
        system[row, list(pair)] = 0.5
    full = scipy.stats.norm.cdf(
        np.linalg.lstsq(system, y + fit.slope * (system @ u - x), rcond=None)[0]
    )
    for cls, want in ((ALineS, simple), (ALineD, full)):
        found = cls().fit(reference).estimate(target)
        assert list(found.details["accuracies"].values()) == pytest.approx(want.tolist())
        assert found.value == pytest.approx(want[0])
        assert found.details["r_squared"] == pytest.approx(fit.rvalue**2)
        assert found.details["models"] == models


def test_gradients_are_those_of_small_steps(cls: Any) -> None:
    """The judged model is much worse than the others, so that the slope matters."""
    rng = np.random.default_rng(5)
    skill = np.array([0.5, 0.97, 0.95, 0.9, 0.85, 0.9])
    known, label = draw(rng, skill, 2000)
    seen, _ = draw(rng, skill * 0.9, 2000)
    fitted = cls().fit(record(known, label))
    x0, y0 = fitted._x.copy(), probit(agreement_counts(seen), 2000)

    def value(x: Any, y: Any) -> float:
        fitted._x = x
        line = fit_line(x[fitted._pairs], y[fitted._pairs])
        found = float(fitted._read(line, y)[0][0])
        fitted._x = x0
        return found

    line = fit_line(x0[fitted._pairs], y0[fitted._pairs])
    by_y, by_x = fitted._gradients(line, y0, fitted._read(line, y0)[1])
    for i, j in zip(*fitted._pairs, strict=True):
        step = np.zeros_like(x0)
        step[i, j] = step[j, i] = 1e-5
        assert by_y[i, j] == pytest.approx(
            (value(x0, y0 + step) - value(x0, y0 - step)) / 2e-5, rel=1e-4
        )
        assert by_x[i, j] == pytest.approx(
            (value(x0 + step, y0) - value(x0 - step, y0)) / 2e-5, rel=1e-4
        )


def test_sampling_variance_is_that_of_a_bootstrap(cls: Any) -> None:
    """The delta method, row by row, against redrawing the rows of both samples."""
    reference, target, _ = world(3, 8, 1500)
    fitted = cls().fit(reference)
    state = fitted.summarize(target)
    y = probit(state["agreement"], len(target))
    line = fit_line(fitted._x[fitted._pairs], y[fitted._pairs])
    _, pull, _ = fitted._read(line, y)
    variance = fitted._sampling_variance(line, y, pull, state)
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(200):
        again = (
            reference.take(rng.integers(1500, size=1500)),
            target.take(rng.integers(1500, size=1500)),
        )
        draws.append(scipy.stats.norm.ppf(cls().fit(again[0]).estimate(again[1]).value))
    assert np.sqrt(variance) == pytest.approx(np.std(draws), rel=0.25)


@pytest.mark.parametrize(("models", "rows"), [(4, 400), (10, 2000)])
def test_interval_covers_where_one_curve_holds_for_both(cls: Any, models: int, rows: int) -> None:
    covered, errors = [], []
    for seed in range(60):
        reference, target, truth = world(seed, models, rows)
        found = cls().fit(reference).estimate(target)
        covered.append(found.lower <= truth <= found.upper)
        errors.append(abs(found.value - truth))
    assert np.mean(covered) >= 0.9
    assert np.mean(errors) < (0.04 if rows < 1000 else 0.015)


def test_interval_covers_where_models_scatter_about_the_line(cls: Any) -> None:
    """Each model suffers the shift in its own measure: with many rows the scatter is all the doubt there is."""
    covered = []
    for seed in range(40):
        rng = np.random.default_rng([seed, 7])
        skill = np.append(rng.uniform(0.75, 0.98, 8), 0.9)
        worse = skill * np.sqrt(0.85) * np.append(np.exp(0.03 * rng.standard_normal(8)), 1)
        known, label = draw(rng, skill, 10_000)
        seen, _ = draw(rng, np.minimum(worse, 0.999), 10_000)
        found = cls().fit(record(known, label)).estimate(record(seen))
        covered.append(found.lower <= accuracy_of(np.minimum(worse, 0.999))[0] <= found.upper)
    assert np.mean(covered) >= 0.9


def test_errors_that_the_models_share_are_not_seen(cls: Any) -> None:
    """Known failure: a third of the target is misread by all models alike; agreement says nothing of it."""
    rng = np.random.default_rng(0)
    skill = np.append(rng.uniform(0.75, 0.98, 8), 0.9)
    known, label = draw(rng, skill, 3000)
    seen, truth = draw(rng, skill, 3000)
    flipped = np.where(np.arange(3000) % 3 == 0, 1 - truth, truth)
    found = cls().fit(record(known, label)).estimate(record(seen))
    assert found.value > (seen[0] == flipped).mean() + 0.15


def test_beats_source_accuracy_on_real_models(cls: Any, data_dir: Path) -> None:
    """30 models on CIFAR-10 and CIFAR-10.1 v6: mean error about 1.1 points, where source accuracy has 7.8."""
    with np.load(data_dir / "outputs" / "cifar10_1_predictions.npz") as z:
        known, label = z["preds_original"], z["labels_original_test"]
        seen, truth = z["preds_v6"], z["labels_v6"]
    order = np.arange(len(known))
    errors = []
    for judged in range(0, len(known), 3):
        rows = np.roll(order, -judged)
        found = cls().fit(record(known[rows], label, 10)).estimate(record(seen[rows], classes=10))
        errors.append(abs(found.value - (seen[judged] == truth).mean()))
        assert found.details["r_squared"] > 0.95
        assert not found.warnings
    assert np.mean(errors) < 0.015


def test_batches_merge_to_one_pass_beyond_the_row_sample(cls: Any) -> None:
    reference, target, _ = world(1, 5, 6000)
    fitted = cls().fit(reference)
    one, many = fitted.estimate(target), fitted.estimate(target, batch_rows=777)
    assert (one.value, one.lower, one.upper) == pytest.approx(
        (many.value, many.lower, many.upper), abs=1e-12
    )


def test_a_poor_line_is_named(cls: Any) -> None:
    reference, target, _ = world(0, 10, 2000)
    found = cls().fit(reference).estimate(target)
    assert 0.7 < found.details["r_squared"] < 0.95
    assert_snapshot(found.warnings)
    assert not cls().fit(reference).estimate(reference).warnings


def test_too_few_models(cls: Any) -> None:
    with raises_snapshot(NotApplicable):
        cls().fit(Predictions.from_arrays(prediction=[0, 1], members=[[0, 1]], label=[0, 1]))
    with raises_snapshot(NotApplicable):
        cls().fit(Predictions.from_classes([0, 1], label=[0, 1]))
    reference, target, _ = world(0, 3, 200)
    copied = Predictions.from_arrays(
        prediction=reference.predicted, members=[reference.predicted, reference.members[0]],
        label=reference.label,
    )  # fmt: skip
    with raises_snapshot(NotApplicable):
        cls().fit(copied)
    with raises_snapshot(NotApplicable):
        cls().fit(reference).estimate(
            Predictions.from_arrays(
                prediction=target.predicted, members=np.zeros((3, 200), dtype=int)
            )
        )


def test_a_copy_of_the_judged_model_changes_nothing(cls: Any) -> None:
    reference, target, _ = world(0, 5, 400)

    def with_copy(r: Predictions) -> Predictions:
        return Predictions.from_arrays(
            prediction=r.predicted, members=np.vstack([r.predicted, r.members]), label=r.label,
            names={"model": ("copy", "a", "b", "c", "d")},
        )  # fmt: skip

    plain = cls().fit(reference).estimate(target)
    found = cls().fit(with_copy(reference)).estimate(with_copy(target))
    assert (found.value, found.lower) == pytest.approx((plain.value, plain.lower))
    assert list(found.details["accuracies"]) == ["judged", "a", "b", "c", "d"]


def test_the_first_member_is_judged_for_want_of_a_prediction(cls: Any) -> None:
    reference, target, _ = world(0, 5, 400)
    bare = [
        Predictions.from_arrays(members=np.vstack([r.predicted, r.members]), label=r.label)
        for r in (reference, target)
    ]
    assert cls().fit(bare[0]).estimate(bare[1]).value == cls().fit(reference).estimate(target).value


def test_no_line_without_spread(cls: Any) -> None:
    """All models agree everywhere, or one reference row alone: nothing to draw a line through."""
    same = np.zeros((4, 20), dtype=int)
    with raises_snapshot(NotApplicable):
        cls().fit(record(same, same[0]))


def test_verdicts_suffice_for_the_judged_model(cls: Any) -> None:
    reference, target, _ = world(2, 5, 400)
    known = Predictions.from_arrays(
        prediction=reference.predicted, members=reference.members, correct=reference.verdicts
    )
    found = cls().fit(known).estimate(target)
    want = cls().fit(reference).estimate(target)
    assert (found.value, found.lower, found.upper) == pytest.approx(
        (want.value, want.lower, want.upper)
    )
    assert "accuracies" not in found.details


@pytest.mark.parametrize("right", [True, False])
def test_all_right_or_all_wrong_leaves_doubt(cls: Any, right: bool) -> None:
    reference, target, _ = world(2, 5, 400)
    label = reference.predicted if right else 1 - reference.predicted
    found = (
        cls()
        .fit(record(np.vstack([reference.predicted, reference.members]), label))
        .estimate(target.slice(0, 60))
    )
    assert 0 <= found.lower <= found.value <= found.upper <= 1
    assert found.upper - found.lower > 0.02


def test_one_target_row_and_full_agreement(cls: Any) -> None:
    reference, target, _ = world(2, 5, 400)
    fitted = cls().fit(reference)
    found = fitted.estimate(target.slice(0, 1))
    assert found.upper - found.lower > 0.5, "one row tells next to nothing"
    assert found.warnings
    agreed = record(np.zeros((5, 100), dtype=int))
    found = fitted.estimate(agreed)
    assert found.value > 0.9
    assert found.upper - found.lower > 0.01
    assert found.warnings, "equal agreements explain nothing of a line"


def test_many_models_and_classes_are_quick() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(1000, size=10_000)
    right = rng.random((65, 10_000)) < np.linspace(0.5, 0.9, 65)[:, None]
    codes = np.where(right, label, rng.integers(1000, size=right.shape))
    made = record(codes, label, 1000)
    start = time.perf_counter()
    found = ALineD().fit(made).estimate(made)
    assert time.perf_counter() - start < 2, "about 0.1 s where nothing else runs"
    assert found.value == pytest.approx(0.5, abs=0.02)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Any, Any]:
    """Codes (model, sample) and any labels at all."""
    models, rows, classes = (
        draw(st.integers(2, 6)),
        draw(st.integers(1, 15)),
        draw(st.integers(1, 5)),
    )
    cells = st.lists(st.integers(0, classes - 1), min_size=rows, max_size=rows)
    codes = np.array([draw(cells) for _ in range(models)])
    return codes, np.array(draw(cells))


@given(table=tables())
def test_every_inequality_holds_for_every_labelling(table: tuple[Any, Any]) -> None:
    codes, label = table
    accuracy = (codes == label).mean(axis=1)
    state = count_members(record(codes, classes=5))
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
    bound = mean_accuracy_bound(count_members(record(codes, classes=5)), 0.9)
    n, shares = len(want), np.array(want) / len(codes)
    assert bound.sample_upper == pytest.approx(shares.mean())
    if n > 1:
        log_term = np.log(2 / 0.1)
        end = (
            shares.mean()
            + np.sqrt(2 * shares.var(ddof=1) * log_term / n)
            + 7 * log_term / (3 * (n - 1))
        )
        assert bound.upper == pytest.approx(min(end, 1))
    else:
        assert bound.upper == 1


@given(table=tables(), cut=st.integers(0, 15))
def test_states_merge(table: tuple[Any, Any], cut: int) -> None:
    codes, _ = table
    whole = count_members(record(codes, classes=5))
    cut = min(cut, codes.shape[1])
    parts = count_members(record(codes[:, cut:], classes=5)) + count_members(
        record(codes[:, :cut], classes=5)
    )
    assert parts["rows"] == whole["rows"]
    assert parts["votes"] == whole["votes"]
    assert parts["squares"] == whole["squares"]
    assert (parts["agreement"] == whole["agreement"]).all()


def test_bounds_are_reached() -> None:
    """The plurality right everywhere; and errors that are disjoint: no better bound is possible."""
    codes = np.array([[0, 0, 1, 1], [0, 1, 1, 0], [0, 0, 1, 0]])
    state = count_members(record(codes, classes=5))
    best = np.array([0, 0, 1, 0])
    assert (
        (codes == best).mean() == mean_accuracy_bound(state).sample_upper == pytest.approx(10 / 12)
    )
    label = np.array([0, 0, 1, 0])  # models 0 and 1 err on rows 3 and 1
    assert (codes[0] != label).mean() + (codes[1] != label).mean() == pair_bounds(state)[
        0
    ].disagreement


def test_pairs_have_the_exact_binomial_interval() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (3, 50))
    for pair in pair_bounds(count_members(record(codes, classes=5)), 0.9):
        apart = int((codes[pair.i] != codes[pair.j]).sum())
        want = scipy.stats.binomtest(apart, 50).proportion_ci(0.9)
        assert (pair.errors_at_least, pair.gap_at_most) == pytest.approx((want.low, want.high))
        assert pair.kind == "exact"
    assert [(p.i, p.j) for p in pair_bounds(count_members(record(codes, classes=5)))] == list(
        itertools.combinations(range(3), 2)
    )


@pytest.mark.parametrize("rows", [5, 40, 400])
def test_sampling_end_covers_the_population(rows: int) -> None:
    """Mean plurality share of a population of rows, from samples of it: at least the level, at every size."""
    rng = np.random.default_rng(rows)
    population = np.where(
        rng.random((7, 20_000)) < rng.beta(2, 1, 20_000), 0, rng.integers(1, 4, (7, 20_000))
    )
    truth = plurality_votes(population).mean() / 7
    misses = [
        mean_accuracy_bound(
            count_members(record(population[:, rng.integers(20_000, size=rows)], classes=5)), 0.8
        ).upper
        < truth
        for _ in range(300)
    ]
    assert np.mean(misses) <= 0.2
    if rows == 400:
        bound = mean_accuracy_bound(count_members(record(population[:, :400], classes=5)))
        assert bound.upper < bound.sample_upper + 0.1, "a bound that says something"


def test_ends_for_the_population_are_those_of_the_exact_interval() -> None:
    codes = np.zeros((2, 50), dtype=int)
    codes[1, :10] = 1
    ends = scipy.stats.binomtest(10, 50).proportion_ci(0.9)
    bound = accuracy_from_other(count_members(record(codes, classes=5)), 1, 0.95, 0.96, level=0.9)
    assert (bound.sample_lower, bound.sample_upper) == pytest.approx((0.75, 0.85))
    assert (bound.lower, bound.upper) == pytest.approx((0.95 - ends.high, 2 - 0.95 - ends.low))


def test_everything_at_once_is_plain() -> None:
    rng = np.random.default_rng(0)
    state = count_members(record(rng.integers(0, 3, (4, 30)), classes=5))
    found = bounds_from_members(state, other=2, other_lower=0.6)
    assert found.judged.kind == found.mean_accuracy.kind == "exact"
    plain = json.loads(json.dumps(found.to_dict()))
    assert len(plain["pairs"]) == 6
    assert plain["judged"]["of"] == "accuracy of model 0"
    assert bounds_from_members(state).to_dict()["judged"] is None


def test_members_alone_and_what_cannot_be_bounded() -> None:
    alone = Predictions.from_arrays(members=[[0, 1], [0, 0]])
    assert count_members(alone)["agreement"].shape == (2, 2)
    with raises_snapshot(NotApplicable):
        count_members(Predictions.from_classes([0]))
    with raises_snapshot(NotApplicable):
        count_members(Predictions.from_arrays(members=[[0, 1]]))
    with raises_snapshot(NotApplicable):
        mean_accuracy_bound(count_members(alone.slice(0, 0)))
    state = count_members(alone)
    for arguments in [(0, 0.5), (2, 0.5), (-1, 0.5), (1, 0.7, 0.6), (1, -0.1), (1, 0.5, 1.1)]:
        with pytest.raises(UsageError):
            accuracy_from_other(state, *arguments)
    with pytest.raises(UsageError):
        mean_accuracy_bound(state, 95)
