"""Stress: the page of a stress test in words and tables: how far models fall, and how far estimates are off."""

from __future__ import annotations

from typing import Any

from .charts import curves
from .charts.base import Figure, Result
from .charts.models import names
from .numbers import number


def _kinds(result: Result) -> list[dict[str, Any]]:
    models = result.get("models") or []
    return [dict(one) for one in (models[0].get("curves") or [])] if models else []


def figures(result: Result) -> list[Figure]:
    """All charts, kind by kind."""
    return [one for at in range(len(_kinds(result))) for one in curves.stress_curves(result, at)]


def context(result: Result) -> dict[str, Any]:
    """Names for the template."""
    called = names(result)
    kinds = []
    for at, kind in enumerate(_kinds(result)):
        rows = [
            {**one, "model": called[str(model.get("name"))], "at": curves.severity_label(one), "left": _left(one)}
            for model in result.get("models") or []
            for one in model["curves"][at].get("points") or []
        ]
        shown = [one.name for one in curves.stress_curves(result, at)]
        kinds.append({**kind, "rows": rows, "figures": shown})
    return {
        "stress_kinds": kinds,
        "measure": curves.accuracy_name(result),
        "number": number,
        "many": len(result.get("models") or []) > 1,
    }


def _left(point: Result) -> str:
    """What was left out of a severity, in words."""
    return "; ".join(f"{many:,}: {why}" for why, many in (point.get("dropped") or {}).items())
