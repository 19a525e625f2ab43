"""Plain charts: lines, bars, bounds and bands as Vega-Lite layers, in colours that also stand off our own pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Spec = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]

BAR, LINE, TRUTH, OTHER = "#9fb7d9", "#1d4f91", "#d9480f", "#868e96"
PERCENT: Spec = {"axis": {"format": "%"}}
"""Ticks of an axis of shares, for `axis`."""


def axis(field: str, title: str, scale: Mapping[str, Any] | None = None, **more: Any) -> Spec:
    """A quantitative axis.

    >>> axis("x", "rows", {"zero": False})
    {'field': 'x', 'type': 'quantitative', 'title': 'rows', 'scale': {'zero': False}}
    """
    return {"field": field, "type": "quantitative", "title": title, "scale": dict(scale or {}), **more}


def _tooltip(*fields: str) -> list[Spec]:
    return [{"field": field} for field in fields]


def lines(
    x: Spec,
    y: Spec,
    by: str,
    *,
    order: Mapping[str, Any] | None = None,
    few: bool = False,
    more: Sequence[str] = (),
) -> Spec:
    """A line for each value of the field ``by``, its points joined in the order of the field ``order``.

    ``order`` names another field, ``few`` makes points large and gives the legend a title, ``more`` fields are told of
    each point.
    """
    named = {} if few else {"title": None}
    colour = {"field": by, "type": "nominal", **named, "sort": None, "scale": {"scheme": "tableau10"}}
    size = 50 if few else 14
    return {
        "mark": {"type": "line", "point": {"filled": True, "size": size}, "strokeWidth": 1.6},
        "encoding": {
            "x": x,
            "y": y,
            "color": colour,
            "order": {"field": "order", "type": "quantitative", **(order or {})},
            "tooltip": _tooltip(by, *more, x["field"], y["field"]),
        },
    }


def _along(by: str) -> Spec:
    return {"field": by, "type": "nominal", "title": None, "sort": None, "axis": {"labelAngle": -45}}


def dots(by: str, y: Spec) -> Spec:
    """A dot for each value of the field ``by``."""
    tooltip = _tooltip(by, y["field"])
    mark = {"type": "point", "filled": True, "size": 70, "opacity": 1}
    return {"mark": mark, "encoding": {"x": _along(by), "y": y, "tooltip": tooltip}}


def bars(by: str, y: Spec, marks: Spec) -> Spec:
    """A bar for each value of the field ``by``, and a mark on an axis of its own."""
    tooltip = _tooltip(by, y["field"], marks["field"])
    up = {**marks, "axis": {"grid": False}}
    point = {"type": "point", "filled": True, "size": 70, "color": TRUTH, "opacity": 1}
    layers = [
        {"mark": mark, "encoding": {"x": _along(by), "y": height, "tooltip": tooltip}}
        for mark, height in (({"type": "bar", "color": BAR}, y), (point, up))
    ]
    return {"layer": layers, "resolve": {"scale": {"y": "independent"}}}


def bounds(by: str, ranges: Rows, marks: Rows, kinds: Sequence[str], title: str) -> Spec:
    """A row for each value of ``by``: a bar from ``lower`` to ``upper``, and a mark at the ``value`` of each kind.

    Of ``kinds``, the values of the field ``what``, the first is the truth, the second what the bar says of it.
    """
    shapes = {"domain": kinds, "range": ["diamond", "circle", "triangle-up", "square", "cross"]}
    colours = {"domain": kinds, "range": [TRUTH, LINE, *[OTHER] * (len(kinds) - 2)]}
    down = {"field": by, "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 220}}
    across = {"type": "quantitative", "scale": {"domain": [0, 1]}, **PERCENT}
    told = {"field": "what", "title": None, "sort": None}
    bar = {
        "y": down,
        "x": {"field": "lower", "title": title, **across},
        "x2": {"field": "upper"},
        "tooltip": _tooltip(by, "lower", "upper"),
    }
    mark = {
        "y": down,
        "x": {"field": "value", **across},
        "shape": {**told, "scale": shapes},
        "color": {**told, "scale": colours},
        "tooltip": _tooltip(by, "what", "value"),
    }
    dot = {"type": "point", "filled": True, "size": 60, "opacity": 1}
    layers = [
        {"data": {"values": ranges}, "mark": {"type": "bar", "color": BAR, "height": 12}, "encoding": bar},
        {"data": {"values": marks}, "mark": dot, "encoding": mark},
    ]
    return {"height": {"step": 26}, "layer": layers}


def bands(x: Spec, title: str, kinds: Sequence[str]) -> Spec:
    """Line and band (``value``, ``lower``, ``upper``) of each of ``kinds``, of which the last is the truth."""
    colours = {"domain": kinds, "range": [*[LINE] * (len(kinds) - 1), TRUTH]}
    up = {"type": "quantitative", "scale": {"zero": False}, **PERCENT}
    detail = {"field": "what"}
    area = {"y": {"field": "lower", "title": title, **up}, "y2": {"field": "upper"}, "detail": detail}
    return {
        "encoding": {
            "x": x,
            "color": {"field": "what", "title": None, "scale": colours, "legend": None},
            "tooltip": _tooltip("what", x["field"], "value", "lower", "upper"),
        },
        "layer": [
            {"mark": {"type": "area", "opacity": 0.15}, "encoding": area},
            {
                "mark": {"type": "line", "point": {"size": 18}, "strokeWidth": 1.8},
                "encoding": {"y": {"field": "value", **up}, "detail": detail},
            },
        ],
    }
