"""Traps that caught others: confidence 0, one row, all right, all wrong, one class, one confidence, bad input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from oodometer import Predictions
from oodometer import metrics as m
from oodometer.errors import InputError, NotApplicable, UsageError
from oodometer.metrics import ranks
from oodometer.registry import create, names
from oodometer.results import Interval

from ..snapshots import raises_snapshot

NUMBERS = [name for name in names("metric") if create("metric", name).gives == "number"]
# DiSCA has no fixed range, is not defined for confidence 0, and has an orientation on one scale of confidence only.
CONFIDENT = [
    name
    for name in NUMBERS
    if ("confidence", "correct") in create("metric", name).needs and name != "disca"
]

# The ratio of gains has no value where nothing can be gained.
ALWAYS = [name for name in CONFIDENT if name != "prr"]


def compute(name: str, confidence: object, correct: object) -> Interval:
    found = create("metric", name).compute(Predictions.from_confidence(confidence, correct=correct))
    assert isinstance(found, Interval)
    return found


@pytest.mark.parametrize("name", ALWAYS)
@pytest.mark.parametrize("confidence", [0.0, 1.0, 0.5])
@pytest.mark.parametrize("correct", [True, False])
def test_one_row(name: str, confidence: float, correct: bool) -> None:
    found = compute(name, [confidence], [correct])
    expected = {
        "accuracy": correct,
        "auc_coverage": correct,
        "aurc": not correct,
        "e_aurc": 0,
        "augrc": not correct,
        "risk_at_coverage": not correct,
        "coverage_at_risk": correct,
        "brier": (confidence - correct) ** 2,
    }.get(name, abs(confidence - correct))
    assert found.value == pytest.approx(float(expected), abs=1e-3)
    assert found.width > 0.5, "one row tells next to nothing"


@pytest.mark.parametrize("name", ALWAYS)
@pytest.mark.parametrize("n", [10, 100, 1000])
def test_all_right_and_all_wrong_leave_doubt(name: str, n: int) -> None:
    """No error seen does not mean that none can happen."""
    rng = np.random.default_rng(0)
    for correct in (0, 1):
        found = compute(name, rng.uniform(0.6, 0.9, n), np.full(n, correct))
        if (
            name == "coverage_at_risk" and n >= 100
        ):  # so many rows do settle that 5 % of errors are not reached
            assert found.lower == found.upper == correct
            continue
        assert 1e-4 < found.width <= 1


@pytest.mark.parametrize("name", ["ece", "ece_equal_mass", "ks_calibration_error", "smece"])
def test_constant_confidence_is_the_gap(name: str) -> None:
    """100 samples of 0.8 with 50 right: every calibration error is 0.3."""
    assert compute(name, np.full(100, 0.8), np.arange(100) % 2).value == pytest.approx(
        0.3, abs=2e-3
    )


def test_constant_confidence_has_the_area_of_a_random_order() -> None:
    correct = np.arange(100) % 4 > 0
    assert compute("auc_coverage", np.full(100, 0.8), correct).value == pytest.approx(0.75)
    assert compute("augrc", np.full(100, 0.8), correct).value == pytest.approx(0.25 * 101 / 200)


def test_perfect_calibration_at_the_ends() -> None:
    """Confidence 0 and wrong, 1 and right: nothing is off, and confidence 0 crashes nothing."""
    confidence, correct = [0.0] * 20 + [1.0] * 20, [0] * 20 + [1] * 20
    for name in (
        "ece",
        "ece_equal_mass",
        "ece_debiased",
        "smece",
        "ks_calibration_error",
        "brier",
        "e_aurc",
    ):
        assert compute(name, confidence, correct).value == pytest.approx(0, abs=1e-12), name


def test_orientation() -> None:
    """A model that knows when it is right is better on every number that says which way is up."""
    rng = np.random.default_rng(1)
    confidence = rng.random(2000)
    correct = rng.random(2000) < confidence
    for name in CONFIDENT:
        good = compute(name, confidence, correct).value
        bad = compute(name, 1 - confidence, correct).value
        if name == "accuracy":
            assert good == bad
        elif create("metric", name).bigger_is_better:
            assert good > bad + 0.1, name
        else:
            assert good < bad - 0.1, name


def test_one_class() -> None:
    record = Predictions.from_classes(["a"] * 5, label=["a"] * 5)
    assert m.MacroF1().compute(record).value == 1
    assert m.ConfusionTable().compute(record) == {"classes": ["a"], "counts": [[5]]}
    assert m.PerClass().compute(record)[0]["recall"].lower < 0.6


@pytest.mark.parametrize("name", ["macro_recall", "macro_precision", "macro_f1"])
def test_classes_without_an_error_leave_doubt(name: str) -> None:
    """Ten classes of 3 samples, all right: each alone could well be at 50 %."""
    label = np.repeat(np.arange(10), 3)
    found = create("metric", name).compute(Predictions.from_classes(label, label=label))
    assert found.value == found.upper == 1
    assert 0.7 < found.lower < 0.95


def test_ranks_near_one_are_kept() -> None:
    """Confidences that differ in the last bit of float64 are not ties."""
    confidence = np.array([1 - 2**-53, 1 - 2**-52, 1 - 3 * 2**-53])
    assert m.area_under_accuracy_coverage(confidence, [1, 0, 0]) == pytest.approx(
        (1 + 1 / 2 + 1 / 3) / 3
    )
    assert m.area_under_accuracy_coverage(confidence, [0, 0, 1]) == pytest.approx((1 / 3) / 3)


def test_float32_and_float64_parts_merge() -> None:
    metric = m.RiskCoverageArea()
    single = Predictions.from_confidence(np.array([0.5, 0.25], dtype=np.float32), correct=[1, 0])
    double = Predictions.from_confidence(np.array([0.5, 0.3]), correct=[0, 1])
    merged = metric.finish(metric.merge(metric.summarize(single), metric.summarize(double)))
    assert merged.value == pytest.approx(
        m.area_under_risk_coverage([0.5, 0.25, 0.5, 0.3], [1, 0, 0, 1])
    )


def test_infinite_log_loss_is_no_number() -> None:
    record = Predictions.from_probabilities([[1.0, 0.0], [0.5, 0.5]], label=[1, 0])
    with raises_snapshot(NotApplicable):
        m.NegativeLogLikelihood().compute(record)
    assert m.log_loss([[1.0, 0.0]], [1]) == float("inf")


def test_confidence_is_that_of_the_predicted_class() -> None:
    """After a calibration the argmax may move; the prediction and its own probability stay."""
    record = Predictions.from_probabilities([[0.6, 0.4]], label=[0]).with_probabilities(
        np.array([[0.45, 0.55]]), "test"
    )
    assert m.ExpectedCalibrationError().compute(record).value == pytest.approx(0.55)


@pytest.mark.parametrize(
    ("confidence", "correct"),
    [
        ([70.0], [1]),
        ([float("nan")], [1]),
        ([-0.5], [1]),
        ([0.5, 0.5], [1]),
        ([0.5], [2]),
        ([0.5], [None]),
        ([], []),
    ],
)
def test_bad_input_never_becomes_a_number(confidence: list[float], correct: list[object]) -> None:
    for function in (
        m.expected_calibration_error,
        m.equal_mass_calibration_error,
        m.debiased_calibration_error,
        m.smooth_calibration_error,
        m.ks_calibration_error,
        m.area_under_accuracy_coverage,
        m.area_under_risk_coverage,
        m.excess_area_under_risk_coverage,
        m.area_under_generalized_risk_coverage,
    ):
        with raises_snapshot(InputError):
            function(confidence, correct)


RECORD = Predictions.from_confidence([0.5], correct=[1])
WIDE, NARROW = m.ExpectedCalibrationError(15), m.ExpectedCalibrationError(10)


@pytest.mark.parametrize(
    ("work", "error"),
    [
        (lambda: m.ExpectedCalibrationError(0), UsageError),
        (lambda: m.EqualMassCalibrationError(0), UsageError),
        (lambda: m.RiskCoverageCurve(1), UsageError),
        (
            lambda: m.Accuracy().compute(Predictions.from_classes([0], label=[0]), level=95),
            UsageError,
        ),
        (lambda: WIDE.merge(WIDE.summarize(RECORD), NARROW.summarize(RECORD)), UsageError),
        (lambda: m.brier_score([[0.5, 0.5]], [None]), InputError),
        (lambda: m.log_loss([[0.5, 0.5]], [None]), InputError),
        (lambda: m.accuracy([]), InputError),
        (lambda: m.confusion_matrix([3], [0], 2), InputError),
    ],
)
def test_bad_arguments(work: Callable[[], object], error: type[Exception]) -> None:
    with raises_snapshot(error):
        work()


def test_parts_of_different_forms_do_not_merge() -> None:
    brier, confusion = m.Brier(), m.ConfusionTable()
    a = Predictions.from_probabilities([[0.5, 0.5]], label=[0])
    b = Predictions.from_confidence([0.5], correct=[1])
    c = Predictions.from_probabilities([[0.5, 0.25, 0.25]], label=[0])
    with raises_snapshot(InputError):
        brier.merge(brier.summarize(a), brier.summarize(b))
    with raises_snapshot(InputError):
        confusion.merge(confusion.summarize(a), confusion.summarize(c))


def test_many_classes_are_counted_sparsely() -> None:
    rng = np.random.default_rng(3)
    label = rng.integers(0, 3000, 500)
    record = Predictions.from_classes(label, label=label, classes=range(3000))
    state = m.ConfusionTable().summarize(record)
    assert len(state.codes) == len(np.unique(label))
    assert m.MacroF1().compute(record).value == 1
    with raises_snapshot(NotApplicable):
        m.ConfusionTable().compute(record)


@pytest.mark.parametrize("name", CONFIDENT)
def test_an_empty_state_has_no_number(name: str) -> None:
    metric = create("metric", name)
    empty = Predictions.from_confidence([0.5], correct=[1]).slice(0, 0)
    with pytest.raises(NotApplicable):
        metric.finish(metric.summarize(empty))


NAMES = ["ece_equal_mass", "ks_calibration_error", "auc_coverage", "aurc", "e_aurc", "augrc"]


@pytest.fixture(scope="module")
def record() -> Predictions:
    rng = np.random.default_rng(1)
    confidence = rng.beta(4, 1, 30_000)
    confidence[:3000] = 1.0  # a saturated softmax: true ties, which cost nothing
    return Predictions.from_confidence(confidence, correct=rng.random(30_000) < confidence**2)


@pytest.mark.parametrize("name", NAMES)
def test_histogram_is_within_its_stated_error(
    name: str, record: Predictions, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = create("metric", name)
    exact = metric.compute(record)
    assert "rounding" not in exact.extras
    monkeypatch.setattr(ranks, "LIMIT", 1000)
    near = metric.finish(metric.summarize(record))
    assert near.extras["rounding"] < 0.02
    assert abs(near.value - exact.value) <= near.extras["rounding"] + 1e-12
    assert abs(near.value - exact.value) < 2e-4
    assert near.width == pytest.approx(exact.width, rel=0.2)  # a bootstrap has noise of its own


@pytest.mark.parametrize("name", NAMES)
def test_collapse_does_not_depend_on_the_order_of_merging(
    name: str, record: Predictions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranks, "LIMIT", 5000)
    metric = create("metric", name)
    a, b, c = (
        metric.summarize(record.slice(x, y)) for x, y in ((0, 2000), (2000, 4500), (4500, 9000))
    )
    left = metric.merge(metric.merge(a, b), c)
    right = metric.merge(a, metric.merge(c, b))
    assert metric.merge(a, b).exact
    assert not left.exact
    assert metric.finish(left).value == pytest.approx(metric.finish(right).value, abs=1e-12)
    assert metric.finish(left).value == pytest.approx(
        metric.finish(metric.summarize(record.slice(0, 9000))).value, abs=1e-9
    )


def test_curve_of_a_histogram_reaches_its_thresholds(
    record: Predictions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranks, "LIMIT", 1000)
    metric = create("metric", "risk_coverage")
    curve = metric.finish(metric.summarize(record))
    for x, bound in zip(curve.x, curve.extra["thresholds"], strict=True):
        assert (record.confidence >= bound).mean() == pytest.approx(x, abs=2e-3)


def test_fine_bins_keep_order_and_separate_neighbours() -> None:
    values = np.array(
        [0.0, 1e-9, 1e-3, 0.25, 0.2502, 0.4999, 0.5, 0.5005, 0.9, 0.9001, 1 - 1e-9, 1.0]
    )
    bins = ranks._fine_bin(values)
    assert (np.diff(bins) >= 0).all()
    assert len(np.unique(bins)) >= len(values) - 2
    assert bins[0] == 0
    assert bins[-1] == ranks._FINE_BINS - 1
