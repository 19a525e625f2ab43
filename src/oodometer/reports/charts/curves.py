"""Curves: lines of several models with their names at the right end; the pointer singles one out. Shared by charts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..numbers import finite
from ..theme import BAND, HALO, QUIET, SURFACE, data
from .labels import spread

FINE = 5  # decimals of an accuracy in a chart
FINEST = 6  # of a confidence, which may be near 1
GAP = 15.0  # pixels from one label to the next
EARLY = 0.2  # coverage up to which more points are kept: there models part
MOST_EARLY, MOST_LATE = 20, 30


def thin(x: Sequence[Any]) -> list[int]:
    """Numbers of the points to draw: all the early ones, fewer of the others, always the last.

    >>> kept = thin([(i + 1) / 100 for i in range(100)])
    >>> len(kept), kept[:3], kept[-2:]
    (47, [0, 1, 2], [96, 99])
    """
    known = [i for i, value in enumerate(x) if finite(value) is not None]
    early, late = [i for i in known if x[i] <= EARLY + 1e-9], [i for i in known if x[i] > EARLY + 1e-9]
    out = early[:: -(-len(early) // MOST_EARLY) or 1]
    step = -(-len(late) // MOST_LATE) or 1
    return out + (late[(len(late) - 1) % step :: step] if late else [])


def curve_rows(curve: Any) -> dict[str, list[Any]]:
    """Points of an accuracy-coverage curve as columns, rounded; empty where there is none."""
    curve = curve or {}
    x, y = curve.get("x") or [], curve.get("y") or []
    low, high = curve.get("lower") or y, curve.get("upper") or y
    bounds = curve.get("thresholds") or [None] * len(x)
    kept = [i for i in thin(x[: len(y)]) if finite(y[i]) is not None]
    if not kept:
        return {}

    def column(values: Sequence[Any], digits: int) -> list[float | None]:
        found = [finite(values[i]) for i in kept]
        return [None if one is None else round(one, digits) for one in found]

    middle = column(y, FINE)
    out: dict[str, list[Any]] = {"x": column(x, FINE), "y": middle, "t": column(bounds, FINEST)}
    for key, ends in (("l", low), ("u", high)):
        out[key] = [m if e is None else e for m, e in zip(middle, column(ends, FINE), strict=True)]
    return out


def direct_labels(ends: dict[str, tuple[float, str]], domain: Sequence[float], height: float) -> list[dict[str, Any]]:
    """Names at the right end of lines, moved apart; ``ends`` maps a name to its last value and its colour."""
    low, high = domain
    scale = height / (high - low)
    places = spread([(value - low) * scale for value, _ in ends.values()], GAP, GAP / 2, height - GAP / 2)
    return [
        {"model": name, "at": low + place / scale, "c": color}
        for (name, (_, color)), place in zip(ends.items(), places, strict=True)
    ]


def lines(
    rows: list[dict[str, Any]],
    labels: list[dict[str, Any]],
    *,
    columns: Sequence[str],
    across: Any,
    up: dict[str, Any],
    tip: dict[str, str],
    hollow: str | None = None,
) -> Any:
    """Layered lines, one for each row: a ``model`` in its colour ``c`` with lists of numbers in ``columns``.

    Rows that carry ``band`` get one. ``tip`` maps what the pointer shows to expressions; ``hollow`` names the field
    that makes a dot hollow (without it there are no dots). Quiet lines lie below the coloured ones.
    """
    import altair as alt

    over = alt.selection_point(fields=["model"], on="pointerover", clear="pointerout", nearest=True)
    shade = alt.when(over).then(alt.value(1.0)).otherwise(alt.value(0.1))
    rows = sorted(rows, key=lambda row: row["c"] != QUIET)
    base = alt.Chart(data(rows)).transform_flatten(list(columns)).encode(x=across, detail="model:N")
    tone = alt.Color("c:N", scale=None)
    layers: list[Any] = []
    if any("band" in row for row in rows):
        layers.append(
            base.mark_area(clip=True)
            .transform_filter("isValid(datum.band)")
            .encode(
                y=alt.Y("l:Q", **up),
                y2="u:Q",
                color=alt.Color("band:N", scale=None),
                opacity=alt.when(over).then(alt.value(0.55)).otherwise(alt.value(0.05)),
            )
        )
    drawn = base.mark_line(clip=True).encode(
        y=alt.Y("y:Q", **up), color=tone, opacity=shade, size=alt.Size("w:Q", scale=None)
    )
    layers.append(drawn)
    if hollow is not None:
        ring = base.mark_point(size=28, strokeWidth=1.5, clip=True).encode(
            y=alt.Y("y:Q", **up),
            stroke=tone,
            opacity=shade,
            fill=alt.condition(f"datum.{hollow}", alt.value(SURFACE), alt.Fill("c:N", scale=None)),
        )
        layers.append(ring)
    near = told(base, tip).mark_point(size=60, filled=True, opacity=0, clip=True)
    layers.append(near.encode(y=alt.Y("y:Q", **up), tooltip="tip:N").add_params(over))
    narrow = "containerSize()[0] < 480"
    names = alt.Chart(data(labels)).mark_text(
        align="left", dx=10, fontSize=alt.expr(f"{narrow} ? 10.5 : 12"), limit=alt.expr(f"{narrow} ? 92 : 200"), **HALO
    )
    layers.append(
        names.encode(
            x=alt.value("width"),
            y=alt.Y("at:Q", **up),
            text="model:N",
            opacity=shade,
            detail="model:N",
            color=alt.Color("c:N", scale=None),
        )
    )
    return alt.layer(*layers)


def told(base: Any, tip: dict[str, str]) -> Any:
    """The chart with a column ``tip``, an object of what the pointer shows; ``tip`` maps names to expressions."""
    words = ", ".join(f"{json.dumps(name)}: {expression}" for name, expression in tip.items())
    return base.transform_calculate(tip=f"{{{words}}}")


def dressed(row: dict[str, Any], color: str, *, band: bool = False) -> dict[str, Any]:
    """A row with its colour, the width of its line and, where wanted, the colour of its band."""
    out = row | {"c": color, "w": 1.25 if color == QUIET else 2.5}
    return out | ({"band": BAND[color]} if band and color in BAND else {})
