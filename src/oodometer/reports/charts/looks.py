"""Looks: colours, marks and fonts of charts.

Colours are names of style properties (``var(--accent)``), not values: the page defines them once for light, dark and
print, and a chart follows without being drawn again.
"""

from __future__ import annotations

from typing import Any

Spec = dict[str, Any]

ACCENT, QUIET = "var(--accent)", "var(--quiet)"
REFERENCE, TRUTH = "var(--reference)", "var(--truth)"
INK, MUTED, SURFACE = "var(--ink)", "var(--muted)", "var(--surface)"
BAND = {color: color.replace(")", "-band)") for color in (ACCENT, QUIET, REFERENCE, TRUTH)}
"""The colour of an interval, by the colour of its value."""
HALO: Spec = {"stroke": SURFACE, "strokeWidth": 4, "strokeJoin": "round"}
"""A rim that keeps a label readable where it crosses a line."""
DOT: Spec = {"filled": True, "opacity": 1, "stroke": SURFACE, "strokeWidth": 1.5}
FOOT, RIGHT = {"value": "height"}, {"value": "width"}
"""The lower and the right edge of a plot, as channels."""
PERCENT = "format(datum.value * 100, '.0f') + ' %'"
POINTS = "format(datum.value * 100, '~g')"
"""How an axis writes a fraction."""
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
CONFIG: Spec = {
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
ROW_HEIGHT = 30


def narrow(small: Any, wide: Any) -> Spec:
    """A number (or an expression) on a phone and elsewhere."""
    return {"expr": f"containerSize()[0] < 480 ? {small} : {wide}"}
