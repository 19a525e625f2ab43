"""Results of each kind from small tables, made once for all tests of outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oodometer
from oodometer.testing import example_record

EVIL = "<b>&\"'</b>"  # the name of a slice: markup, anywhere that forgot to escape it
METHODS = ["source", "atc", "cbpe"]


def table(rows: int, seed: int, difficulty: float = 1.0, labelled: bool = True) -> pa.Table:
    """A predictions table of four classes, three weeks long, in two places."""
    record = example_record(rows, seed=seed, difficulty=difficulty)
    rng = np.random.default_rng(seed)
    days = np.datetime64("2026-01-05") + np.sort(rng.integers(0, 21, rows)).astype("timedelta64[D]")
    p = record.probabilities
    assert p is not None
    columns: dict[str, Any] = {f"prob_{k}": p[:, k] for k in range(p.shape[1])}
    columns |= {"time": days, "place": rng.choice(["north", EVIL], rows).tolist(), "id": np.arange(rows)}
    columns["size"] = rng.normal(seed, 1, rows)
    return pa.table(columns | ({"label": record.label} if labelled else {}))


@pytest.fixture(scope="session")
def tables() -> tuple[pa.Table, pa.Table, pa.Table]:
    """Reference, target without labels, and the same target with them."""
    return table(500, 1), table(400, 2, 1.5, labelled=False), table(400, 2, 1.5)


@pytest.fixture(scope="session")
def made(tables: Any) -> dict[str, Any]:
    """Name of a verb -> what it found."""
    reference, target, labelled = tables
    common: dict[str, Any] = {"methods": METHODS, "backtest": None}
    known = [one if i < 60 else None for i, one in enumerate(labelled["label"].to_pylist())]
    return {
        "estimate": oodometer.estimate(reference, labelled, every="7d", **common),
        "slices": oodometer.estimate(reference, target, by="place", **common),
        "metrics": oodometer.estimate(
            reference, labelled, by="place", metrics=["f1", "mcc"], features=["size"], **common
        ),
        "methods": oodometer.estimate(reference, target, **common),
        "evaluate": oodometer.evaluate(reference, by="place"),
        "diagnose": oodometer.diagnose(reference, target),
        "audit": oodometer.audit(reference, target, labels=[{"label": known}], methods=METHODS),
        "backtest": oodometer.backtest(reference, methods=METHODS, families=["none"], repeats=2, cache=None),
        "compare": oodometer.compare([reference, table(500, 1, 2.0)], names=["a", EVIL]),
    }
