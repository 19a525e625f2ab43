"""Widths: how wide the interval is to be expected as labels are added, and where it stands today."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from ..numbers import best, finite, number, percent, points
from ..theme import ACCENT, BAND, HALO, INK, MUTED, QUIET, SURFACE, TRUTH, data, specification
from .base import Figure, Result
from .labels import spread

HEIGHT = 300
GAP = 19
LINES = (
    ("alone", "labels alone", QUIET),
    ("random", "as audited", ACCENT),
    ("suggested", "by confidence", TRUTH),
)
SAME = 0.02  # lines that are never further apart than this share of the width are one line
TICKS = (10, 20, 50, 100, 200, 500, 1000)
WIDTHS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
FLOOR = 0.002  # widths below it are drawn there


def steps(result: Result) -> list[dict[str, Any]]:
    """Widths by number of labels, the fewest first."""
    found = [dict(one) for one in (result.get("outlook") or {}).get("widths") or [] if finite(one.get("labels"))]
    return sorted((one for one in found if finite(one.get("alone")) is not None), key=lambda one: one["labels"])


def today(result: Result) -> dict[str, Any] | None:
    """Number of labels and width of this audit's interval."""
    found = best(result.get("estimate"))
    low, high, labels = finite(found.get("lower")), finite(found.get("upper")), finite(result.get("labels"))
    if low is None or high is None or not labels:
        return None
    return {"labels": int(labels), "width": high - low}


def expected(result: Result, labels: float) -> float | None:
    """Width to expect of so many labels drawn as suggested, between the points of the curve; None beyond them.

    >>> widths = [{"labels": 10, "alone": 0.4, "suggested": 0.4}, {"labels": 1000, "alone": 0.04, "suggested": 0.04}]
    >>> round(expected({"outlook": {"widths": widths}}, 100), 3)
    0.126
    """
    for (n, width), (most, least) in pairwise(_suggested(result)):
        if n <= labels <= most:
            part = math.log(labels / n) / math.log(most / n)
            return math.exp((1 - part) * math.log(width) + part * math.log(least))
    return None


def halving(result: Result) -> int | None:
    """How many labels in all are to be expected to halve today's interval, in two digits; None beyond the curve.

    >>> result = {"labels": 40, "estimate": {"value": 0.9, "lower": 0.8, "upper": 1.0}, "outlook": {"widths": [
    ...     {"labels": 40, "alone": 0.2, "suggested": 0.2}, {"labels": 640, "alone": 0.05, "suggested": 0.05}]}}
    >>> halving(result)
    160
    """
    now = today(result)
    if now is None:
        return None
    half = now["width"] / 2
    for (n, width), (most, least) in pairwise(_suggested(result)):
        if most > now["labels"] and least <= half < width:
            part = math.log(width / half) / math.log(width / least)
            found = math.exp((1 - part) * math.log(n) + part * math.log(most))
            unit = 10 ** max(math.floor(math.log10(found)) - 1, 0)
            whole = math.ceil(round(found / unit, 6)) * unit
            return whole if whole > now["labels"] else None
    return None


def _suggested(result: Result) -> list[tuple[int, float]]:
    """The curve of rows drawn as `--suggest` draws them, as far as it is above 0."""
    found = steps(result)
    by_chance = result.get("suggest_by") != "confidence" and all("random" in one for one in found)
    key = "random" if by_chance else "suggested"
    return [(one["labels"], value) for one in found if (value := finite(one.get(key)))]


def _drawn(found: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Lines that differ from those before them; the plainest name stands for several that are one."""
    out: list[tuple[str, str, str]] = []
    for key, name, color in LINES:
        if any(finite(one.get(key)) is None for one in found):
            continue
        if not any(all(abs(one[key] - one[other]) <= SAME * one[other] for one in found) for other, _, _ in out):
            out.append((key, name, color))
    if len(out) == 1:
        return [(out[0][0], "expected width", ACCENT)]
    return out


def figure(result: Result) -> Figure | None:
    """Lines over the number of labels, the band of what today's interval leaves open, a dot for today."""
    import altair as alt

    found, now = steps(result), today(result)
    if len(found) < 2 or (now is not None and not now["width"]):
        return None
    up, across, (low, high), ends = _axes(found, now)
    lines = _drawn(found)
    layers: list[Any] = []
    if all(finite(one.get(key)) is not None for one in found for key in ("narrowest", "widest")):
        rows = [{"labels": one["labels"], "width": one["narrowest"], "widest": one["widest"]} for one in found]
        band = alt.Chart(data(rows)).mark_area(color=BAND[QUIET], opacity=0.6)
        layers.append(band.encode(x=across, y=up, y2="widest:Q"))
    names = []
    tall = HEIGHT / math.log(high / low)
    ends_at = [math.log(max(found[-1][key], low) / low) * tall for key, _, _ in lines]
    places = spread(ends_at, GAP, 0, HEIGHT - GAP / 2)
    for (key, name, color), place in zip(lines, places, strict=True):
        rows = [{"labels": one["labels"], "width": one[key]} for one in found]
        layers.append(alt.Chart(data(rows)).mark_line(color=color).encode(x=across, y=up))
        names.append({"width": low * math.exp(place / tall), "name": name, "color": color})
    layers.append(_tips(found, lines, min(ends) * 0.93, across))
    if len(lines) > 1:
        text = alt.Chart(data(names)).mark_text(align="left", dx=8, fontWeight=600)
        by_line = alt.Color("color:N", scale=None)
        layers.append(text.encode(x=alt.value("width"), y=up, text="name:N", color=by_line))
    layers += _today(now, across, up, ends)
    finding = title(result)
    spec = specification(alt.layer(*layers), height=HEIGHT, alt_text=finding)
    return Figure("widths", finding, caption(result, lines), spec)


def _axes(found: list[dict[str, Any]], now: dict[str, Any] | None) -> tuple[Any, Any, Any, list[int]]:
    """The two axes, both logarithmic, the lowest and highest width, and the numbers of labels at the ends."""
    import altair as alt

    keys = ("alone", "random", "suggested", "narrowest", "widest")
    seen = [one[key] for one in found for key in keys if finite(one.get(key)) is not None]
    seen += [now["width"]] if now else []
    low, high = max(min(seen) * 0.9, FLOOR), min(max(seen) * 1.08, 1.0)
    ticks = [w for w in WIDTHS if low <= w <= high]
    up = alt.Y(
        "width:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False, clamp=True),
        axis=alt.Axis(values=ticks, labelExpr="format(datum.value * 100, '~g')", title=None),
    )
    ends = [found[0]["labels"], found[-1]["labels"]] + ([now["labels"]] if now else [])
    ticks = [t for t in TICKS if min(ends) <= t <= max(ends)]
    across = alt.X(
        "labels:Q",
        scale=alt.Scale(type="log", domain=[min(ends) * 0.93, max(ends) * 1.04], nice=False),
        axis=alt.Axis(values=ticks, format=",d", grid=False, title="labels in all"),
    )
    return up, across, (low, high), ends


def _tips(found: list[dict[str, Any]], lines: list[tuple[str, str, str]], start: float, across: Any) -> Any:
    """A strip for each number of labels, unseen, that tells the width of every line."""
    import altair as alt

    rows = []
    for before, one in zip([found[0], *found], found, strict=False):
        tip = {"": f"{number(one['labels'])} labels", **{name: points(one[key]) for key, name, _ in lines}}
        begin = before["labels"] if before is not one else start
        rows.append({"before": begin, "labels": one["labels"], "tip": tip})
    strips = alt.Chart(data(rows)).mark_bar(opacity=0)
    ends = {"x": alt.X("before:Q", scale=across["scale"]), "x2": "labels:Q"}
    return strips.encode(**ends, y=alt.value(0), y2=alt.value("height"), tooltip="tip:N")


def _today(now: dict[str, Any] | None, across: Any, up: Any, ends: list[int]) -> list[Any]:
    """The dot of this audit with its words, on the side where there is room."""
    import altair as alt

    if now is None:
        return []
    left = now["labels"] > math.sqrt(min(ends) * max(ends))
    base = alt.Chart(data([{**now, "label": f"today: {number(now['labels'])} labels, {points(now['width'])}"}]))
    dot = base.mark_point(size=110, filled=True, color=INK, opacity=1, stroke=SURFACE, strokeWidth=1.5)
    text = base.mark_text(
        align="right" if left else "left",
        dx=-6 if left else 6,
        dy=18 if left else -16,
        color=INK,
        fontWeight=600,
        **HALO,
    )
    foot = base.mark_rule(color=MUTED, strokeDash=[3, 4])
    return [
        foot.encode(x=across, y=up, y2=alt.value("height")),
        dot.encode(x=across, y=up),
        text.encode(x=across, y=up, text="label:N"),
    ]


def title(result: Result) -> str:
    """What it takes to halve today's interval, or what the rows to label next or the most labels of the curve give."""
    now, half, found = today(result), halving(result), steps(result)
    if half is not None and now is not None:
        return f"About {number(half)} labels in all would halve the interval of {points(now['width'])}"
    count = len(result.get("suggested") or []) if now is None else 0
    width = expected(result, count) if count else None
    if width is None:
        count = found[-1]["labels"]
        width = min(one for key, _, _ in LINES if (one := finite(found[-1].get(key))) is not None)
    return f"With {number(count)} labels the interval would be about {points(width)} wide"


def caption(result: Result, lines: list[tuple[str, str, str]]) -> str:
    """What the curve assumes, and what each line is."""
    accuracy = (result.get("outlook") or {}).get("accuracy")
    text = "Width in points to expect of an interval from so many labels in all, worked out by imagined audits of "
    text += f"this target if the accuracy is {percent(accuracy)}."
    drawn = {key for key, _, _ in lines}
    if len(lines) > 1 and "random" in drawn:
        text += " As audited: random rows, and the interval that an audit would print."
    if len(lines) > 1 and "suggested" in drawn:
        text += (
            " By confidence: rows drawn more often where the model is unsure (--suggest-by confidence), if that pays."
        )
    if all(finite(one.get("widest")) is not None for one in steps(result)):
        span = "today's interval" if today(result) else "the label-free interval"
        text += f" The band runs over the accuracies in {span}, for labels read alone."
    return text
