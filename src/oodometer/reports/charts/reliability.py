"""Reliability: accuracy of the reference in bins of confidence, against the diagonal of a calibrated model."""

from __future__ import annotations

from typing import Any

from ..numbers import finite, percent, percent_range, points, rows_text
from ..theme import ACCENT, BAND, HALO, MUTED, SURFACE, axis, data, specification
from .base import Figure, Result

HEIGHT = 300


def bins(result: Result) -> list[dict[str, Any]]:
    """Bins that hold rows, one mapping each."""
    table = result.get("reliability") or {}
    confidence, accuracy = table.get("confidence") or [], table.get("accuracy") or []
    lower, upper = table.get("lower") or accuracy, table.get("upper") or accuracy
    rows = table.get("rows") or [None] * len(confidence)
    return [
        {"x": at, "y": value, "lower": low, "upper": high, "rows": count}
        for at, value, low, high, count in zip(confidence, accuracy, lower, upper, rows, strict=False)
        if finite(at) is not None and finite(value) is not None
    ]


def figure(result: Result) -> Figure | None:
    """Dots with intervals, larger where a bin holds more rows; the diagonal is where confidence equals accuracy."""
    import altair as alt

    found = bins(result)
    if not found:
        return None
    for row in found:
        row["tip"] = {
            "confidence": percent(row["x"]),
            "accuracy": percent(row["y"]),
            "interval": percent_range(row["lower"], row["upper"]),
            "in this bin": rows_text(row["rows"]),
        }
        row["rows"] = finite(row["rows"]) or 1
    seen = [row[key] for row in found for key in ("x", "y", "lower", "upper")]
    up, across = axis(seen), axis(seen, title="confidence of the model", grid=False)
    low, high = up["scale"].domain
    ends = [max(low, 0), min(high, 1)]
    diagonal = alt.Chart(data([{"x": end, "y": end} for end in ends])).encode(
        x=alt.X("x:Q", **across), y=alt.Y("y:Q", **up)
    )
    # The name of the diagonal stands on the side where the dots are not.
    over = sum(row["y"] < row["x"] for row in found) * 2 >= len(found)
    spot = ends[0] + 0.62 * (ends[1] - ends[0])
    tilt = (
        alt.Chart(data([{"x": spot, "y": spot, "label": "calibrated"}]))
        .mark_text(align="right" if over else "left", dx=-12 if over else 12, color=MUTED, **HALO)
        .encode(x=alt.X("x:Q", **across), y=alt.Y("y:Q", **up), text="label:N")
    )
    base = alt.Chart(data(found)).encode(x=alt.X("x:Q", **across), tooltip="tip:N")
    bars = base.mark_rule(color=BAND[ACCENT], strokeWidth=5, strokeCap="round").encode(
        y=alt.Y("lower:Q", **up), y2="upper:Q"
    )
    marks = base.mark_point(filled=True, color=ACCENT, opacity=1, stroke=SURFACE, strokeWidth=1.5).encode(
        y=alt.Y("y:Q", **up),
        size=alt.Size("rows:Q", scale=alt.Scale(range=[50, 260], zero=True), legend=None),
    )
    finding = title(result)
    chart = alt.layer(diagonal.mark_line(color=MUTED, strokeDash=[4, 4], strokeWidth=1.5), bars, marks, tilt)
    spec = specification(chart, height=HEIGHT, alt_text=finding)
    return Figure("reliability", finding, caption(result), spec)


def title(result: Result) -> str:
    """Whether confidence on the labelled rows is too high, too low or right, weighted by rows."""
    table = result.get("reliability") or {}
    pairs = zip(table.get("confidence") or [], table.get("accuracy") or [], table.get("rows") or [], strict=False)
    known = [row for row in pairs if all(finite(value) is not None for value in row)]
    rows = sum(row[2] for row in known)
    if not rows:
        return "Confidence against accuracy"
    gap = sum((confidence - accuracy) * count for confidence, accuracy, count in known) / rows
    where = "" if result.get("command") == "evaluate" else " on the reference"
    if abs(gap) < 0.01:
        return f"The model's confidence is about right{where}"
    side = "overconfident" if gap > 0 else "underconfident"
    return f"The model is {side}{where}, by {points(gap)} on average"


def caption(result: Result) -> str:
    """How to read the diagram."""
    del result
    return (
        "Accuracy in bins of confidence; larger dots hold more rows. On the dashed line confidence is the accuracy; "
        "below it the model claims more than it delivers."
    )
