"""Slices: the estimate of each group of rows as a dot with its interval, the worst first."""

from __future__ import annotations

from typing import Any

from ..numbers import best, number, percent, short
from ..theme import ACCENT, QUIET, REFERENCE, specification
from ..words import difference, measured
from .base import Figure, Result
from .dots import dots, entry, unique

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
        extra = {"rows": number(one["rows"])} if one.get("rows") is not None else {}
        rows.append(entry(name, one["headline"], color=ACCENT if below else QUIET, **extra))
    lines = [("reference", reference, REFERENCE, True), ("all rows", whole, ACCENT, False)]
    chart, height = dots(rows, lines=lines, title=measured(result))
    finding = title(result)
    spec = specification(chart, height=height, alt_text=finding)
    return Figure("slices", finding, caption(result, len(rows)), spec)


def title(result: Result) -> str:
    """The worst slice against all rows."""
    slices = [one for one in result.get("slices") or [] if best(one.get("headline"))]
    worst = min(slices, key=lambda one: float(one["headline"]["value"]))
    name = short(worst.get("value"))
    gap = difference(worst["headline"]["value"], best(result.get("headline")).get("value"), "all rows together")
    about = "" if result.get("command") == "evaluate" else "about "
    text = f"Weakest slice: {name}, {about}{percent(worst['headline']['value'])}"
    return f"{text} \N{EM DASH} {gap}" if gap else text


def caption(result: Result, shown: int) -> str:
    """How many slices there are; the coloured ones are the ones to look at."""
    slices = [one for one in result.get("slices") or [] if best(one.get("headline"))]
    by = next((str(one["by"]) for one in slices if one.get("by")), "slice")
    count = (
        f"The {shown} weakest of {len(slices)} slices"
        if shown < len(slices)
        else f"All {len(slices)} slices"
        if shown > 1
        else "One slice"
    )
    colour = f"in colour where the whole interval lies below the {measured(result)} of all rows"
    return f"{count} by {by}, the weakest first; {colour}."
