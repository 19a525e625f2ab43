"""Severity: the estimate with its band beside the truth as a shift grows; every method as a thin line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..numbers import best, finite, percent, percent_range, points
from ..theme import ACCENT, BAND, MUTED, QUIET, TRUTH, axis, data, specification
from .base import Figure, Result
from .labels import spread
from .methods import is_headline

if TYPE_CHECKING:
    import altair as alt


GAP = 15.0  # pixels from one label to the next
HEIGHT = 380
PLAIN = "source"  # the one method with a name: what one would report who never looked at the target


def _long(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each step and method, with what the pointer shows; the method of the headline is left to its band."""
    rows = []
    for index, step in enumerate(steps):
        truth, headline = best(step.get("truth")), best(step.get("headline"))
        for estimate in step.get("estimates") or []:
            if best(estimate) and not (headline and is_headline(estimate, headline)):
                tip = {
                    "": str(estimate.get("method")),
                    "at": _step(step, index),
                    "value": percent(estimate["value"]),
                }
                tip |= {"truth": percent(truth["value"])} if truth else {}
                rows.append({"x": index, "y": estimate["value"], "method": str(estimate.get("method")), "tip": tip})
    return rows


def _step(step: Result, index: int) -> str:
    return str(step.get("name") or f"severity {step.get('severity', index)}")


def figure(result: Result) -> Figure | None:
    """Band and line of the headline, thick line of the truth, thin lines of all methods; a hover isolates a line."""
    import altair as alt

    steps = [dict(step) for step in result.get("steps") or []]
    rows, main = _long(steps), _main(steps)
    if not any(finite(row["value"]) is not None for row in main):
        return None
    seen = [row[key] for row in main for key in ("lower", "upper", "truth")] + [row["y"] for row in rows]
    up, across = axis(seen, most=7), _across(steps)
    base = alt.Chart(data(main)).encode(x=across)
    band = base.mark_area(color=BAND[ACCENT], opacity=1).encode(y=alt.Y("lower:Q", **up), y2="upper:Q")
    line = base.mark_line(color=ACCENT, strokeWidth=3, point={"size": 70, "filled": True, "color": ACCENT})
    truth = base.mark_line(
        color=TRUTH, strokeWidth=3, point={"size": 85, "shape": "diamond", "filled": True, "color": TRUTH}
    )
    labels = _labels(rows, main, up)
    over = alt.selection_point(fields=["method"], on="pointerover", clear="pointerout", nearest=False)
    shade = alt.when(over).then(alt.value(1.0)).otherwise(alt.value(0.12))
    thin = alt.Chart(data(rows)).encode(x=across, y=alt.Y("y:Q", **up), detail="method:N", opacity=shade)
    names = (
        alt.Chart(data(labels))
        .mark_text(align="left", dx=10, fontSize=12)
        .encode(
            x=across,
            y=alt.Y("at:Q", **up),
            text="label:N",
            color=alt.Color("color:N", scale=None),
        )
    )
    finding = title(result)
    chart = alt.layer(
        band,
        thin.mark_line(color=QUIET, strokeWidth=1.5).add_params(over),
        thin.mark_point(color=QUIET, filled=True, size=22).encode(tooltip="tip:N"),
        line.encode(y=alt.Y("value:Q", **up)),
        truth.encode(y=alt.Y("truth:Q", **up)),
        base.mark_point(size=250, filled=True, opacity=0).encode(y=alt.Y("value:Q", **up), tooltip="tip:N"),
        base.mark_point(size=250, filled=True, opacity=0).encode(y=alt.Y("truth:Q", **up), tooltip="tip:N"),
        names,
    )
    return Figure("severity", finding, caption(result), specification(chart, height=HEIGHT, alt_text=finding))


def _main(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a step: the headline with its interval, the truth, what is told under the pointer."""
    main = []
    for index, step in enumerate(steps):
        headline, truth = best(step.get("headline")), best(step.get("truth"))
        tip = {
            "": _step(step, index),
            "estimate": percent(headline.get("value")),
            "truth": percent(truth.get("value")),
        }
        tip |= {"interval": percent_range(headline.get("lower"), headline.get("upper"))}
        main.append(
            {
                "x": index,
                "value": headline.get("value"),
                "truth": truth.get("value"),
                "tip": tip,
                "lower": headline.get("lower", headline.get("value")),
                "upper": headline.get("upper", headline.get("value")),
            }
        )
    return main


def _across(steps: list[dict[str, Any]]) -> alt.X:
    import altair as alt

    ticks = list(range(len(steps)))
    names = [str(step.get("severity", index))[:12] for index, step in enumerate(steps)]
    text = f"{json.dumps(names)}[datum.value]"
    return alt.X(
        "x:Q",
        scale=alt.Scale(domain=[-0.15, max(len(steps) - 1, 1) + 0.15], nice=False),
        axis=alt.Axis(values=ticks, labelExpr=text, grid=False, title="severity of the shift"),
    )


def _labels(rows: list[dict[str, Any]], main: list[dict[str, Any]], up: dict[str, Any]) -> list[dict[str, Any]]:
    """Names of three lines at their ends, moved apart; the pointer tells those of the others."""
    ends: list[tuple[str, str, dict[str, Any]]] = []
    for name, key, color in (("estimate", "value", ACCENT), ("truth", "truth", TRUTH)):
        known = [{"x": row["x"], "y": row[key]} for row in main if finite(row[key]) is not None]
        ends += [(name, color, known[-1])] if known else []
    plain = [row for row in rows if row["method"] == PLAIN]
    ends += [(f"no shift ({PLAIN})", MUTED, plain[-1])] if plain else []
    low, high = up["scale"].domain
    scale = HEIGHT / (high - low)
    places = spread([(end["y"] - low) * scale for _, _, end in ends], GAP, GAP / 2, HEIGHT - GAP / 2)
    return [
        {"label": name, "x": end["x"], "at": low + place / scale, "color": color}
        for (name, color, end), place in zip(ends, places, strict=True)
    ]


def title(result: Result) -> str:
    """The largest error, apart for the steps at which the estimate says that it cannot be trusted; and the interval."""
    errors: dict[bool, list[float]] = {True: [], False: []}
    held = 0
    for step in result.get("steps") or []:
        headline, truth = best(step.get("headline")), best(step.get("truth"))
        if headline and truth:
            errors[headline.get("trust") == "none"].append(abs(headline["value"] - truth["value"]))
            low, high = finite(headline.get("lower")), finite(headline.get("upper"))
            held += low is not None and high is not None and low <= truth["value"] <= high
    every = errors[True] + errors[False]
    if not every:
        return "The estimate as the shift grows"
    if all(errors.values()) and max(errors[True]) > max(errors[False]):
        near, far = points(max(errors[False])), points(max(errors[True]))
        return f"Within {near} of the truth, and up to {far} off only where the estimate says “no trust”"
    return f"Within {points(max(every))} of the truth; its interval holds the truth at {held} of {len(every)} steps"


def caption(result: Result) -> str:
    """What the lines are."""
    del result
    text = "The band is the interval of the estimate; thin lines are the single methods."
    return f"{text} Rest the pointer on a line to see its name."
