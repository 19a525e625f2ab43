"""A higher level never gives a narrower interval: of every method, headline, metric and assumption."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from oodometer import Predictions, estimate, evaluate

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
METRICS = [
    "f1",
    "recall",
    "precision",
    "mcc",
    "roc_auc",
    "cohen_kappa",
    "average_precision",
    "macro_f1",
]


def drawn(seed: int, rows: int, classes: int, sharp: float, moved: float = 0.0) -> Predictions:
    """An overconfident model, and four others that often say the same."""
    rng = np.random.default_rng(seed)
    z = sharp * rng.standard_normal((rows, classes)) + moved * np.eye(classes)[0]
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    label = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    said = p**1.3 / (p**1.3).sum(axis=1, keepdims=True)
    others = [
        np.where(rng.random(rows) < 0.2, rng.integers(classes, size=rows), said.argmax(axis=1))
        for _ in range(4)
    ]
    return Predictions.from_arrays(probabilities=said, label=label, members=others)


def intervals_of(found: Any) -> dict[str, Any]:
    """Every interval of an estimation by name."""
    out = {"headline": found.headline.interval, **{e.method: e for e in found.estimates}}
    out |= {
        f"if {name}": one.interval
        for name, one in found.assumptions.items()
        if one.interval is not None
    }
    for name, one in found.metrics.items():
        out |= {name: one.interval, f"{name} truth": one.truth, f"{name} reference": one.reference}
        out |= {f"{name} {e.method}": e for e in one.estimates}
    return {name: one for name, one in out.items() if one is not None}


def assert_nested(by_name: dict[str, list[Any]]) -> None:
    for name, series in by_name.items():
        for (low, narrow), (high, wide) in itertools.pairwise(series):
            assert wide.lower <= narrow.lower + 1e-9, (name, low, high, narrow, wide)
            assert wide.upper >= narrow.upper - 1e-9, (name, low, high, narrow, wide)


@pytest.mark.parametrize(
    ("rows", "target_rows", "classes", "sharp", "moved", "trials"),
    [
        (15, 1000, 2, 1.0, 0.0, None),  # F1 at 95 % once began above that at 90 %
        (15, 60, 2, 1.0, 0.0, None),
        (15, 5, 4, 1.0, 2.0, None),
        (200, 60, 2, 4.0, 2.0, None),
        (40, 1000, 4, 1.0, 2.0, None),
        (300, 300, 2, 2.0, 1.0, "auto"),
    ],
)
def test_intervals_of_an_estimate_are_nested_in_the_level(
    rows: int, target_rows: int, classes: int, sharp: float, moved: float, trials: str | None
) -> None:
    reference, target = (
        drawn(rows, rows, classes, sharp),
        drawn(target_rows, target_rows, classes, sharp, moved),
    )
    by_name: dict[str, list[Any]] = defaultdict(list)
    for level in LEVELS:
        found = estimate(reference, target, level=level, backtest=trials, metrics=METRICS)
        for name, one in intervals_of(found).items():
            by_name[name].append((level, one))
    assert len(by_name) > 40
    assert_nested(by_name)


@pytest.mark.parametrize(("rows", "classes", "sharp"), [(5, 2, 1.0), (40, 4, 4.0), (400, 3, 1.0)])
def test_intervals_of_an_evaluation_are_nested_in_the_level(
    rows: int, classes: int, sharp: float
) -> None:
    record = drawn(rows, rows, classes, sharp)
    by_name: dict[str, list[Any]] = defaultdict(list)
    for level in LEVELS:
        found = evaluate(record, level=level)
        rates = {name: one for name, one in found.metrics.items() if hasattr(one, "lower")}
        for row in found.tables["per_class"]:
            rates |= {f"{row['class']} {k}": v for k, v in row.items() if hasattr(v, "lower")}
        for name, one in rates.items():
            by_name[name].append((level, one))
    assert_nested(by_name)
