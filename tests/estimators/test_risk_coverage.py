"""Label-free risk-coverage: the curve against a loop over sorted samples, its thresholds, its band, its answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions
from oodometer.calibrators.binned_map import bin_numbers
from oodometer.errors import NotApplicable, UsageError
from oodometer.estimators import RiskCoverage
from oodometer.estimators.mean_confidence import _along
from oodometer.testing import example_record


def calibrated(rows: int, seed: int = 0) -> Predictions:
    rng = np.random.default_rng([seed, rows])
    confidence = rng.beta(3, 1, rows)
    return Predictions.from_confidence(confidence, correct=rng.random(rows) < confidence)


@given(counts=st.lists(st.integers(0, 5), min_size=1, max_size=8).filter(any), data=st.data(), share=st.floats(0.01, 1))
def test_the_accuracy_of_a_share_is_that_of_its_best_rows(counts: list[int], data: st.DataObject, share: float) -> None:
    """Rows one by one, from the highest bin down; the last one counts by the part of it that is needed."""
    rates = [data.draw(st.floats(0, 1)) for _ in counts]
    rows = [r for n, r in reversed(list(zip(counts, rates, strict=True))) for _ in range(n)]
    wanted = share * len(rows)
    whole = int(wanted)
    total = sum(rows[:whole]) + (rows[whole] * (wanted - whole) if whole < len(rows) else 0.0)
    got = _along(np.array([counts], dtype=float), np.array([rates]), np.array([share]))
    assert got[0, 0] == pytest.approx(total / wanted, abs=1e-9)


def test_the_curve_is_that_of_a_loop_over_the_target() -> None:
    reference, target = (example_record(3000, seed=1, difficulty=1.6), example_record(500, seed=2, difficulty=2.0))
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
    parts: Any = fitted.merge(fitted.summarize(target.slice(0, 100)), fitted.summarize(target.slice(100, 300)))
    whole, joined = fitted.estimate(target), fitted.finish(parts)
    for name in ("y", "lower", "upper"):
        assert getattr(whole, name).tolist() == getattr(joined, name).tolist()
    other = RiskCoverage(seed=4).fit(reference).estimate(target)
    assert other.y.tolist() == whole.y.tolist()
    assert other.lower.tolist() != whole.lower.tolist()
    wide = RiskCoverage(seed=3, level=0.99).fit(reference).estimate(target)
    assert (wide.upper - wide.lower).sum() > (whole.upper - whole.lower).sum()


def test_it_needs_confidences_labels_and_a_level() -> None:
    with pytest.raises(NotApplicable, match=r"needs labelled reference rows"):
        RiskCoverage().fit(Predictions.from_confidence([0.5], correct=[None]))
    with pytest.raises(NotApplicable, match=r"needs `probabilities`"):
        RiskCoverage().fit(Predictions.from_classes([0], label=[0]))
    with pytest.raises(UsageError, match=r"expected a level between 0 and 1"):
        RiskCoverage(level=90)
