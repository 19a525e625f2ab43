"""Reports of the lab's results: what they say, the charts of a stress test, and the section of its page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from oodometer.reports.charts import by_category, curves
from oodometer.reports.charts.base import (
    Figure,
    Plot,
    Result,
    Rows,
    axis,
    caption,
    categories,
    ends,
    entry,
    names_axis,
    shares,
    steps,
)
from oodometer.reports.charts.looks import ACCENT, BAND, HALO, POINTS, QUIET, REFERENCE, TRUTH, Spec
from oodometer.reports.charts.models import names
from oodometer.reports.numbers import best, finite, number, percent, percent_range, points
from oodometer.reports.sections import NEXT
from oodometer.results.evaluation import votes_grids
from oodometer.results.view import View

from .results.benchmark import SHIFTED, benchmark_view
from .results.ranker_benchmark import ranker_benchmark_view
from .results.shifting import shifting_view
from .results.stressing import fall_of, stress_view
from .verbs.discriminate.collecting import collected_view
from .verbs.discriminate.judged import judged_view, trained_view


def stress(result: Result) -> tuple[list[Figure | None], dict[str, Any]]:
    """Curves for each kind of shift."""
    kinds = [dict(curve) for curve in (result.get("models") or [{}])[0].get("curves") or []]
    figures = [stress_curves(result, at) for at in range(len(kinds))]
    pages = [
        {**kind, "figures": [item.name for item in kind_figures]}
        for kind, kind_figures in zip(kinds, figures, strict=True)
    ]
    return [item for kind_figures in figures for item in kind_figures], {"stress_kinds": pages}


def trained(result: Result) -> tuple[list[Figure | None], dict[str, Any]]:
    """What judges are worth needs no chart; the next command lets them vote."""
    words = ["oodometer", "discriminate", "predict", str(result["folder"]), "OUTPUTS.jsonl"]
    line = shlex.join([*words, "--out", "JUDGED.jsonl"])
    return [], {"step": {"text": NEXT["trained"], "line": line}}


def benchmark(result: Result) -> tuple[list[Figure | None], dict[str, Any]]:
    """The chart of all methods or rankers."""
    if "rankers" in result:
        return [rankers_leaderboard(result)], {}
    return [leaderboard(result)], {}


def rankers_leaderboard(result: Result) -> Figure:
    """Share of the pairs right of every ranker on all shifts with its interval, most first."""
    rows = [row for row in result["rows"] if row["kind"] == SHIFTED] or result["rows"]
    drawn = [
        entry(row["method"], row["pairs_right"], color=ACCENT if row["own"] else QUIET)
        for row in rows
    ]
    return categories(
        "leaderboard",
        f"{rows[0]['method']} has most pairs right on all shifts",
        caption("leaderboard", "rankers"),
        drawn,
        axis_title="pairs of models in their true order",
        lines=[("chance", 0.5, REFERENCE)],
    )


def leaderboard(result: Result) -> Figure | None:
    """Mean absolute error of every method on all shifts with its interval, in the order of interval scores."""
    shifted = [row for row in result.get("rows") or [] if row.get("kind") == SHIFTED]
    rows = []
    for row in shifted:
        error = best(row["error"])
        low, high = ends(error)
        tip = {
            "": row["method"],
            "mean error": points(error["value"]),
            "interval held": percent(row["coverage"], 0),
            "interval score": points(row["score"]),
        }
        rows.append(
            {
                "method": row["method"],
                "x": error["value"],
                "lower": error["value"] if low is None else low,
                "upper": error["value"] if high is None else high,
                "own": row["own"],
                "tip": tip,
            }
        )
    if not rows:
        return None
    most = min(2.5 * max(row["x"] for row in rows), 1.05 * max(row["upper"] for row in rows))
    across = axis([0, most], title="mean absolute error, points", labelExpr=POINTS, tickCount=6)
    plot = Plot(across, names_axis((96, 200), [row["method"] for row in rows]))
    for own, color in ((False, QUIET), (True, ACCENT)):
        some = [row for row in rows if row["own"] is own]
        look = {"color": color, "strokeWidth": 2, "clip": True}
        plot.draw("rule", some, look, x="lower", x2="upper", y="method")
        plot.draw("point", some, {"color": color, "size": 70, "filled": True}, x="x", y="method")
    plot.draw("point", rows, {"opacity": 0, "size": 250}, x="x", y="method", tooltip="tip")
    title = f"{shifted[0]['method']} has the least interval score on all shifts"
    text = caption("leaderboard", "read")
    return plot.figure("leaderboard", title, text, height=22 * len(rows) + 40)


MOST_FILES = 3  # shown in full where several were judged


def judged(result: Result) -> tuple[list[Figure | None], dict[str, Any]]:
    """What judges say of one file of outputs, or of several one after another."""
    files, figures, sheets = result.get("files") or [result], list[Figure | None](), []
    for at, item in enumerate(files[:MOST_FILES]):
        exact, known = item["metric"] == "exact", {"votes": item.get("votes") or _votes_of(item)}
        drawn = [chart(known) for chart in VOTE_CHARTS] if exact else [judged_values(item)]
        named = {
            figure.name: replace(figure, name=f"{figure.name}-{at}")
            for figure in drawn
            if figure is not None
        }
        figures += named.values()
        truth = item["truth"] or {}
        sheets.append(
            {
                "name": item["name"],
                "view": judged_view(item),
                "figures": named,
                "votes": votes_grids(known) if exact and item.get("votes") else [],
                "truth": (truth.get("gold") or truth.get("true") or {}).get("value"),
            }
        )
    has_truth = all(item["truth"] for item in files)
    step = {"text": NEXT["judged_known" if has_truth else "judged"]}
    return figures, {"sheets": sheets, "left": len(files) - len(sheets), "step": step}


VOTE_CHARTS = (by_category.votes, curves.vote_trade_off, curves.vote_subsets)


def _votes_of(item: Result) -> dict[str, Any]:
    """Votes in the form that `evaluate` gives, of outputs whose truth is not known."""
    return {
        "judges": len(item["judges"]),
        "bounds": item["bounds"],
        "ladder": [
            {"at_least": step["at_least"], "accepted": step["share"]} for step in item["ladder"]
        ],
        "by_judge": [{"judge": judge["judge"], "accepted": judge} for judge in item["by_judge"]],
    }


def judged_values(item: Result) -> Figure:
    """Means of a metric: of each row's predictions in order, and of each judge, with their intervals."""
    count = len(item["judges"])
    rows = [
        entry(f"{step['at_least']} of {count}, largest first", step["share"], color=ACCENT)
        for step in item["ladder"]
    ]
    rows += [entry(str(judge["judge"]), judge) for judge in item["by_judge"]]
    low, high = percent(item["lower"]["value"]), percent(item["upper"]["value"])
    truth = ((item["truth"] or {}).get("true") or {}).get("value")
    title = f"The judges put the mean {item['metric']} between {low} and {high}"
    return categories(
        "votes",
        title,
        caption("judged", "read"),
        rows,
        axis_title=f"mean {item['metric']}",
        lines=[("truth", truth, TRUTH)],
    )


def severity_label(point: Result) -> str:
    """The severity of a point, as on the axis."""
    severity = point.get("severity")
    return "without a shift" if severity is None else str(severity)


def stress_curves(result: Result, kind: int) -> list[Figure]:
    """The charts of one kind of shift, by its place: one of accuracy for each model, then Brier and ECE of all."""
    called = names(result)
    curves = [
        (called[str(model.get("name"))], model["curves"][kind])
        for model in result.get("models") or []
        if len(model.get("curves") or []) > kind
    ]
    measure = "R@1" if result.get("modality") == "dialogue" else "Accuracy"
    figures = _stress_accuracies(curves, f"stress-{kind}", measure)
    for metric, title in (("brier", "Brier score"), ("ece", "ECE")):
        figure = _stress_metric(curves, f"stress-{kind}", metric, title)
        figures += [] if figure is None else [figure]
    return figures


Shown = Sequence[tuple[str, Result]]
"""Names of models, each with its curve under one kind of shift."""


def _stress_accuracies(curves: Shown, name: str, measure: str) -> list[Figure]:
    """Estimate and truth of each model that has any, all over one axis."""
    sides = ((ACCENT, "estimate", "estimate"), (TRUTH, "accuracy", "truth"))
    beside = [
        [(color, _series(curve, of, label, percent)) for color, of, label in sides]
        for _, curve in curves
    ]
    rows = [row for pair in beside for _, side in pair for row in side]
    up = shares([row[end] for row in rows for end in ("lower", "upper")], most=5)
    figures = []
    for at, ((model, curve), pair) in enumerate(zip(curves, beside, strict=True)):
        if any(side for _, side in pair):
            title = stress_title(model, curve, measure, alone=len(curves) == 1)
            text = _stress_caption(curve.get("points") or [])
            figures.append(_stress_figure(f"{name}-{at}", title, text, pair, curve, up))
    return figures


def _stress_caption(points_: Sequence[Result]) -> str:
    """What the bands of estimate and truth are."""
    runs = next(
        (item["spread"]["accuracy"]["runs"] for item in points_ if item.get("spread")), None
    )
    truth = any(best((item.get("metrics") or {}).get("accuracy")) for item in points_)
    band = ("runs" if runs else "chance") if truth else "estimated"
    return caption("stress", band, "rows", runs=runs)


def _stress_metric(curves: Shown, name: str, metric: str, title: str) -> Figure | None:
    """A metric of all models that have it."""
    several = len(curves) > 1
    tones = [*(ACCENT, REFERENCE, TRUTH)[: len(curves)], *[QUIET] * (len(curves) - 3)]
    lines = [
        (color, rows)
        for color, (model, curve) in zip(tones, curves, strict=True)
        if (rows := _series(curve, metric, model if several else "", number))
    ]
    if not lines:
        return None
    highest = max(row["upper"] for _, rows in lines for row in rows)
    last = max(row["x"] for _, rows in lines for row in rows)
    at_last = severity_label(curves[0][1]["points"][last])
    values = [
        (rows[-1]["label"], number(rows[-1]["y"])) for _, rows in lines if rows[-1]["x"] == last
    ]
    first = lines[0][1][0]
    if several:
        title += f" at {at_last}: " + ", ".join(f"{model} {value}" for model, value in values[:3])
    elif last and first["x"] == 0:
        title += f": {number(first['y'])} without a shift, {values[0][1]} at {at_last}"
    scale = {"domain": [0, max(highest * 1.05, 0.05)], "nice": True, "zero": True}
    up, text = axis(None, scale=scale, format="~f", tickCount=5), caption("stress", metric)
    return _stress_figure(f"{name}-{metric}", title, text, lines, curves[0][1], up)


def _stress_figure(
    name: str, title: str, text: str, lines: Sequence[tuple[str, Rows]], curve: Result, up: Spec
) -> Figure:
    plot = Plot(
        steps(
            [str(point.get("severity") or "none") for point in curve.get("points") or []],
            "severity",
        ),
        up,
    )
    for color, rows in lines:
        plot.draw("area", rows, {"color": BAND[color]}, x="x", y="lower", y2="upper")
    for color, rows in lines:
        plot.curve(
            rows,
            color,
            size=70,
            shape="diamond" if rows and rows[0]["label"] == "truth" else "circle",
        )
    for _, rows in lines:
        plot.draw(
            "point", rows, {"filled": True, "opacity": 0, "size": 250}, x="x", y="y", tooltip="tip"
        )
    last = [
        {"label": rows[-1]["label"], "y": rows[-1]["y"], "c": color}
        for color, rows in lines
        if rows
    ]
    plot.names(
        [item for item in last if item["label"]], 250, look={"fontSize": 12, "limit": 120, **HALO}
    )
    return plot.figure(name, title, text, height=250)


def _measured(point: Result, metric: str) -> dict[str, Any]:
    """The estimate, or a metric with its band: over the runs where there are several, else its interval."""
    if metric != "estimate" and (spread := (point.get("spread") or {}).get(metric)):
        return {
            "value": spread.get("mean"),
            "lower": spread.get("lowest"),
            "upper": spread.get("highest"),
        }
    return best(
        point.get("estimate") if metric == "estimate" else (point.get("metrics") or {}).get(metric)
    )


def _series(curve: Result, metric: str, name: str, written: Any) -> Rows:
    """One row a point: place, value, ends of the band, and what the pointer shows."""
    rows = []
    for x, point in enumerate(curve.get("points") or []):
        item = _measured(point, metric)
        value, (low, high) = finite(item.get("value")), ends(item)
        if value is None:
            continue
        band = (
            percent_range(low, high) if written is percent else f"{number(low)} to {number(high)}"
        )
        tip = {
            "": f"{curve.get('kind')}, {severity_label(point)}",
            name or "value": written(value),
            "band": band,
        }
        tip |= {"rows": f"{point.get('rows'):,}"}
        tip |= (
            {"trust": str((point.get("estimate") or {}).get("trust") or "")}
            if metric == "estimate"
            else {}
        )
        rows.append({"x": x, "y": value, "lower": low, "upper": high, "label": name, "tip": tip})
    return rows


def stress_title(name: str, curve: Result, measure: str, *, alone: bool) -> str:
    """From where to where the truth goes, and how far off the estimate is at most."""
    values, every = [], curve.get("points") or [{}]
    for point in every:
        truth, estimate = (
            finite(_measured(point, metric).get("value")) for metric in ("accuracy", "estimate")
        )
        if truth is not None:
            values.append(
                (severity_label(point), truth, None if estimate is None else abs(estimate - truth))
            )
    head = measure if alone else f"{name}: {measure}"
    if len(values) < 2:
        return f"{head} as estimated without labels"
    text = f"{head} {percent(values[0][1])} {values[0][0]}, {percent(values[-1][1])} at {values[-1][0]}"
    errors = [error for _, _, error in values if error is not None]
    fall = fall_of(every[-1], every[0], 0.95, len(values) - 1)
    text += ", no more than chance" if fall and values[-1][1] < values[0][1] and not fall[3] else ""
    return f"{text}; the estimate is off by up to {points(max(errors))}" if errors else text


SECTIONS: dict[str, Callable[[Result], tuple[list[Figure | None], dict[str, Any]]]] = {
    "benchmark": benchmark,
    "discriminate predict": judged,
    "discriminate train": trained,
    "stress": stress,
}
"""Charts and names for the template, by command."""

VIEWS: dict[str, Callable[[Result], View]] = {
    "benchmark": lambda result: (ranker_benchmark_view if "rankers" in result else benchmark_view)(
        result
    ),
    "discriminate collect": collected_view,
    "discriminate predict": judged_view,
    "discriminate train": trained_view,
    **dict.fromkeys(("shift image", "shift text", "shift dialogue"), shifting_view),
    "stress": stress_view,
}
"""What each result says, from the mapping that JSON holds."""
