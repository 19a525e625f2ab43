"""Dots: a row for each name, a dot at the value, a bar over the interval, the number at the right; shared by charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..numbers import finite, percent, percent_range, short
from ..theme import BAND, HALO, INK, QUIET, SURFACE, axis, data

ROW_HEIGHT = 30

Line = tuple[str, Any, str, bool]
"""A vertical line: label, value, colour, dashed."""


def unique(names: Iterable[Any]) -> list[str]:
    """Names as text, cut to a sane length and told apart by a number where they repeat.

    >>> unique(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    seen: dict[str, int] = {}
    out = []
    for name in names:
        text = short(name)
        seen[text] = seen.get(text, 0) + 1
        out.append(text if seen[text] == 1 else f"{text} ({seen[text]})")
    return out


def entry(name: str, interval: Mapping[str, Any], *, color: str = QUIET, **more: Any) -> dict[str, Any]:
    """One row of the chart; ``more`` is shown when the pointer rests on it, its names as they are read."""
    value = finite(interval.get("value"))
    low, high = finite(interval.get("lower")), finite(interval.get("upper"))
    tooltip = {"": name, "value": percent(value), "interval": percent_range(low, high)}
    tooltip |= {"kind": str(interval.get("kind") or ""), **{key: str(text) for key, text in more.items()}}
    return {
        "name": name,
        "value": value,
        "lower": value if low is None else low,
        "upper": value if high is None else high,
        "color": color,
        "band": BAND[color],
        "label": percent(value),
        "tip": {key: text for key, text in tooltip.items() if text},
    }


def _lines(lines: Sequence[Line], low: float, high: float) -> list[Any]:
    """Vertical lines over the whole height, each with its label above the plot, one label above the other."""
    import altair as alt

    def to_the_left(line: Line) -> bool:
        part = (line[1] - low) / (high - low)
        return part > 0.5 or (part > 0.4 and any(other[1] > line[1] for other in lines))

    # Of labels on one side of their lines the outermost line has the highest, so that no line crosses a label.
    right = sorted((line for line in lines if not to_the_left(line)), key=lambda line: -line[1])
    left = sorted((line for line in lines if to_the_left(line)), key=lambda line: float(line[1]))
    rules: list[Any] = []
    names: list[Any] = []
    for index, (label, value, color, dashed) in enumerate((*right, *left)):
        rows = data([{"value": value, "label": f"{label} {percent(value)}"}])
        rule = alt.Chart(rows).mark_rule(color=color, strokeWidth=1.75, strokeDash=[5, 4] if dashed else [1, 0])
        text = alt.Chart(rows).mark_text(
            align="left" if index < len(right) else "right",
            baseline="middle",
            color=color,
            dx=5 if index < len(right) else -5,
            fontWeight=600,
            **HALO,
        )
        place = alt.X("value:Q")
        rules.append(rule.encode(x=place, y=alt.value(-16 - 16 * index), y2=alt.value("height")))
        names.append(text.encode(x=place, y=alt.value(-9 - 16 * index), text="label:N"))
    return rules + names


def dots(rows: list[dict[str, Any]], *, lines: Sequence[Line] = (), title: str) -> tuple[Any, int]:
    """The layered chart of rows in their given order, and its height in pixels."""
    import altair as alt

    lines = [line for line in lines if finite(line[1]) is not None]
    seen = [row[key] for row in rows for key in ("lower", "upper")] + [line[1] for line in lines]
    across = axis(seen, title=title, labelSeparation=8)
    low, high = across["scale"].domain
    limit = alt.expr("containerSize()[0] < 480 ? 118 : 230")
    down = alt.Y(
        "name:N",
        sort=None,
        axis=alt.Axis(title=None, grid=False, labelLimit=limit, labelColor=INK, labelFontSize=13),
    )
    base = alt.Chart(data(rows)).encode(y=down)
    bars = base.mark_rule(strokeWidth=7, strokeCap="round", opacity=1).encode(
        x=alt.X("lower:Q", **across), x2="upper:Q", color=alt.Color("band:N", scale=None)
    )
    marks = base.mark_point(size=95, filled=True, opacity=1, stroke=SURFACE, strokeWidth=1.5).encode(
        x=alt.X("value:Q", **across), color=alt.Color("color:N", scale=None)
    )
    labels = base.mark_text(align="left", dx=10).encode(
        x=alt.value("width"),
        text="label:N",
        color=alt.value(INK),
    )
    hover = base.mark_bar(opacity=0).encode(x=alt.value(0), x2=alt.value("width"), tooltip="tip:N")
    drawn = [*_lines(lines, low, high), bars, marks, labels, hover]
    return alt.layer(*drawn), ROW_HEIGHT * len(rows)
