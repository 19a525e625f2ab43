"""What is no class is refused, with a remedy that works; a class that is named must be there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer import Oodometer, audit, estimate, evaluate
from oodometer.errors import InputError

from .snapshots import raises_snapshot


def prices(rows: int, seed: int, most: int = 400, error: float = 8.0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, most, rows)
    return {
        "label": label,
        "prediction": np.maximum(label + rng.normal(0, error, rows).round(), 0).astype(int),
    }


@pytest.mark.parametrize(
    "record",
    [prices(800, 0), prices(800, 0, 60, 1.0), {k: 50 * v for k, v in prices(99, 1).items()}],
)
def test_whole_numbers_are_no_classes(record: dict[str, Any]) -> None:
    """340 prices or counts were judged as 340 classes, with high trust."""
    target = {"prediction": record["prediction"]}
    for ask in (
        lambda: estimate(record, target, backtest=None),
        lambda: evaluate(record),
        lambda: audit(record, target, labels={"label": record["label"]}),
        lambda: oodometer.diagnose(record, target),
    ):
        with raises_snapshot(InputError) as error:
            ask()
        assert "\n" not in str(error.value)
    near = np.abs(record["label"] - record["prediction"]) <= 10  # the remedy
    assert 0 <= evaluate({"correct": near}).metrics["accuracy"].value <= 1
    named = {k: np.char.add("c", v.astype(str)) for k, v in record.items()}  # and the other one
    assert evaluate(named).metrics["accuracy"].value == np.mean(
        record["label"] == record["prediction"]
    )


def test_classes_that_are_many_numbers_stay_classes() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3000, 4000)
    guess = np.where(rng.random(4000) < 0.4, label, rng.integers(0, 3000, 4000))
    assert evaluate({"label": label, "prediction": guess}).metrics["accuracy"].value == np.mean(
        label == guess
    )
    rating = rng.integers(1, 11, 500)
    beside = np.clip(rating + rng.integers(-1, 2, 500), 1, 10)
    assert evaluate({"label": rating, "prediction": beside}).metrics["accuracy"].value < 0.6


def test_a_positive_class_that_is_not_there_is_refused_whether_or_not_a_metric_asks() -> None:
    two = {"prob_1": np.linspace(0, 1, 90), "label": np.arange(90) % 2}
    for ask in (
        lambda: estimate(two, two, positive="=7", backtest=None),
        lambda: evaluate(two, positive="=7"),
        lambda: audit(two, two, positive="=7", labels={"label": two["label"]}),
        lambda: Oodometer(positive="=7", backtest=None).fit(two),
    ):
        with raises_snapshot(InputError):
            ask()


def test_no_backtest_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    two = {"prob_1": np.linspace(0, 1, 90), "label": np.arange(90) % 2}
    assert estimate(two, two, backtest="none").backtest is None
    assert Oodometer(backtest="none").fit(two).estimate(two).backtest is None
    assert not list(tmp_path.iterdir())
