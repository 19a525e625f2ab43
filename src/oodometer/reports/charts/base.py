"""The two builders of charts, `categories` (points with intervals by category) and `Plot` (curves with bands), and
`caption`, which words them. Charts are plain Vega-Lite.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...plain import Json, Plain, inside
from ..numbers import finite, percent, percent_range, short
from .looks import (
    BAND,
    CONFIG,
    DOT,
    FOOT,
    HALO,
    INK,
    PERCENT,
    QUIET,
    REFERENCE,
    RIGHT,
    ROW_HEIGHT,
    SCHEMA,
    Spec,
    narrow,
)

Result = Plain
"""A result as written in JSON."""
Rows = list[Json]

WORDS: Json = tomllib.loads(
    Path(__file__).parents[1].joinpath("templates/words.toml").read_text("utf-8")
)
"""The words of the pages that stand in no template: how to read each chart, kinds of interval, trust, shifts."""

_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
_ROOM = 0.06  # of the span, kept free at either end so that no mark touches an edge
# their fields hold looks, no numbers
_LOOKS = ("color", "stroke", "fill", "shape", "strokeDash", "size", "opacity")


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart and the words around it.

    name : short name, unique on a page. title : the finding, one sentence. caption : how to read the chart. spec :
    Vega-Lite specification. page_note : what holds of the chart on its page alone, such as what the pointer does.
    """

    name: str
    title: str
    caption: str
    spec: Spec
    page_note: str = ""


def caption(chart: str, *parts: Any, **values: Any) -> str:
    """How to read a chart: the sentences of these names in the table of words, with the values; False names none."""
    return " ".join(WORDS["charts"][chart][part].format(**values) for part in parts if part)


# ------------------------------------------------------------------------------------------ axes


def ticks(values: Iterable[Any], *, most: int = 6) -> tuple[list[float], list[float]]:
    """Ends of an axis of fractions that holds all values with room to spare, and its round ticks."""
    numbers = [number for value in values if (number := finite(value)) is not None] or [0.0, 1.0]
    low, high = min(numbers), max(numbers)
    span, middle = max(high - low, 0.02), (low + high) / 2
    low = min(low, middle - span / 2) - _ROOM * span
    high = max(high, middle + span / 2) + _ROOM * span
    step = next((size for size in _STEPS if (high - low) / size <= most), _STEPS[-1])
    low, high = math.floor(low / step * 2) * step / 2, math.ceil(high / step * 2) * step / 2
    first, last = math.ceil(round(max(low, 0) / step, 6)), math.floor(round(min(high, 1) / step, 6))
    # A fraction lies in [0, 1]: the axis may run a little over, its ticks may not.
    room = _ROOM / 2 * (high - low)
    ends = [round(max(low, -room), 6), round(min(high, 1 + room), 6)]
    return ends, [round(index * step, 6) for index in range(first, last + 1)]


def axis(
    domain: Sequence[float] | None,
    *,
    title: str | None = None,
    scale: Spec | None = None,
    **more: Any,
) -> Spec:
    """A quantitative axis; ``more`` is of Vega-Lite's axis. Of ticks those outside a logarithmic scale are left out."""
    ends = {} if domain is None else {"domain": list(domain)}
    if domain is not None and inside(scale, "type") == "log":
        more["values"] = [value for value in more["values"] if domain[0] <= value <= domain[1]]
    scale = {**ends, "nice": False, "zero": False, **(scale or {})}
    return {"type": "quantitative", "scale": scale, "axis": {"title": title, **more}}


def shares(values: Iterable[Any], *, title: str | None = None, most: int = 6, **more: Any) -> Spec:
    """An axis of percentages around the values; a decimal only where the ticks need one."""
    domain, marks = ticks(values, most=most)
    is_integer = all(abs(value * 100 - round(value * 100)) < 1e-6 for value in marks)
    return axis(
        domain,
        title=title,
        values=marks,
        labelExpr=PERCENT if is_integer else PERCENT.replace("0f", "1f"),
        **more,
    )


def coverage_axis(title: str) -> Spec:
    """The horizontal axis: how much is answered."""
    return axis(
        [0, 1.02], title=title, values=[0.2, 0.4, 0.6, 0.8, 1], labelExpr=PERCENT, grid=False
    )


def steps(labels: Sequence[str], title: str) -> Spec:
    """An axis of places 0, 1, 2 and on, each with its label."""
    positions = list(range(len(labels)))
    text = f"{json.dumps([label[:12] for label in labels])}[datum.value]"
    return axis(
        [-0.15, max(len(labels) - 1, 1) + 0.15],
        title=title,
        values=positions,
        labelExpr=text,
        grid=False,
    )


def names_axis(
    limit: tuple[int, int] = (118, 230), order: Sequence[str] | None = None, **more: Any
) -> Spec:
    """The vertical axis of categories, in their order in the data or in the one given; ``limit`` in pixels."""
    return {
        "type": "nominal",
        "sort": None if order is None else list(order),
        "axis": {
            "title": None,
            "grid": False,
            "labelLimit": narrow(*limit),
            "labelColor": INK,
            "labelFontSize": 13,
            **more,
        },
    }


# ------------------------------------------------------------------------------------------ curves with bands


class Plot:
    """Layers over one pair of axes: curves with bands and points, rules, words, and what the pointer shows.

    ``across`` and ``up`` are channels without their field, as `shares` and `axis` make them. Layers are drawn in the
    order in which they are added; rows hold what the channels name, and ``tip``, an object, for the pointer.
    """

    def __init__(self, across: Spec, up: Spec) -> None:
        self.across, self.up = across, up
        self.layers: list[Spec] = []

    def draw(
        self,
        kind: str,
        rows: Rows,
        look: Spec,
        *,
        where: str = "",
        more: Spec | None = None,
        **channels: Any,
    ) -> None:
        """Add a layer: a mark, its look, and channels: a field by its name, a number as it is, or a channel in full.

        ``where`` is a condition on rows, ``more`` are other parts of a layer: transforms, parameters.
        """
        encoding: Spec = {}
        for name, channel in channels.items():
            if isinstance(channel, Mapping):
                encoding[name] = channel
            elif not isinstance(channel, str):
                encoding[name] = {"value": channel}
            elif name in ("x", "y"):
                encoding[name] = {"field": channel, **(self.across if name == "x" else self.up)}
            elif name in ("x2", "y2"):
                encoding[name] = {"field": channel}
            else:
                kind_of = "quantitative" if name in ("size", "opacity") else "nominal"
                encoding[name] = {
                    "field": channel,
                    "type": kind_of,
                    **({"scale": None} if name in _LOOKS else {}),
                }
        layer = {"data": rows, "mark": {"type": kind, **look}, "encoding": encoding, **(more or {})}
        if where:
            layer["transform"] = [*layer.get("transform", ()), {"filter": where}]
        self.layers.append(layer)

    def curve(
        self,
        rows: Rows,
        color: str,
        *,
        y: str = "y",
        band: float | None = None,
        size: float | None = None,
        dash: Sequence[int] | None = None,
        shape: str = "circle",
        **line: Any,
    ) -> None:
        """A line through ``x`` and ``y``, over the band from ``lower`` to ``upper`` where one is wanted, with points.

        ``band`` is the opacity of the band, ``size`` the area of a point; without them there are none.
        """
        if band is not None:
            self.draw(
                "area",
                rows,
                {"color": BAND[color], "opacity": band, "clip": True},
                x="x",
                y="lower",
                y2="upper",
            )
        look = {
            "color": color,
            "clip": True,
            **({"strokeDash": list(dash)} if dash else {}),
            **line,
        }
        self.draw("line", rows, look, x="x", y=y)
        if size is not None:
            self.draw(
                "point",
                rows,
                {**DOT, "color": color, "size": size, "shape": shape},
                x="x",
                y=y,
                tooltip="tip",
            )

    def words(
        self, rows: Rows, color: str, *, x: Any, y: Any, bold: bool = True, **look: Any
    ) -> None:
        """The ``label`` of each row with a rim, to the left of its place where ``dx`` is below 0."""
        look |= {"align": "right" if look.get("dx", 0) < 0 else "left", "color": color, **HALO}
        self.draw(
            "text", rows, look | ({"fontWeight": 600} if bold else {}), x=x, y=y, text="label"
        )

    def level(
        self, value: float, color: str, label: str = "", *, left: bool = True, above: bool = True
    ) -> None:
        """A dashed horizontal line with its label at one end, above the line or below it."""
        rows = [{"y": value, "label": label}]
        self.draw("rule", rows, {"color": color, "strokeDash": [5, 4], "strokeWidth": 1.75}, y="y")
        if label:
            look: Spec = {"baseline": "bottom", "dy": -4} if above else {"baseline": "top", "dy": 5}
            self.words(rows, color, x=0 if left else RIGHT, y="y", dx=4 if left else -4, **look)

    def names(
        self,
        ends: Rows,
        height: float,
        *,
        look: Spec,
        gap: float = 15.0,
        x: Any = RIGHT,
        **more: Any,
    ) -> None:
        """Names at the right ends of lines, moved apart; each row has a ``label``, its ``y`` and its colour ``c``."""
        scale = self.up["scale"]
        to, back = (math.log, math.exp) if scale.get("type") == "log" else (float, float)
        low, high = (to(end) for end in scale["domain"])
        unit = height / (high - low)
        heights = [(max(to(max(row["y"], scale["domain"][0])), low) - low) * unit for row in ends]
        positions = spread(heights, gap, gap / 2, height - gap / 2)
        rows = [
            {**row, "y": back(low + index / unit)}
            for row, index in zip(ends, positions, strict=True)
        ]
        self.draw(
            "text",
            rows,
            {"align": "left", "dx": 10, **look},
            x=x,
            y="y",
            text="label",
            color="c",
            **more,
        )

    def strips(self, rows: Rows, x: str = "before", x2: str = "x", **more: Any) -> None:
        """Unseen strips over the whole height where the pointer shows the ``tip`` of a row, by default from the row
        before it.
        """
        if x == "before":
            for row, start in zip(
                rows, [self.across["scale"]["domain"][0], *(row["x"] for row in rows)], strict=False
            ):
                row["before"] = start
        scale = {**self.across, "field": x}
        self.draw(
            "bar", rows, {"opacity": 0}, x=scale, x2=x2, y=0, y2=FOOT, tooltip="tip", more=more
        )

    def figure(
        self,
        name: str,
        title: str,
        caption: str,
        *,
        height: float,
        words: str = "",
        spoken: bool = True,
        page_note: str = "",
        **more: Any,
    ) -> Figure:
        """The chart, as wide as its place on the page.

        ``words`` describe it where the title does not. ``page_note``: see `Figure`. ``spoken=False`` leaves out the
        description of every single mark, for charts of thousands whose numbers stand in a table beside them.
        """
        tables: dict[int, tuple[str, Rows]] = {}
        for layer in self.layers:
            tables.setdefault(id(layer["data"]), (f"rows_{len(tables)}", layer["data"]))
        spec = {
            "$schema": SCHEMA,
            "width": "container",
            "height": height,
            "description": words or title,
            "autosize": {"type": "fit-x", "contains": "padding"},
            "datasets": dict(tables.values()),
            "layer": [
                {**layer, "data": {"name": tables[id(layer["data"])][0]}} for layer in self.layers
            ],
            "config": CONFIG if spoken else CONFIG | {"mark": {"aria": False}},
            **more,
        }
        return Figure(name, title, caption, spec, page_note)


def spread(positions: list[float], gap: float, low: float, high: float) -> list[float]:
    """Move labels apart until neighbours stand a gap apart, each as near to its place as that allows."""
    from scipy.optimize import isotonic_regression  # on a page only

    order, gaps = np.argsort(positions, kind="stable"), gap * np.arange(len(positions))
    out = np.empty(len(positions))
    flat = (
        isotonic_regression(np.asarray(positions, dtype=float)[order] - gaps).x
        if positions
        else out
    )
    out[order] = np.clip(flat, low, max(high - gaps[-1], low) if positions else high) + gaps
    return [float(index) for index in out]


def pointed(field: str, near: bool = True) -> tuple[Spec, Any]:
    """The parameter that singles out rows of one value of a field under the pointer, and opacities that follow it."""
    select = {
        "type": "point",
        "fields": [field],
        "on": "pointerover",
        "clear": "pointerout",
        "nearest": near,
    }

    def shade(bright: float, faint: float) -> Spec:
        return {"condition": {"param": "over", "value": bright}, "value": faint}

    return {"params": [{"name": "over", "select": select}]}, shade


# ------------------------------------------------------------------------------------------ points by category


def unique(names: Iterable[Any]) -> list[str]:
    """Names as text, cut to a sane length and told apart by a number where they repeat."""
    seen: dict[str, int] = {}
    out = []
    for text in map(short, names):
        seen[text] = seen.get(text, 0) + 1
        out.append(text if seen[text] == 1 else f"{text} ({seen[text]})")
    return out


def ends(interval: Result) -> tuple[Any, Any]:
    """Both ends of an interval, the value where there is none."""
    low, high = (
        finite(interval.get("value")) if (end := finite(interval.get(side))) is None else end
        for side in ("lower", "upper")
    )
    return low, high


def entry(name: str, interval: Plain, *, color: str = QUIET, **more: Any) -> Json:
    """One row of `categories`; ``more`` is shown when the pointer rests on it, its names as they are read."""
    low, high = ends(interval)
    tip = {
        "": name,
        "value": percent(interval.get("value")),
        "interval": percent_range(interval.get("lower"), interval.get("upper")),
        "kind": str(interval.get("kind") or ""),
        **{key: str(text) for key, text in more.items()},
    }
    tip = {key: text for key, text in tip.items() if text}
    return {
        "name": name,
        "value": finite(interval.get("value")),
        "lower": low,
        "upper": high,
        "color": color,
        "band": BAND[color],
        "label": percent(interval.get("value")),
        "tip": tip,
    }


Line = tuple[str, Any, str]
"""A line at a value: label, value, colour."""


def categories(
    name: str,
    title: str,
    caption: str,
    rows: Rows,
    *,
    axis_title: str,
    lines: Sequence[Line] = (),
    shaded: tuple[Any, Any] = (None, None),
    across: Spec | None = None,
) -> Figure:
    """A row for each `entry`: a dot at the value, a bar over the interval, the number at the right.

    ``across`` is the axis where values are no shares. ``lines`` run over the whole height with their labels above the
    plot, dashed that of the reference; ``shaded`` is a range behind all rows.
    """
    lines = [line for line in lines if finite(line[1]) is not None]
    seen = [row[key] for row in rows for key in ("lower", "upper")] + [line[1] for line in lines]
    plot = Plot(across or shares(seen, title=axis_title, labelSeparation=8), names_axis())
    low, high = map(finite, shaded)
    if low is not None and high is not None:
        plot.draw(
            "rect",
            [{"from": low, "to": high}],
            {"color": BAND[QUIET], "opacity": 0.42},
            x="from",
            x2="to",
            y=0,
            y2=FOOT,
        )
    numbered = [
        (label if across else f"{label} {percent(value)}", value, color)
        for label, value, color in lines
    ]
    _draw_lines(plot, numbered)
    bar = {"strokeWidth": 7, "strokeCap": "round", "opacity": 1}
    plot.draw("rule", rows, bar, y="name", x="lower", x2="upper", color="band")
    plot.draw("point", rows, {**DOT, "size": 95}, y="name", x="value", color="color")
    words = {"align": "left", "dx": 10, "color": INK}
    plot.draw("text", rows, words, y="name", x=RIGHT, text="label")
    plot.draw("bar", rows, {"opacity": 0}, y="name", x=0, x2=RIGHT, tooltip="tip")
    return plot.figure(name, title, caption, height=ROW_HEIGHT * len(rows))


def _draw_lines(plot: Plot, lines: Sequence[Line]) -> None:
    """Draw lines over the whole height, their labels above the plot, one over the other."""
    first, last = plot.across["scale"]["domain"]
    farthest = max((value for _, value, _ in lines), default=None)

    def is_at_left(value: float) -> bool:
        """Whether a label stands to the left of its line: where there is more room."""
        place: float = (value - first) / (last - first)
        return place > (0.5 if value == farthest else 0.4)

    # Of labels on one side of their lines the outermost line has the highest, so that no line crosses a label.
    right = sorted((line for line in lines if not is_at_left(line[1])), key=lambda line: -line[1])
    left = sorted((line for line in lines if is_at_left(line[1])), key=lambda line: line[1])
    marks = [([{"value": value, "label": label}], color) for label, value, color in right + left]
    for index, (at, color) in enumerate(marks):
        dash = [5, 4] if color == REFERENCE else [1, 0]
        look = {"color": color, "strokeWidth": 1.75, "strokeDash": dash}
        plot.draw("rule", at, look, x="value", y=-16 - 16 * index, y2=FOOT)
    for index, (at, color) in enumerate(marks):
        dx = 5 if index < len(right) else -5
        plot.words(at, color, x="value", y=-9 - 16 * index, dx=dx, baseline="middle")
