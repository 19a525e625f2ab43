"""Operating: tables of the thresholds that keep a required accuracy, and what they did out of the domain."""

from __future__ import annotations

from typing import Any

from .charts.base import Result
from .charts.models import leader, names, part, point
from .numbers import best, finite, given


def elsewhere(model: Result, domain: str, threshold: Any) -> dict[str, Any]:
    """What a model did on another domain from a threshold on: the nearest point of its curve that is not below it.

    >>> curve = {"x": [0.5, 1.0], "y": [1.0, 0.9], "lower": [0.9, 0.8], "upper": [1.0, 1.0], "thresholds": [0.8, 0.6]}
    >>> elsewhere({"out_of_domain": {"risk_coverage": curve}}, "out_of_domain", 0.7)["coverage"]
    0.5
    """
    curve, bound = part(model, domain).get("risk_coverage") or {}, finite(threshold)
    columns = [curve.get(name) or [] for name in ("x", "y", "lower", "upper", "thresholds")]
    if bound is None or not columns[0]:
        return {}
    found: dict[str, Any] = {"coverage": 0.0}
    for x, y, low, high, at in zip(*columns, strict=False):
        if (finite(at) or 0.0) >= bound and finite(y) is not None:
            found = {"coverage": x, "value": y, "lower": low, "upper": high, "kind": curve.get("kind")}
    return found


def tables(result: Result) -> list[dict[str, Any]]:
    """One table for each required accuracy, that of the leader first; models that answer most on top."""
    called = names(result)
    models = result.get("models") or []
    wanted = [x for each in (result.get("settings") or {}).get("require") or [] if (x := finite(each))]
    led = leader(result)
    first = led[1]["accuracy"] if led else None
    out = []
    for accuracy in sorted(dict.fromkeys(wanted), key=lambda x: (x != first, x)):
        rows: list[dict[str, Any]] = []
        for model in models:
            at = point(model, "in_domain", accuracy)
            if at:
                away = elsewhere(model, "out_of_domain", at.get("threshold"))
                rows.append({"name": called[str(model.get("name"))], "at": at, "away": away})
        rows.sort(key=lambda row: -float(best(row["at"].get("coverage")).get("value", -1)))
        if rows:
            proved = sum(bool(best(row["at"].get("coverage"))) for row in rows)
            out.append(
                {
                    "accuracy": accuracy,
                    "rows": rows,
                    "away": any(row["away"] for row in rows),
                    "title": f"To be right at least {given(accuracy)} of the time: {_which(rows, proved)}",
                }
            )
    return out


def _which(rows: list[dict[str, Any]], proved: int) -> str:
    if not proved:
        return "proved for no model"
    return f"proved for {proved} of {len(rows)} models, from a threshold on"
