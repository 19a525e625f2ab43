"""Stress curves: accuracy with the estimate beside it, Brier and ECE, as a shift grows; lines with bands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..numbers import best, finite, number, percent, percent_range, points
from ..theme import ACCENT, BAND, HALO, QUIET, REFERENCE, TRUTH, axis, data, specification
from .base import Figure, Result
from .curves import direct_labels
from .models import names

if TYPE_CHECKING:
    import altair as alt


HEIGHT = 250
PLAIN = "as they are"
COLORS = (ACCENT, REFERENCE, TRUTH)
"""Of the first models; the others are quiet lines with a name."""
ERRORS = {"brier": "Brier score", "ece": "ECE"}


def accuracy_name(result: Result) -> str:
    """What accuracy is called: of a ranker it is R@1."""
    return "R@1" if result.get("modality") == "dialogue" else "Accuracy"


def label(point: Result) -> str:
    """The severity of a point, as on the axis."""
    severity = point.get("severity")
    return PLAIN if severity is None else str(severity)


def figures(result: Result, kind: int) -> list[Figure]:
    """The charts of one kind of shift, by its place: one of accuracy for each model, then Brier and ECE of all."""
    called = names(result)
    models = [one for one in result.get("models") or [] if len(one.get("curves") or []) > kind]
    shown = [(called[str(one.get("name"))], one["curves"][kind]) for one in models]
    ends = [end for _, curve in shown for row in _beside(curve) for end in (row["l"], row["u"])]
    up = axis(ends, most=5)
    first = accuracy_name(result)
    out = []
    for at, (name, curve) in enumerate(shown):
        rows = _beside(curve)
        if rows:
            finding = title(name, curve, first, alone=len(shown) == 1)
            out.append(Figure(f"stress-{kind}-{at}", finding, caption(curve), _chart(rows, curve, up, finding)))
    return [*out, *(one for metric in ERRORS if (one := error_figure(shown, metric, kind)) is not None)]


def error_figure(shown: Sequence[tuple[str, Any]], metric: str, kind: int) -> Figure | None:
    """Brier or ECE of all models, a line with a band each."""
    import altair as alt

    rows = []
    for at, (name, curve) in enumerate(shown):
        color = COLORS[at] if at < len(COLORS) else QUIET
        rows += _series(curve, lambda point: _measured(point, metric), name if len(shown) > 1 else "", color, number)
    if not rows:
        return None
    most = max(row["u"] for row in rows)
    scale = alt.Scale(domain=[0, max(most * 1.05, 0.05)], nice=True, zero=True)
    up = {"scale": scale, "axis": alt.Axis(format="~r", tickCount=5, title=None)}
    finding = _ends(rows, ERRORS[metric], shown)
    text = "Smaller is better: the squared error of the probabilities." if metric == "brier" else ""
    text = text or "Smaller is better: how far confidence is from the share that is right, in 15 bins."
    return Figure(f"stress-{kind}-{metric}", finding, text, _chart(rows, shown[0][1], up, finding))


def _ends(rows: Sequence[dict[str, Any]], metric: str, shown: Sequence[tuple[str, Any]]) -> str:
    """Where a metric ends; of a single model where it starts, too."""
    last = max(row["x"] for row in rows)
    at = label(shown[0][1]["points"][last])
    ends = {row["s"]: number(row["y"]) for row in rows if row["x"] == last}
    starts = [number(row["y"]) for row in rows if row["x"] == 0]
    if len(shown) == 1:
        return f"{metric}: {starts[0]} {PLAIN}, {ends['']} at {at}" if starts and last else metric
    said = ", ".join(f"{name} {value}" for name, value in list(ends.items())[: len(COLORS)])
    return f"{metric} at {at}: {said}"


def _measured(point: Result, metric: str) -> tuple[float | None, float | None, float | None]:
    """A metric with its band: over the runs where there are several, else its interval."""
    spread, found = (point.get("spread") or {}).get(metric), best((point.get("metrics") or {}).get(metric))
    if spread:
        return finite(spread.get("mean")), finite(spread.get("lowest")), finite(spread.get("highest"))
    return finite(found.get("value")), finite(found.get("lower")), finite(found.get("upper"))


def _estimated(point: Result) -> tuple[float | None, float | None, float | None]:
    found = best(point.get("estimate"))
    return finite(found.get("value")), finite(found.get("lower")), finite(found.get("upper"))


def _beside(curve: Result) -> list[dict[str, Any]]:
    """Rows of the estimate and of the truth."""
    estimate = _series(curve, _estimated, "estimate", ACCENT, percent)
    return estimate + _series(curve, lambda point: _measured(point, "accuracy"), "truth", TRUTH, percent)


def _series(curve: Result, of: Any, name: str, color: str, written: Any) -> list[dict[str, Any]]:
    """One row a point: place, value, ends of the band, and what the pointer shows."""
    rows = []
    for x, point in enumerate(curve.get("points") or []):
        value, low, high = of(point)
        if value is None:
            continue
        low, high = value if low is None else low, value if high is None else high
        ends = percent_range(low, high) if written is percent else f"{number(low)} to {number(high)}"
        tip = {"": f"{curve.get('kind')}, {label(point)}", name or "value": written(value), "band": ends}
        tip |= {"rows": f"{point.get('rows'):,}", "trust": str((point.get("estimate") or {}).get("trust") or "")}
        if color != ACCENT or name != "estimate":
            del tip["trust"]
        shape = "diamond" if name == "truth" else "circle"
        row = {"x": x, "y": value, "l": low, "u": high, "s": name, "c": color, "b": BAND[color], "h": shape}
        rows.append(row | {"tip": tip})
    return rows


def _chart(rows: list[dict[str, Any]], curve: Result, up: dict[str, Any], words: str) -> dict[str, Any]:
    import altair as alt

    points_ = curve.get("points") or []
    base = alt.Chart(data(rows)).encode(x=_across(points_), detail="s:N")
    high = alt.Y("y:Q", **up)
    layers: list[Any] = [
        base.mark_area().encode(y=alt.Y("l:Q", **up), y2="u:Q", color=alt.Color("b:N", scale=None)),
        base.mark_line(strokeWidth=2.5).encode(y=high, color=alt.Color("c:N", scale=None)),
        base.mark_point(size=70, filled=True, opacity=1).encode(
            y=high, color=alt.Color("c:N", scale=None), shape=alt.Shape("h:N", scale=None)
        ),
        base.mark_point(size=250, filled=True, opacity=0).encode(y=high, tooltip="tip:N"),
    ]
    ends = {row["s"]: (row["y"], row["c"]) for row in rows if row["s"]}
    if ends:
        told = direct_labels(ends, list(up["scale"].domain), HEIGHT)
        text = alt.Chart(data(told)).mark_text(align="left", dx=10, fontSize=12, limit=120, **HALO)
        layers.append(
            text.encode(x=alt.value("width"), y=alt.Y("at:Q", **up), text="model:N", color=alt.Color("c:N", scale=None))
        )
    return specification(alt.layer(*layers), height=HEIGHT, alt_text=words)


def _across(points_: Sequence[Any]) -> alt.X:
    import altair as alt

    said = [label(one)[:12] for one in points_]
    text = f"{json.dumps(said)}[datum.value]"
    return alt.X(
        "x:Q",
        scale=alt.Scale(domain=[-0.15, max(len(points_) - 1, 1) + 0.15], nice=False),
        axis=alt.Axis(values=list(range(len(points_))), labelExpr=text, grid=False, title="severity"),
    )


def title(name: str, curve: Result, measure: str, *, alone: bool) -> str:
    """From where to where the truth goes, and how far off the estimate is at most.

    >>> points = [{"severity": s, "metrics": {"accuracy": {"value": a}}, "estimate": {"value": e}}
    ...           for s, a, e in ((None, 0.9, 0.9), ("0.5", 0.7, 0.75))]
    >>> print(title("m", {"points": points}, "Accuracy", alone=True).replace(chr(160), " "))
    Accuracy 90.0 % as they are, 70.0 % at 0.5; the estimate is off by up to 5.0 points
    """
    truths = [(label(one), _measured(one, "accuracy")[0], _estimated(one)[0]) for one in curve.get("points") or []]
    known = [(at, truth, estimate) for at, truth, estimate in truths if truth is not None]
    head = measure if alone else f"{name}: {measure}"
    if len(known) < 2:
        return f"{head} as estimated without labels"
    text = f"{head} {percent(known[0][1])} {known[0][0]}, {percent(known[-1][1])} at {known[-1][0]}"
    errors = [abs(estimate - truth) for _, truth, estimate in known if estimate is not None]
    return f"{text}; the estimate is off by up to {points(max(errors))}" if errors else text


def caption(curve: Result) -> str:
    """What the bands are."""
    spread = next((one["spread"]["accuracy"] for one in curve.get("points") or [] if one.get("spread")), None)
    text = "The band of the estimate is its interval"
    if any(best((one.get("metrics") or {}).get("accuracy")) for one in curve.get("points") or []):
        text += ", that of the truth "
        text += f"the lowest to the highest of {spread['runs']} runs" if spread else "the interval that chance gives"
    return f"{text}. The rows that can be shifted differ by severity; the table has the same rows at all."
