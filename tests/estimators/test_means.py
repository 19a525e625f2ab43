"""Estimators that are means (source, AC, DoC, IM, GDE, votes) against plain loops, and what they share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions, registry
from oodometer.arrays import softmax
from oodometer.calibrators import Temperature
from oodometer.calibrators.binned_map import bin_numbers
from oodometer.errors import NotApplicable, UsageError
from oodometer.estimators import (
    AverageConfidence,
    DifferenceOfConfidence,
    DisagreementDifference,
    GeneralizationDisagreement,
    HistogramImportance,
    RiskCoverage,
    SoftDisagreement,
    SourceAccuracy,
    Sums,
)
from oodometer.estimators.mean_confidence import _along
from oodometer.intervals import wilson_from_variance
from oodometer.registry import create
from oodometer.testing import example_record

from ..snapshots import assert_snapshot, raises_snapshot

UNITS = st.one_of(st.sampled_from([0.0, 0.1, 0.5, 0.9999999, 1.0]), st.floats(0, 1))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[float], list[bool], list[float]]:
    """Confidences and correctness of a reference, confidences of a target."""
    reference = draw(st.lists(UNITS, min_size=1, max_size=30))
    correct = draw(st.lists(st.booleans(), min_size=len(reference), max_size=len(reference)))
    return reference, correct, draw(st.lists(UNITS, min_size=1, max_size=30))


def records(reference: Any, correct: Any, target: Any) -> tuple[Predictions, Predictions]:
    return Predictions.from_confidence(reference, correct=correct), Predictions.from_confidence(
        target
    )


def mean(values: Any) -> float:
    return sum(values) / len(values)


def population_variance(values: Any) -> float:
    return mean([(v - mean(values)) ** 2 for v in values])


def smoothed_variance(values: list[float]) -> float:
    """Population variance with one squared unit added: a reference of one row is not a certain one."""
    return (population_variance(values) * len(values) + 1) / (len(values) + 1)


@given(correct=st.lists(st.booleans(), min_size=1, max_size=40))
def test_source_is_the_reference_with_its_exact_interval_and_the_chance_of_the_target(
    correct: list[bool],
) -> None:
    reference, target = records([0.5] * len(correct), correct, [0.9, 0.1])
    found = SourceAccuracy(level=0.9).fit(reference).estimate(target)
    exact = scipy.stats.binomtest(sum(correct), len(correct)).proportion_ci(0.9)
    assert found.value == pytest.approx(mean(correct))
    assert found.lower <= exact.low + 1e-9
    assert found.upper >= exact.high - 1e-9
    assert found.interval.width > exact.high - exact.low or found.interval.width == 1, (
        "two target rows add to it"
    )
    endless = SourceAccuracy(level=0.9).fit(reference).finish(Sums(rows=10**12))
    assert (endless.lower, endless.upper) == pytest.approx((exact.low, exact.high), abs=1e-5)
    assert found.rows == 2
    assert found.details == {"reference_rows": len(correct)}


@given(data=pairs())
def test_average_confidence_is_a_mean(data: Any) -> None:
    reference, target = records(*data)
    found = AverageConfidence(level=0.9).fit(reference).estimate(target)
    value = mean(data[2])
    want = wilson_from_variance(value, value * (1 - value) / len(data[2]), len(data[2]), 0.9)
    assert found.value == pytest.approx(value)
    assert (found.lower, found.upper) == pytest.approx(want)


def test_average_confidence_over_every_score_that_is_a_probability() -> None:
    reference, target = example_record(200, seed=1), example_record(150, seed=2, difficulty=1.5)
    for name in registry.names("score"):
        score = registry.create("score", name)
        if score.is_probability:
            found = AverageConfidence(score=name).fit(reference).estimate(target)
            assert found.value == pytest.approx(mean(score.fit(reference)(target).tolist())), name
            assert (found.method, found.score) == (f"ac:{name}", name)
        else:
            with raises_snapshot(UsageError):
                AverageConfidence(score=name)


def test_calibration_on_the_reference_widens_the_interval() -> None:
    """A temperature was learnt from 100 rows; that doubt is part of the interval."""
    reference, target = example_record(100, seed=1), example_record(5000, seed=2)
    fitted = Temperature().fit(reference)
    gap = np.asarray(fitted(reference).verdicts) - fitted(reference).top.first
    raw = AverageConfidence(level=0.9).fit(reference).estimate(target)
    cured = AverageConfidence(level=0.9).fit(fitted(reference)).estimate(fitted(target))
    v = cured.value
    want = wilson_from_variance(
        v, v * (1 - v) / 5000 + smoothed_variance(gap.tolist()) / 100, 100, 0.9
    )
    assert (cured.lower, cured.upper) == pytest.approx(want)
    assert cured.upper - cured.lower > 2 * (raw.upper - raw.lower)


@given(data=pairs())
def test_difference_of_confidences_is_acc_plus_the_fall(data: Any) -> None:
    confidence, correct, there = data
    found = DifferenceOfConfidence(level=0.9).fit(records(*data)[0]).estimate(records(*data)[1])
    raw = mean(correct) + mean(there) - mean(confidence)
    value = min(max(raw, 0.0), 1.0)
    assert found.value == pytest.approx(value, abs=1e-12)
    gaps = [c - s for c, s in zip(correct, confidence, strict=True)]
    m = mean(there)
    variance = smoothed_variance(gaps) / len(gaps) + max(
        m * (1 - m), smoothed_variance(gaps)
    ) / len(there)
    want = wilson_from_variance(value, variance, min(len(gaps), len(there)), 0.9)
    assert (found.lower, found.upper) == pytest.approx(want)
    assert found.details["reference_gap"] == pytest.approx(mean(gaps), abs=1e-12)


@pytest.mark.parametrize(
    ("here", "right", "there", "value", "raw"), [(0.5, 1, 0.9, 1, "1.4"), (0.9, 0, 0.1, 0, "-0.8")]
)
def test_a_value_outside_the_unit_interval_is_cut_and_said(
    here: float, right: int, there: float, value: int, raw: str
) -> None:
    """Right always at confidence 0.5, and 0.9 on the target: 1 + 0.9 - 0.5 = 1.4."""
    reference, target = records([here] * 20, [right] * 20, [there] * 10)
    found = DifferenceOfConfidence().fit(reference).estimate(target)
    assert found.value == value
    assert found.warnings == (
        f"the formula gave {raw}000, outside [0, 1]; its assumption fails here",
    )
    same = Predictions.from_confidence([0.5] * 10, correct=[True, False] * 5)
    assert DifferenceOfConfidence().fit(same).estimate(same).warnings == ()


def density_ratio(
    confidence: list[float], correct: list[bool], there: list[float], bins: int = 10
) -> float:
    """mean_S of ratio(bin) * correct; a bin that only the target fills takes what lies between its neighbours."""

    def place(p: float) -> int:
        return min(int(p * bins), bins - 1)

    here = [place(p) for p in confidence]
    accuracy = {
        b: mean([c for c, own in zip(correct, here, strict=True) if own == b]) for b in set(here)
    }
    total = 0.0
    for b in range(bins):
        share = sum(place(p) == b for p in there) / len(there)
        if b in accuracy:
            ratio = share / (here.count(b) / len(here))
            total += sum(ratio * c for c, own in zip(correct, here, strict=True) if own == b) / len(
                here
            )
        elif share:
            below, above = [x for x in accuracy if x < b], [x for x in accuracy if x > b]
            if below and above:
                lo, hi = max(below), min(above)
                total += share * (
                    accuracy[lo] + (accuracy[hi] - accuracy[lo]) * (b - lo) / (hi - lo)
                )
            else:
                total += share * accuracy[max(below) if below else min(above)]
    return total


@given(data=pairs(), bins=st.sampled_from([1, 3, 10]))
def test_importance_is_the_mean_under_a_density_ratio(data: Any, bins: int) -> None:
    reference, target = records(*data)
    found = HistogramImportance(bins=bins).fit(reference).estimate(target)
    assert found.value == pytest.approx(density_ratio(*data, bins), abs=1e-12)


def test_rows_in_bins_that_the_reference_lacks_are_warned_of() -> None:
    reference, target = records(
        [0.95] * 10 + [0.55] * 10, [True] * 10 + [True, False] * 5, [0.75] * 3 + [0.95] * 7
    )
    found = HistogramImportance().fit(reference).estimate(target)
    assert found.value == pytest.approx(0.3 * 0.75 + 0.7)
    assert found.details["share_outside_reference"] == pytest.approx(0.3)
    assert_snapshot(found.warnings)
    assert HistogramImportance().fit(reference).estimate(reference).warnings == ()


def test_variance_of_importance_by_hand() -> None:
    """One bin, 6 of 10 right: smoothed rate 6.5 / 11; the target adds v (1 - v) / n."""
    reference, target = records([0.95] * 10, [True] * 6 + [False] * 4, [0.97] * 40)
    found = HistogramImportance(level=0.9).fit(reference).estimate(target)
    rate = 6.5 / 11
    want = wilson_from_variance(0.6, rate * (1 - rate) / 10 + 0.24 / 40, 10, 0.9)
    assert (found.lower, found.upper) == pytest.approx(want)


@st.composite
def ensembles(draw: st.DrawFn) -> tuple[list[int], list[list[int]], list[int]]:
    rows, models = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    classes = st.lists(st.integers(0, 2), min_size=rows, max_size=rows)
    return draw(classes), [draw(classes) for _ in range(models)], draw(classes)


def agreement(base: list[int], others: list[list[int]]) -> float:
    """Mean over the other models of the share of samples on which they say what the judged model says."""
    return mean([mean([o[i] == base[i] for i in range(len(base))]) for o in others])


@given(here=ensembles(), data=st.data())
def test_disagreement_is_that_of_loops(here: Any, data: st.DataObject) -> None:
    base, others, label = here
    rows = data.draw(st.integers(1, 12))
    classes = st.lists(st.integers(0, 2), min_size=rows, max_size=rows)
    there, their_others = data.draw(classes), [data.draw(classes) for _ in others]
    reference = Predictions.from_arrays(
        prediction=base, members=others, label=label, classes=[0, 1, 2]
    )
    target = Predictions.from_arrays(prediction=there, members=their_others, classes=[0, 1, 2])
    plain = GeneralizationDisagreement().fit(reference).estimate(target)
    assert plain.value == pytest.approx(agreement(there, their_others))
    raw = (
        mean([y == h for y, h in zip(label, base, strict=True)])
        + agreement(there, their_others)
        - agreement(base, others)
    )
    difference = DisagreementDifference().fit(reference).estimate(target)
    assert difference.value == pytest.approx(min(max(raw, 0), 1), abs=1e-12)
    own = DisagreementDifference().fit(reference).estimate(reference)
    assert own.value == pytest.approx(reference.accuracy)


def test_a_copy_of_the_judged_model_is_left_out_everywhere() -> None:
    """Counted in, the copy would lift the agreement of two models from 0.5 to 0.75."""
    rng = np.random.default_rng(0)
    base = rng.integers(0, 2, 400)
    other = np.where(np.arange(400) % 2, base, 1 - base)
    label = rng.integers(0, 2, 400)
    with_copy = Predictions.from_arrays(prediction=base, members=[other, base], label=label)
    without = Predictions.from_arrays(prediction=base, members=[other], label=label)
    for name in (
        "gde",
        "gde-difference",
        "agreement",
        "threshold:model_agreement",
        "ac:model_agreement",
    ):
        method = create("estimator", name)
        for rows in (slice(0, 400), slice(0, 4)):
            target = with_copy.slice(rows.start, rows.stop)
            got = method.fit(with_copy).estimate(target)
            want = method.fit(without).estimate(without.slice(rows.start, rows.stop))
            assert (got.value, got.lower, got.upper) == pytest.approx(
                (want.value, want.lower, want.upper)
            ), name
    assert GeneralizationDisagreement().fit(with_copy).estimate(with_copy).value == 0.5


def test_only_copies_are_no_ensemble() -> None:
    base = np.arange(60) % 2
    record = Predictions.from_arrays(prediction=base, members=[base, base], label=base)
    with raises_snapshot(NotApplicable):
        GeneralizationDisagreement().fit(record)


@given(seed=st.integers(0, 50), models=st.integers(1, 4), classes=st.integers(2, 5))
def test_soft_disagreement_is_that_of_loops(seed: int, models: int, classes: int) -> None:
    q = np.random.default_rng(seed).dirichlet(np.ones(classes), (models, 6))
    record = Predictions.from_arrays(member_probabilities=q)
    want = mean(
        [
            sum(mean([q[m, i, k] for m in range(models)]) ** 2 for k in range(classes))
            for i in range(6)
        ]
    )
    found = SoftDisagreement().fit(record).estimate(record)
    assert found.value == pytest.approx(want)
    assert 1 / classes - 1e-12 <= found.value <= 1


def test_logits_of_a_model_are_never_averaged_with_probabilities() -> None:
    """One model of three gives logits: refused at the door, whether they leave [0, 1] or only miss the sum."""
    z = np.array([[2.0, -1.0], [0.5, 0.1]])
    good = softmax(z)
    for bad in (z, np.abs(z)):
        with raises_snapshot(ValueError):
            Predictions.from_arrays(member_probabilities=np.stack([good, bad, good]))
    record = Predictions.from_arrays(logits=z, member_probabilities=np.stack([good, good]))
    found = SoftDisagreement().fit(record).estimate(record)
    assert found.value == pytest.approx(float(np.mean(np.sum(good**2, axis=1))))


def test_rows_of_unknown_truth_are_left_out_of_the_reference() -> None:
    record = example_record(200, seed=1)
    label = record.label.astype(float)
    label[50:] = np.nan
    gaps = Predictions.from_arrays(
        **{n: getattr(record, n) for n in record.fields} | {"label": label}
    )
    target = example_record(100, seed=2)
    for name in ("source", "doc", "atc", "cbpe"):
        method = create("estimator", name)
        got, want = (
            method.fit(gaps).estimate(target),
            method.fit(record.slice(0, 50)).estimate(target),
        )
        assert (got.value, got.lower, got.upper) == pytest.approx(
            (want.value, want.lower, want.upper)
        ), name


def test_what_cannot_be_fitted_says_why() -> None:
    ac = AverageConfidence()
    with raises_snapshot(NotApplicable):
        ac.fit()
    with raises_snapshot(NotApplicable):
        ac.fit(Predictions.from_confidence([0.5], correct=[None]))
    with raises_snapshot(NotApplicable):
        ac.fit(Predictions.from_classes([0, 1], label=[0, 1]))
    fitted = ac.fit(Predictions.from_confidence([0.5], correct=[1]))
    with raises_snapshot(NotApplicable):
        fitted.estimate(Predictions.from_confidence([]))
    with raises_snapshot(NotApplicable):
        fitted.estimate(Predictions.from_classes([0]))


@pytest.mark.parametrize("name", ["ac", "doc", "atc", "im", "cbpe"])
def test_the_target_needs_the_same_confidence_as_the_reference(name: str) -> None:
    """A reference with probabilities and a target with `confidence` alone are not compared with each other."""
    reference = example_record(100)
    bare = Predictions.from_arrays(probabilities=reference.probabilities, label=reference.label)
    fitted = create("estimator", name).fit(bare)
    target = Predictions.from_confidence([0.5, 0.6])
    assert_snapshot(fitted.why_not(target))
    with raises_snapshot(NotApplicable):
        fitted.estimate(target)
    both = fitted.estimate(
        Predictions.from_arrays(probabilities=[[0.5, 0.2, 0.2, 0.1]], confidence=[0.9])
    )
    assert both.score == "max_probability"


def test_states_add_up_entry_by_entry() -> None:
    one, other = Sums(rows=1, counts=np.array([1, 2])), Sums(rows=2, counts=np.array([0, 5]))
    total = one + other
    assert (total.rows, total["counts"].tolist()) == (3, [1, 7])
    assert one["counts"].tolist() == [1, 2], "the parts stay as they are"
    with raises_snapshot(ValueError):
        _ = one + Sums(rows=1)


@pytest.mark.parametrize("level", [0, 1, 95, math.nan])
def test_levels_are_checked_when_a_method_is_made(level: float) -> None:
    for name in ("source", "atc", "cbpe", "threshold:margin"):
        with raises_snapshot(UsageError):
            create("estimator", name, level=level)


def calibrated(rows: int, seed: int = 0) -> Predictions:
    rng = np.random.default_rng([seed, rows])
    confidence = rng.beta(3, 1, rows)
    return Predictions.from_confidence(confidence, correct=rng.random(rows) < confidence)


@given(
    counts=st.lists(st.integers(0, 5), min_size=1, max_size=8).filter(any),
    data=st.data(),
    share=st.floats(0.01, 1),
)
def test_the_accuracy_of_a_share_is_that_of_its_best_rows(
    counts: list[int], data: st.DataObject, share: float
) -> None:
    """Rows one by one, from the highest bin down; the last one counts by the part of it that is needed."""
    rates = [data.draw(st.floats(0, 1)) for _ in counts]
    rows = [r for n, r in reversed(list(zip(counts, rates, strict=True))) for _ in range(n)]
    wanted = share * len(rows)
    whole = int(wanted)
    total = sum(rows[:whole]) + (rows[whole] * (wanted - whole) if whole < len(rows) else 0.0)
    got = _along(np.array([counts], dtype=float), np.array([rates]), np.array([share]))
    assert got[0, 0] == pytest.approx(total / wanted, abs=1e-9)


def test_the_curve_is_that_of_a_loop_over_the_target() -> None:
    reference, target = (
        example_record(3000, seed=1, difficulty=1.6),
        example_record(500, seed=2, difficulty=2.0),
    )
    fitted = RiskCoverage().fit(reference)
    curve = fitted.estimate(target)
    rate = fitted._map.rate[0][bin_numbers(target.top.first, 1)]
    order = np.argsort(-target.top.first)
    for i, coverage in enumerate(np.arange(1, 101) / 100):
        count = round(coverage * 500)
        assert curve.y[i] == pytest.approx(rate[order][:count].mean(), abs=0.02)
    assert curve.y[-1] == pytest.approx(rate.mean())
    assert curve.x.tolist() == pytest.approx((np.arange(1, 101) / 100).tolist())


def test_with_no_shift_the_curve_is_the_true_one() -> None:
    """Estimated without labels, then compared with the labels."""
    target = calibrated(20_000, seed=2)
    curve = RiskCoverage(level=0.9).fit(calibrated(5000, seed=1)).estimate(target)
    correct = target.verdicts[np.argsort(-target.confidence)]
    truth = np.cumsum(correct) / np.arange(1, 20_001)
    at = (np.arange(1, 101) * 200) - 1
    np.testing.assert_allclose(curve.y, truth[at], atol=0.03)
    held = np.mean((curve.lower <= truth[at]) & (truth[at] <= curve.upper))
    assert held >= 0.7
    assert (np.diff(curve.y) <= 1e-9).all(), "the more is covered, the less is right"


def test_thresholds_leave_their_share_above() -> None:
    target = calibrated(4000, seed=3)
    curve = RiskCoverage().fit(calibrated(1000, seed=1)).estimate(target)
    for coverage, threshold in zip(curve.x, curve.extra["thresholds"], strict=True):
        above = float(np.mean(target.confidence >= threshold))
        assert above == pytest.approx(coverage, abs=0.04)
    assert (np.diff(curve.extra["thresholds"]) <= 0).all()


def test_answers_are_read_off_the_curve() -> None:
    fitted = RiskCoverage(target_accuracies=(0.9, 0.5, 0.999999)).fit(calibrated(5000, seed=1))
    curve = fitted.estimate(calibrated(5000, seed=2))
    usual, easy, hard = curve.extra["answers"]
    assert usual["accuracy"] == 0.9
    i = round(usual["coverage"] * 100) - 1
    assert curve.y[i] >= 0.9
    assert i == 99 or curve.y[i + 1] < 0.9
    assert usual["threshold"] == curve.extra["thresholds"][i]
    assert usual["safe_coverage"] < usual["coverage"]
    assert usual["safe_threshold"] > usual["threshold"]
    j = round(usual["safe_coverage"] * 100) - 1
    assert curve.lower[j] >= 0.9
    assert easy["coverage"] == 1.0
    assert hard["coverage"] is None
    assert hard["threshold"] is None
    assert hard["safe_coverage"] is None


@pytest.mark.parametrize("correct", [0, 1])
@pytest.mark.parametrize("confidence", [0.0, 0.6, 1.0])
def test_constant_confidence_makes_a_flat_curve(confidence: float, correct: int) -> None:
    """All samples tie: ties are spread evenly, and the band stays within its bounds."""
    reference = Predictions.from_confidence([confidence] * 60, correct=[correct] * 60)
    curve = RiskCoverage().fit(reference).estimate(Predictions.from_confidence([confidence] * 7))
    assert np.ptp(curve.y) < 1e-9
    assert (curve.lower <= curve.y).all()
    assert (curve.y <= curve.upper).all()
    assert curve.lower.min() >= 0
    assert curve.upper.max() <= 1


def test_states_merge_and_seeds_hold() -> None:
    reference, target = calibrated(500, seed=1), calibrated(300, seed=2)
    fitted = RiskCoverage(seed=3).fit(reference)
    parts: Any = fitted.merge(
        fitted.summarize(target.slice(0, 100)), fitted.summarize(target.slice(100, 300))
    )
    whole, joined = fitted.estimate(target), fitted.finish(parts)
    for name in ("y", "lower", "upper"):
        assert getattr(whole, name).tolist() == getattr(joined, name).tolist()
    other = RiskCoverage(seed=4).fit(reference).estimate(target)
    assert other.y.tolist() == whole.y.tolist()
    assert other.lower.tolist() != whole.lower.tolist()
    wide = RiskCoverage(seed=3, level=0.99).fit(reference).estimate(target)
    assert (wide.upper - wide.lower).sum() > (whole.upper - whole.lower).sum()


def test_it_needs_confidences_labels_and_a_level() -> None:
    with raises_snapshot(NotApplicable):
        RiskCoverage().fit(Predictions.from_confidence([0.5], correct=[None]))
    with raises_snapshot(NotApplicable):
        RiskCoverage().fit(Predictions.from_classes([0], label=[0]))
    with raises_snapshot(UsageError):
        RiskCoverage(level=90)
