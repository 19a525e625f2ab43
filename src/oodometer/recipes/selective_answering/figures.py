"""Figures: the paper's Figures 1 to 3 and its curves (4 to 16), as Vega-Lite, and on one page where it can be drawn."""

from __future__ import annotations

import html
import importlib.util
from collections.abc import Mapping
from typing import Any

from ...store import write_atomic
from ..base import Tick, Workspace
from .findings import NAMES, SETS

__all__ = ["FORM", "can_draw", "draw", "names", "specifications"]

FORM = 1
_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_TOLERANCES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5)

# file, title, caption; each is drawn for both sets side by side
_FIGURES = {
    "figure-1-b": (
        "b by tolerance",
        "Confidence at which accuracy first falls below each tolerance (Figure 1).",
    ),
    "figure-2-a": ("a by model", "Confidence at which accuracy first falls below 100 % (Figure 2)."),
    "figure-3-fluctuations": (
        "Rises and their penalty",
        "Bars: how often accuracy rises; marks: the third term (Figure 3).",
    ),
    "figure-4-coverage-by-accuracy": (
        "Answered at each accuracy",
        "Coverage at each point where accuracy changes (Figures 4 and 10).",
    ),
    "figure-5-coverage-by-tolerance": (
        "Answered until a tolerance fails",
        "Coverage at the first point below each tolerance (Figures 5 and 11).",
    ),
    "figure-6-confidence-by-accuracy": (
        "Confidence at each accuracy",
        "Confidence of the last answered where accuracy changes (Figures 6 and 12).",
    ),
    "figure-8-curves": (
        "Accuracy against coverage",
        "The curve under which AUC is the area (Figures 8 and 14).",
    ),
    "figure-9-accuracy-by-tolerance": (
        "Accuracy where a tolerance fails",
        "Accuracy at the first point below each tolerance (Figures 9 and 15).",
    ),
    "figure-16-rankings": (
        "Rank by tolerance",
        "Rank by DiSCA for each tolerance of b, 1 is best (Figure 16).",
    ),
}


def names() -> tuple[str, ...]:
    """Names of the files, relative to the workspace."""
    pages = (("figures.html",) if can_draw() else ()) + (("report.html",) if has_page() else ())
    return (*(f"figures/{name}.vl.json" for name in _FIGURES), *pages)


def can_draw() -> bool:
    """Whether the extra `report` is installed."""
    return all(importlib.util.find_spec(one) is not None for one in ("altair", "vl_convert"))


def has_page() -> bool:
    """Whether reports know a page for a comparison."""
    from ...reports.sections import SECTIONS

    return can_draw() and "compare" in SECTIONS


def draw(workspace: Workspace, tick: Tick) -> None:
    """Write each figure as a Vega-Lite specification; pages of them and of the comparison where reports can draw."""
    made = specifications(workspace.read_json("result.json"))
    for done, (name, spec) in enumerate(made.items(), 1):
        workspace.write_json(f"figures/{name}.vl.json", spec)
        tick(done, len(made) + 1)
    if can_draw():
        write_atomic(workspace / "figures.html", _page(made))
    if has_page():
        from ...reports import write_report

        write_report(workspace.read_json("compare.json"), workspace / "report.html")


def specifications(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Vega-Lite specifications by name; a model without DiSCA is left out of the figures that need it."""
    points = [row for model in result["models"] for name in SETS for row in _points(model, name)]
    steps = [row for model in result["models"] for name in SETS for row in _steps(model, name)]
    parts = [row for model in result["models"] for name in SETS for row in _parts(model, name)]
    for name in SETS:  # ranks are found tolerance by tolerance
        for tolerance in _TOLERANCES:
            rows = [row for row in steps if row["set"] == NAMES[name] and row["tolerance"] == tolerance]
            for row in rows:
                row["rank"] = 1 + sum(other["value"] > row["value"] for other in rows)
    marks: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
        "figure-1-b": (steps, _by_tolerance("b", "confidence b")),
        "figure-2-a": (parts, _bars("a", "confidence a", zero=False)),
        "figure-3-fluctuations": (parts, _bars("fluctuations", "rises (bars)", mark="penalty")),
        "figure-4-coverage-by-accuracy": (points, _by_accuracy("coverage")),
        "figure-5-coverage-by-tolerance": (steps, _by_tolerance("coverage", "coverage")),
        "figure-6-confidence-by-accuracy": (points, _by_accuracy("confidence")),
        "figure-8-curves": (points, _line("coverage", "coverage", "accuracy", "accuracy")),
        "figure-9-accuracy-by-tolerance": (steps, _by_tolerance("accuracy", "accuracy")),
        "figure-16-rankings": (steps, _by_tolerance("rank", "rank by DiSCA", down=True)),
    }
    return {name: _specification(name, rows, layers) for name, (rows, layers) in marks.items()}


def _points(model: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    curve = model[name]["curve"]
    return [
        {
            "model": model["name"],
            "set": NAMES[name],
            "coverage": x,
            "accuracy": y,
            "confidence": c,
            "order": i,
        }
        for i, (x, y, c) in enumerate(zip(curve["x"], curve["y"], curve["thresholds"], strict=True))
    ]


def _steps(model: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    score = model[name]["disca"]
    rows = [] if score is None else score["by_tolerance"]
    return [
        {"model": model["name"], "set": NAMES[name], "order": -row["tolerance"],
         **{k: row[k] for k in ("tolerance", "b", "value", "coverage", "accuracy")}}
        for row in rows
        if row["tolerance"] in _TOLERANCES
    ]  # fmt: skip


def _parts(model: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    score = model[name]["disca"]
    if score is None:
        return []
    return [
        {
            "model": model["name"],
            "set": NAMES[name],
            **{k: score[k] for k in ("a", "b", "fluctuations", "penalty")},
        }
    ]


def _by_tolerance(y: str, title: str, *, down: bool = False) -> dict[str, Any]:
    return _line("tolerance", "accuracy tolerated", y, title, reverse=True, down=down)


def _by_accuracy(y: str) -> dict[str, Any]:
    return _line("accuracy", "accuracy", y, y, reverse=True)


def _line(
    x: str, x_title: str, y: str, y_title: str, *, reverse: bool = False, down: bool = False
) -> dict[str, Any]:
    return {
        "mark": {"type": "line", "point": {"size": 14}, "strokeWidth": 1.6},
        "encoding": {
            "x": {"field": x, "type": "quantitative", "title": x_title,
                  "scale": {"zero": False, "reverse": reverse, "nice": False}},
            "y": {"field": y, "type": "quantitative", "title": y_title, "scale": {"zero": False, "reverse": down}},
            "color": {"field": "model", "type": "nominal", "title": None, "sort": None,
                      "scale": {"scheme": "tableau10"}},
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": [{"field": f} for f in ("model", x, y)],
        },
    }  # fmt: skip


def _bars(y: str, title: str, *, mark: str | None = None, zero: bool = True) -> dict[str, Any]:
    across = {"field": "model", "type": "nominal", "title": None, "sort": None, "axis": {"labelAngle": -45}}
    shape = "bar" if zero else {"type": "point", "filled": True, "size": 60}
    bars = {
        "mark": shape,
        "encoding": {
            "x": across,
            "y": {"field": y, "type": "quantitative", "title": title, "scale": {"zero": zero}},
            "tooltip": [{"field": f} for f in ("model", y, *((mark,) if mark else ()))],
        },
    }
    if mark is None:
        return bars
    points = {
        "mark": {"type": "point", "filled": True, "size": 60, "color": "#d9480f"},
        "encoding": {"x": across, "y": {"field": mark, "type": "quantitative", "title": f"{mark} (marks)"}},
    }
    return {"layer": [bars, points], "resolve": {"scale": {"y": "independent"}}}


def _specification(name: str, rows: list[dict[str, Any]], layers: Mapping[str, Any]) -> dict[str, Any]:
    title, caption = _FIGURES[name]
    sides = [
        {"title": NAMES[one], "width": 380, "height": 280,
         "transform": [{"filter": {"field": "set", "equal": NAMES[one]}}], **layers}
        for one in SETS
    ]  # fmt: skip
    return {
        "$schema": _SCHEMA,
        "description": f"{title}. {caption}",
        "data": {"values": rows},
        "hconcat": sides,
    }


def _page(made: Mapping[str, Mapping[str, Any]]) -> str:
    """One page with all figures, which holds what draws them and loads nothing."""
    from ...reports import page
    from ...reports.charts.base import Figure

    drawn = {name: Figure(name, *_FIGURES[name], dict(spec)) for name, spec in made.items()}
    figures = "\n".join(
        f"<figure><figcaption><b>{html.escape(one.title)}.</b> {html.escape(one.caption)}</figcaption>"
        f'<div id="{name}"></div></figure>'
        for name, one in drawn.items()
    )
    style = "body{font-family:system-ui,sans-serif;max-width:1150px;margin:2rem auto;padding:0 1rem}"
    script = (
        "const specs=JSON.parse(document.getElementById('specs').textContent);"
        "for(const name of Object.keys(specs))"
        "new vega.View(vega.parse(specs[name]),{renderer:'svg',container:document.getElementById(name),"
        "hover:true,logLevel:vega.Error}).runAsync();"
    )
    return (
        "<!doctype html>\n<html lang=en><meta charset=utf-8><title>Selective answering: figures</title>"
        f"<style>{style}</style>\n<h1>Selective answering: figures</h1>\n{figures}\n"
        f'<script type="application/json" id="specs">{page._specs(drawn)}</script>\n'
        f"<script>{page._runtime()}</script>\n<script>{script}</script>\n</html>\n"
    )
