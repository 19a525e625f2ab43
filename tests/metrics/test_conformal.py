"""Conformal risk control and the prediction-rejection ratio, held against their definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer import Predictions
from oodometer.errors import InputError, UsageError
from oodometer.metrics import (
    ConformalRisk,
    conformal_risk_control,
    conformal_threshold,
    prediction_rejection_ratio,
)
from oodometer.registry import create, named

from ..snapshots import raises_snapshot


def sample(rows: int, seed: int, digits: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    confidence = rng.random(rows).round(digits)
    return confidence, rng.random(rows) < confidence**0.3


@pytest.mark.parametrize("risk", [0.02, 0.05, 0.2])
def test_the_threshold_is_that_of_the_losses_of_all_thresholds(risk: float) -> None:
    """Losses 1{answered and wrong} at every confidence as threshold, from the lowest to none."""
    for seed in range(5):
        confidence, correct = sample(150, seed)
        thresholds = np.append(np.unique(confidence), 2.0)
        losses = (confidence[:, None] >= thresholds) & ~correct[:, None]
        j = conformal_risk_control(losses, risk)
        assert j is not None
        mean = losses.mean(axis=0)
        assert 150 / 151 * mean[j] + 1 / 151 <= risk
        assert j == 0 or risk < 150 / 151 * mean[j - 1] + 1 / 151
        found = conformal_threshold(confidence, correct, risk)
        assert found["threshold"] == (None if j == len(thresholds) - 1 else thresholds[j])
        assert found["observed"] == pytest.approx(mean[j])


def test_a_new_row_is_answered_wrongly_as_seldom_as_promised() -> None:
    """Over 2,000 samples of 60 rows the mean risk is below the one allowed, and near it; the plain mean exceeds it."""
    rng, risk = np.random.default_rng(0), 0.05
    risks, plain = [], []
    for _ in range(2000):
        confidence = rng.random(60)
        correct = rng.random(60) < confidence
        at = conformal_threshold(confidence, correct, risk)["threshold"]
        risks.append(0.0 if at is None else (1 - at) ** 2 / 2)  # P(c >= t and wrong)
        order = np.argsort(-confidence)
        kept = np.flatnonzero(np.cumsum(~correct[order]) <= risk * 60)
        plain.append((1 - confidence[order][kept[-1]]) ** 2 / 2 if len(kept) else 0.0)
    assert 0.6 * risk < np.mean(risks) < risk < np.mean(plain)


def test_what_cannot_be_controlled_is_said() -> None:
    few = conformal_threshold([0.9] * 18, [1] * 18, 0.05)
    assert (few["threshold"], few["coverage"]) == (None, None)
    assert "at least 19 rows" in few["why"]
    assert conformal_threshold([0.9] * 19, [1] * 19, 0.05)["coverage"]["value"] == 1
    assert "wrong too often" in conformal_threshold([0.9] * 99, [0] * 99, 0.05)["why"]
    with pytest.raises(UsageError, match="risk"):
        conformal_threshold([0.9], [1], 5)
    with pytest.raises(InputError, match="row 2"):
        conformal_risk_control([[1, 0], [0, 1]], 0.5)
    with raises_snapshot(InputError):
        conformal_risk_control([[2, 0]], 0.5)


def test_names_of_the_field_and_the_shell_line() -> None:
    confidence, correct = sample(400, 1)
    record = Predictions.from_confidence(confidence, correct=correct)
    assert named("metric", "SGR") == "operating_points"
    assert named("metric", "conformal-risk-control") == "conformal_risk"
    (row,) = create("metric", "conformal_risk:0.07").compute(record)
    assert row == conformal_threshold(confidence, correct, 0.07)
    said = str(oodometer.evaluate(record, metrics=["crc:0.07"]).view().sentences)
    assert "at most 7 % of all rows" in said
    assert "exchangeable" in said
    with raises_snapshot(UsageError):
        ConformalRisk.from_argument("x")


def rejection_area(verdicts: Any) -> float:
    """Mean over the number of rejected, the last first, of the errors left, as a share of all rows."""
    n = len(verdicts)
    return float(np.mean([sum(1 - v for v in verdicts[: n - k]) / n for k in range(n)]))


def test_prediction_rejection_ratio_is_the_ratio_of_areas() -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        confidence, correct = rng.random(40), rng.integers(2, size=40)
        order = np.argsort(-confidence)
        chance = correct.size and (1 - correct.mean()) * 41 / 80  # mean over k of e k / n
        best = rejection_area(np.sort(correct)[::-1])
        want = (chance - rejection_area(correct[order])) / (chance - best)
        assert prediction_rejection_ratio(confidence, correct) == pytest.approx(want)
    assert prediction_rejection_ratio([0.5, 0.5], [1, 0]) == 0
    assert math.isnan(prediction_rejection_ratio([0.5, 0.6], [1, 1]))


def test_the_interval_of_the_ratio_covers() -> None:
    """Two normal laws one apart: AUROC is Phi(1 / sqrt 2)."""
    truth, inside = 2 * 0.7602499389065233 - 1, 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        correct = rng.random(200) < 0.7
        score = 1 / (1 + np.exp(-(rng.normal(size=200) + correct)))
        found = create("metric", "prr").compute(Predictions.from_confidence(score, correct=correct))
        inside += found.lower <= truth <= found.upper
    assert 180 <= inside <= 198
