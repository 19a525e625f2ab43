"""Figures: the paper's Figures 1 to 3 and its curves (4 to 16), as Vega-Lite, and on one page where it can be drawn."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...store import write_atomic
from ..base import Tick, Workspace
from .findings import NAMES, SETS

__all__ = ["FORM", "can_draw", "draw", "names", "page", "specifications"]

FORM = 2  # raise it where the figures change: then the step is done again
_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_TOLERANCES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5)
_BARS, _MARKS = "#9fb7d9", "#d9480f"


@dataclass(frozen=True)
class _Drawing:
    """A figure of the paper: what its page says and what it draws of one set, with the rows that it needs."""

    title: str
    caption: str
    rows: str
    layers: Mapping[str, Any]
    fields: tuple[str, ...]


def names() -> tuple[str, ...]:
    """Names of the files, relative to the workspace."""
    pages = ("figures.html", "report.html") if can_draw() else ()
    return (*(f"figures/{name}.vl.json" for name in _drawings()), *pages)


def can_draw() -> bool:
    """Whether the extra `report` is installed."""
    return all(importlib.util.find_spec(one) is not None for one in ("altair", "vl_convert"))


def draw(workspace: Workspace, tick: Tick) -> None:
    """Write each figure as a Vega-Lite specification; pages of them and of the comparison where reports can draw."""
    result = workspace.read_json("result.json")
    made = specifications(result)
    for done, (name, spec) in enumerate(made.items(), 1):
        workspace.write_json(f"figures/{name}.vl.json", spec)
        tick(done, len(made) + 2)
    if can_draw():
        from ...reports import write_report

        write_atomic(workspace / "figures.html", page(result))
        tick(len(made) + 1, len(made) + 2)
        write_report(workspace.read_json("compare.json"), workspace / "report.html")


def specifications(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Vega-Lite specifications by name, both sets side by side.

    A model without DiSCA is left out of the figures that need it.
    """
    out = {}
    for name, drawing in _drawings().items():
        rows = {one: _rows(result, drawing, one) for one in SETS}
        sides = [
            {"title": NAMES[one], "width": 380, "height": 280,
             "transform": [{"filter": {"field": "set", "equal": NAMES[one]}}, *drawing.layers.get("transform", [])],
             **{k: v for k, v in drawing.layers.items() if k != "transform"}}
            for one in SETS
        ]  # fmt: skip
        out[name] = {
            "$schema": _SCHEMA,
            "title": {"text": drawing.title, "subtitle": drawing.caption, "anchor": "start"},
            "description": f"{drawing.title}. {drawing.caption}",
            "data": {"values": [{"set": NAMES[one], **row} for one in SETS for row in rows[one]]},
            "hconcat": sides,
        }
    return out


def page(result: Mapping[str, Any]) -> str:
    """One page with all figures, which holds what draws them and loads nothing."""
    from ...reports import render_figures
    from ...reports.charts.base import Figure
    from ...reports.theme import CONFIG, MUTED

    narrow = "containerSize()[0] < 420"
    legend = {
        "orient": "bottom",
        "labelColor": MUTED,
        "columns": {"expr": f"{narrow} ? 2 : 3"},
        "labelLimit": 150,
    }
    config = {**CONFIG, "legend": legend, "mark": {"aria": False}}

    def figure(name: str, drawing: _Drawing, one: str) -> Figure:
        spec = {
            "$schema": _SCHEMA, "width": "container", "height": 280, "config": config,
            "autosize": {"type": "fit-x", "contains": "padding"},
            "description": f"{NAMES[one]}: {drawing.title}. {drawing.caption}",
            "data": {"values": _rows(result, drawing, one)}, **drawing.layers,
        }  # fmt: skip
        return Figure(f"{name}-{one}", f"{NAMES[one]}: {drawing.title}", drawing.caption, spec)

    rows = [[figure(name, drawing, one) for one in SETS] for name, drawing in _drawings().items()]
    lead = "The figures of Mishra, Arunkumar and Baral (2022) for the models of this run; how they were compared is on "
    return render_figures("Selective answering: figures", rows, lead=f"{lead}report.html")


def _drawings() -> dict[str, _Drawing]:
    """Each figure by the name of its file."""
    curve = ("coverage", "accuracy", "confidence")
    return {
        "figure-1-b": _Drawing(
            "b by tolerance",
            "Confidence at which accuracy first falls below each tolerance (Figures 1, 7 and 13).",
            "steps", _by_tolerance("b", "confidence b"), ("b",),
        ),
        "figure-2-a": _Drawing(
            "a by model", "Confidence at which accuracy first falls below 100 % (Figure 2).",
            "parts", _bars("a", "confidence a", zero=False), ("a",),
        ),
        "figure-3-fluctuations": _Drawing(
            "Rises and their penalty", "Bars: how often accuracy rises; marks: the third term (Figure 3).",
            "parts", _bars("fluctuations", "rises (bars)", mark="penalty"), ("fluctuations", "penalty"),
        ),
        "figure-4-coverage-by-accuracy": _Drawing(
            "Answered at each accuracy", "Coverage at each point where accuracy changes (Figures 4 and 10).",
            "curve", _by_accuracy("coverage"), curve[:2],
        ),
        "figure-5-coverage-by-tolerance": _Drawing(
            "Answered until a tolerance fails", "Coverage at the first point below each tolerance (Figures 5 and 11).",
            "steps", _by_tolerance("coverage", "coverage"), ("coverage",),
        ),
        "figure-6-confidence-by-accuracy": _Drawing(
            "Confidence at each accuracy",
            "Confidence of the last answered where accuracy changes (Figures 6 and 12).",
            "curve", _by_accuracy("confidence"), curve[1:],
        ),
        "figure-8-curves": _Drawing(
            "Accuracy against coverage", "The curve under which AUC is the area (Figures 8 and 14).",
            "curve", _flat(_line("coverage", "coverage", "accuracy", "accuracy"), curve[:2]), curve[:2],
        ),
        "figure-9-accuracy-by-tolerance": _Drawing(
            "Accuracy where a tolerance fails", "Accuracy at the first point below each tolerance (Figures 9 and 15).",
            "steps", _by_tolerance("accuracy", "accuracy"), ("accuracy",),
        ),
        "figure-16-rankings": _Drawing(
            "Rank by tolerance", "Rank by DiSCA for each tolerance of b, 1 is best (Figure 16).",
            "steps", _by_tolerance("rank", "rank by DiSCA", down=True), ("rank",),
        ),
    }  # fmt: skip


def _rows(result: Mapping[str, Any], drawing: _Drawing, name: str) -> list[dict[str, Any]]:
    """Rows of a figure on one set: of curves one a model, with its points as lists, so that the files stay small."""
    if drawing.rows == "curve":
        keys = {"coverage": "x", "accuracy": "y", "confidence": "thresholds"}
        return [
            {"model": model["name"], "order": list(range(len(model[name]["curve"]["x"]))),
             **{field: model[name]["curve"][keys[field]] for field in drawing.fields}}
            for model in result["models"]
        ]  # fmt: skip
    scored = [model for model in result["models"] if model[name]["disca"] is not None]
    if drawing.rows == "parts":
        return [
            {"model": model["name"], **{field: model[name]["disca"][field] for field in drawing.fields}}
            for model in scored
        ]
    values = {
        (model["name"], row["tolerance"]): row["value"]
        for model in scored
        for row in model[name]["disca"]["by_tolerance"]
    }
    return [
        {"model": model["name"], "tolerance": row["tolerance"],
         **{
             field: 1 + sum(v > row["value"] for (_, t), v in values.items() if t == row["tolerance"])
             if field == "rank" else row[field]
             for field in drawing.fields
         }}
        for model in scored
        for row in model[name]["disca"]["by_tolerance"]
        if row["tolerance"] in _TOLERANCES
    ]  # fmt: skip


def _by_tolerance(y: str, title: str, *, down: bool = False) -> dict[str, Any]:
    made = _line("tolerance", "accuracy tolerated", y, title, reverse=True, down=down)
    made["encoding"]["order"] = {"field": "tolerance", "type": "quantitative", "sort": "descending"}
    made["encoding"]["x"]["axis"] = {"values": [one / 10 for one in range(5, 11)], "format": ".1f"}
    return made


def _by_accuracy(y: str) -> dict[str, Any]:
    return _flat(_line("accuracy", "accuracy", y, y, reverse=True), ("accuracy", y))


def _flat(layers: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """The same, drawn from lists of points."""
    return {"transform": [{"flatten": ["order", *fields]}], **layers}


def _line(
    x: str, x_title: str, y: str, y_title: str, *, reverse: bool = False, down: bool = False
) -> dict[str, Any]:
    ranks = {"axis": {"tickMinStep": 1}} if down else {}
    return {
        "mark": {"type": "line", "point": {"size": 14}, "strokeWidth": 1.6},
        "encoding": {
            "x": {"field": x, "type": "quantitative", "title": x_title,
                  "scale": {"zero": False, "reverse": reverse, "nice": False}},
            "y": {"field": y, "type": "quantitative", "title": y_title, "scale": {"zero": False, "reverse": down},
                  **ranks},
            "color": {"field": "model", "type": "nominal", "title": None, "sort": None,
                      "scale": {"scheme": "tableau10"}},
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": [{"field": f} for f in ("model", x, y)],
        },
    }  # fmt: skip


def _bars(y: str, title: str, *, mark: str | None = None, zero: bool = True) -> dict[str, Any]:
    across = {"field": "model", "type": "nominal", "title": None, "sort": None, "axis": {"labelAngle": -45}}
    shape = (
        {"type": "bar", "color": _BARS}
        if zero
        else {"type": "point", "filled": True, "size": 70, "opacity": 1}
    )
    tooltip = [{"field": f} for f in ("model", y, *((mark,) if mark else ()))]
    up = {"field": y, "type": "quantitative", "title": title, "scale": {"zero": zero}}
    bars = {"mark": shape, "encoding": {"x": across, "y": up, "tooltip": tooltip}}
    if mark is None:
        return bars
    up = {"field": mark, "type": "quantitative", "title": f"{mark} (marks)", "axis": {"grid": False}}
    shape = {"type": "point", "filled": True, "size": 70, "color": _MARKS, "opacity": 1}
    points = {"mark": shape, "encoding": {"x": across, "y": up, "tooltip": tooltip}}
    return {"layer": [bars, points], "resolve": {"scale": {"y": "independent"}}}
