"""Risk and coverage: accuracy of the rows that are kept when only the most confident ones are, with its band."""

from __future__ import annotations

from typing import Any

from ..numbers import finite, percent, percent_range, threshold
from ..theme import ACCENT, BAND, HALO, INK, MUTED, SURFACE, axis, data, specification
from ..words import capital, measured
from .base import Figure, Result

HEIGHT = 300
POINTS = 100  # at most, of the curve
STEADY = 0.1  # coverage from which on the axis has to hold the band


def _rows(curve: Result) -> list[dict[str, Any]]:
    """Points of the curve with what the pointer shows."""
    x, y = curve.get("x") or [], curve.get("y") or []
    lower, upper = curve.get("lower") or y, curve.get("upper") or y
    thresholds = curve.get("thresholds") or [None] * len(x)
    rows: list[dict[str, Any]] = []
    step = -(-len(x) // POINTS)
    kept = slice((len(x) - 1) % step, None, step) if x else slice(0)  # the last point stays
    for at, value, low, high, bound in list(zip(x, y, lower, upper, thresholds, strict=False))[kept]:
        if finite(at) is None or finite(value) is None:
            continue
        tip = {"rows kept": percent(at), "accuracy": percent(value), "interval": percent_range(low, high)}
        if finite(bound) is not None:
            tip["confidence at least"] = threshold(bound)
        rows.append(
            {
                "before": rows[-1]["x"] if rows else 0,
                "x": at,
                "y": value,
                "lower": low,
                "upper": high,
                "tip": tip,
            }
        )
    return rows


def figure(result: Result) -> Figure | None:
    """Curve with its band; where a threshold answers a wish for accuracy, a line and the answer."""
    import altair as alt

    curve = result.get("risk_coverage") or {}
    rows = _rows(curve)
    if not rows:
        return None
    answers = [one for one in curve.get("answers") or [] if (finite(one.get("coverage")) or 1) < 1]
    wished = [one.get("accuracy") for one in answers]
    # The band of the very first rows may reach down to 0 and would flatten the curve.
    steady = [row for row in rows if row["x"] >= STEADY] or rows
    up = axis([row[key] for row in steady for key in ("y", "lower", "upper")] + wished)
    across = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[0, 1.02], nice=False),
        axis=alt.Axis(
            values=[0.2, 0.4, 0.6, 0.8, 1],
            labelExpr="format(datum.value * 100, '.0f') + ' %'",
            grid=False,
            title="rows kept, the most confident first",
        ),
    )
    base = alt.Chart(data(rows)).encode(x=across)
    band = base.mark_area(color=BAND[ACCENT], opacity=1, clip=True).encode(y=alt.Y("lower:Q", **up), y2="upper:Q")
    line = base.mark_line(color=ACCENT, clip=True).encode(y=alt.Y("y:Q", **up))
    near = alt.selection_point(fields=["x"], on="pointerover", clear="pointerout", empty=False)
    spot = base.mark_point(size=70, filled=True, color=ACCENT, stroke=SURFACE, strokeWidth=1.5).encode(
        y=alt.Y("y:Q", **up), opacity=alt.when(near).then(alt.value(1)).otherwise(alt.value(0))
    )
    # Where the pointer may rest for a point: the whole height, from the point before.
    hover = base.mark_bar(opacity=0).encode(
        x=alt.X("before:Q"), x2="x:Q", y=alt.value(0), y2=alt.value("height"), tooltip="tip:N"
    )
    finding = title(result)
    chart = alt.layer(band, line, *_answers(answers, up), spot, hover.add_params(near))
    spec = specification(chart, height=HEIGHT, alt_text=finding)
    return Figure("risk-coverage", finding, caption(result), spec)


def _answers(answers: list[dict[str, Any]], up: dict[str, Any]) -> list[Any]:
    """For each answer a dashed level, a drop line at its coverage and a dot where they meet."""
    import altair as alt

    layers: list[Any] = []
    for one in answers:
        coverage = float(one["coverage"])
        label = f"{percent(one.get('accuracy'), 0)} accurate\nkeep {percent(coverage, 0)}"
        rows = data([{"x": coverage, "y": one.get("accuracy"), "label": label}])
        base = alt.Chart(rows).encode(x="x:Q", y=alt.Y("y:Q", **up))
        level = (
            alt.Chart(rows)
            .mark_rule(color=MUTED, strokeDash=[3, 4])
            .encode(y=alt.Y("y:Q", **up), x="x:Q", x2=alt.value(0))
        )
        drop = (
            alt.Chart(rows)
            .mark_rule(color=MUTED, strokeDash=[3, 4])
            .encode(x="x:Q", y=alt.Y("y:Q", **up), y2=alt.value("height"))
        )
        dot = base.mark_point(size=90, filled=True, color=INK, opacity=1, stroke=SURFACE, strokeWidth=1.5)
        # Left of the dot and below it no curve runs; where that is too narrow, at the foot of the drop line.
        room = coverage > 0.45
        text = base.mark_text(
            align="right" if room else "left",
            dx=-8 if room else 8,
            dy=16 if room else -26,
            lineBreak="\n",
            fontWeight=600,
            color=INK,
            **HALO,
        ).encode(text="label:N", y=alt.Y("y:Q", **up) if room else alt.value("height"))
        layers += [level, drop, dot, text]
    return layers


def title(result: Result) -> str:
    """Above which threshold the wished accuracy is reached."""
    curve, estimated = result.get("risk_coverage") or {}, measured(result)
    answers = curve.get("answers") or []
    for one in answers:
        if finite(one.get("threshold")) is not None:
            coverage = finite(one.get("coverage")) or 0
            if coverage >= 1:
                return capital(f"{estimated} is at least {percent(one.get('accuracy'), 0)} with all rows kept")
            kept = f"that keeps {percent(coverage, 0 if coverage >= 0.1 else 1)} of the rows"
            reached = f"{estimated} is at least {percent(one.get('accuracy'), 0)}; {kept}"
            return f"Above confidence {threshold(one['threshold'])}, {reached}"
    if answers:
        return f"No threshold reaches {estimated} of {percent(answers[0].get('accuracy'), 0)}"
    ends = [value for value in curve.get("y") or [] if finite(value) is not None]
    if not ends:
        return "Accuracy against coverage"
    text = f"{estimated} goes from {percent(ends[0])} on the most confident rows to {percent(ends[-1])} on all"
    return capital(text)


def caption(result: Result) -> str:
    """How to read the curve, and the threshold at which even the lower end of the band is high enough."""
    curve = result.get("risk_coverage") or {}
    text = f"{capital(measured(result))} of the rows that stay when the least confident are left out, with its band."
    for one in curve.get("answers") or []:
        if finite(one.get("threshold")) is None:
            continue
        if finite(one.get("safe_threshold")) is None:
            text += f" The lower end of the band reaches {percent(one.get('accuracy'), 0)} at no threshold."
        else:
            safe = f"confidence {threshold(one['safe_threshold'])}, keeping {percent(one.get('safe_coverage'))}"
            text += f" For the lower end of the band to reach {percent(one.get('accuracy'), 0)}, take {safe}."
    if (result.get("diagnosis") or {}).get("kind") == "support":
        text += " The target holds rows unlike the reference's: there its confidence may mean something else."
        text += " Do not rely on this curve before some rows are labelled."
    return text
