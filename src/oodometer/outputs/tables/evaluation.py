"""Tables of an evaluation, or of several: metrics, slices, classes, curves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from .base import INTERVAL, Maker, Table, ends

if TYPE_CHECKING:
    from ...results.evaluation import Evaluation, Evaluations


_METRIC = ("name", "rows", "metric", *INTERVAL)
_CURVE = ("name", "curve", "x_name", "y_name", "x", "value", "lower", "upper", "level", "kind")


def tables(found: Evaluation | Evaluations) -> dict[str, Maker]:
    """Slices first where there are any; ``name`` tells which file a row is of."""
    several = _files(found)
    makers: dict[str, Callable[[Evaluation], list[dict[str, Any]]]] = {"metrics": _metrics}
    columns = {"metrics": _METRIC, "per_class": ("name", "class", "metric", *INTERVAL, "support"), "curves": _CURVE}
    if any(one.slices for one in several):
        makers = {"slices": _slices, **makers}
        columns["slices"] = ("name", "by", "slice", "rows", "metric", *INTERVAL)
    if any(one.tables.get("per_class") for one in several):
        makers["per_class"] = _classes
    if any(one.curves for one in several):
        makers["curves"] = _curves

    def made(name: str) -> Table:
        return Table(columns[name], [{"name": one.name, **row} for one in several for row in makers[name](one)])

    return {name: partial(made, name) for name in makers}


def _files(found: Evaluation | Evaluations) -> list[Evaluation]:
    from ...results.evaluation import Evaluations

    return list(found) if isinstance(found, Evaluations) else [found]


def _metrics(one: Evaluation) -> list[dict[str, Any]]:
    return [{"rows": one.rows, "metric": name, **ends(metric)} for name, metric in one.metrics.items()]


def _slices(one: Evaluation) -> list[dict[str, Any]]:
    return [
        {"by": part.by, "slice": part.value, "rows": part.rows, "metric": name, **ends(metric)}
        for part in one.slices
        for name, metric in part.metrics.items()
    ]


def _classes(one: Evaluation) -> list[dict[str, Any]]:
    out = []
    for row in one.tables.get("per_class", []):
        numbers = {name: cell for name, cell in row.items() if ends(cell)["value"] is not None}
        for name, number in numbers.items():
            out.append({"class": row["class"], "metric": name, **ends(number), "support": row.get("support")})
    return out


def _curves(one: Evaluation) -> list[dict[str, Any]]:
    out = []
    for name, curve in one.curves.items():
        about: dict[str, Any] = {"curve": name, "x_name": curve.x_name, "y_name": curve.y_name}
        about |= {"level": curve.level, "kind": curve.kind}
        for x, value, lower, upper in zip(curve.x, curve.y, curve.lower, curve.upper, strict=True):
            out.append({**about, "x": x, "value": value, "lower": lower, "upper": upper})
    return out
