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
