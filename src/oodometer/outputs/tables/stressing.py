"""The table of a stress test: a row for each model, shift, severity and metric, the label-free estimate among them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .base import INTERVAL, Maker, Table, ends

if TYPE_CHECKING:
    from ...results.stressing import StressTest

__all__ = ["tables"]

_COLUMNS = ("model", "shift", "step", "rows", "metric", *INTERVAL, "trust", "error")


def tables(found: StressTest) -> dict[str, Maker]:
    """``points``; ``step`` is the severity, empty for the data as they are."""
    return {"points": partial(_points, found)}


def _points(found: StressTest) -> Table:
    rows: list[dict[str, Any]] = []
    for model, curve, point in found.points():
        about = {"model": model.name, "shift": curve.kind, "step": point.severity, "rows": point.rows}
        if point.estimate is not None:
            estimate = {"metric": "estimated accuracy", **ends(point.estimate), "trust": point.estimate.trust}
            rows.append({**about, **estimate, "error": point.error})
        rows += [{**about, "metric": name, **ends(one)} for name, one in point.metrics.items()]
    return Table(_COLUMNS, rows)
