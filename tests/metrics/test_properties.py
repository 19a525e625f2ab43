"""What holds for every metric on every input: order and batches do not matter, intervals hold the value."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oodometer import Predictions
from oodometer.errors import NotApplicable
from oodometer.registry import create, names
from oodometer.results import Interval, plain

NAMES = names("metric")
NUMBERS = [name for name in NAMES if create("metric", name).gives == "number"]
CONFIDENT = [name for name in NAMES if ("confidence", "correct") in create("metric", name).needs]

# Many ties, both ends, neighbours of 1 in the last bit, and anything else.
VALUES = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5, 0.2, 1 / 3, 1 - 2**-53, 1e-300, 0.9999999]),
    st.floats(0, 1, width=64),
)


@st.composite
def confidences(draw: st.DrawFn) -> Predictions:
    n = draw(st.integers(1, 50))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    confidence = np.array(draw(st.lists(VALUES, min_size=n, max_size=n))).astype(dtype)
    correct = draw(hnp.arrays(np.bool_, n))
    return Predictions.from_confidence(confidence, correct=correct)


@st.composite
def classified(draw: st.DrawFn) -> Predictions:
    n, classes = draw(st.integers(1, 30)), draw(st.integers(2, 5))
    raw = draw(hnp.arrays(np.float64, (n, classes), elements=st.floats(0.01, 1)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    probabilities = (raw / raw.sum(axis=1, keepdims=True)).astype(dtype)
    label = draw(hnp.arrays(np.int64, n, elements=st.integers(0, classes - 1)))
    return Predictions.from_probabilities(probabilities, label=label)


def result(name: str, record: Predictions) -> Any:
    try:
        return create("metric", name).compute(record)
    except NotApplicable:
        return None


def same(a: Any, b: Any) -> None:
    """Equal up to the rounding of sums."""
    a, b = plain(a), plain(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            same(one, other)
    elif isinstance(a, float):
        assert b == pytest.approx(a, abs=1e-7)
    else:
        assert a == b


def check(name: str, record: Predictions, seed: int) -> None:
    metric = create("metric", name)
    if metric.missing(record) is not None:
        with pytest.raises(NotApplicable, match="needs"):
            metric.compute(record)
        return
    whole = result(name, record)
    if whole is None:  # not defined on these rows, whatever their order
        with pytest.raises(NotApplicable):
            metric.compute(record.take(np.arange(len(record))[::-1]))
        return
    if isinstance(whole, Interval):
        low, high = metric.bounds
        assert (
            low
            <= whole.lower
            <= whole.value
            <= whole.upper
            <= max(high, whole.upper if high == np.inf else high)
        )
    rng = np.random.default_rng(seed)
    same(result(name, record.take(rng.permutation(len(record)))), whole)
    # any split, merged in any order, some parts of another width
    cuts = np.sort(rng.integers(0, len(record) + 1, 3))
    edges = [0, *cuts.tolist(), len(record)]
    parts = [record.slice(a, b) for a, b in pairwise(edges) if b > a]
    states = [metric.summarize(parts[i]) for i in rng.permutation(len(parts))]
    left = reduce(metric.merge, states)
    right = reduce(lambda a, b: metric.merge(b, a), reversed(states))
    same(metric.finish(left), whole)
    same(metric.finish(right), whole)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(record=confidences(), seed=st.integers(0, 99))
def test_confidence_and_correctness(name: str, record: Predictions, seed: int) -> None:
    check(name, record, seed)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12)
@given(record=classified(), seed=st.integers(0, 99))
def test_probabilities_and_labels(name: str, record: Predictions, seed: int) -> None:
    check(name, record, seed)


def fitting(metric: Any, rows: int, seed: int) -> Predictions:
    """Three classes, or for a metric of candidates alone three candidates a row."""
    rng = np.random.default_rng(seed)
    p, label = rng.dirichlet(np.ones(3), rows), rng.integers(0, 3, rows)
    answers = {
        "group": label.astype(str),
        "score": p[:, 0].round(2),
        "columns": {"id": np.arange(rows) // 4, "answered": np.arange(rows) % 3 > 0},
    }
    record = Predictions.from_probabilities(p, label=label, **answers)
    return (
        record
        if metric.why_not(record) is None
        else Predictions.from_candidates(p.tolist(), label=label)
    )


PAYOFF = {
    str(truth): {str(guess): 3 - 2 * abs(truth - guess) for guess in range(3)} for truth in range(3)
}


def asked(name: str) -> Any:
    """The metric, with an option where it says nothing without one."""
    if name == "expected_value":
        return create("metric", name, payoff=PAYOFF)
    return create("metric", f"{name}:2" if name == "top_k_accuracy" else name)


@pytest.mark.parametrize("name", NUMBERS)
def test_same_seed_same_interval(name: str) -> None:
    metric = asked(name)
    record = fitting(metric, 200, 0)
    once, again = metric.compute(record, seed=4), metric.compute(record, seed=4)
    assert once == again
    other = metric.compute(record, seed=5)
    assert other.value == once.value
    assert other.lower == pytest.approx(once.lower, abs=0.02, rel=0.05)


@pytest.mark.parametrize("name", NUMBERS)
def test_higher_level_is_wider(name: str) -> None:
    metric = asked(name)
    record = fitting(metric, 400, 1)
    narrow, wide = metric.compute(record, level=0.5), metric.compute(record, level=0.99)
    assert wide.lower <= narrow.lower <= narrow.value <= narrow.upper <= wide.upper
    assert wide.width > narrow.width


@pytest.mark.parametrize("name", CONFIDENT)
def test_rows_of_unknown_truth_are_left_out(name: str) -> None:
    rng = np.random.default_rng(2)
    confidence, correct = rng.random(80), rng.integers(0, 2, 80)
    known = Predictions.from_confidence(confidence, correct=correct)
    with_gaps = Predictions.from_confidence(
        np.concatenate([confidence, [0.3, 0.4]]), correct=[*correct.tolist(), None, None]
    )
    same(create("metric", name).compute(with_gaps), create("metric", name).compute(known))
    nothing = Predictions.from_confidence([0.3], correct=[None])
    with pytest.raises(NotApplicable):
        create("metric", name).compute(nothing)


@given(record=confidences())
def test_relations_between_areas(record: Predictions) -> None:
    found = {
        name: create("metric", name).compute(record).value
        for name in ("auc_coverage", "aurc", "e_aurc", "augrc")
    }
    assert found["aurc"] == pytest.approx(1 - found["auc_coverage"])
    assert found["e_aurc"] <= found["aurc"] + 1e-12
    assert found["augrc"] <= found["aurc"] + 1e-12


@given(record=confidences())
def test_relations_between_calibration_errors(record: Predictions) -> None:
    """The mean gap bounds all from below; ECE and twice KS are bounded by it or each other as sums are."""
    found = {
        n: create("metric", n).compute(record).value
        for n in ("ece", "ece_equal_mass", "ece_debiased", "smece", "ks_calibration_error")
    }
    gap = abs(float((record.confidence.astype(float) - record.verdicts).mean()))
    for name in ("ece", "ece_equal_mass", "smece", "ks_calibration_error"):
        assert found[name] >= gap - 2e-4, name
    assert found["ece_debiased"] <= found["ece"] + 1e-12
    assert found["ks_calibration_error"] <= 1


SETS = 300
ROWS = 250


def draw(rng: np.random.Generator, n: int) -> Predictions:
    confidence = rng.beta(3, 1, n)
    return Predictions.from_confidence(confidence, correct=rng.random(n) < 0.2 + 0.75 * confidence)


@pytest.mark.parametrize("name", ["accuracy", "brier", "aurc", "auc_coverage", "e_aurc", "augrc"])
def test_coverage(name: str) -> None:
    metric = create("metric", name)
    truth = metric.compute(draw(np.random.default_rng(100), 2_000_000)).value
    rng = np.random.default_rng(101)
    held = 0
    for _ in range(SETS):
        found = metric.compute(draw(rng, ROWS), level=0.9)
        held += found.lower <= truth <= found.upper
    assert held / SETS >= 0.85


@pytest.mark.parametrize("name", ["ece", "ks_calibration_error", "smece", "ece_equal_mass"])
def test_coverage_of_calibration_errors_far_from_zero(name: str) -> None:
    """Where the model is plainly miscalibrated the bias of the plug-in is small beside the spread."""
    metric = create("metric", name)

    def draw_over(rng: np.random.Generator, n: int) -> Predictions:
        confidence = rng.uniform(0.5, 1, n)
        return Predictions.from_confidence(confidence, correct=rng.random(n) < confidence - 0.3)

    truth = metric.compute(draw_over(np.random.default_rng(102), 1_000_000)).value
    rng = np.random.default_rng(103)
    held = sum(
        found.lower <= truth <= found.upper
        for found in (metric.compute(draw_over(rng, 400), level=0.9) for _ in range(100))
    )
    assert held >= 82


@pytest.mark.parametrize(
    "name", ["ece", "ks_calibration_error", "smece", "ece_equal_mass", "ece_debiased"]
)
@pytest.mark.parametrize("rows", [200, 3000])
def test_a_calibrated_model_is_given_its_zero(name: str, rows: int) -> None:
    """The plug-in is above 0 for every sample; the interval holds the population's 0 all the same."""
    metric, rng, held = create("metric", name), np.random.default_rng([rows, len(name)]), 0
    for _ in range(60):
        confidence = rng.beta(4, 1.5, rows)
        found = metric.compute(
            Predictions.from_confidence(confidence, correct=rng.random(rows) < confidence)
        )
        assert found.extras["interval_of"] == "the population's error"
        held += found.lower == 0
    assert held >= 54  # of 60, nominal 95 %


@pytest.mark.parametrize(
    "name", ["ece", "ks_calibration_error", "smece", "ece_equal_mass", "ece_debiased"]
)
def test_a_model_that_is_plainly_too_sure_is_not(name: str) -> None:
    rng = np.random.default_rng(5)
    confidence = rng.uniform(0.5, 1, 2000)
    found = create("metric", name).compute(
        Predictions.from_confidence(confidence, correct=rng.random(2000) < confidence - 0.2)
    )
    assert found.lower > 0.1
    assert found.extras["p_calibrated"] < 0.01


def test_macro_precision_where_classes_are_seldom_predicted() -> None:
    """Ten classes, each rarer than the one before: of one that was never predicted nothing is known."""
    share = np.exp(-0.5 * np.arange(10))

    def sample(rng: np.random.Generator, n: int) -> Predictions:
        label = rng.choice(10, n, p=share / share.sum())
        seen = 2.5 * np.eye(10)[label] + rng.standard_normal((n, 10)) + 0.7 * np.log(share)
        return Predictions.from_classes(seen.argmax(axis=1), label=label, classes=list(range(10)))

    rows = create("metric", "per_class").compute(sample(np.random.default_rng(1), 500_000))
    truth = np.array([row["precision"].value if row["precision"] else 0.0 for row in rows])
    rng, held = np.random.default_rng(2), 0
    for _ in range(150):
        record = sample(rng, 200)
        seen = (
            np.bincount(record.label, minlength=10) + np.bincount(record.predicted, minlength=10)
        ) > 0
        found = create("metric", "macro_precision").compute(record, level=0.95)
        held += found.lower <= truth[seen].mean() <= found.upper
    assert held >= 134  # of 150
