"""Error by severity: how the error of the best methods grows as a simulated shift does, a small chart a family."""

from __future__ import annotations

from typing import Any

from ..numbers import finite, points
from ..theme import ACCENT, MUTED, QUIET, REFERENCE, TRUTH, data, specification, ticks
from .base import Figure, Result
from .trials import MEANINGS, families, family_name, leaders, usable

PREFIX = "error-by-severity-"
HEIGHT = 190
_STYLES = (
    (ACCENT, "circle", (1, 0)),
    (REFERENCE, "square", (1, 0)),
    (TRUTH, "triangle-up", (1, 0)),
)
GLYPHS = {
    "circle": '<circle cx="17" cy="7" r="4" style="fill:COLOR"/>',
    "square": '<rect x="13" y="3" width="8" height="8" style="fill:COLOR"/>',
    "triangle-up": '<path d="M17 2l5 9h-10z" style="fill:COLOR"/>',
    "diamond": '<path d="M17 2l5 5-5 5-5-5z" style="fill:COLOR"/>',
}
"""Shapes of the points as the key above the charts draws them; the colours are our own names, never text of a file."""
_SOURCE = (QUIET, "diamond", (4, 4))


def styles(result: Result) -> list[dict[str, Any]]:
    """Colour, shape and dash of each leading method, for the lines and for the key above them."""
    out = []
    for index, name in enumerate(leaders(result)):
        color, shape, dash = _SOURCE if name == "source" else _STYLES[index % len(_STYLES)]
        out.append({"method": name, "color": color, "shape": shape, "dash": dash})
    return out


def figures(result: Result) -> list[Figure]:
    """One chart for each family that was tried at more than one severity; all share one vertical axis."""
    names = {style["method"] for style in styles(result)}
    rows = [
        row for row in usable(result) if str(row.get("method")) in names and finite(row.get("severity")) is not None
    ]
    seen = [row["error"] for row in rows] + [0.0]
    out: list[Figure] = []
    for family in families(result):
        mine = [row for row in rows if str(row.get("family")) == family]
        if len({row["severity"] for row in mine}) > 1:
            out.append(_figure(result, family, mine, seen, len(out)))
    return out


def _figure(result: Result, family: str, rows: list[dict[str, Any]], seen: list[float], index: int) -> Figure:
    import altair as alt

    (_, high), marks = ticks(seen, most=5)
    severities = sorted({float(row["severity"]) for row in rows})
    down = alt.Y(
        "error:Q",
        scale=alt.Scale(domain=[0, high], nice=False),
        axis=alt.Axis(values=marks, labelExpr="format(datum.value * 100, '~g')", title=None),
    )
    room = 0.06 * (severities[-1] - severities[0])
    across = alt.X(
        "severity:Q",
        scale=alt.Scale(domain=[severities[0] - room, severities[-1] + room], nice=False),
        axis=alt.Axis(values=severities, labelExpr="format(datum.value, '~g')", grid=False, title="severity"),
    )
    layers: list[Any] = []
    for style in reversed(styles(result)):
        mine = [
            {
                "severity": float(row["severity"]),
                "error": float(row["error"]),
                "tip": {"": style["method"], "severity": f"{row['severity']:g}", "mean error": points(row["error"])},
            }
            for row in sorted(rows, key=lambda row: row["severity"])
            if str(row.get("method")) == style["method"]
        ]
        if not mine:
            continue
        base = alt.Chart(data(mine)).encode(x=across, y=down)
        layers.append(base.mark_line(color=style["color"], strokeWidth=2.25, strokeDash=list(style["dash"])))
        points_ = base.mark_point(color=style["color"], filled=True, size=55, opacity=1, shape=style["shape"])
        layers.append(points_.encode(tooltip="tip:N"))
    if severities[0] < 0 < severities[-1]:
        rule = alt.Chart(data([{"severity": 0}])).mark_rule(color=MUTED, strokeDash=[2, 3], strokeWidth=1)
        layers.insert(0, rule.encode(x=across))
    words = f"Mean error by severity: {family_name(family)}"
    return Figure(
        f"{PREFIX}{index}",
        family_name(family),
        MEANINGS.get(family, ""),
        specification(alt.layer(*layers), height=HEIGHT, alt_text=words),
    )
