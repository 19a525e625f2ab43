"""Risk and coverage: accuracy of the rows that are kept when only the most confident ones are, with its band."""

from __future__ import annotations

from typing import Any

from ..numbers import finite, percent, percent_range, threshold
from ..theme import ACCENT, BAND, HALO, INK, MUTED, SURFACE, axis, data, specification
from ..words import risk_coverage_caption, risk_coverage_title
from .base import Figure, Result

__all__ = ["figure"]

HEIGHT = 300


def _rows(curve: Result) -> list[dict[str, Any]]:
    """Points of the curve with what the pointer shows."""
    x, y = curve.get("x") or [], curve.get("y") or []
    lower, upper = curve.get("lower") or y, curve.get("upper") or y
    thresholds = curve.get("thresholds") or [None] * len(x)
    rows = []
    for at, value, low, high, bound in zip(x, y, lower, upper, thresholds, strict=False):
        if finite(at) is None or finite(value) is None:
            continue
        tip = {"rows kept": percent(at), "accuracy": percent(value), "interval": percent_range(low, high)}
        if finite(bound) is not None:
            tip["confidence at least"] = threshold(bound)
        rows.append({"x": at, "y": value, "lower": low, "upper": high, "tip": tip})
    return rows


def figure(result: Result) -> Figure | None:
    """Curve with its band; where a threshold answers a wish for accuracy, a line and the answer."""
    import altair as alt

    curve = result.get("risk_coverage") or {}
    rows = _rows(curve)
    if not rows:
        return None
    answers = [one for one in curve.get("answers") or [] if finite(one.get("coverage")) is not None]
    wished = [one.get("accuracy") for one in answers]
    up = axis([row[key] for row in rows for key in ("y", "lower", "upper")] + wished)
    across = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[0, 1.02], nice=False),
        axis=alt.Axis(
            values=[0.2, 0.4, 0.6, 0.8, 1], labelExpr="format(datum.value * 100, '.0f') + ' %'", grid=False,
            title="rows kept, the most confident first",
        ),
    )  # fmt: skip
    base = alt.Chart(data(rows)).encode(x=across)
    band = base.mark_area(color=BAND[ACCENT], opacity=1).encode(y=alt.Y("lower:Q", **up), y2="upper:Q")
    line = base.mark_line(color=ACCENT).encode(y=alt.Y("y:Q", **up))
    near = alt.selection_point(fields=["x"], nearest=True, on="pointerover", clear="pointerout", empty=False)
    spot = base.mark_point(size=70, filled=True, color=ACCENT, stroke=SURFACE, strokeWidth=1.5).encode(
        y=alt.Y("y:Q", **up), opacity=alt.when(near).then(alt.value(1)).otherwise(alt.value(0)), tooltip="tip:N"
    )
    title = risk_coverage_title(result)
    chart = alt.layer(band, line, *_answers(answers, up), spot.add_params(near))
    spec = specification(chart, height=HEIGHT, alt_text=title)
    return Figure("risk-coverage", title, risk_coverage_caption(result), spec)


def _answers(answers: list[dict[str, Any]], up: dict[str, Any]) -> list[Any]:
    """For each answer a dashed level, a drop line at its coverage and a dot where they meet."""
    import altair as alt

    layers: list[Any] = []
    for one in answers:
        coverage = float(one["coverage"])
        label = f"{percent(one.get('accuracy'), 0)} accurate\nkeep {percent(coverage, 0)}"
        rows = data([{"x": coverage, "y": one.get("accuracy"), "label": label}])
        base = alt.Chart(rows).encode(x="x:Q", y=alt.Y("y:Q", **up))
        level = alt.Chart(rows).mark_rule(color=MUTED, strokeDash=[3, 4]).encode(
            y=alt.Y("y:Q", **up), x="x:Q", x2=alt.value(0)
        )  # fmt: skip
        drop = alt.Chart(rows).mark_rule(color=MUTED, strokeDash=[3, 4]).encode(
            x="x:Q", y=alt.Y("y:Q", **up), y2=alt.value("height")
        )  # fmt: skip
        dot = base.mark_point(size=90, filled=True, color=INK, opacity=1, stroke=SURFACE, strokeWidth=1.5)
        right = coverage > 0.5
        text = base.mark_text(
            align="right" if right else "left", dx=-8 if right else 8, dy=16, lineBreak="\n", fontWeight=600, color=INK,
            **HALO,
        ).encode(text="label:N")  # fmt: skip
        layers += [level, drop, dot, text]
    return layers
