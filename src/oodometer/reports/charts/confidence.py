"""Confidence: how the model's confidence is spread over the rows of the reference and of the target."""

from __future__ import annotations

from typing import Any

from ..numbers import finite, percent, rows_text
from ..theme import ACCENT, BAND, HALO, REFERENCE, data, share, specification
from .base import Figure, Result

HEIGHT = 260


def _bins(table: Result) -> list[dict[str, Any]]:
    edges = table.get("edges") or []
    reference, target = table.get("reference") or [], table.get("target") or []
    rows = []
    for low, high, one, other in zip(edges, edges[1:], reference, target, strict=False):
        tip = {"confidence": f"{percent(low, 0)} to {percent(high, 0)}"}
        tip |= {"reference": percent(one), "target": percent(other)}
        rows.append({"low": low, "high": high, "reference": one, "target": other, "tip": tip})
    return [row for row in rows if finite(row["reference"]) is not None and finite(row["target"]) is not None]


def figure(result: Result) -> Figure | None:
    """Two stepped histograms over one axis; each is named in its colour inside the plot."""
    import altair as alt

    found = _bins(result.get("confidence") or {})
    if not found:
        return None
    top = max(max(row["reference"], row["target"]) for row in found)
    _, marks, label = share([0, top], most=5)
    up: dict[str, Any] = {
        "scale": alt.Scale(domain=[0, top * 1.08], nice=False),
        "axis": alt.Axis(values=[mark for mark in marks if mark >= 0], labelExpr=label, title=None),
    }
    first, last = found[0]["low"], found[-1]["high"]
    across = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[first, last], nice=False),
        axis=alt.Axis(
            grid=False,
            tickCount=6,
            format=".0%",
            labelExpr="format(datum.value * 100, '.0f') + ' %'",
            title="confidence of the model",
            labelFlush=True,
        ),
    )
    layers: list[Any] = []
    for name, color in (("reference", REFERENCE), ("target", ACCENT)):
        steps = [{"x": row["low"], "y": row[name]} for row in found] + [{"x": last, "y": found[-1][name]}]
        area = alt.Chart(data(steps)).mark_area(
            color=BAND[color],
            fillOpacity=1,
            interpolate="step-after",
            line=alt.OverlayMarkDef(color=color, strokeWidth=2),
        )
        layers.append(area.encode(x=across, y=alt.Y("y:Q", **up)))
    layers += _labels(result, found)
    hover = (
        alt.Chart(data(found))
        .mark_bar(opacity=0)
        .encode(x=alt.X("low:Q"), x2="high:Q", y=alt.value(0), y2=alt.value("height"), tooltip="tip:N")
    )
    finding = title(result)
    spec = specification(alt.layer(*layers, hover), height=HEIGHT, alt_text=finding)
    return Figure("confidence", finding, caption(result), spec)


def _labels(result: Result, found: list[dict[str, Any]]) -> list[Any]:
    """Both names, one above the other, on the side where the histograms are lower."""
    import altair as alt

    third = max(len(found) // 3, 1)
    crowd = [max(row["reference"], row["target"]) for row in found]
    left = max(crowd[:third]) <= max(crowd[-third:])
    layers: list[Any] = []
    for index, (name, color) in enumerate((("reference", REFERENCE), ("target", ACCENT))):
        text = f"{name} ({rows_text((result.get(name) or {}).get('rows'))})"
        chart = alt.Chart(data([{"label": text}])).mark_text(
            align="left" if left else "right",
            baseline="top",
            fontWeight=600,
            fontSize=13,
            color=color,
            **HALO,
            dx=10 if left else -10,
        )
        layers.append(chart.encode(x=alt.value(0 if left else "width"), y=alt.value(8 + 20 * index), text="label:N"))
    return layers


def title(result: Result) -> str:
    """How many rows of each side are confident: the share in the bins from about 0.9 upwards."""
    table = result.get("confidence") or {}
    edges = table.get("edges") or []
    if len(edges) < 2:
        return "Confidence of the model"
    start = min(range(len(edges) - 1), key=lambda index: abs(edges[index] - 0.9))
    target, reference = (sum((table.get(name) or [])[start:]) for name in ("target", "reference"))
    at_least = f"a confidence of at least {percent(edges[start], 0)}"
    return f"{percent(target, 0)} of the target rows have {at_least}, against {percent(reference, 0)} of the reference"


def caption(result: Result) -> str:
    """How to read the histograms."""
    del result
    return "Share of the rows in each bin of confidence. A model can stay confident while its accuracy falls."
