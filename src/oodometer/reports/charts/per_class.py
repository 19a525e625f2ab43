"""Classes: accuracy within each class as a dot with its interval, the worst first."""

from __future__ import annotations

from typing import Any

from ..numbers import best, finite, number, percent
from ..theme import ACCENT, QUIET, specification
from .base import Figure, Result
from .dots import dots, entry, unique

MOST = 25  # classes in the chart
MEASURES = ("recall", "accuracy", "f1", "precision")


def _interval(entry_: Result, name: str) -> dict[str, Any]:
    """A measure of a class as an interval; a bare number becomes one without ends."""
    found = entry_.get(name)
    return {"value": found} if finite(found) is not None else best(found)


def measure(result: Result) -> str | None:
    """The measure that the chart shows: the first of `MEASURES` that the classes have."""
    classes = result.get("per_class") or []
    return next((name for name in MEASURES if any(_interval(one, name) for one in classes)), None)


def worst_first(result: Result) -> list[dict[str, Any]]:
    """Classes that have the measure, from the lowest to the highest."""
    name = measure(result)
    found = [dict(one) for one in result.get("per_class") or [] if name and _interval(one, name)]
    return sorted(found, key=lambda one: float(_interval(one, str(name))["value"]))


def figure(result: Result) -> Figure | None:
    """Dot-and-interval chart of the worst classes, beside the accuracy of all rows."""
    name, classes = measure(result), worst_first(result)
    if name is None:
        return None
    some = classes[:MOST]
    overall = best((result.get("metrics") or {}).get("accuracy")).get("value")
    labels = unique(one.get("class") for one in some)
    rows = []
    for label, one in zip(labels, some, strict=True):
        count = next((one[key] for key in ("rows", "support") if one.get(key) is not None), None)
        shown = _interval(one, name)
        color = ACCENT if overall is not None and (finite(shown.get("upper")) or 1) < overall else QUIET
        rows.append(entry(label, shown, color=color, **({"rows": number(count)} if count else {})))
    chart, height = dots(rows, lines=[("all rows", overall, ACCENT, False)], title=name)
    worst = f"Weakest class: {labels[0]}, {name} {percent(_interval(some[0], name)['value'])}"
    which = f"The {len(some)} weakest of {len(classes)} classes" if len(some) < len(classes) else "All classes"
    caption = f"{which}, the weakest first; in colour where the whole interval lies below the accuracy of all rows."
    return Figure("per-class", worst, caption, specification(chart, height=height, alt_text=worst))
