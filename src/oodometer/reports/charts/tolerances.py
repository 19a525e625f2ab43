"""Tolerances: the confidence b down to which a model keeps an accuracy, over that accuracy (Figure 1 of the paper)."""

from __future__ import annotations

from typing import Any

from ..numbers import finite, number
from ..theme import specification
from ..words import capital
from .base import Figure, Result
from .curves import FINEST, direct_labels, dressed, lines
from .models import DOMAINS, MOST, colors, drawn, names, score

HEIGHT = 340


def figures(result: Result) -> list[Figure | None]:
    """A chart for each domain."""
    return [figure(result, domain) for domain in DOMAINS]


def confidence_scale(values: list[float]) -> list[float]:
    """Ends of an axis of confidences that holds the values with some room, inside [0, 1] but for the room at 1.

    >>> confidence_scale([0.5, 0.9])
    [0.47, 1.01]
    """
    low = min(values, default=0.0)
    return [round(max(low - 0.06 * (1 - low), 0.0), 3), round(1 + 0.02 * (1 - low), 3)]


def figure(result: Result, domain: str) -> Figure | None:
    """A line for each model; a hollow dot where accuracy never falls so far."""
    import altair as alt

    called, tones = names(result), colors(result)
    rows: list[dict[str, Any]] = []
    ends: dict[str, tuple[float, str]] = {}
    for model in drawn(result):
        name = str(model.get("name"))
        mine = sorted(
            (-float(one["tolerance"]), round(float(one["b"]), FINEST), bool(one.get("never_below")))
            for one in score(model, domain, "disca").get("by_tolerance") or []
            if finite(one.get("tolerance")) is not None and finite(one.get("b")) is not None
        )
        if mine:
            columns = dict(zip(("x", "y", "never"), map(list, zip(*mine, strict=True)), strict=True))
            rows.append(dressed({"model": called[name], **columns}, tones[name]))
            ends[called[name]] = (mine[-1][1], tones[name])
    if not rows:
        return None
    domain_ = confidence_scale([value for row in rows for value in row["y"]])
    up = {
        "scale": alt.Scale(domain=domain_, nice=False, zero=False),
        "axis": alt.Axis(title="confidence b", tickCount=5),
    }
    marks = sorted({value for row in rows for value in row["x"]})
    across = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[marks[0] - 0.01, marks[-1] + 0.01], nice=False),
        axis=alt.Axis(
            values=marks[::2],
            labelExpr="format(-datum.value, '.2f')",
            grid=False,
            title="accuracy that must be kept",
        ),
    )
    height = max(HEIGHT, 17 * len(ends))
    words = {
        "": "datum.model",
        "accuracy to keep": "format(-datum.x, '.2f')",
        "confidence b": "format(datum.y, '.4f')",
        "falls below it": "datum.never ? 'never' : 'yes'",
    }
    labels = direct_labels(ends, domain_, height - 40)
    chart = lines(rows, labels, columns=("x", "y", "never"), across=across, up=up, tip=words, hollow="never")
    finding = title(result, domain)
    spec = specification(chart, height=height, alt_text=finding, spoken=False)
    return Figure(f"tolerances-{domain.replace('_', '-')}", finding, caption(result), spec)


def title(result: Result, domain: str) -> str:
    """Which model keeps the tolerance furthest down its confidences."""
    called = names(result)
    found = {str(m.get("name")): one for m in result.get("models") or [] if (one := score(m, domain, "disca"))}
    known = {name: value for name, one in found.items() if (value := finite(one.get("b"))) is not None}
    tolerance = finite((result.get("settings") or {}).get("tolerance"))
    if not known or tolerance is None:
        return f"{capital(DOMAINS[domain])}: the confidence b by the accuracy that must be kept"
    low = min(known, key=lambda name: known[name])
    text = f"{capital(DOMAINS[domain])} {called[low]} stays {number(tolerance, 2)} accurate down to confidence "
    return text + number(known[low], 2)


def caption(result: Result) -> str:
    """How to read the lines."""
    text = "The b of DiSCA: the confidence at which accuracy first falls below the value on the axis. Lower is better. "
    text += "A hollow dot: accuracy never falls so far, and b is the lowest confidence of all."
    many = len(result.get("models") or [])
    return text + (f" Of {number(many)} models {MOST} are drawn." if many > MOST else "")
