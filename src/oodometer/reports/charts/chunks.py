"""Chunks: the estimate of each chunk of time with its band, beside the reference and, where it is known, the truth."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ..numbers import best, finite, number, percent, percent_range
from ..theme import ACCENT, BAND, HALO, REFERENCE, SURFACE, TRUTH, axis, data, specification
from ..words import alarms, fall_text
from .base import Figure, Result

HEIGHT = 280
MOST = 400  # chunks in the chart; the newest stay


def shown(result: Result) -> list[dict[str, Any]]:
    """Chunks that have an estimate, the newest `MOST` of them."""
    return [dict(one) for one in result.get("chunks") or [] if best(one.get("headline"))][-MOST:]


def chunk_name(one: Result) -> str:
    """What a chunk is called in a sentence; results of older versions tell its beginning alone.

    >>> chunk_name({"name": "2019-03", "start": "2019-03-02"}), chunk_name({"start": "2019-03-02"})
    ('2019-03', 'the chunk from 2019-03-02')
    """
    return str(one["name"]) if one.get("name") else f"the chunk from {one.get('start')}"


def _moment(text: Any) -> float | None:
    """Milliseconds since 1970 of a date in ISO form, read as UTC where it names no zone.

    >>> _moment("1970-01-02"), _moment("not a date")
    (86400000.0, None)
    """
    if not isinstance(text, str):  # the number of a row
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return when.timestamp() * 1000


def spans(chunks: Sequence[Result]) -> tuple[list[tuple[float, float]], bool]:
    """Both ends of every chunk on the time axis, or, where one is no date, places 0, 1, 2, ...; and which it is."""
    ends = [(_moment(one.get("start")), _moment(one.get("end"))) for one in chunks]
    times = [(start, end) for start, end in ends if start is not None and end is not None and end > start]
    if len(times) == len(ends):
        return times, True
    return [(float(index), index + 1.0) for index in range(len(ends))], False


def figure(result: Result) -> Figure | None:
    """A band and a bar for each chunk, a line through their middles, truth as diamonds."""
    import altair as alt

    chunks = shown(result)
    if not chunks:
        return None
    places, dated = spans(chunks)
    rows = _rows(chunks, places)
    level = finite((result.get("reference") or {}).get("accuracy"))
    up = axis([row[key] for row in rows for key in ("lower", "upper", "truth")] + [level], most=5)
    scale = alt.Scale(type="utc", domain=[places[0][0], places[-1][1]], nice=False) if dated else alt.Scale()
    days = (places[-1][1] - places[0][0]) / 86_400_000
    monthly = all(re.match(r"\d{4}-(\d{2}|Q\d)( |$)", str(one.get("name"))) for one in chunks)
    form = "%b %Y" if monthly else "%H:%M" if days < 2 else "%d %b" if days < 300 else "%b %Y"
    x_axis = (
        alt.Axis(grid=False, title=None, labelOverlap="greedy", tickCount=7, format=form)
        if dated
        else alt.Axis(
            grid=False,
            title="chunk",
            labelOverlap="greedy",
            values=[place + 0.5 for place in range(len(places))],
            labelExpr="format(datum.value + 0.5, '.0f')",
        )
    )
    place: dict[str, Any] = {"scale": scale, "axis": x_axis, "type": "temporal" if dated else "quantitative"}
    base = alt.Chart(data(rows))
    gap: dict[str, Any] = {"stroke": SURFACE, "strokeWidth": 1.5 if len(rows) <= 60 else 0}
    band = base.mark_bar(color=BAND[ACCENT], **gap).encode(
        x=alt.X("start", **place), x2="end", y=alt.Y("lower:Q", **up), y2="upper:Q"
    )
    middle = alt.X("middle", **place)
    line = base.mark_line(color=ACCENT, strokeWidth=2).encode(x=middle, y=alt.Y("value:Q", **up))
    size = 70 if len(rows) <= 60 else 12
    marks = base.mark_point(filled=True, size=size, color=ACCENT, opacity=1, stroke=SURFACE).encode(
        x=middle, y=alt.Y("value:Q", **up)
    )
    truth_marks = (
        base.transform_filter("isValid(datum.truth)")
        .mark_point(shape="diamond", size=130, filled=True, color=TRUTH, opacity=1, stroke=SURFACE)
        .encode(x=middle, y=alt.Y("truth:Q", **up))
    )
    alarms = (
        base.transform_filter("datum.alarm")
        .mark_point(size=size + 130, filled=False, color=REFERENCE, opacity=1, strokeWidth=2.5)
        .encode(x=middle, y=alt.Y("value:Q", **up))
    )
    hover = base.mark_bar(opacity=0).encode(
        x=alt.X("start", **place), x2="end", y=alt.value(0), y2=alt.value("height"), tooltip="tip:N"
    )
    finding = title(result)
    chart = alt.layer(band, *_reference(level, up, rows), line, marks, alarms, truth_marks, hover)
    return Figure("chunks", finding, caption(result), specification(chart, height=HEIGHT, alt_text=finding))


def _rows(chunks: list[Any], places: list[Any]) -> list[dict[str, Any]]:
    """One row a chunk: where it stands, its estimate with the interval, the truth, what is told under the pointer."""
    rows = []
    for (start, end), one in zip(places, chunks, strict=True):
        headline, truth = best(one["headline"]), best(one.get("truth"))
        tip = {"": chunk_name(one), "estimate": percent(headline["value"])}
        tip |= {"interval": percent_range(headline.get("lower"), headline.get("upper"))}
        tip |= {"truth": percent(truth["value"])} if truth else {}
        tip |= {"rows": number(one["rows"])} if one.get("rows") else {}
        fell = one.get("fell") or {}
        tip |= {"fell": fall_text(fell)} if fell else {}
        rows.append(
            {
                "start": start,
                "end": end,
                "middle": (start + end) / 2,
                "value": headline["value"],
                "lower": headline.get("lower", headline["value"]),
                "upper": headline.get("upper", headline["value"]),
                "truth": truth.get("value"),
                "alarm": bool(fell.get("alarm")),
                "tip": tip,
            }
        )
    return rows


def _reference(level: float | None, up: dict[str, Any], rows: list[dict[str, Any]]) -> list[Any]:
    """The dashed line of the reference accuracy with its label, if it is known."""
    import altair as alt

    if level is None:
        return []
    base = alt.Chart(data([{"y": level, "label": f"reference {percent(level)}"}])).encode(y=alt.Y("y:Q", **up))
    rule = base.mark_rule(color=REFERENCE, strokeDash=[5, 4], strokeWidth=1.75)
    # The label stands at the end where the bands are farther from the line.
    left = abs(rows[0]["value"] - level) > abs(rows[-1]["value"] - level)
    text = base.mark_text(
        align="left" if left else "right",
        baseline="bottom",
        dx=4 if left else -4,
        dy=-4,
        color=REFERENCE,
        fontWeight=600,
        **HALO,
    ).encode(x=alt.value(0 if left else "width"), text="label:N")
    return [rule, text]


def title(result: Result) -> str:
    """The lowest chunk, and how many raised an alarm or, in older results, lie wholly below the reference."""
    chunks = [one for one in result.get("chunks") or [] if best(one.get("headline"))]
    accuracy = finite((result.get("reference") or {}).get("accuracy"))
    lowest = min(chunks, key=lambda one: float(one["headline"]["value"]))
    text = f"Lowest in {chunk_name(lowest)}: {percent(lowest['headline']['value'])}"
    if any(one.get("fell") for one in chunks):
        return f"{text}; {alarms(chunks, 'chunk')}"
    if accuracy is None:
        return text
    below = sum((finite(one["headline"].get("upper")) or 1) < accuracy for one in chunks)
    return f"{text}; {below} of {len(chunks)} chunks lie wholly below the reference"


def caption(result: Result) -> str:
    """How to read the chunks."""
    chunks = result.get("chunks") or []
    known = any(best(one.get("truth")) for one in chunks)
    truth = " Diamonds are the accuracy where labels are known." if known else ""
    rings = " Rings are alarms." if any((one.get("fell") or {}).get("alarm") for one in chunks) else ""
    of_rows = all(isinstance(one.get("start"), int) for one in chunks)
    what = "each chunk of rows" if of_rows else "each chunk of time"
    return f"Estimated accuracy of {what} with its interval.{truth}{rings}"
