"""Vote trade-off: how often the bounds hold against how wide they are, as more judges must agree."""

from __future__ import annotations

from typing import Any

from ..numbers import best, number, percent, percent_range, points
from ..theme import ACCENT, QUIET, REFERENCE, SURFACE, TRUTH, data, specification
from .base import Figure, Result
from .labels import spread
from .vote_subsets import sizes
from .votes import agreement

HEIGHT = 300
GAP = 18
WORTH_TELLING = 0.005  # of the draws
TONES = (ACCENT, REFERENCE, TRUTH, QUIET)


def _shown(result: Result) -> list[dict[str, Any]]:
    """At most four sizes, spread over those with fewer rows than there are, and the points of each by rising width."""
    found = sizes(result)[:-1]
    most = len(TONES)
    picked = found if len(found) <= most else [found[round(i * (len(found) - 1) / (most - 1))] for i in range(most)]
    out = []
    for one in picked:
        steps = [
            {"agree": b.get("agree"), "width": best(b.get("width"))["value"], "held": best(b.get("reliability"))}
            for b in one.get("bounds") or []
            if best(b.get("width")) and best(b.get("reliability"))
        ]
        if len(steps) > 1:
            out.append({"rows": int(one["rows"]), "draws": one.get("draws"), "steps": steps[::-1]})
    return out


def figure(result: Result) -> Figure | None:
    """A line for each number of rows, from a bare majority at the left to all judges at the right."""
    import altair as alt

    found, judges = _shown(result), (result.get("votes") or {}).get("judges")
    if not found:
        return None
    widest = max(step["width"] for one in found for step in one["steps"]) or 0.01
    across = alt.X(
        "width:Q",
        scale=alt.Scale(domain=[-0.02 * widest, 1.03 * widest], nice=False),
        axis=alt.Axis(
            labelExpr="format(datum.value * 100, '~g')",
            tickCount=6,
            grid=False,
            title="mean width of the bounds, in points",
        ),
    )
    up: dict[str, Any] = {
        "scale": alt.Scale(domain=[-0.03, 1.03], nice=False),
        "axis": alt.Axis(
            values=[0, 0.2, 0.4, 0.6, 0.8, 1], labelExpr="format(datum.value * 100, '.0f') + ' %'", title=None
        ),
    }
    layers: list[Any] = []
    ends = []
    for one, color in zip(found, TONES, strict=False):
        rows = [
            {"width": step["width"], "held": step["held"]["value"], "tip": _tip(one, step, judges)}
            for step in one["steps"]
        ]
        ends.append((rows[-1]["held"], f"{number(one['rows'])} rows", color))
        base = alt.Chart(data(rows)).encode(x=across, y=alt.Y("held:Q", **up))
        layers.append(base.mark_line(color=color))
        layers.append(
            base.mark_point(filled=True, size=80, color=color, opacity=1, stroke=SURFACE, strokeWidth=1.5).encode(
                tooltip="tip:N"
            )
        )
    places = spread([(held + 0.03) / 1.06 * HEIGHT for held, _, _ in ends], GAP, 0, HEIGHT)
    names = [
        {"held": place / HEIGHT * 1.06 - 0.03, "name": name, "color": color}
        for (_, name, color), place in zip(ends, places, strict=True)
    ]
    text = alt.Chart(data(names)).mark_text(align="left", dx=8, fontWeight=600)
    tone = alt.Color("color:N", scale=None)
    layers.append(text.encode(x=alt.value("width"), y=alt.Y("held:Q", **up), text="name:N", color=tone))
    finding = title(found, judges)
    spec = specification(alt.layer(*layers), height=HEIGHT, alt_text=finding)
    return Figure("vote-trade-off", finding, caption(), spec)


def _tip(one: dict[str, Any], step: dict[str, Any], judges: Any) -> dict[str, str]:
    held = step["held"]
    return {
        "": f"{agreement(step['agree'], judges)}, {number(one['rows'])} rows",
        "bounds held": percent(held["value"], 0),
        "interval": percent_range(held.get("lower"), held.get("upper"), 0),
        "mean width": points(step["width"]),
    }


def title(found: list[dict[str, Any]], judges: Any) -> str:
    """What it costs in reliability to ask for one judge less, where it costs most."""
    one = max(found, key=lambda each: _lost(each["steps"]))
    less, most = one["steps"][-2], one["steps"][-1]
    text = f"With {less['agree']} instead of {judges} judges agreeing the bounds are "
    text += f"{points(most['width'] - less['width'])} tighter and hold "
    held = percent(most["held"]["value"], 0)
    if _lost(one["steps"]) < WORTH_TELLING:
        return f"{text}as often, in {held} of the draws of {number(one['rows'])} rows"
    less_often = percent(less["held"]["value"], 0)
    return f"{text}in {less_often} instead of {held} of the draws of {number(one['rows'])} rows"


def _lost(steps: list[dict[str, Any]]) -> float:
    """How much less often the bounds hold with one judge less."""
    return float(steps[-1]["held"]["value"]) - float(steps[-2]["held"]["value"])


def caption() -> str:
    """How to read the lines."""
    return (
        "How often the bounds held the accuracy of the rows that were drawn, against their mean width. Along a line "
        "more judges must agree, from a bare majority at the left to all of them at the right; a line for each number "
        "of rows."
    )
