"""Files: the accuracy of several labelled files side by side, the best first."""

from __future__ import annotations

from typing import Any

from ..numbers import basename, best, number, percent
from ..theme import ACCENT, QUIET, specification
from .base import Figure, Result
from .dots import dots, entry, unique

MOST = 30  # files in the chart


def _accuracy(one: Result) -> dict[str, Any]:
    return best((one.get("metrics") or {}).get("accuracy"))


def best_first(result: Result) -> list[dict[str, Any]]:
    """Files from the highest accuracy to the lowest; those without one come last."""
    return sorted(
        (dict(one) for one in result.get("files") or []),
        key=lambda one: -float(_accuracy(one).get("value", -1)),
    )


def figure(result: Result) -> Figure | None:
    """Dot-and-interval chart, one row a file."""
    files = [one for one in best_first(result) if _accuracy(one)][:MOST]
    if not files:
        return None
    names = unique(basename(one.get("name")) for one in files)
    rows = [
        entry(name, _accuracy(one), color=ACCENT if index == 0 else QUIET, rows=number(one.get("rows")))
        for index, (name, one) in enumerate(zip(names, files, strict=True))
    ]
    title = f"Highest accuracy: {names[0]}, {percent(_accuracy(files[0])['value'])}"
    second = _accuracy(files[1]) if len(files) > 1 else {}
    if second and second.get("upper", 1) >= _accuracy(files[0]).get("lower", 0):
        title += "; the range of the next one overlaps"
    chart, height = dots(rows, title="accuracy")
    caption = "Accuracy of each file with its interval."
    return Figure("files", title, caption, specification(chart, height=height, alt_text=title))
