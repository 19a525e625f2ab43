"""Shots: the accuracy of each model on the labelled rows with its exact interval, the likeliest best on top."""

from __future__ import annotations

from typing import Any

from ..numbers import best, finite, number, percent
from ..theme import ACCENT, QUIET, specification
from .base import Figure, Result
from .dots import dots, entry, unique

MOST = 30


def ranked(result: Result, most: int = MOST) -> list[dict[str, Any]]:
    """Rows of the ranking with a name each that is short and unique, as ``short``."""
    rows = [dict(one) for one in result.get("ranking") or []]
    for row, name in zip(rows, unique(str(one.get("model")) for one in rows), strict=True):
        row["short"] = name
    return rows[:most]


def likeliest(result: Result) -> dict[str, Any]:
    """The row of the model that is most likely the best; a combined order may put another one first.

    >>> likeliest({"ranking": [{"model": "a", "p_best": 0.2}, {"model": "b", "p_best": 0.8}]})["short"]
    'b'
    """
    return max(ranked(result, len(result["ranking"])), key=lambda row: finite(row.get("p_best")) or 0.0)


def accuracies(result: Result) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Rows of the ranking with their accuracy; those without one are left out."""
    return [(row, found) for row in ranked(result) if (found := best((row.get("evidence") or {}).get("accuracy")))]


def figure(result: Result) -> Figure | None:
    """A dot and an interval for each model."""
    found = accuracies(result)
    if not found:
        return None
    rows = []
    for index, (row, accuracy) in enumerate(found):
        right = f"{number(row['evidence'].get('right'))} of {number(_rows(result))}"
        rows.append(entry(row["short"], accuracy, color=ACCENT if index == 0 else QUIET, right=right))
    chart, height = dots(rows, title="accuracy on the labelled rows")
    text = title(result)
    return Figure("shots", text, caption(result), specification(chart, height=height, alt_text=text))


def _rows(result: Result) -> int:
    """Labelled rows that were drawn at random."""
    return int(result.get("labelled") or 0) - int(result.get("chosen") or 0)


def title(result: Result) -> str:
    """Whether the labels alone tell the models apart.

    >>> def row(name, low, value, high):
    ...     return {"model": name, "evidence": {"accuracy": {"value": value, "lower": low, "upper": high}}}
    >>> title({"ranking": [row("a", 0.5, 0.9, 1.0), row("b", 0.1, 0.4, 0.7)], "labelled": 10})
    'On 10 labels alone, the ranges of all models overlap'
    """
    found = accuracies(result)
    rows = _rows(result)
    many = f"{number(rows)} label{'' if rows == 1 else 's'}"
    lows = [finite(one.get("lower")) or 0.0 for _, one in found]
    highs = [finite(one.get("upper")) or 1.0 for _, one in found]
    if max(lows) <= min(highs):
        return f"On {many} alone, the ranges of all models overlap"
    top = max(found, key=lambda pair: float(pair[1]["value"]))
    return f"On {many} alone, {top[0]['short']} is ahead: {percent(top[1]['value'], 0)}"


def caption(result: Result) -> str:
    """What an interval is here, and why pairs of models are surer than these ranges look."""
    level = percent(result.get("level"), 0)
    return (
        f"Share of the labelled rows that a model gets right, with its exact {level} interval. Models answer the same "
        "rows, so that their order can be surer than the overlap of these ranges suggests: see the pairs."
    )
