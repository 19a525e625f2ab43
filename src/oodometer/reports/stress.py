"""Stress: the page of a stress test in words and tables: how far models fall, and how far estimates are off."""

from __future__ import annotations

from typing import Any

from .charts import curves
from .charts.base import Figure, Result
from .charts.models import names
from .numbers import best, finite, number, percent, points


def _kinds(result: Result) -> list[dict[str, Any]]:
    models = result.get("models") or []
    return [dict(one) for one in (models[0].get("curves") or [])] if models else []


def figures(result: Result) -> list[Figure]:
    """All charts, kind by kind."""
    return [one for at in range(len(_kinds(result))) for one in curves.stress_curves(result, at)]


def sentence(result: Result) -> str:
    """The deepest fall of all, and how often the interval of the estimate held the truth."""
    falls, errors, held = [], [], 0
    called = names(result)
    for model in result.get("models") or []:
        for curve in model.get("curves") or []:
            plain = None
            for one in curve.get("points") or []:
                truth, guess = best((one.get("metrics") or {}).get("accuracy")), best(one.get("estimate"))
                if not truth:
                    continue
                if one.get("severity") is None:
                    plain = truth["value"]
                    continue
                if plain is not None:
                    fall = plain - truth["value"]
                    falls.append((fall, called[str(model.get("name"))], curve.get("kind"), one, plain))
                if guess:
                    errors.append(abs(guess["value"] - truth["value"]))
                    low, high = finite(guess.get("lower")), finite(guess.get("upper"))
                    held += low is not None and high is not None and low <= truth["value"] <= high
    if not falls:
        return "The rows have no labels: what stands here are estimates alone, and nobody knows the truth."
    fall, name, kind, one, plain = max(falls, key=lambda found: found[0])
    truth = one["metrics"]["accuracy"]["value"]
    measure = curves.accuracy_name(result)
    measure = measure if measure.startswith("R@") else measure.lower()
    text = f"The deepest fall is that of {name} under {kind} at severity {one.get('severity')}: {measure} "
    text += f"{percent(truth)}, down from {percent(plain)}." if fall > 0 else f"{percent(truth)}, which is no fall."
    if errors:
        text += f" Without labels the estimate was off by {points(sum(errors) / len(errors))} on average; its interval "
        text += f"held the truth at {held} of {len(errors)} severities."
    return text


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
        "sentence": sentence(result),
        "stress_kinds": kinds,
        "measure": curves.accuracy_name(result),
        "number": number,
        "many": len(result.get("models") or []) > 1,
    }


def _left(point: Result) -> str:
    """What was left out of a severity, in words."""
    return "; ".join(f"{many:,}: {why}" for why, many in (point.get("dropped") or {}).items())
