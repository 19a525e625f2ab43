"""Failure cases: each is found where it was built in, and chance alone seldom raises one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oodometer import Predictions
from oodometer.errors import NotApplicable
from oodometer.metrics import FailureCases
from oodometer.metrics.failure_cases import falling_accuracy

from ..snapshots import raises_snapshot

NAMES = ["start", "middle", "end", "strong", "often", "plateau"]


def cases(confidence: Any, correct: Any, seed: int = 0) -> dict[str, dict[str, Any]]:
    found = FailureCases().compute(
        Predictions.from_confidence(confidence, correct=correct), seed=seed
    )
    assert [case["name"] for case in found] == NAMES
    return {case["name"]: case for case in found}


def seen(confidence: Any, correct: Any) -> set[str]:
    return {name for name, case in cases(confidence, correct).items() if case["seen"]}


def ranked(
    rates: list[tuple[float, float]], rows: int = 5000, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Rows by falling confidence, with an accuracy for each stretch of coverage: [(up to this coverage, accuracy)]."""
    rng = np.random.default_rng(seed)
    confidence = np.linspace(0.999, 0.5, rows)
    at = (np.arange(rows) + 0.5) / rows
    edges = [edge for edge, _ in rates]
    accuracy = np.array([rate for _, rate in rates])[np.searchsorted(edges, at)]
    return confidence, rng.random(rows) < accuracy


def test_a_falling_curve_has_no_case() -> None:
    assert seen(*ranked([(0.3, 1.0), (0.6, 0.9), (1.0, 0.6)])) == set()


def test_wrong_at_the_start() -> None:
    """The surest 3 % are half wrong, what follows is not: accuracy climbs inside the first fifth."""
    found = cases(*ranked([(0.03, 0.5), (0.3, 0.99), (1.0, 0.4)]))
    assert found["start"]["seen"]
    assert found["strong"]["seen"]
    assert not found["end"]["seen"]
    assert found["start"]["from_accuracy"] < 0.65 < 0.85 < found["start"]["to_accuracy"]
    assert found["start"]["to_coverage"] == pytest.approx(0.2)
    assert found["start"]["rise"] == pytest.approx(
        found["start"]["to_accuracy"] - found["start"]["from_accuracy"]
    )
    assert found["start"]["share"] > 0.9
    assert found["start"]["case"] == 2
    assert "the first 20 % of coverage" in found["start"]["sentence"]


def test_wrong_in_the_middle_and_at_the_end() -> None:
    middle = cases(*ranked([(0.2, 0.95), (0.4, 0.6), (0.75, 1.0), (1.0, 0.3)]))
    assert {name for name, case in middle.items() if case["seen"]} >= {"middle"}
    assert not middle["start"]["seen"]
    assert not middle["end"]["seen"]
    end = cases(*ranked([(0.5, 0.9), (0.8, 0.5), (1.0, 1.0)]))
    assert end["end"]["seen"]
    assert not end["start"]["seen"]
    assert end["end"]["from_coverage"] >= 0.8


def test_often() -> None:
    """Accuracy rises all the way: confidence says the opposite of the truth."""
    confidence = np.linspace(0.999, 0.5, 5000)
    correct = np.random.default_rng(1).random(5000) < np.linspace(0.3, 1, 5000)
    found = cases(confidence, correct)
    assert found["often"]["seen"]
    assert found["often"]["rises"] > 60
    assert len(found["often"]["at_coverages"]) == found["often"]["rises"]


def test_plateau() -> None:
    """Nearly all rows above 0.97 with one error in ten, as sure as the rest."""
    rng = np.random.default_rng(2)
    confidence = np.concatenate([rng.uniform(0.98, 1, 4500), rng.uniform(0.5, 0.9, 500)])
    found = cases(confidence, rng.random(5000) < 0.9)["plateau"]
    assert found["seen"]
    assert found["width"] > 0.6
    assert found["accuracy_high"] - found["accuracy_low"] <= 0.02 + 1e-9
    assert found["confidence_low"] >= 0.9
    assert found["stated"] - found["right"] == pytest.approx(0.09, abs=0.02)
    assert found["share"] > 0.95


def test_a_stretch_that_is_as_right_as_it_says_is_no_plateau() -> None:
    rng = np.random.default_rng(3)
    confidence = np.concatenate([rng.uniform(0.96, 1, 4000), rng.uniform(0.5, 0.9, 1000)])
    found = cases(confidence, rng.random(5000) < confidence)["plateau"]
    assert found["width"] > 0.5
    assert not found["seen"]


def test_low_confidence_makes_no_plateau() -> None:
    """The source finds a plateau acceptable where the model is unsure all along."""
    rng = np.random.default_rng(4)
    assert not cases(rng.uniform(0.6, 0.62, 2000), rng.random(2000) < 0.5)["plateau"]["seen"]


@pytest.mark.parametrize("rows", [100, 2000])
@pytest.mark.parametrize("kind", ["calibrated", "flat"])
def test_chance_alone_seldom_raises_a_case(rows: int, kind: str) -> None:
    """Calibrated data, and the worst case of a curve that is flat: at most one set in ten shows any case."""
    rng = np.random.default_rng(5)
    alarms = 0
    for seed in range(60):
        confidence = 0.5 + 0.5 * rng.beta(3, 1, rows)
        rate = confidence if kind == "calibrated" else 0.9 * np.ones(rows)
        correct = rng.random(rows) < rate
        found = cases(confidence, correct, seed)
        alarms += any(
            case["seen"]
            for name, case in found.items()
            if name != "plateau" or kind == "calibrated"
        )
    assert alarms <= 6


def test_few_rows_are_not_judged() -> None:
    with raises_snapshot(NotApplicable):
        cases([0.5] * 29, [1] * 29)


def test_orders_that_are_no_confidence_have_no_plateau() -> None:
    metric = FailureCases()
    metric.score = "energy"
    record = Predictions.from_logits(
        np.random.default_rng(6).normal(size=(200, 3)) * 3, label=[0, 1] * 100
    )
    found = metric.compute(record)[-1]
    assert not found["seen"]
    assert "not ordered by a confidence" in found["sentence"]


def test_the_falling_curve_is_that_of_scipy_to_the_last_bit() -> None:
    from scipy.optimize import isotonic_regression

    rng = np.random.default_rng(0)
    for cells in (1, 2, *rng.integers(3, 200, 200).tolist()):
        sizes = rng.integers(1, 50, cells)
        correct = rng.binomial(sizes, np.clip(rng.random() + rng.normal(0, 0.2, cells), 0, 1))
        theirs = isotonic_regression(correct / sizes, weights=sizes, increasing=False).x
        np.testing.assert_array_equal(falling_accuracy(correct, sizes), theirs)
