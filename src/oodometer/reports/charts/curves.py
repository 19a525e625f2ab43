"""Curves: accuracy over coverage, confidence, the severity of a shift, the number of labels, of rows and of judges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...plain import Json, inside
from ...results.evaluation import agreement
from ..numbers import (
    best,
    capital,
    finite,
    measured,
    number,
    percent,
    percent_range,
    points,
    rows_text,
    threshold,
)
from .base import (
    Figure,
    Plot,
    Result,
    Rows,
    axis,
    caption,
    coverage_axis,
    ends,
    pointed,
    shares,
    steps,
)
from .by_category import is_headline
from .looks import (
    ACCENT,
    BAND,
    DOT,
    FOOT,
    INK,
    MUTED,
    PERCENT,
    POINTS,
    QUIET,
    REFERENCE,
    RIGHT,
    TRUTH,
    Spec,
)

_HEIGHT = 300
_POINTS = 100  # at most, of a curve
_STEADY = 0.1  # coverage from which on the axis has to hold the band
_LABEL: Spec = {"dx": 8, "fontWeight": 600}
_COUNTS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 1_000_000)
_DASHES: Spec = {"color": MUTED, "strokeDash": [3, 4]}
_LOG: Spec = {"type": "log", "clamp": True}

# ------------------------------------------------------------------------------------------ confidence


def risk_coverage(result: Result) -> Figure | None:
    """Accuracy of the rows that stay when the least confident are left out, with its band."""
    curve, estimated = result.get("risk_coverage") or {}, measured(result)
    rows = _coverage_rows(curve)
    if not rows:
        return None
    wishes = curve.get("answers") or []
    answers = [item for item in wishes if (finite(item.get("coverage")) or 1) < 1]
    # The band of the very first rows may reach down to 0 and would flatten the curve.
    steady = [row for row in rows if row["x"] >= _STEADY] or rows
    seen = [row[key] for row in steady for key in ("y", "lower", "upper")] + [
        item.get("accuracy") for item in answers
    ]
    plot = Plot(coverage_axis("rows kept, the most confident first"), shares(seen))
    plot.curve(rows, ACCENT, band=1)
    for answer in answers:
        _mark_answer(plot, answer)
    near = {"type": "point", "fields": ["x"], "on": "pointerover", "clear": "pointerout"}
    seen_near = {"condition": {"param": "near", "empty": False, "value": 1}, "value": 0}
    plot.draw("point", rows, {**DOT, "size": 70, "color": ACCENT}, x="x", y="y", opacity=seen_near)
    plot.strips(rows, params=[{"name": "near", "select": near}])
    reached = [wish for wish in wishes if finite(wish.get("threshold")) is not None]
    text = [caption("risk-coverage", "read", measured=capital(estimated))]
    text += map(_safe_threshold, reached)
    if inside(result, "diagnosis", "kind") == "support":
        text.append(caption("risk-coverage", "support"))
    title = _coverage_title(rows, wishes, reached, estimated)
    return plot.figure("risk-coverage", title, " ".join(text), height=_HEIGHT)


def _coverage_rows(curve: Result) -> Rows:
    """Points of a curve over coverage, with its band and thresholds; of very many a part with the last."""
    x, y = curve.get("x") or [], curve.get("y") or []
    if not x:
        return []
    thresholds = curve.get("thresholds") or [None] * len(x)
    columns = zip(x, y, curve.get("lower") or y, curve.get("upper") or y, thresholds, strict=False)
    step, rows = -(-len(x) // _POINTS), []
    for at, value, low, high, bound in list(columns)[(len(x) - 1) % step :: step]:
        if finite(at) is not None and finite(value) is not None:
            tip = {
                "rows kept": percent(at),
                "accuracy": percent(value),
                "interval": percent_range(low, high),
            }
            tip |= {} if finite(bound) is None else {"confidence at least": threshold(bound)}
            rows.append({"x": at, "y": value, "lower": low, "upper": high, "tip": tip})
    return rows


def _mark_answer(plot: Plot, answer: Result) -> None:
    """Draw up to which coverage a required accuracy is kept."""
    coverage, accuracy = float(answer["coverage"]), answer.get("accuracy")
    label = f"{percent(accuracy, 0)} accurate\nkeep {percent(coverage, 0)}"
    at = [{"x": coverage, "y": accuracy, "label": label}]
    plot.draw("rule", at, _DASHES, x="x", x2={"value": 0}, y="y")
    plot.draw("rule", at, _DASHES, x="x", y="y", y2=FOOT)
    plot.draw("point", at, {**DOT, "size": 90, "color": INK}, x="x", y="y")
    # Left of the dot and below it no curve runs; where that is too narrow, at the foot of the drop line.
    up, dx, dy = ("y", -8, 16) if coverage > 0.45 else (FOOT, 8, -26)
    plot.words(at, INK, x="x", y=up, lineBreak="\n", dx=dx, dy=dy)


def _safe_threshold(wish: Result) -> str:
    """From which threshold on a required accuracy is safe, or that none is."""
    safe = finite(wish.get("safe_threshold"))
    return caption(
        "risk-coverage",
        "unsafe" if safe is None else "safe",
        wish=percent(wish.get("accuracy"), 0),
        safe=threshold(safe),
        part=percent(wish.get("safe_coverage")),
    )


def _coverage_title(
    rows: Rows, wishes: Sequence[Result], reached: Sequence[Result], estimated: str
) -> str:
    """From which threshold on the first required accuracy that can be reached is; without any the ends of the curve."""
    if not wishes:
        first, last = percent(rows[0]["y"]), percent(rows[-1]["y"])
        return capital(f"{estimated} goes from {first} on the most confident rows to {last} on all")
    if not reached:
        return f"No threshold reaches {estimated} of {percent(wishes[0].get('accuracy'), 0)}"
    wish = reached[0]
    coverage, accuracy = finite(wish.get("coverage")) or 0, percent(wish.get("accuracy"), 0)
    if coverage >= 1:
        return capital(f"{estimated} is at least {accuracy} with all rows kept")
    kept = percent(coverage, 0 if coverage >= 0.1 else 1)
    above = f"Above confidence {threshold(wish['threshold'])}"
    return f"{above}, {estimated} is at least {accuracy}; that keeps {kept} of the rows"


def reliability(result: Result) -> Figure | None:
    """Accuracy in bins of confidence with intervals, larger dots where a bin holds more rows, against the diagonal."""
    bins = _bins(result.get("reliability") or {})
    if not bins:
        return None
    seen = [row[key] for row in bins for key in ("x", "y", "lower", "upper")]
    plot = Plot(shares(seen, title="confidence of the model", grid=False), shares(seen))
    low, high = plot.up["scale"]["domain"]
    first, last = max(low, 0), min(high, 1)
    diagonal = {"color": MUTED, "strokeDash": [4, 4], "strokeWidth": 1.5}
    plot.draw("line", [{"x": end, "y": end} for end in (first, last)], diagonal, x="x", y="y")
    bar = {"color": BAND[ACCENT], "strokeWidth": 5, "strokeCap": "round"}
    plot.draw("rule", bins, bar, x="x", y="lower", y2="upper", tooltip="tip")
    size = {
        "field": "rows",
        "type": "quantitative",
        "scale": {"range": [50, 260], "zero": True},
        "legend": None,
    }
    plot.draw("point", bins, {**DOT, "color": ACCENT}, x="x", y="y", size=size, tooltip="tip")
    # The name of the diagonal stands on the side where the dots are not.
    over = sum(row["y"] < row["x"] for row in bins) * 2 >= len(bins)
    spot = first + 0.62 * (last - first)
    mark = [{"x": spot, "y": spot, "label": "calibrated"}]
    plot.words(mark, MUTED, x="x", y="y", bold=False, dx=-12 if over else 12)
    title = _confidence_title(result, bins)
    return plot.figure("reliability", title, caption("reliability", "read"), height=_HEIGHT)


def _bins(table: Result) -> Rows:
    """Bins of confidence with their accuracy, its interval, and the number of rows."""
    at, values = table.get("confidence") or [], table.get("accuracy") or []
    lower, upper = table.get("lower") or values, table.get("upper") or values
    counts, rows = table.get("rows") or [None] * len(at), []
    for x, value, low, high, count in zip(at, values, lower, upper, counts, strict=False):
        if finite(x) is not None and finite(value) is not None:
            tip = {
                "confidence": percent(x),
                "accuracy": percent(value),
                "interval": percent_range(low, high),
                "in this bin": rows_text(count),
            }
            size = finite(count) or 1
            rows.append({"x": x, "y": value, "lower": low, "upper": high, "rows": size, "tip": tip})
    return rows


def _confidence_title(result: Result, bins: Rows) -> str:
    """Whether the model is over- or underconfident, on average over its rows."""
    counts = inside(result, "reliability", "rows") or ()
    counted = [row for row, count in zip(bins, counts, strict=False) if count]
    if not counted:
        return "Confidence against accuracy"
    gap = sum((row["x"] - row["y"]) * row["rows"] for row in counted) / sum(
        row["rows"] for row in counted
    )
    where = "" if result.get("command") == "evaluate" else " on the reference"
    if abs(gap) < 0.01:
        return f"The model's confidence is about right{where}"
    side = "over" if gap > 0 else "under"
    return f"The model is {side}confident{where}, by {points(gap)} on average"


def confidence(result: Result) -> Figure | None:
    """How confidence is spread over the rows of reference and target: two stepped histograms over one axis."""
    table = result.get("confidence") or {}
    bins = _shares_of_bins(table)
    if not bins:
        return None
    crowd = [max(row["reference"], row["target"]) for row in bins]
    first, last = bins[0]["low"], bins[-1]["high"]
    across = axis(
        [first, last],
        title="confidence of the model",
        tickCount=6,
        labelExpr=PERCENT,
        labelFlush=True,
        labelSeparation=8,
        grid=False,
    )
    up = shares([0, max(crowd)], most=5)
    up["scale"] = {"domain": [0, max(crowd) * 1.08], "nice": False}
    up["axis"]["values"] = [mark for mark in up["axis"]["values"] if mark >= 0]
    plot = Plot(across, up)
    sides = (("reference", REFERENCE), ("target", ACCENT))
    for name, color in sides:
        heights = [{"x": row["low"], "y": row[name]} for row in bins]
        heights.append({"x": last, "y": bins[-1][name]})
        look = {
            "color": BAND[color],
            "fillOpacity": 1,
            "interpolate": "step-after",
            "line": {"color": color, "strokeWidth": 2},
        }
        plot.draw("area", heights, look, x="x", y="y")
    third = max(len(bins) // 3, 1)
    # the side where the histograms are lower
    x, dx = (0, 10) if max(crowd[:third]) <= max(crowd[-third:]) else (RIGHT, -10)
    for index, (name, color) in enumerate(sides):
        text = [{"label": f"{name} ({rows_text((result.get(name) or {}).get('rows'))})"}]
        plot.words(text, color, x=x, y=8 + 20 * index, baseline="top", fontSize=13, dx=dx)
    plot.strips(bins, "low", "high")
    title = _confident_rows(table)
    return plot.figure("confidence", title, caption("confidence", "read"), height=260)


def _shares_of_bins(table: Result) -> Rows:
    """Bins of confidence with the shares of both sides in them."""
    edges, bins = table.get("edges") or [], []
    sides = table.get("reference") or [], table.get("target") or []
    for low, high, reference, target in zip(edges, edges[1:], *sides, strict=False):
        if finite(reference) is not None and finite(target) is not None:
            tip = {
                "confidence": f"{percent(low, 0)} to {percent(high, 0)}",
                "reference": percent(reference),
                "target": percent(target),
            }
            bins.append(
                {"low": low, "high": high, "reference": reference, "target": target, "tip": tip}
            )
    return bins


def _confident_rows(table: Result) -> str:
    """How many rows of both sides have a confidence of about 0.9 and more."""
    edges = table["edges"]
    start = min(range(len(edges) - 1), key=lambda index: abs(edges[index] - 0.9))
    reference, target = (percent(sum(table[side][start:]), 0) for side in ("reference", "target"))
    at_least = f"a confidence of at least {percent(edges[start], 0)}"
    return f"{target} of the target rows have {at_least}, against {reference} of the reference"


# ------------------------------------------------------------------------------------------ the severity of a shift


def severity(result: Result) -> Figure | None:
    """The estimate with its band beside the truth as a shift grows; every method as a thin line."""
    at_steps = result.get("steps") or []
    main = [_headline_row(index, step) for index, step in enumerate(at_steps)]
    thin = [row for index, step in enumerate(at_steps) for row in _method_rows(index, step)]
    if not any(finite(row["y"]) is not None for row in main):
        return None
    seen = [row[key] for row in main for key in ("lower", "upper", "truth")] + [
        row["y"] for row in thin
    ]
    labels = [str(step.get("severity", index)) for index, step in enumerate(at_steps)]
    plot = Plot(steps(labels, "severity of the shift"), shares(seen, most=7))
    over, shade = pointed("method", near=False)
    faint = shade(1.0, 0.12)
    plot.draw("area", main, {"color": BAND[ACCENT]}, x="x", y="lower", y2="upper")
    line = {"color": QUIET, "strokeWidth": 1.5}
    plot.draw("line", thin, line, more=over, x="x", y="y", detail="method", opacity=faint)
    dot = {"color": QUIET, "filled": True, "size": 22}
    plot.draw("point", thin, dot, tooltip="tip", x="x", y="y", detail="method", opacity=faint)
    plot.curve(main, ACCENT, size=70, strokeWidth=3)
    plot.curve(main, TRUTH, y="truth", size=85, shape="diamond", strokeWidth=3)
    for key in ("y", "truth"):
        plot.draw(
            "point", main, {"filled": True, "opacity": 0, "size": 250}, x="x", y=key, tooltip="tip"
        )
    # What one would report who never looked at the target is the one method with a name.
    plain = [row for row in thin if row["method"] == "source"]
    named = (
        ("estimate", ACCENT, main, "y"),
        ("truth", TRUTH, main, "truth"),
        ("no shift (source)", MUTED, plain, "y"),
    )
    at_ends = [
        {"label": name, "x": having[-1]["x"], "y": having[-1][key], "c": color}
        for name, color, line_rows, key in named
        if (having := [row for row in line_rows if finite(row[key]) is not None])
    ]
    plot.names(at_ends, 380, x="x", look={"fontSize": 12})
    title = _severity_title(at_steps)
    text, note = caption("severity", "read"), caption("severity", "pointer")
    return plot.figure("severity", title, text, height=380, page_note=note)


def _step_name(index: int, step: Result) -> str:
    """What the pointer calls a step."""
    return str(step.get("name") or f"severity {step.get('severity', index)}")


def _headline_row(index: int, step: Result) -> Json:
    """Estimate and truth of a step."""
    headline, truth = best(step.get("headline")), best(step.get("truth")).get("value")
    value, (low, high) = headline.get("value"), ends(headline)
    tip = {
        "": _step_name(index, step),
        "estimate": percent(value),
        "truth": percent(truth),
        "interval": percent_range(headline.get("lower"), headline.get("upper")),
    }
    return {"x": index, "y": value, "truth": truth, "lower": low, "upper": high, "tip": tip}


def _method_rows(index: int, step: Result) -> Rows:
    """The estimates of the other methods at a step; that of the headline is left to its band."""
    headline, truth, rows = best(step.get("headline")), best(step.get("truth")), []
    for estimate in step.get("estimates") or []:
        if best(estimate) and not (headline and is_headline(estimate, headline)):
            method, value = str(estimate.get("method")), estimate["value"]
            tip = {"": method, "at": _step_name(index, step), "value": percent(value)}
            tip |= {"truth": percent(truth["value"])} if truth else {}
            rows.append({"x": index, "y": value, "method": method, "tip": tip})
    return rows


def _severity_title(at_steps: Sequence[Result]) -> str:
    """How far off the estimates are, and where they are the farthest off."""
    trusted, doubted, covered = list[float](), list[float](), 0
    for step in at_steps:
        headline, truth = best(step.get("headline")), best(step.get("truth"))
        if headline and truth:
            errors = doubted if headline.get("trust") == "none" else trusted
            errors.append(abs(headline["value"] - truth["value"]))
            low, high = ends(headline)
            covered += headline.get("lower") is not None and low <= truth["value"] <= high
    if trusted and doubted and max(doubted) > max(trusted):
        near, far = points(max(trusted)), points(max(doubted))
        return f"Within {near} of the truth, and up to {far} off only where the estimate says “no trust”"
    every = doubted + trusted
    if not every:
        return "The estimate as the shift grows"
    coverage = f"its interval holds the truth at {covered} of {len(every)} steps"
    return f"Within {points(max(every))} of the truth; {coverage}"


# ------------------------------------------------------------------------------------------ the number of labels

_LINES = (
    ("alone", "labels alone", QUIET),
    ("random", "as audited", ACCENT),
    ("suggested", "by confidence", TRUTH),
)
_SAME = 0.02  # lines that are never further apart than this share of the width are one line
_WIDTHS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_FLOOR = 0.002  # widths below it are drawn there


def width_steps(result: Result) -> list[Json]:
    """Widths by number of labels, the fewest first."""
    every = inside(result, "outlook", "widths") or []
    values = [
        dict(item)
        for item in every
        if finite(item.get("labels")) and finite(item.get("alone")) is not None
    ]
    return sorted(values, key=lambda entry: float(entry["labels"]))


def today(result: Result) -> Json | None:
    """Number of labels and width of this audit's interval."""
    interval = best(result.get("estimate"))
    low = finite(interval.get("lower"))
    high = finite(interval.get("upper"))
    labels = finite(result.get("labels"))
    if low is None or high is None or not labels:
        return None
    return {"labels": int(labels), "width": high - low}


def expected(result: Result, labels: float) -> float | None:
    """Width to expect of so many labels drawn as suggested, between the points of the curve; None beyond them."""
    counts, widths = np.array(_suggested(result)).reshape(-1, 2).T
    if not len(counts) or not counts[0] <= labels <= counts[-1]:
        return None
    return float(np.exp(np.interp(np.log(labels), np.log(counts), np.log(widths))))


def halving(result: Result) -> int | None:
    """How many labels in all are to be expected to halve today's interval, in two digits; None beyond the curve."""
    now = today(result)
    if now is None:
        return None
    half = now["width"] / 2
    for (n, width), (next_labels, next_width) in pairwise(_suggested(result)):
        if next_labels > now["labels"] and next_width <= half < width:
            labels = n * (next_labels / n) ** (
                math.log(width / half) / math.log(width / next_width)
            )
            unit = 10 ** max(math.floor(math.log10(labels)) - 1, 0)
            rounded = math.ceil(round(labels / unit, 6)) * unit
            return rounded if rounded > now["labels"] else None
    return None


def _suggested(result: Result) -> list[tuple[int, float]]:
    """The curve of rows drawn as `--suggest` draws them, as far as it is above 0."""
    widths = width_steps(result)
    by_chance = result.get("suggest_by") != "confidence" and all(
        "random" in width for width in widths
    )
    key = "random" if by_chance else "suggested"
    return [(width["labels"], value) for width in widths if (value := finite(width.get(key)))]


def widths(result: Result) -> Figure | None:
    """How wide the interval will be as labels are added, the band of what today's interval leaves open, and today."""
    curve, now = width_steps(result), today(result)
    if len(curve) < 2 or (now is not None and not now["width"]):
        return None
    lines = _width_lines(curve)
    plot = Plot(*_width_axes(curve, now))
    _draw_widths(plot, curve, lines)
    if now is not None:
        _mark_today(plot, now, curve)
    named = {key for key, _, _ in lines} if len(lines) > 1 else ()
    text = caption(
        "widths",
        "read",
        "random" in named and "random",
        "suggested" in named and "suggested",
        _all_have(curve, "widest") and "band",
        accuracy=percent(inside(result, "outlook", "accuracy")),
        span="today's interval" if now else "the label-free interval",
    )
    return plot.figure("widths", _width_title(result, curve, now), text, height=_HEIGHT)


def _draw_widths(plot: Plot, curve: Rows, lines: Sequence[tuple[str, str, str]]) -> None:
    """Draw the band, the lines over it, with their names where there are several, and what the pointer shows."""
    if _all_have(curve, "narrowest") and _all_have(curve, "widest"):
        ends_of = {"x": "labels", "lower": "narrowest", "upper": "widest"}
        band = [{name: item[key] for name, key in ends_of.items()} for item in curve]
        look = {"color": BAND[QUIET], "opacity": 0.6}
        plot.draw("area", band, look, x="x", y="lower", y2="upper")
    for key, _, color in lines:
        plot.curve([{"x": item["labels"], "y": item[key]} for item in curve], color)
    tips = []
    for item in curve:
        values = {name: points(item[key]) for key, name, _ in lines}
        tip = {"": f"{number(item['labels'])} labels", **values}
        tips.append({"x": item["labels"], "tip": tip})
    plot.strips(tips)
    if len(lines) > 1:
        last = [{"label": name, "y": curve[-1][key], "c": color} for key, name, color in lines]
        plot.names(last, _HEIGHT, gap=19, look=_LABEL)


def _all_have(curve: Rows, key: str) -> bool:
    """Whether every step has a number under this key."""
    return all(finite(item.get(key)) is not None for item in curve)


def _width_lines(curve: Rows) -> list[tuple[str, str, str]]:
    """Lines that differ from those before; the plainest name stands for several."""
    lines: list[tuple[str, str, str]] = []
    for key, name, color in _LINES:
        if _all_have(curve, key) and not any(
            all(abs(item[key] - item[before]) <= _SAME * item[before] for item in curve)
            for before, _, _ in lines
        ):
            lines.append((key, name, color))
    return [(lines[0][0], "expected width", ACCENT)] if len(lines) == 1 else lines


def _width_axes(curve: Rows, now: Result | None) -> tuple[Spec, Spec]:
    """Logarithmic axes of labels and widths that hold all lines, the band and today."""
    keys = ("alone", "random", "suggested", "narrowest", "widest")
    seen = [item[key] for item in curve for key in keys if finite(item.get(key)) is not None]
    seen += [now["width"]] if now else []
    fewest, largest = _label_range(curve, now)
    marks = [mark for mark in _COUNTS if fewest <= mark <= min(largest, 1000)]
    across = axis(
        (fewest * 0.93, largest * 1.04),
        title="labels in all",
        scale=_LOG,
        values=marks,
        format=",d",
        grid=False,
    )
    low, high = max(min(seen) * 0.9, _FLOOR), min(max(seen) * 1.08, 1.0)
    return across, axis((low, high), scale=_LOG, values=_WIDTHS, labelExpr=POINTS)


def _label_range(curve: Rows, now: Result | None) -> tuple[float, float]:
    """The fewest and the most labels of the chart."""
    counts = [curve[0]["labels"], curve[-1]["labels"]] + ([now["labels"]] if now else [])
    return min(counts), max(counts)


def _mark_today(plot: Plot, now: Result, curve: Rows) -> None:
    """Draw the labels and the width of today, the words on the side where there is room."""
    at_left = now["labels"] > math.sqrt(math.prod(_label_range(curve, now)))
    rows = [{**now, "label": f"today: {number(now['labels'])} labels, {points(now['width'])}"}]
    plot.draw("rule", rows, _DASHES, x="labels", y="width", y2=FOOT)
    plot.draw("point", rows, {**DOT, "size": 110, "color": INK}, x="labels", y="width")
    plot.words(rows, INK, x="labels", y="width", dx=-6 if at_left else 6, dy=18 if at_left else -16)


def _width_title(result: Result, curve: Rows, now: Result | None) -> str:
    """How many labels halve the interval, or what the suggested or the most labels would make of it."""
    half, count = halving(result), 0 if now else len(result.get("suggested") or [])
    if half is not None and now is not None:
        return (
            f"About {number(half)} labels in all would halve the interval of {points(now['width'])}"
        )
    width = expected(result, count) if count else None
    if width is None:
        count, last = curve[-1]["labels"], (finite(curve[-1].get(key)) for key, _, _ in _LINES)
        width = min(value for value in last if value is not None)
    return f"With {number(count)} labels the interval would be about {points(width)} wide"


# ------------------------------------------------------------------------------------------ the number of judges

_SERIES = (
    ("upper", "upper bound", ACCENT),
    ("gold", "truth", TRUTH),
    ("lower", "lower bound", QUIET),
)
_TONES = (ACCENT, REFERENCE, TRUTH, QUIET)


def _sizes(result: Result) -> list[Json]:
    """Draws by number of rows, the fewest first; those without truth or bounds are left out."""
    draws = [
        dict(subset)
        for subset in inside(result, "votes", "subsets") or []
        if finite(subset.get("rows"))
    ]
    complete = [draw for draw in draws if all(best(draw.get(key)) for key, _, _ in _SERIES)]
    return sorted(complete, key=lambda item: float(item["rows"]))


def vote_subsets(result: Result) -> Figure | None:
    """Truth and bounds in random draws of fewer rows, with their spread (Figure 4 of the paper)."""
    sizes = _sizes(result)
    if len(sizes) < 2 or inside(result, "votes", "judges") == 1:
        return None
    fewest, largest = sizes[0]["rows"], sizes[-1]["rows"]
    across = axis(
        (fewest * 0.93, largest * 1.06),
        title="rows drawn",
        scale=_LOG,
        format="~s",
        grid=False,
        labelOverlap="greedy",
        values=[mark for mark in _COUNTS if fewest <= mark <= largest],
    )
    lines = {key: [_at_size(size, key) for size in sizes] for key, _, _ in _SERIES}
    seen = [row[end] for rows in lines.values() for row in rows for end in ("lower", "upper")]
    plot, last = Plot(across, shares(seen)), []
    for key, name, color in _SERIES:
        plot.curve(lines[key], color, band=0.7, size=44)
        last.append({"label": name, "y": float(lines[key][-1]["y"]), "c": color})
    plot.names(last, 320, gap=18, look=_LABEL)
    tips: Rows = []
    for size in sizes:
        tip = {"": f"{number(int(size['rows']))} rows, {number(int(size.get('draws') or 0))} draws"}
        for key, name, _ in _SERIES:
            span = percent_range(size[key].get("lower"), size[key].get("upper"))
            tip[name] = f"{percent(size[key]['value'])} ({span})"
        tips.append({"x": size["rows"], "tip": tip})
    plot.strips(tips)
    level = finite(result.get("level"))
    part = "central part" if level is None else f"central {percent(level, 0)}"
    text = caption("vote-subsets", "read", draws=number(sizes[0].get("draws")), part=part)
    return plot.figure("vote-subsets", _subsets_title(sizes), text, height=320)


def _at_size(size: Result, key: str) -> Json:
    """The truth or a bound in draws of a number of rows, with its spread."""
    span = size[key]
    row = {"x": size["rows"], "y": span["value"]}
    return {**row, "lower": span.get("lower"), "upper": span.get("upper")}


def _subsets_title(sizes: Rows) -> str:
    """In how many of the draws the truth lay within the bounds, of the number of rows where it did least often."""
    shares_of = (
        (best(((size.get("bounds") or [{}])[0]).get("reliability")), size["rows"])
        for size in sizes[:-1]
    )
    reliable = [(float(share["value"]), int(rows)) for share, rows in shares_of if share]
    if not reliable:
        return "Truth and bounds by the number of rows"
    worst, rows = min(reliable)
    if worst >= 1:
        return f"In every draw of {number(reliable[0][1])} rows and more the truth lay within the bounds"
    draws = f"{percent(worst, 0)} of the draws of {number(rows)} rows"
    return f"The truth lay within the bounds in {draws}, the fewest"


class _Agreement(NamedTuple):
    """The mean width of the bounds where so many judges must agree, and how often they held."""

    judges: Any
    width: float
    held: Json


_TradeOffs = list[tuple[int, list[_Agreement]]]
"""Numbers of rows with their bounds, those for which the most judges must agree first."""


def _trade_offs(sizes: Rows) -> _TradeOffs:
    """Bounds of some numbers of rows, as many as there are colours, from the fewest to the most."""
    most, limit = len(sizes) - 1, len(_TONES)
    if most >= limit:
        sizes = [sizes[round(i * most / (limit - 1))] for i in range(limit)]
    lines = []
    for size in sizes:
        bounds = []
        for bound in reversed(size.get("bounds") or []):
            width, held = best(bound.get("width")), best(bound.get("reliability"))
            if width and held:
                bounds.append(_Agreement(bound.get("agree"), width["value"], held))
        if len(bounds) > 1:
            lines.append((int(size["rows"]), bounds))
    return lines


def vote_trade_off(result: Result) -> Figure | None:
    """How often bounds hold against how wide they are, as more judges must agree: a line for each number of rows."""
    lines = _trade_offs(_sizes(result)[:-1])
    judges = inside(result, "votes", "judges")
    if not lines:
        return None
    widest = max(bound.width for _, bounds in lines for bound in bounds) or 0.01
    across = axis(
        [-0.02 * widest, 1.03 * widest],
        title="mean width of the bounds, in points",
        tickCount=6,
        grid=False,
        labelExpr=POINTS,
    )
    plot = Plot(across, axis([-0.03, 1.03], values=[0, 0.2, 0.4, 0.6, 0.8, 1], labelExpr=PERCENT))
    last = []
    for (row_count, bounds), color in zip(lines, _TONES, strict=False):
        rows = []
        for bound in bounds:
            share = bound.held
            tip = {
                "": f"{agreement(bound.judges, judges)}, {number(row_count)} rows",
                "bounds held": percent(share["value"], 0),
                "interval": percent_range(share.get("lower"), share.get("upper"), 0),
                "mean width": points(bound.width),
            }
            rows.append({"x": bound.width, "y": share["value"], "tip": tip})
        plot.curve(rows, color, size=80)
        last.append({"label": f"{number(row_count)} rows", "y": rows[-1]["y"], "c": color})
    plot.names(last, _HEIGHT, gap=18, look=_LABEL)
    title, text = _trade_off_title(lines, judges), caption("vote-trade-off", "read")
    return plot.figure("vote-trade-off", title, text, height=_HEIGHT)


def _trade_off_title(lines: _TradeOffs, judges: Any) -> str:
    """What it costs in reliability to ask for one judge less, where it costs most."""
    losses = [
        (bounds[-1].held["value"] - bounds[-2].held["value"], rows, bounds)
        for rows, bounds in lines
    ]
    lost, row_count, bounds = max(losses, key=lambda item: item[0])
    one_less, all_judges = bounds[-2:]
    often, draws = percent(all_judges.held["value"], 0), f"of the draws of {number(row_count)} rows"
    title = f"With {one_less.judges} instead of {judges} judges agreeing the bounds are "
    title += f"{points(all_judges.width - one_less.width)} tighter and hold "
    if lost < 0.005:  # of the draws; less is not worth a word
        return f"{title}as often, in {often} {draws}"
    return f"{title}in {percent(one_less.held['value'], 0)} instead of {often} {draws}"
