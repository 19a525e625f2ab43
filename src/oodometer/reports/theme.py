"""Theme: colours, fonts and axes of every chart, and the way from a chart to a drawable specification.

Colours are names of style properties (``var(--accent)``), not values: the page defines them once for light, dark and
print, and a chart follows without being drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .numbers import finite

if TYPE_CHECKING:
    import altair as alt


ACCENT, QUIET = "var(--accent)", "var(--quiet)"
REFERENCE, TRUTH = "var(--reference)", "var(--truth)"
INK, MUTED, SURFACE = "var(--ink)", "var(--muted)", "var(--surface)"
BAND = {color: color.replace(")", "-band)") for color in (ACCENT, QUIET, REFERENCE, TRUTH)}
"""The colour of an interval, by the colour of its value."""
HALO: dict[str, Any] = {"stroke": SURFACE, "strokeWidth": 4, "strokeJoin": "round"}
"""A rim that keeps a label readable where it crosses a line."""
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"

CONFIG: dict[str, Any] = {
    "background": None,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "domain": False,
        "ticks": False,
        "gridColor": "var(--grid)",
        "gridWidth": 1,
        "labelColor": MUTED,
        "labelFontSize": 12,
        "labelPadding": 8,
        "titleColor": MUTED,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 10,
    },
    "axisY": {"grid": True},
    "text": {"font": FONT, "fontSize": 12, "color": INK},
    "line": {"strokeWidth": 2.5, "strokeCap": "round", "strokeJoin": "round"},
}

STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
ROOM = 0.06  # of the span, kept free at either end so that no mark touches an edge


def ticks(values: Iterable[Any], *, most: int = 6) -> tuple[list[float], list[float]]:
    """Ends of an axis of fractions that holds all values with room to spare, and its round ticks.

    >>> ticks([0.79, 0.87, 0.91])
    ([0.775, 0.925], [0.8, 0.85, 0.9])
    """
    found = [number for value in values if (number := finite(value)) is not None] or [0.0, 1.0]
    low, high = min(found), max(found)
    span = max(high - low, 0.02)
    middle = (low + high) / 2
    low, high = min(low, middle - span / 2) - ROOM * span, max(high, middle + span / 2) + ROOM * span
    step = next((size for size in STEPS if (high - low) / size <= most), STEPS[-1])
    low, high = math.floor(low / step * 2) * step / 2, math.ceil(high / step * 2) * step / 2
    first, last = math.ceil(round(max(low, 0) / step, 6)), math.floor(round(min(high, 1) / step, 6))
    # A fraction lies in [0, 1]: the axis may run a little over, its ticks may not.
    room = ROOM / 2 * (high - low)
    low, high = max(low, -room), min(high, 1 + room)
    return [round(low, 6), round(high, 6)], [round(index * step, 6) for index in range(first, last + 1)]


def _format(values: list[float]) -> str:
    """A label expression that writes fractions as percentages, with a decimal only where the ticks need one."""
    whole = all(abs(value * 100 - round(value * 100)) < 1e-6 for value in values)
    return f"format(datum.value * 100, '.{0 if whole else 1}f') + ' %'"


def share(values: Iterable[Any], *, most: int = 6) -> tuple[alt.Scale, list[float], str]:
    """Scale, ticks and label expression of an axis of percentages around the values."""
    import altair as alt

    domain, marks = ticks(values, most=most)
    return alt.Scale(domain=domain, nice=False, zero=False), marks, _format(marks)


def axis(values: Iterable[Any], *, title: str | None = None, most: int = 6, **more: Any) -> dict[str, Any]:
    """The same as the ``scale`` and ``axis`` arguments of a channel."""
    import altair as alt

    scale, marks, label = share(values, most=most)
    return {"scale": scale, "axis": alt.Axis(values=marks, labelExpr=label, title=title, **more)}


def data(rows: list[dict[str, Any]]) -> alt.InlineData:
    """Rows as data inside the specification; no global transformer of altair touches them."""
    import altair as alt

    return alt.InlineData(values=rows)


def specification(chart: Any, *, height: int, alt_text: str, spoken: bool = True) -> dict[str, Any]:
    """The chart as a Vega-Lite specification, as wide as its place on the page, with this theme.

    ``spoken=False`` leaves out the description of every single mark, for charts of thousands whose numbers stand in a
    table beside them; the description of the chart stays.
    """
    chart = chart.properties(
        width="container",
        height=height,
        description=alt_text,
        autosize={"type": "fit-x", "contains": "padding"},
    )
    spec: dict[str, Any] = chart.to_dict()
    spec["config"] = CONFIG if spoken else CONFIG | {"mark": {"aria": False}}
    return spec
