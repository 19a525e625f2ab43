"""Drawings: a figure of several panels, as one Vega-Lite file and as charts on a page, and plain charts for it.

Plain charts are Vega-Lite layers in colours that also stand off pages other than ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..plain import Json, Plain
from .charts.base import Figure
from .charts.looks import CONFIG, MUTED, Spec
from .page import render_figures

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"


_Rows = Sequence[Plain]

BAR, LINE, TRUTH, OTHER = "#9fb7d9", "#1d4f91", "#d9480f", "#868e96"
PERCENT: Spec = {"axis": {"format": "%"}}
"""Ticks of an axis of shares, for `axis`."""


def axis(field: str, title: str, scale: Plain | None = None, **more: Any) -> Spec:
    """A quantitative axis."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": dict(scale or {}),
        **more,
    }


def _field(name: str, **more: Any) -> Spec:
    """A nominal channel without a title."""
    return {"field": name, "title": None, **more}


def _tooltip(*fields: str) -> list[Spec]:
    return [{"field": field} for field in fields]


def lines(
    x: Spec,
    y: Spec,
    by: str,
    *,
    order: Plain | None = None,
    few: bool = False,
    more: Sequence[str] = (),
) -> Spec:
    """A line for each value of the field ``by``, its points joined in the order of the field ``order``.

    ``order`` names another field, ``few`` makes points large and gives the legend a title, ``more`` fields are told of
    each point.
    """
    color = {"field": by, "type": "nominal", "sort": None, "scale": {"scheme": "tableau10"}}
    encoding: Json = {
        "x": x,
        "y": y,
        "color": color if few else {**color, "title": None},
        "order": {"field": "order", "type": "quantitative", **(order or {})},
        "tooltip": _tooltip(by, *more, x["field"], y["field"]),
    }
    point = {"filled": True, "size": 50 if few else 14}
    return {"mark": {"type": "line", "point": point, "strokeWidth": 1.6}, "encoding": encoding}


def dots(by: str, y: Spec, color: str | None = None, *more: str) -> Spec:
    """A dot for each value of the field ``by``; ``more`` fields are told of it."""
    mark = {
        "type": "point",
        "filled": True,
        "size": 70,
        "opacity": 1,
        **({"color": color} if color else {}),
    }
    x = _field(by, type="nominal", sort=None, axis={"labelAngle": -45})
    return {"mark": mark, "encoding": {"x": x, "y": y, "tooltip": _tooltip(by, *more, y["field"])}}


def bars(by: str, y: Spec, marks: Spec) -> Spec:
    """A bar for each value of the field ``by``, and a mark on an axis of its own."""
    above = dots(by, {**marks, "axis": {"grid": False}}, TRUTH, y["field"])
    bar = {"mark": {"type": "bar", "color": BAR}, "encoding": {**above["encoding"], "y": y}}
    return {"layer": [bar, above], "resolve": {"scale": {"y": "independent"}}}


def bounds(by: str, ranges: _Rows, marks: _Rows, kinds: Sequence[str], title: str) -> Spec:
    """A row for each value of ``by``: a bar from ``lower`` to ``upper``, and a mark at the ``value`` of each kind.

    Of ``kinds``, the values of the field ``what``, the first is the truth, the second what the bar says of it.
    """
    shapes = {"domain": kinds, "range": ["diamond", "circle", "triangle-up", "square", "cross"]}
    colors = {"domain": kinds, "range": [TRUTH, LINE, *[OTHER] * (len(kinds) - 2)]}
    down = _field(by, type="nominal", sort=None, axis={"labelLimit": 220})
    across = {"type": "quantitative", "scale": {"domain": [0, 1]}, **PERCENT}
    bar = {
        "y": down,
        "x": {"field": "lower", "title": title, **across},
        "x2": {"field": "upper"},
        "tooltip": _tooltip(by, "lower", "upper"),
    }
    mark = {
        "y": down,
        "x": {"field": "value", **across},
        "shape": _field("what", sort=None, scale=shapes),
        "color": _field("what", sort=None, scale=colors),
        "tooltip": _tooltip(by, "what", "value"),
    }
    dot = {"type": "point", "filled": True, "size": 60, "opacity": 1}
    layers = [
        {
            "data": {"values": ranges},
            "mark": {"type": "bar", "color": BAR, "height": 12},
            "encoding": bar,
        },
        {"data": {"values": marks}, "mark": dot, "encoding": mark},
    ]
    return {"height": {"step": 26}, "layer": layers}


def bands(x: Spec, title: str, kinds: Sequence[str]) -> Spec:
    """Line and band (``value``, ``lower``, ``upper``) of each of ``kinds``, of which the last is the truth."""
    colors = {"domain": kinds, "range": [*[LINE] * (len(kinds) - 1), TRUTH]}
    up = {"type": "quantitative", "scale": {"zero": False}, **PERCENT}
    detail = {"field": "what"}
    area = {
        "y": {"field": "lower", "title": title, **up},
        "y2": {"field": "upper"},
        "detail": detail,
    }
    line = {"y": {"field": "value", **up}, "detail": detail}
    tooltip = _tooltip("what", x["field"], "value", "lower", "upper")
    return {
        "encoding": {
            "x": x,
            "color": _field("what", scale=colors, legend=None),
            "tooltip": tooltip,
        },
        "layer": [
            {"mark": {"type": "area", "opacity": 0.15}, "encoding": area},
            {"mark": {"type": "line", "point": {"size": 18}, "strokeWidth": 1.8}, "encoding": line},
        ],
    }


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart of one data set.

    name : of the data set, in letters, digits and hyphens. title : of the data set, as people read it; empty where the
    chart shows all of them. chart : Vega-Lite layers, as the functions of this file make them. rows : its data; none
    where the layers bring their own.
    """

    name: str
    title: str
    chart: Plain
    rows: Sequence[Plain] = ()

    @property
    def spec(self) -> Json:
        """The chart with its data."""
        return {**({"data": {"values": self.rows}} if self.rows else {}), **self.chart}


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure: what it shows, how to read it, and a panel for each data set.

    name : of its file and in the page, in letters, digits and hyphens. title, caption : above and below it. panels :
    its charts. width, height : of each panel in pixels; on a page a panel is as wide as its place. columns : panels
    side by side in the file.
    """

    name: str
    title: str
    caption: str
    panels: Sequence[Panel]
    width: int = 380
    height: int = 280
    columns: int = 2

    def specification(self) -> Json:
        """One Vega-Lite specification with all panels.

        >>> drawing = Drawing("a", "One", "A dot.", [Panel("x", "X", {"mark": "point"}, [{"a": 1}])])
        >>> drawing.specification()["concat"]
        [{'title': 'X', 'width': 380, 'height': 280, 'data': {'values': [{'a': 1}]}, 'mark': 'point'}]
        """
        size = {"width": self.width, "height": self.height}
        charts = [
            {**({"title": panel.title} if panel.title else {}), **size, **panel.spec}
            for panel in self.panels
        ]
        out: Json = {
            "$schema": SCHEMA,
            "title": {"text": self.title, "subtitle": self.caption, "anchor": "start"},
        }
        return out | {
            "description": f"{self.title}. {self.caption}",
            "columns": self.columns,
            "concat": charts,
        }

    def figure(self, panel: Panel) -> Figure:
        """One panel as a chart of a page, as wide as its place."""
        title = f"{panel.title}: {self.title}" if panel.title else self.title
        # On a phone a legend of three columns would be cut off.
        columns = {"expr": "containerSize()[0] < 420 ? 2 : 3"}
        frame: Json = {
            "$schema": SCHEMA,
            "width": "container",
            "height": self.height,
            "config": {
                **CONFIG,
                "legend": {
                    "orient": "bottom",
                    "labelColor": MUTED,
                    "titleColor": MUTED,
                    "columns": columns,
                    "labelLimit": 150,
                },
                "mark": {"aria": False},
            },
            "autosize": {"type": "fit-x", "contains": "padding"},
            "description": f"{title}. {self.caption}",
        }
        return Figure(f"{self.name}-{panel.name}", title, self.caption, {**frame, **panel.spec})


def render_drawings(title: str, drawings: Sequence[Drawing], *, lead: str = "") -> str:
    """A page with every panel of every drawing: the panels of a drawing stand side by side, two in a row.

    Raises `MissingExtraError` where the libraries of the extra ``report`` are absent.
    """
    rows = []
    for drawing in drawings:
        figures = [drawing.figure(panel) for panel in drawing.panels]
        rows += [figures[i : i + 2] for i in range(0, len(figures), 2)]
    return render_figures(title, rows, lead=lead)
