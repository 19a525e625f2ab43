"""Trials: the table of a backtest as its page reads it, and its charts: the map of errors, and errors by severity."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from ...results.backtest import family_name as called
from ..numbers import finite, percent, points, short
from .base import (
    ACCENT,
    MUTED,
    POINTS,
    QUIET,
    REFERENCE,
    SURFACE,
    TRUTH,
    WORDS,
    Figure,
    Plot,
    Result,
    axis,
    caption,
    names_axis,
    narrow,
    ticks,
)

MEANINGS: dict[str, str] = WORDS["families"]
_FULL = 0.1  # an error that gets the strongest colour, where none is larger than its double
_STRONGEST = 0.62  # opacity at the largest error; above it the number in the cell would be hard to read
GLYPHS = {
    "circle": '<circle cx="17" cy="7" r="4" style="fill:COLOR"/>',
    "square": '<rect x="13" y="3" width="8" height="8" style="fill:COLOR"/>',
    "triangle-up": '<path d="M17 2l5 9h-10z" style="fill:COLOR"/>',
    "diamond": '<path d="M17 2l5 5-5 5-5-5z" style="fill:COLOR"/>',
}
"""Shapes of the points as the key above the charts draws them; the colours are our own names, never text of a file."""
LEADERS = 3  # methods drawn against severity, besides the reference accuracy


def family_name(name: Any) -> str:
    """A family as the page calls it.

    >>> family_name("class_prior"), family_name("my_shift")
    ('class shares', 'my shift')
    """
    return short(called(str(name)), 16)


def usable(result: Result) -> list[dict[str, Any]]:
    """Rows of the table that have an error."""
    return [dict(row) for row in result.get("rows") or [] if finite(row.get("error")) is not None]


def ranked(result: Result) -> list[dict[str, Any]]:
    """Methods over all families, the smallest error first."""
    return sorted(usable({"rows": result.get("overall")}), key=lambda row: float(row["error"]))


def by_family(result: Result, name: str) -> dict[tuple[str, str], float]:
    """Mean over severities of a column of the table, by method and family.

    >>> rows = [{"method": "atc", "family": "tilt", "error": e} for e in (0.01, 0.03)]
    >>> by_family({"rows": rows}, "error")
    {('atc', 'tilt'): 0.02}
    """
    cells: dict[tuple[str, str], list[float]] = {}
    for row in usable(result):
        value = finite(row.get(name))
        if value is not None:
            cells.setdefault((str(row.get("method")), str(row.get("family"))), []).append(value)
    return {key: fmean(values) for key, values in cells.items()}


def families(result: Result) -> list[str]:
    """Families in which any method answered, in their order."""
    seen = {str(row.get("family")) for row in usable(result)}
    return [str(name) for name in result.get("families") or sorted(seen) if str(name) in seen]


def leaders(result: Result) -> list[str]:
    """The best methods, and the reference accuracy to judge them by."""
    names = [str(row.get("method")) for row in ranked(result)]
    return [name for name in names if name != "source"][:LEADERS] + (["source"] if "source" in names else [])


def error_map(result: Result) -> Figure | None:
    """Mean error of every method on every family, the best method on top; the best of each family in bold."""
    errors, biases, coverages = (by_family(result, name) for name in ("error", "bias", "coverage"))
    order = [short(row.get("method"), 40) for row in ranked(result)]
    if not errors:
        return None
    least: dict[str, tuple[float, str]] = {}
    for (method, family), error in errors.items():
        if family not in least or error < least[family][0]:
            least[family] = (error, method)
    full = max(_FULL, sorted(errors.values())[int(0.9 * (len(errors) - 1))])
    cells = []
    for (method, family), error in errors.items():
        bias = biases.get((method, family))
        tip = {"": f"{short(method, 40)}, {family_name(family)}", "mean error": points(error)}
        tip |= {} if bias is None else {"bias": f"{points(bias)} too {'high' if bias > 0 else 'low'}"}
        tip["interval held"] = percent(coverages.get((method, family)), 0)
        cell = {"method": short(method, 40), "family": family_name(family), "text": f"{100 * error:.1f}", "tip": tip}
        cells.append({**cell, "shade": _STRONGEST * min(error / full, 1.0), "best": error <= least[family][0]})
    cells = [cell for cell in cells if cell["method"] in order]
    if not cells:
        return None
    font = narrow(11, 13)
    columns = names_axis(order=[family_name(name) for name in families(result)], orient="top", labelAngle=-60,
                         labelAlign="left", labelPadding=4, labelFontSize=font, labelLimit=150)  # fmt: skip
    plot = Plot(columns, names_axis((96, 200), order, labelFontSize=font))
    plot.draw("rect", cells, {"color": ACCENT, "stroke": SURFACE, "strokeWidth": 2}, x="family", y="method",
              opacity="shade")  # fmt: skip
    for bold in (False, True):
        look = {"fontSize": narrow(10, 13), **({"fontWeight": "bold"} if bold else {})}
        plot.draw("text", cells, look, where=f"{'' if bold else '!'}datum.best", x="family", y="method", text="text")
    plot.draw("rect", cells, {"opacity": 0}, x="family", y="method", tooltip="tip")
    winners = {method for _, method in least.values()}
    title = f"No method is best everywhere: {len(winners)} of them win on {len(least)} kinds of shift"
    if len(winners) == 1:
        title = f"{short(winners.pop(), 40)} is closest on every kind of simulated shift"
    height = 26 * len({cell["method"] for cell in cells}) + 70
    return plot.figure("error-map", title, caption("error-map", "read"), height=height)


def styles(result: Result) -> list[dict[str, Any]]:
    """Colour, shape and dash of each leading method, for the lines and for the key above them."""
    others = iter([(ACCENT, "circle", (1, 0)), (REFERENCE, "square", (1, 0)), (TRUTH, "triangle-up", (1, 0))])
    looks = [(name, (QUIET, "diamond", (4, 4)) if name == "source" else next(others)) for name in leaders(result)]
    return [{"method": name, "color": color, "shape": shape, "dash": dash} for name, (color, shape, dash) in looks]


def error_by_severity(result: Result) -> list[Figure]:
    """How the error of the best methods grows with a simulated shift: one chart for each family that was tried at more
    than one severity; all share one vertical axis.
    """
    looks = styles(result)
    methods = {look["method"] for look in looks}
    rows = [row for row in usable(result) if str(row["method"]) in methods and finite(row.get("severity")) is not None]
    (_, high), marks = ticks([row["error"] for row in rows] + [0.0], most=5)
    up = axis([0, high], values=marks, labelExpr=POINTS)
    out: list[Figure] = []
    for family in families(result):
        mine = sorted((row for row in rows if str(row.get("family")) == family), key=lambda row: row["severity"])
        severities = sorted({float(row["severity"]) for row in mine})
        if len(severities) < 2:
            continue
        room = 0.06 * (severities[-1] - severities[0])
        across = axis([severities[0] - room, severities[-1] + room], title="severity", values=severities, grid=False,
                      labelExpr="format(datum.value, '~g')")  # fmt: skip
        plot = Plot(across, up)
        if severities[0] < 0 < severities[-1]:
            plot.draw("rule", [{"x": 0}], {"color": MUTED, "strokeDash": [2, 3], "strokeWidth": 1}, x="x")
        for look in reversed(looks):
            line = [
                {"x": float(row["severity"]), "y": float(row["error"]), "tip": {"": look["method"],
                 "severity": f"{row['severity']:g}", "mean error": points(row["error"])}}
                for row in mine if str(row["method"]) == look["method"]
            ]  # fmt: skip
            if line:
                plot.curve(line, look["color"], dash=look["dash"], size=55, shape=look["shape"], strokeWidth=2.25)
        name, words = family_name(family), f"Mean error by severity: {family_name(family)}"
        made = plot.figure(f"error-by-severity-{len(out)}", name, MEANINGS.get(family, ""), height=190, words=words)
        out.append(made)
    return out
