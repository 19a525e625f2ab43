"""Figures: bounds beside the truth, the paper's Figure 4 (samples of every size), and k-of-n voting, as Vega-Lite."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

from ...store import write_atomic
from ..base import Tick, Workspace
from .findings import BASELINES, sets_of

__all__ = ["can_draw", "draw", "names", "specifications"]

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_COLOURS = {"gold": "#d9480f", "bounds": "#9fb7d9", "mean": "#1d4f91", "other": "#868e96"}
_FIGURES = {
    "bounds": (
        "Bounds and truth",
        "Bar: lower to upper bound; dark mark: their mean; orange: gold; grey: baselines.",
    ),
    "figure-4-samples": (
        "Samples of every size",
        "Bounds (blue) and gold (orange) in samples of the test set (Figure 4).",
    ),
    "k-of-n": (
        "Fewer judges that must agree",
        "Width of the bounds and share of the samples that hold the truth.",
    ),
}


def names() -> tuple[str, ...]:
    """Names of the files, relative to the workspace."""
    return (*(f"figures/{name}.vl.json" for name in _FIGURES), *(("figures.html",) if can_draw() else ()))


def can_draw() -> bool:
    """Whether the extra `report` is installed."""
    return all(importlib.util.find_spec(one) is not None for one in ("altair", "vl_convert"))


def draw(workspace: Workspace, tick: Tick) -> None:
    """Write each figure as a Vega-Lite specification, and all on one page where reports can draw."""
    result = workspace.read_json("result.json")
    made = specifications(result)
    for done, (name, spec) in enumerate(made.items(), 1):
        workspace.write_json(f"figures/{name}.vl.json", spec)
        tick(done, len(made) + 1)
    if can_draw():
        write_atomic(workspace / "figures.html", _page(result))


def specifications(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Vega-Lite specifications by name: one of all data sets, and two with a panel for each of them."""
    bounds = {"width": 520, **_bounds(result)}
    out: dict[str, dict[str, Any]] = {"bounds": bounds}
    for name, make in (("figure-4-samples", _samples), ("k-of-n", _agreement)):
        panels = [
            {"title": one["title"], "width": 300, "height": 220, **make(one)} for one in sets_of(result)
        ]
        out[name] = {"columns": 3, "concat": panels}
    return {
        name: {"$schema": _SCHEMA, "description": " ".join(_FIGURES[name]),
               "title": {"text": _FIGURES[name][0], "subtitle": _FIGURES[name][1], "anchor": "start"}, **spec}
        for name, spec in out.items()
    }  # fmt: skip


def _bounds(result: Mapping[str, Any]) -> dict[str, Any]:
    """A row for each data set: the bar of its bounds, and marks."""
    bars, marks = [], []
    for one in sets_of(result):
        rows = one["by_method"]
        bars.append(
            {
                "data": one["title"],
                "lower": rows["lower"]["value"]["value"],
                "upper": rows["upper"]["value"]["value"],
            }
        )
        said = {"gold": one["gold"]["value"], "mean": rows["mean"]["value"]["value"]}
        said |= {BASELINES[name]: rows[name]["value"]["value"] for name in BASELINES if name in rows}
        marks += [{"data": one["title"], "what": name, "value": value} for name, value in said.items()]
    kinds = ["gold", "mean", *BASELINES.values()]
    shapes = {"domain": kinds, "range": ["diamond", "circle", "triangle-up", "square", "cross"]}
    colours = {"domain": kinds, "range": [_COLOURS["gold"], _COLOURS["mean"], *[_COLOURS["other"]] * 3]}
    down = {"field": "data", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 220}}
    across: dict[str, Any] = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": {"format": "%"}}
    return {
        "height": {"step": 26},
        "layer": [
            {
                "data": {"values": bars},
                "mark": {"type": "bar", "color": _COLOURS["bounds"], "height": 12},
                "encoding": {"y": down, "x": {"field": "lower", "title": "accuracy", **across},
                             "x2": {"field": "upper"}, "tooltip": [{"field": f} for f in ("data", "lower", "upper")]},
            },
            {
                "data": {"values": marks},
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {"y": down, "x": {"field": "value", **across},
                             "shape": {"field": "what", "title": None, "scale": shapes, "sort": None},
                             "color": {"field": "what", "title": None, "scale": colours, "sort": None},
                             "tooltip": [{"field": f} for f in ("data", "what", "value")]},
            },
        ],
    }  # fmt: skip


def _samples(one: Mapping[str, Any]) -> dict[str, Any]:
    """Mean and span of the draws of every size, of the bounds and of the truth."""
    rows = [
        {"rows": row["rows"], "what": name, **{end: row[name][end] for end in ("value", "lower", "upper")}}
        for row in one["subsets"]
        for name in ("lower", "upper", "gold")
    ]
    kinds = {
        "domain": ["lower", "upper", "gold"],
        "range": [_COLOURS["mean"], _COLOURS["mean"], _COLOURS["gold"]],
    }
    across = {"field": "rows", "type": "quantitative", "title": "rows drawn", "scale": {"type": "log", "nice": False},
              "axis": {"values": [row["rows"] for row in one["subsets"]], "labelOverlap": True}}  # fmt: skip
    up = {"type": "quantitative", "scale": {"zero": False}, "axis": {"format": "%"}}
    colour = {"field": "what", "title": None, "scale": kinds, "legend": None}
    tooltip = [{"field": f} for f in ("what", "rows", "value", "lower", "upper")]
    return {
        "data": {"values": rows},
        "encoding": {"x": across, "color": colour, "tooltip": tooltip},
        "layer": [
            {"mark": {"type": "area", "opacity": 0.15},
             "encoding": {"y": {"field": "lower", "title": "accuracy", **up}, "y2": {"field": "upper"},
                          "detail": {"field": "what"}}},
            {"mark": {"type": "line", "point": {"size": 18}, "strokeWidth": 1.8},
             "encoding": {"y": {"field": "value", **up}, "detail": {"field": "what"}}},
        ],
    }  # fmt: skip


def _agreement(one: Mapping[str, Any]) -> dict[str, Any]:
    """Width and reliability for every k, a line for each size of sample."""
    picked = [one["subsets"][i] for i in sorted({0, len(one["subsets"]) // 2, len(one["subsets"]) - 1})]
    rows = [
        {"rows drawn": str(row["rows"]), "agree": f"{bound['agree']} of {one['judges']}",
         "width": bound["width"]["value"], "reliability": bound["reliability"]["value"], "order": bound["agree"]}
        for row in picked
        for bound in row["bounds"]
    ]  # fmt: skip
    return {
        "data": {"values": rows},
        "mark": {"type": "line", "point": {"filled": True, "size": 50}, "strokeWidth": 1.6},
        "encoding": {
            "x": {"field": "width", "type": "quantitative", "title": "width of the bounds", "axis": {"format": "%"}},
            "y": {"field": "reliability", "type": "quantitative", "title": "samples with gold inside",
                  "scale": {"domain": [0, 1]}, "axis": {"format": "%"}},
            "color": {"field": "rows drawn", "type": "nominal", "sort": None, "scale": {"scheme": "tableau10"}},
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": [{"field": f} for f in ("rows drawn", "agree", "width", "reliability")],
        },
    }  # fmt: skip


def _page(result: Mapping[str, Any]) -> str:
    """One page with all figures, which holds what draws them and loads nothing."""
    from ...reports import render_figures
    from ...reports.charts.base import Figure
    from ...reports.theme import CONFIG, MUTED

    legend = {"orient": "bottom", "labelColor": MUTED, "titleColor": MUTED}
    shared = {"$schema": _SCHEMA, "width": "container", "config": {**CONFIG, "legend": legend, "mark": {"aria": False}},
              "autosize": {"type": "fit-x", "contains": "padding"}}  # fmt: skip

    def figure(name: str, place: str, title: str, spec: Mapping[str, Any]) -> Figure:
        caption = _FIGURES[name][1]
        return Figure(
            f"{name}-{place}", title, caption, {**shared, "description": f"{title}. {caption}", **spec}
        )

    rows = [[figure("bounds", "all", _FIGURES["bounds"][0], _bounds(result))]]
    for one in sets_of(result):
        place = f"{one['task']}-{one['name']}".replace(".", "-")
        rows.append(
            [
                figure("figure-4-samples", place, f"{one['title']}: samples of every size",
                       {"height": 240, **_samples(one)}),
                figure("k-of-n", place, f"{one['title']}: fewer judges that must agree",
                       {"height": 240, **_agreement(one)}),
            ]
        )  # fmt: skip
    lead = "The tasks of Yao and Koller (2024) as this run has them; numbers and claims are in result.md"
    return render_figures("Correctness discriminators: figures", rows, lead=lead)
