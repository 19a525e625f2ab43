"""Threshold estimators against a search of every candidate threshold, with ties, negative scores and empty ends."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oodometer
from oodometer import Predictions
from oodometer.backtests.trials import BacktestOptions, run_backtest
from oodometer.errors import InputError, NotApplicable, UsageError
from oodometer.estimators import (
    Agreement,
    AverageThresholdedConfidence,
    AverageThresholdedEntropy,
    ClasswiseThreshold,
    DistanceThreshold,
    Smoothness,
    Threshold,
)
from oodometer.estimators.threshold import (
    ScoreThreshold,
    credit,
    find_threshold,
    find_threshold_on_grid,
    fit_threshold,
    total_credit,
)
from oodometer.intervals import normal_quantile, wilson_from_variance
from oodometer.outputs.terminal import view_lines
from oodometer.registry import create
from oodometer.testing import example_record

from ..snapshots import raises_snapshot

LEVELS = [-2.0, -0.5, 0.0, 0.25, 0.5, 1.0]
SCORES = st.one_of(
    st.lists(st.sampled_from(LEVELS), min_size=1, max_size=25),
    st.lists(st.floats(-9, 9), min_size=1, max_size=25),
)


def slow_cut(scores: Sequence[float], count: float) -> tuple[float, float]:
    """Try every score as threshold, from the top: the first that leaves ``count`` samples at or above it."""
    for t in sorted(set(scores), reverse=True):
        above, at = sum(s > t for s in scores), sum(s == t for s in scores)
        if above < count <= above + at:
            return t, (count - above) / at
    return math.inf, 0.0


def slow_share(scores: Sequence[float], cut: tuple[float, float]) -> float:
    """Mean of what each sample counts."""
    return sum((s > cut[0]) + cut[1] * (s == cut[0]) for s in scores) / len(scores)


def by_confidence(confidence: Any, correct: Any = None) -> Predictions:
    return Predictions.from_confidence(confidence, correct=correct)


@given(scores=SCORES, share=st.floats(0, 1))
def test_the_cut_is_that_of_a_search(scores: list[float], share: float) -> None:
    ordered = np.sort(np.array(scores))
    for count in (round(share * len(scores)), share * len(scores)):
        got, want = find_threshold(ordered, count), slow_cut(scores, count)
        assert got.threshold == want[0]
        assert got.share_of_ties == pytest.approx(want[1])
        assert total_credit(ordered, got) == pytest.approx(count), (
            "exactly as many as were asked for"
        )
        assert credit(ordered, got).sum() == pytest.approx(count)


@given(scores=SCORES, share=st.sampled_from([0.0, 0.25, 0.5, 1 - 2**-53, 1.0]))
def test_credit_in_two_passes_is_the_sum_of_credits(scores: list[float], share: float) -> None:
    """A share one bit below 1 must not take another road than a share of 1."""
    for threshold in (*scores, math.inf, -math.inf):
        cut = ScoreThreshold(threshold, share)
        array = np.array(scores)
        assert total_credit(array, cut) == pytest.approx(float(credit(array, cut).sum()))
        assert total_credit(array, cut) == pytest.approx(slow_share(scores, cut) * len(scores))


def test_the_ends_of_the_cut() -> None:
    ordered = np.array([-3.0, -2.0])
    assert find_threshold(ordered, 0) == ScoreThreshold(math.inf, 0.0)
    assert find_threshold(ordered, -5.0) == ScoreThreshold(math.inf, 0.0)
    assert find_threshold(ordered, 2) == find_threshold(ordered, 7.5) == ScoreThreshold(-3.0, 1.0)
    assert find_threshold(np.empty(0), 1) == ScoreThreshold(math.inf, 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(data=st.data())
def test_a_cut_within_the_gap_matches_the_reference_too(dtype: Any, data: st.DataObject) -> None:
    """It lies between two neighbours, by the share that counts; where they touch it stays on the upper one."""
    near = [0.5, float(np.nextafter(dtype(0.5), dtype(1))), 0.7, -1.0, 0.0, 3.0]
    scores = data.draw(
        st.lists(
            st.one_of(st.sampled_from(near), st.floats(-9, 9, width=32)), min_size=1, max_size=20
        )
    )
    ordered = np.sort(np.array(scores, dtype=dtype))
    count, n = data.draw(st.integers(0, len(scores))), len(scores)
    cut = find_threshold(ordered, count, within_gap=True)
    assert float(credit(ordered.astype(np.float64), cut).sum()) == pytest.approx(count)
    if (
        0 < count < n
        and ordered[n - count - 1] < ordered[n - count]
        and (ordered == ordered[n - count]).sum() == 1
    ):
        upper, lower = float(ordered[n - count]), float(ordered[n - count - 1])
        assert cut.threshold == pytest.approx(upper - count / n * (upper - lower))
        assert lower < cut.threshold <= upper
    else:
        assert cut == find_threshold(ordered, count)


@given(data=st.data(), level=st.sampled_from([0.5, 0.9, 0.99]))
def test_the_band_is_that_of_its_ranks(data: st.DataObject, level: float) -> None:
    scores = data.draw(SCORES)
    verdicts = data.draw(st.lists(st.integers(0, 1), min_size=len(scores), max_size=len(scores)))
    n, correct = len(scores), sum(verdicts)
    cuts, mismatch = fit_threshold(np.array(scores), np.array(verdicts, dtype=np.int8), level)
    fitted = slow_cut(scores, correct)
    credits = [(s > fitted[0]) + fitted[1] * (s == fitted[0]) for s in scores]
    want = (sum((v - c) ** 2 for v, c in zip(verdicts, credits, strict=True)) + 1) / (n + 1)
    assert mismatch == pytest.approx(want)
    half = normal_quantile(level) * math.sqrt(n * mismatch)
    for cut, count in zip(cuts, (correct, correct - half, min(correct + half, n)), strict=True):
        assert total_credit(np.array(scores), cut) == pytest.approx(max(count, 0), abs=1e-9)


@given(data=st.data())
def test_atc_is_a_search_of_every_threshold(data: st.DataObject) -> None:
    units = st.one_of(st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.floats(0, 1))
    reference = data.draw(st.lists(units, min_size=1, max_size=25))
    correct = data.draw(st.lists(st.booleans(), min_size=len(reference), max_size=len(reference)))
    target = data.draw(st.lists(units, min_size=1, max_size=25))
    fitted = AverageThresholdedConfidence().fit(by_confidence(reference, correct))
    found = fitted.estimate(by_confidence(target))
    assert found.value == pytest.approx(slow_share(target, slow_cut(reference, sum(correct))))
    own = fitted.estimate(by_confidence(reference))
    assert own.value == pytest.approx(sum(correct) / len(correct)), (
        "the reference is matched, whatever the ties"
    )


SCORED = ["max_probability", "negative_entropy", "margin", "energy", "model_agreement", "view_agreement", "vote_share",
          "sequence_mean_probability", "sequence_min_probability", "confidence"]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SCORED)
def test_threshold_over_any_score(name: str, dtype: Any) -> None:
    """Scores of eleven levels, negative scores, scores in single precision."""

    def cast(record: Predictions) -> Predictions:
        fields = {n: getattr(record, n) for n in record.fields}
        return Predictions.from_arrays(
            **{**fields, "logits": record.logits.astype(dtype), "probabilities": None}
        )

    reference, target = (
        cast(example_record(300, seed=1)),
        cast(example_record(211, seed=2, difficulty=1.7)),
    )
    score = create("score", name).fit(reference)
    want = slow_share(
        score(target).tolist(), slow_cut(score(reference).tolist(), int(reference.verdicts.sum()))
    )
    fitted = Threshold(score=name).fit(reference)
    assert fitted.estimate(target).value == pytest.approx(want)
    assert fitted.estimate(reference).value == pytest.approx(reference.accuracy)
    assert fitted.estimate(target).method == f"threshold:{name}"
    assert fitted.estimate(target).score == name


def test_short_names_of_thresholds() -> None:
    reference, target = example_record(300, seed=1), example_record(200, seed=2, difficulty=2)
    for short, name in (
        (AverageThresholdedConfidence(), "max_probability"),
        (AverageThresholdedEntropy(), "negative_entropy"),
        (Agreement(), "model_agreement"),
        (Smoothness(), "view_agreement"),
    ):
        long = Threshold(score=name).fit(reference).estimate(target)
        got = short.fit(reference).estimate(target)
        assert (got.value, got.lower, got.upper, got.score) == (
            long.value,
            long.lower,
            long.upper,
            long.score,
        )


def test_entropy_has_the_right_sign() -> None:
    """Where the flat rows are wrong, a flatter target has a lower estimate; with the sign turned it is higher."""
    sharp, flat = [0.98, 0.01, 0.01], [0.4, 0.3, 0.3]
    reference = Predictions.from_probabilities(
        [sharp] * 80 + [flat] * 20, label=[0] * 80 + [1] * 20
    )
    fitted = AverageThresholdedEntropy().fit(reference)
    assert fitted.estimate(
        Predictions.from_probabilities([sharp] * 30 + [flat] * 70)
    ).value == pytest.approx(0.3)


def test_the_interval_joins_both_samples() -> None:
    """Wilson's interval of the target, and the shares at the ends of the threshold's rank, root sum square."""
    reference, target = example_record(250, seed=5), example_record(180, seed=6, difficulty=1.5)
    scores, t = reference.top.first.tolist(), target.top.first.tolist()
    n, correct = 250, int(reference.verdicts.sum())
    cut = slow_cut(scores, correct)
    credits = np.array([(s > cut[0]) + cut[1] * (s == cut[0]) for s in scores])
    mismatch = (float(np.sum((reference.verdicts - credits) ** 2)) + 1) / (n + 1)
    half = normal_quantile(0.9) * math.sqrt(n * mismatch)
    value = slow_share(t, cut)
    low, high = (
        slow_share(t, slow_cut(scores, correct - half)),
        slow_share(t, slow_cut(scores, min(correct + half, n))),
    )
    wilson = wilson_from_variance(value, max(value * (1 - value), mismatch) / 180, 180, 0.9)
    found = AverageThresholdedConfidence(level=0.9).fit(reference).estimate(target)
    assert found.lower == pytest.approx(value - math.hypot(value - wilson[0], value - low))
    assert found.upper == pytest.approx(min(value + math.hypot(wilson[1] - value, high - value), 1))


def test_an_unknown_score_fails_at_once() -> None:
    with raises_snapshot(UsageError):
        Threshold(score="margins")
    with raises_snapshot(NotApplicable):
        Threshold(score="energy").fit(by_confidence([0.5], [1]))


def test_neighbour_distances_of_reference_and_target_are_comparable() -> None:
    """A reference row must not count itself as its neighbour: with no shift the estimate is right on average."""
    rng = np.random.default_rng(0)
    values = []
    for _ in range(20):

        def draw(rows: int) -> Predictions:
            x = rng.standard_normal((rows, 3))
            correct = np.linalg.norm(x, axis=1) < 2
            return Predictions.from_arrays(
                features=x, correct=correct, prediction=np.zeros(rows, dtype=int)
            )

        reference, target = draw(60), draw(400)
        values.append(
            Threshold(score="neighbor_distance").fit(reference).estimate(target).value
            - reference.accuracy
        )
    assert abs(np.mean(values)) < 0.03


def slow_class_cut(scores: list[float], count: int) -> tuple[float, float]:
    """The cut of one class: within the gap below the last score that counts, by the share that counts."""
    threshold, share = slow_cut(scores, count)
    falling = sorted(scores, reverse=True)
    if 0 < count < len(scores) and scores.count(threshold) == 1:
        threshold -= count / len(scores) * (threshold - falling[count])
    return threshold, share


def slow_classwise(reference: Predictions, target: Predictions) -> float:
    """A search for each predicted class of at least 20 rows, else the search over all rows."""
    scores, verdicts, predicted = reference.top.first, reference.verdicts, reference.predicted
    overall = slow_cut(scores.tolist(), int(verdicts.sum()))
    cuts = {}
    for k in range(reference.num_classes):
        mine = predicted == k
        cuts[k] = (
            slow_class_cut(scores[mine].tolist(), int(verdicts[mine].sum()))
            if mine.sum() >= 20
            else overall
        )
    return float(
        np.mean(
            [
                slow_share([s], cuts[h])
                for s, h in zip(target.top.first.tolist(), target.predicted, strict=True)
            ]
        )
    )


@pytest.mark.parametrize("rows", [30, 90, 400])
@pytest.mark.parametrize("rounded", [False, True])
def test_classwise_is_a_search_for_each_class(rows: int, rounded: bool) -> None:
    """With 30 rows all classes are small; with 90 some are; rounding makes ties."""

    def draw(n: int, seed: int) -> Predictions:
        rng = np.random.default_rng([seed, rows])
        p = rng.dirichlet([0.8, 0.5, 0.3], n)
        if rounded:
            p = np.round(p * 5) + 1e-9 * rng.random((n, 1)) * 0
            p[p.sum(axis=1) == 0] = 1
            p /= p.sum(axis=1, keepdims=True)
        return Predictions.from_probabilities(p, label=rng.integers(0, 3, n))

    reference, target = draw(rows, 1), draw(150, 2)
    fitted = ClasswiseThreshold().fit(reference)
    found = fitted.estimate(target)
    assert found.value == pytest.approx(slow_classwise(reference, target))
    own = int((np.bincount(reference.predicted, minlength=3) >= 20).sum())
    if own in (0, 3):
        assert fitted.estimate(reference).value == pytest.approx(reference.accuracy)
    assert found.details == {"own_threshold": own, "global_threshold": 3 - own}


def test_nineteen_rows_are_too_few_for_a_class() -> None:
    """Class 1 is always wrong. With 20 rows it has a threshold of its own; with 19 the common one lets some pass."""
    for rows, value in ((20, 0.0), (19, 1.0)):
        p = [[0.6, 0.4]] * 100 + [[0.1, 0.9]] * rows
        reference = Predictions.from_probabilities(p, label=[0] * 100 + [0] * rows)
        found = (
            ClasswiseThreshold()
            .fit(reference)
            .estimate(Predictions.from_probabilities([[0.1, 0.9]] * 10))
        )
        assert found.value == value


def test_classwise_over_another_score_and_for_members() -> None:
    reference = example_record(300, seed=1)
    made = create("estimator", "threshold-classwise:margin")
    assert made.fit(reference).estimate(reference).value == pytest.approx(reference.accuracy)
    assert made.fit(reference).estimate(reference).method == "threshold-classwise:margin"
    bare = Predictions.from_arrays(members=[[0, 1] * 30, [0, 0] * 30], label=[0, 1] * 30)
    votes = create("estimator", "threshold-classwise:model_agreement")
    assert votes.fit(bare).estimate(bare).value == pytest.approx(1.0)
    with raises_snapshot(NotApplicable):
        ClasswiseThreshold().fit(by_confidence([0.5], [1]))
    with raises_snapshot(NotApplicable):
        ClasswiseThreshold().fit(bare)


def test_more_classes_than_sixteen_bits_hold() -> None:
    """Class 65 536 must not be taken for class 0."""
    classes = 70_000
    predicted = np.concatenate([np.full(40, 0), np.full(40, 65_536)])
    correct = np.concatenate([np.ones(40), np.zeros(40)])
    reference = Predictions.from_arrays(
        prediction=predicted, votes=[[True] * 80], correct=correct, classes=range(classes)
    )
    fitted = create("estimator", "threshold-classwise:vote_share").fit(reference)
    target = Predictions.from_arrays(
        prediction=[0, 65_536], votes=[[True, True]], classes=range(classes)
    )
    assert fitted.estimate(target.slice(0, 1)).value == 1
    assert fitted.estimate(target.slice(1, 2)).value == 0


def slow_nearness(reference: list[list[float]], x: list[float]) -> float:
    near = sorted(math.dist(x, y) for y in reference)[:25]
    return -sum(near) / len(near)


def slow_gate(reference: Predictions, target: Predictions) -> tuple[float, float]:
    """Value and share beyond the gate: each row with all others, each class's own 1 % quantile of nearness."""
    features = reference.features.tolist()
    own = np.array(
        [slow_nearness(features[:i] + features[i + 1 :], x) for i, x in enumerate(features)]
    )
    gate = {}
    for k in range(reference.num_classes):
        mine = reference.predicted == k
        gate[k] = np.quantile(own[mine] if mine.sum() >= 20 else own, 0.01)

    def gated(record: Predictions, nearness: Any) -> list[float]:
        rows = zip(record.top.first.tolist(), nearness, record.predicted, strict=True)
        return [s if d >= gate[h] else -math.inf for s, d, h in rows]

    cut = slow_cut(gated(reference, own), int(reference.verdicts.sum()))
    there = [slow_nearness(features, x) for x in target.features.tolist()]
    scores = gated(target, there)
    credits = [0.0 if s == -math.inf else slow_share([s], cut) for s in scores]
    return float(np.mean(credits)), float(np.mean(np.isneginf(scores)))


@pytest.mark.parametrize("width", [2, 50])
@pytest.mark.parametrize("move", [0.0, 1.5, 100.0])
def test_the_gate_is_that_of_a_loop(width: int, move: float) -> None:
    rng = np.random.default_rng(width)

    def draw(rows: int, shift: float) -> Predictions:
        p = rng.dirichlet([0.9, 0.5, 0.08], rows)
        x = rng.standard_normal((rows, width)) + shift * (rng.random((rows, 1)) < 0.5)
        label = np.where(rng.random(rows) < 0.7, p.argmax(axis=1), 0)
        return Predictions.from_arrays(probabilities=p, label=label, features=x)

    reference, target = draw(150, 0.0), draw(80, move)
    assert np.bincount(reference.predicted, minlength=3)[2] < 20, "one class is small"
    value, beyond = slow_gate(reference, target)
    found = DistanceThreshold().fit(reference).estimate(target)
    assert found.value == pytest.approx(value)
    assert found.details["share_beyond_the_reference"] == pytest.approx(beyond)


def test_far_away_nothing_is_right() -> None:
    """Even a reference without an error says nothing of a region where it has no row."""
    record = example_record(200, seed=1)
    bare = {n: getattr(record, n) for n in record.fields if n not in ("label", "features")}
    reference = Predictions.from_arrays(**bare, features=record.features, correct=np.ones(200))
    far = Predictions.from_arrays(**bare, features=record.features + 1000)
    found = DistanceThreshold().fit(reference).estimate(far)
    assert found.value == 0
    assert found.details["share_beyond_the_reference"] == 1


def test_the_reference_is_matched_with_the_gate_closed() -> None:
    """About 1 % of the reference lies beyond the gate; the threshold is lowered by as much."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((500, 2))
    p = rng.dirichlet([1, 1], 500)
    reference = Predictions.from_arrays(probabilities=p, label=rng.integers(0, 2, 500), features=x)
    fitted = DistanceThreshold().fit(reference)
    nearness = fitted._distance.leave_one_out(reference)
    scores = fitted._gated(reference, reference.top.first, nearness)
    assert 0 < np.isneginf(scores).mean() < 0.03
    assert total_credit(scores, fitted._thresholds[0]) == pytest.approx(reference.verdicts.sum())


def test_the_gate_needs_features() -> None:
    record = example_record(50)
    with raises_snapshot(NotApplicable):
        DistanceThreshold().fit(
            Predictions.from_arrays(probabilities=record.probabilities, label=record.label)
        )
    fitted = create("estimator", "threshold-distance:margin").fit(record)
    assert fitted.name == "threshold-distance:margin"
    other = Predictions.from_arrays(probabilities=record.probabilities, features=np.zeros((50, 9)))
    with raises_snapshot(NotApplicable):
        fitted.estimate(other)


def test_the_first_best_step_is_taken_and_one_is_never_tried():
    scores = np.sort(np.random.default_rng(0).random(500))
    for count in (0, 137, 500):
        tried = [(abs(float(np.mean(scores >= k / 20)) - count / 500), k) for k in range(20)]
        assert find_threshold_on_grid(scores, count, (0.0, 1.0), 20).threshold == pytest.approx(
            min(tried)[1] / 20
        )


def test_an_estimate_by_the_grid_is_the_share_at_or_above_its_threshold():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([0.5] * 3, 400)
    reference = oodometer.Predictions.from_probabilities(
        p, label=[int(rng.choice(3, p=row)) for row in p]
    )
    found = oodometer.estimate(
        reference, reference, methods=["threshold:max_probability:10"]
    ).estimates[0]
    threshold = found.details["threshold"]
    assert round(threshold * 10) == pytest.approx(threshold * 10)
    assert found.value == pytest.approx(np.mean(p.max(1) >= threshold))
    assert found.lower <= found.value <= found.upper


@pytest.mark.parametrize("name", ["threshold:margin:x", "threshold:margin:0", "threshold:margin:"])
def test_a_grid_that_is_no_number_of_steps_is_refused(name):
    rng = np.random.default_rng(1)
    record = oodometer.Predictions.from_probabilities(
        rng.dirichlet([1, 1], 60), label=rng.integers(0, 2, 60).tolist()
    )
    if name.endswith(":"):
        assert (
            oodometer.estimate(record, record, methods=[name]).estimates[0].method
            == "threshold:margin"
        )
        return
    with pytest.raises(UsageError, match="step"):
        oodometer.estimate(record, record, methods=[name])


def published(reference: Any, correct: Any, target: Any, grid: Any) -> float:
    """The mechanism of the code of Trivedi et al. (2023), thresholds and scores rounded to four digits as there."""
    reference, target, grid = (np.round(values, 4) for values in (reference, target, grid))
    shares = [(reference >= threshold).sum() / len(reference) for threshold in grid]
    threshold = grid[np.abs(np.array(shares) - correct.mean()).argmin()]
    return float((target >= threshold).sum() / len(target))


def drawn(seed: int, rows: int, gap: float) -> Predictions:
    """A record of four classes with ten views and five models, the judged one among them."""
    rng = np.random.default_rng(seed)
    label = rng.integers(4, size=rows)
    logits = rng.normal(size=(rows, 4))
    logits[np.arange(rows), label] += gap
    p = np.exp(3 * logits)
    members = (logits + 0.7 * rng.normal(size=(4, rows, 4))).argmax(2)
    return Predictions.from_arrays(
        probabilities=(p / p.sum(1, keepdims=True)).round(6),
        label=label,
        views=(logits + 0.7 * rng.normal(size=(10, rows, 4))).argmax(2),
        members=np.stack([logits.argmax(1), *members]),
        classes=range(4),
    )


def test_conf_lms_and_ma_are_those_of_the_published_code() -> None:
    """Also where a calibrator is chosen for the other methods: these are asked as the model answered."""
    for seed in range(3):
        reference, target = drawn(seed, 900, 1.2), drawn(seed + 50, 700, 0.6)
        found = oodometer.estimate(
            reference, target.without_labels(), methods=["conf", "lms", "ma", "atc"]
        )
        assert found.calibration["name"] == "temperature"
        (here, there), correct = (reference, target), reference.verdicts
        conf = [np.asarray(record.probabilities).max(1) for record in (here, there)]
        lms = [
            np.array([Counter(row).most_common(1)[0][1] / 10 for row in np.asarray(r.views).T])
            for r in (here, there)
        ]
        ma = [
            (np.asarray(record.members)[1:] == np.asarray(record.members)[0]).sum(0) / 4
            for record in (here, there)
        ]
        scores = {"conf": (conf, 0.001), "lms": (lms, 1 / 10), "ma": (ma, 1 / 4)}
        for name, ((known, asked), step) in scores.items():
            want = published(known, correct, asked, np.arange(0, 1, step))
            assert found[name].value == pytest.approx(want, abs=1e-12), name
            assert found[name].lower <= want <= found[name].upper


def test_a_calibrator_that_is_named_serves_conf_as_well() -> None:
    reference, target = drawn(1, 900, 1.2), drawn(51, 700, 0.6).without_labels()
    raw = oodometer.estimate(reference, target, methods=["conf"])
    switched_off = oodometer.estimate(reference, target, methods=["conf"], calibrator="none")
    assert raw["conf"].value == switched_off["conf"].value
    scaled = oodometer.estimate(reference, target, methods=["conf"], calibrator="temperature")
    assert scaled["conf"].details["threshold"] != raw["conf"].details["threshold"]


def test_slices_and_trials_ask_conf_as_the_model_answered() -> None:
    reference, target = drawn(1, 900, 1.2), drawn(51, 700, 0.6)
    part = np.arange(700) % 2
    by_part = replace(target, columns={"part": part.astype(str).astype(object)})
    found = oodometer.estimate(reference, by_part, methods=["conf", "doc"], by="part")
    assert found.calibration["name"] == "temperature"
    threshold = found["conf"].details["threshold"]
    estimates = {
        part.name: next(e for e in part.estimates if e.method == "conf") for part in found.slices
    }
    for name, estimate in estimates.items():
        rows = np.asarray(target.probabilities)[part == int(name)]
        assert estimate.value == pytest.approx(np.mean(rows.max(1) >= threshold))
    trials = [
        run_backtest(
            reference,
            BacktestOptions(["conf", "doc"], repeats=1, cache=None, calibrator=calibrator),
        )
        for calibrator in ("auto", "none")
    ]
    of = {
        name: [[trial.estimates[name] for trial in found.trials] for found in trials]
        for name in ("conf", "doc")
    }
    assert of["conf"][0] == of["conf"][1]
    assert of["doc"][0] != of["doc"][1]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("lms", "needs `views`.*`oodometer predict MODEL DATA --views 10 --out FILE` writes them"),
        ("ma", "needs `members`.*`oodometer predict MODEL DATA --member MODEL .* writes them"),
    ],
)
def test_what_a_named_method_lacks_is_said_with_the_command(name: str, why: str) -> None:
    record = Predictions.from_arrays(
        probabilities=drawn(1, 300, 1.0).probabilities, label=drawn(1, 300, 1.0).label
    )
    with pytest.raises(InputError, match=why):
        oodometer.estimate(record, record, methods=[name])
    found = oodometer.estimate(record, record, methods=["conf", name])
    assert found.named == ("conf", name)
    lines = view_lines(found.view(), 200)
    assert any(line.split()[:1] == ["conf"] for line in lines), "what was named is shown"
    assert any(re.match(f"{name}: {why}", line) for line in lines)
    unnamed = view_lines(oodometer.estimate(record, record).view(), 200)
    assert not any(line.split()[:1] == ["atc"] for line in unnamed), "of all methods none"
