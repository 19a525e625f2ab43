"""Drawings: a figure of several panels, as one Vega-Lite file and as charts on a page beside other drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .charts.base import CONFIG, MUTED, Figure
from .page import render_figures

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart of one data set.

    Parameters
    ----------
    name : of the data set, in letters, digits and hyphens.
    title : of the data set, as people read it; empty where the chart shows all of them.
    chart : Vega-Lite layers, as `charts.plain` makes them.
    rows : its data; none where the layers bring their own.
    """

    name: str
    title: str
    chart: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]] = ()

    @property
    def spec(self) -> dict[str, Any]:
        """The chart with its data."""
        return {**({"data": {"values": self.rows}} if self.rows else {}), **self.chart}


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure: what it shows, how to read it, and a panel for each data set.

    Parameters
    ----------
    name : of its file and in the page, in letters, digits and hyphens.
    title, caption : above and below it.
    panels : its charts.
    width, height : of each panel in pixels; on a page a panel is as wide as its place.
    columns : panels side by side in the file.
    """

    name: str
    title: str
    caption: str
    panels: Sequence[Panel]
    width: int = 380
    height: int = 280
    columns: int = 2

    def specification(self) -> dict[str, Any]:
        """One Vega-Lite specification with all panels.

        >>> drawing = Drawing("a", "One", "A dot.", [Panel("x", "X", {"mark": "point"}, [{"a": 1}])])
        >>> drawing.specification()["concat"]
        [{'title': 'X', 'width': 380, 'height': 280, 'data': {'values': [{'a': 1}]}, 'mark': 'point'}]
        """
        size = {"width": self.width, "height": self.height}
        charts = [{**({"title": one.title} if one.title else {}), **size, **one.spec} for one in self.panels]
        return {
            "$schema": SCHEMA,
            "title": {"text": self.title, "subtitle": self.caption, "anchor": "start"},
            "description": f"{self.title}. {self.caption}",
            "columns": self.columns,
            "concat": charts,
        }

    def figure(self, panel: Panel) -> Figure:
        """One panel as a chart of a page, as wide as its place."""
        title = f"{panel.title}: {self.title}" if panel.title else self.title
        # On a phone a legend of three columns would be cut off.
        columns = {"expr": "containerSize()[0] < 420 ? 2 : 3"}
        legend = {"orient": "bottom", "labelColor": MUTED, "titleColor": MUTED, "columns": columns}
        frame = {
            "$schema": SCHEMA,
            "width": "container",
            "height": self.height,
            "config": {**CONFIG, "legend": {**legend, "labelLimit": 150}, "mark": {"aria": False}},
            "autosize": {"type": "fit-x", "contains": "padding"},
            "description": f"{title}. {self.caption}",
        }
        return Figure(f"{self.name}-{panel.name}", title, self.caption, {**frame, **panel.spec})


def render_drawings(title: str, drawings: Sequence[Drawing], *, lead: str = "") -> str:
    """A page with every panel of every drawing: the panels of a drawing stand side by side, two in a row.

    Raises `MissingExtraError` where the libraries of the extra ``report`` are absent.
    """
    rows = []
    for one in drawings:
        figures = [one.figure(panel) for panel in one.panels]
        rows += [figures[i : i + 2] for i in range(0, len(figures), 2)]
    return render_figures(title, rows, lead=lead)
