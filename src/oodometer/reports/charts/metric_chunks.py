"""Metrics by chunk: a small chart for each metric besides the accuracy, its estimate with a band, truth as diamonds."""

from __future__ import annotations

from typing import Any

from ..numbers import best, finite, number
from ..theme import ACCENT, BAND, REFERENCE, SURFACE, TRUTH, data, specification
from .base import Figure, Result
from .chunks import shown, spans

PREFIX = "metric-chunks-"
HEIGHT = 150


def figures(result: Result) -> list[Figure]:
    """One chart for each metric of `metrics` that chunks have, in the order in which they were asked for."""
    made = []
    for index, (name, whole) in enumerate((result.get("metrics") or {}).items()):
        chunks = [one for one in shown(result) if best((one.get("metrics") or {}).get(name))]
        if chunks:
            made.append(_figure(f"{PREFIX}{index}", str(name), whole, chunks))
    return made


def _figure(figure_name: str, name: str, whole: Result, chunks: list[dict[str, Any]]) -> Figure:
    import altair as alt

    places, dated = spans(chunks)
    rows = _rows(name, chunks, places)
    level = finite(best(whole.get("reference")).get("value"))
    values = [row[key] for row in rows for key in ("lower", "upper", "truth")] + [level]
    known = [value for value in values if value is not None]
    room = 0.08 * (max(known) - min(known)) or 0.01
    up: dict[str, Any] = {
        "scale": alt.Scale(domain=[min(known) - room, max(known) + room], nice=False, zero=False),
        "axis": alt.Axis(title=None, tickCount=4, format="~g"),
    }
    scale = alt.Scale(type="utc", domain=[places[0][0], places[-1][1]], nice=False) if dated else alt.Scale()
    ticks = alt.Axis(grid=False, title=None, tickCount=4, labelOverlap="greedy", format="%b %y" if dated else "~g")
    across: dict[str, Any] = {"type": "temporal" if dated else "quantitative", "scale": scale, "axis": ticks}
    base = alt.Chart(data(rows))
    ends = base.encode(x=alt.X("start", **across), x2="end")
    middle = base.encode(x=alt.X("middle", **across))
    layers: list[Any] = [
        ends.mark_bar(color=BAND[ACCENT], stroke=SURFACE, strokeWidth=1 if len(rows) <= 60 else 0).encode(
            y=alt.Y("lower:Q", **up), y2="upper:Q"
        ),
        middle.mark_line(color=ACCENT, strokeWidth=2).encode(y=alt.Y("value:Q", **up)),
    ]
    if level is not None:
        line = alt.Chart(data([{"y": level}])).mark_rule(color=REFERENCE, strokeDash=[5, 4], strokeWidth=1.5)
        layers.append(line.encode(y=alt.Y("y:Q", **up)))
    known_truth = middle.transform_filter("isValid(datum.truth)")
    layers += [
        known_truth.mark_point(shape="diamond", size=70, filled=True, color=TRUTH, opacity=1, stroke=SURFACE).encode(
            y=alt.Y("truth:Q", **up)
        ),
        ends.mark_bar(opacity=0).encode(y=alt.value(0), y2=alt.value("height"), tooltip="tip:N"),
    ]
    lowest = min(rows, key=lambda row: float(row["value"]))
    text = f"lowest {number(lowest['value'])}, {lowest['tip']['']}"
    spec = specification(alt.layer(*layers), height=HEIGHT, alt_text=f"{name}: {text}")
    return Figure(figure_name, name, text, spec)


def _rows(name: str, chunks: list[dict[str, Any]], places: list[tuple[float, float]]) -> list[dict[str, Any]]:
    rows = []
    for (start, end), one in zip(places, chunks, strict=True):
        found = one["metrics"][name]
        truth = best(found.get("truth")).get("value")
        low, high = (found.get(side, found["value"]) for side in ("lower", "upper"))
        tip = {"": str(one.get("name") or one.get("start")), name: number(found["value"])}
        tip |= {"interval": f"{number(low)} to {number(high)}"}
        tip |= {} if truth is None else {"truth": number(truth)}
        row = {"start": start, "end": end, "middle": (start + end) / 2, "tip": tip}
        rows.append({**row, "value": found["value"], "lower": low, "upper": high, "truth": truth})
    return rows
