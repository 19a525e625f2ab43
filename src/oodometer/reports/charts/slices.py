"""Slices: the estimate of each group of rows as a dot with its interval, the worst first."""

from __future__ import annotations

from typing import Any

from ..numbers import best, rows_text
from ..theme import ACCENT, QUIET, REFERENCE, specification
from ..words import slices_caption, slices_title
from .base import Figure, Result
from .dots import dots, entry, unique

__all__ = ["figure", "worst_first"]

MOST = 25  # slices in the chart


def worst_first(result: Result) -> list[dict[str, Any]]:
    """Slices that have an estimate, from the lowest to the highest."""
    found = [dict(one) for one in result.get("slices") or [] if best(one.get("headline"))]
    return sorted(found, key=lambda one: float(one["headline"]["value"]))


def figure(result: Result) -> Figure | None:
    """Dot-and-interval chart of the worst slices; those whose whole interval lies below the reference in colour."""
    slices = worst_first(result)[:MOST]
    if not slices:
        return None
    reference = (result.get("reference") or {}).get("accuracy")
    whole = best(result.get("headline")).get("value")
    names = unique(one.get("value") for one in slices)
    rows = []
    for name, one in zip(names, slices, strict=True):
        below = whole is not None and (one["headline"].get("upper") or 1) < whole
        extra = {"rows": rows_text(one["rows"])} if one.get("rows") is not None else {}
        rows.append(entry(name, one["headline"], color=ACCENT if below else QUIET, **extra))
    lines = [("reference", reference, REFERENCE, True), ("all rows", whole, ACCENT, False)]
    chart, height = dots(rows, lines=lines, title="estimated accuracy")
    title = slices_title(result)
    spec = specification(chart, height=height, alt_text=title)
    return Figure("slices", title, slices_caption(result, len(rows)), spec)
