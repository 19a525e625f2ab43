"""First mistakes: the confidence a at which each model first errs, in and out of its domain (Figure 2 of the paper)."""

from __future__ import annotations

from typing import Any

from ..numbers import finite, threshold
from ..theme import BAND, INK, SURFACE, data, specification
from .base import Figure, Result
from .model_curves import STYLES
from .models import DOMAINS, domains, drawn, names, score
from .tolerances import confidence_scale

ROW_HEIGHT = 34
LAST = 0.999999  # a confidence beyond it is written as being beyond it


def _rows(result: Result) -> list[dict[str, Any]]:
    """One row for each model and domain whose first mistake is known."""
    called = names(result)
    return [
        _row(called[str(model.get("name"))], domain, found, value)
        for model in drawn(result)
        for domain in domains(result)
        if (value := finite((found := score(model, domain, "disca")).get("a"))) is not None
    ]


def _row(name: str, domain: str, found: dict[str, Any], value: float) -> dict[str, Any]:
    ends = (found.get("intervals") or {}).get("a") or [value, value]
    low, high = (finite(one) for one in ends[:2])
    color = STYLES[domain][0]
    told = {"": name, DOMAINS[domain]: threshold(value)}
    if low is not None and high is not None:
        told["interval"] = f"{threshold(max(low, 0.0))}\N{EN DASH}{threshold(min(high, 1.0))}"
    if found.get("never_wrong"):
        told["note"] = "never wrong: the lowest confidence"
    return {
        "model": name,
        "a": value,
        "tip": told,
        "c": color,
        "band": BAND[color],
        # A confidence is at most 1, whatever the bootstrap's arithmetic says.
        "l": max(value if low is None else low, 0.0),
        "u": min(value if high is None else high, 1.0),
        "shift": list(DOMAINS).index(domain),
        "text": threshold(value) if not LAST < value < 1 else f"> {LAST}",
    }


def figure(result: Result) -> Figure | None:
    """A row for each model, a dot with its interval for each domain, the lowest on top."""
    import altair as alt

    rows = _rows(result)
    if not rows:
        return None
    several = len({row["shift"] for row in rows}) > 1
    home = [row for row in rows if row["shift"] == min(one["shift"] for one in rows)]
    order = [row["model"] for row in sorted(home, key=lambda row: row["a"])]
    order += [row["model"] for row in rows if row["model"] not in order]
    down = alt.Y(
        "model:N",
        sort=order,
        axis=alt.Axis(
            title=None,
            grid=False,
            labelColor=INK,
            labelFontSize=13,
            labelLimit=alt.expr("containerSize()[0] < 480 ? 110 : 210"),
        ),
    )
    scale = alt.Scale(domain=confidence_scale([row["l"] for row in rows]), nice=False, zero=False)
    across = alt.X(
        "a:Q",
        scale=scale,
        axis=alt.Axis(title="confidence a at the first mistake", tickCount=5),
    )
    layers: list[Any] = []
    for index in sorted({row["shift"] for row in rows}):
        mine = [row for row in rows if row["shift"] == index]
        offset: dict[str, Any] = {"yOffset": (-6 if index == 0 else 6) if several else 0}
        base = alt.Chart(data(mine)).encode(y=down)
        bar = base.mark_rule(strokeWidth=6, strokeCap="round", opacity=1, **offset)
        dot = base.mark_point(size=80, filled=True, opacity=1, stroke=SURFACE, strokeWidth=1.5, **offset)
        layers += [
            bar.encode(x=alt.X("l:Q", scale=scale), x2="u:Q", color=alt.Color("band:N", scale=None)),
            base.mark_text(align="left", dx=8, fontSize=11, **offset).encode(
                x=alt.value("width"), text="text:N", color=alt.Color("c:N", scale=None)
            ),
            dot.encode(x=across, color=alt.Color("c:N", scale=None), tooltip="tip:N"),
        ]
    finding = title(result, rows)
    spec = specification(
        alt.layer(*layers),
        height=ROW_HEIGHT * len(set(order)) if several else 26 * len(order),
        alt_text=finding,
        spoken=False,
    )
    return Figure("first-mistakes", finding, CAPTION, spec)


CAPTION = (
    "The a of DiSCA: the confidence at which accuracy first drops below 1, with its interval. Lower is better: then "
    "everything above it was right. A single row can move it, so the interval is empirical."
)
"""How to read it."""


def title(result: Result, rows: list[dict[str, Any]]) -> str:
    """Who errs last in the domain, and whether that stays so out of it."""
    del result
    lowest: dict[int, str] = {}
    for row in sorted(rows, key=lambda row: -row["a"]):
        lowest[row["shift"]] = row["model"]
    first = lowest[min(lowest)]
    value = min(row["a"] for row in rows if row["shift"] == min(lowest))
    text = f"{first} makes its first mistake at the lowest confidence, {threshold(value)}"
    if len(lowest) < 2:
        return text
    other = lowest[max(lowest)]
    return f"{text}; out of domain {'it does too' if other == first else f'{other} does'}"
