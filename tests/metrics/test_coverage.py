"""Nominal 90 % intervals hold the truth in at least 85 % of 300 simulated sets."""

from __future__ import annotations

import numpy as np
import pytest

from oodometer import Predictions
from oodometer.registry import create

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


@pytest.mark.parametrize("name", ["ece", "ks", "smece", "ece_equal_mass"])
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


@pytest.mark.parametrize("name", ["ece", "ks", "smece", "ece_equal_mass", "ece_debiased"])
@pytest.mark.parametrize("rows", [200, 3000])
def test_a_calibrated_model_is_given_its_zero(name: str, rows: int) -> None:
    """The plug-in is above 0 for every sample; the interval holds the population's 0 all the same."""
    metric, rng, held = create("metric", name), np.random.default_rng([rows, len(name)]), 0
    for _ in range(60):
        confidence = rng.beta(4, 1.5, rows)
        found = metric.compute(Predictions.from_confidence(confidence, correct=rng.random(rows) < confidence))
        assert found.extras["interval_of"] == "the population's error"
        held += found.lower == 0
    assert held >= 54  # of 60, nominal 95 %


@pytest.mark.parametrize("name", ["ece", "ks", "smece", "ece_equal_mass", "ece_debiased"])
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
        seen = (np.bincount(record.label, minlength=10) + np.bincount(record.predicted, minlength=10)) > 0
        found = create("metric", "macro_precision").compute(record, level=0.95)
        held += found.lower <= truth[seen].mean() <= found.upper
    assert held >= 134  # of 150
