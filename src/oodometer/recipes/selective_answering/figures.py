"""Figures: the paper's Figures 1 to 3 and its curves (4 to 16), each for both sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...reports.charts import plain
from ...reports.drawings import Drawing, Panel
from ..base import Progress, Workspace
from ..kit import figures as kit
from .orders import NAMES, SETS

FORM = 3  # raise it where the figures change: then the step is done again
TITLE = "Selective answering: figures"
LEAD = "The figures of Mishra, Arunkumar and Baral (2022) for the models of this run; how they were compared is on "
LEAD += "report.html"
_TOLERANCES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5)
_Rows = Callable[[Mapping[str, Any], str, Sequence[str]], list[dict[str, Any]]]
_Chart = tuple[_Rows, tuple[str, ...], dict[str, Any]]
"""What makes the rows of a set, with which fields, and what they are drawn as."""
_CURVE = {"coverage": "x", "accuracy": "y", "confidence": "thresholds"}


def names() -> tuple[str, ...]:
    """Names of the files, relative to the workspace."""
    return kit.figure_files(_FIGURES, "report.html")


def draw(workspace: Workspace, progress: Progress) -> None:
    """Write the figures, and the page of the comparison where reports can draw."""
    kit.draw(workspace, TITLE, drawings(workspace.read_json("result.json")), LEAD, progress)
    if kit.can_draw():
        from ...reports import write_report

        write_report(workspace.read_json("compare.json"), workspace / "report.html")


def drawings(result: Mapping[str, Any]) -> list[Drawing]:
    """The figures, a panel for each set; a model without DiSCA is left out of those that need it."""
    out = []
    for name, (title, caption, (rows, fields, chart)) in _FIGURES.items():
        panels = [Panel(one, NAMES[one], chart, rows(result, one, fields)) for one in SETS]
        out.append(Drawing(name, title, caption, panels))
    return out


def _curves(result: Mapping[str, Any], name: str, fields: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each model, with the points of its curve as lists, so that the files stay small."""
    out = []
    for model in result["models"]:
        curve = model[name]["curve"]
        points = {field: curve[_CURVE[field]] for field in fields}
        out.append({"model": model["name"], "order": list(range(len(curve["x"]))), **points})
    return out


def _parts(result: Mapping[str, Any], name: str, fields: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each model, with parts of its DiSCA."""
    scored = [model for model in result["models"] if model[name]["disca"] is not None]
    return [{"model": one["name"], **{field: one[name]["disca"][field] for field in fields}} for one in scored]


def _steps(result: Mapping[str, Any], name: str, fields: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each model and tolerance."""
    scored = [model for model in result["models"] if model[name]["disca"] is not None]
    rows = [(one["name"], row) for one in scored for row in one[name]["disca"]["by_tolerance"]]
    out = []
    for model, row in rows:
        if row["tolerance"] in _TOLERANCES:
            same = [other["value"] for _, other in rows if other["tolerance"] == row["tolerance"]]
            values = {**row, "rank": 1 + sum(value > row["value"] for value in same)}
            found = {field: values[field] for field in fields}
            out.append({"model": model, "tolerance": row["tolerance"], **found})
    return out


_FREE = {"zero": False}
_BACK = {"zero": False, "reverse": True, "nice": False}


def _by_tolerance(y: str, title: str, scale: Mapping[str, Any] = _FREE, **more: Any) -> _Chart:
    marks = {"values": [one / 10 for one in range(5, 11)], "format": ".1f"}
    across = plain.axis("tolerance", "accuracy tolerated", _BACK, axis=marks)
    order = {"field": "tolerance", "sort": "descending"}
    return _steps, (y,), plain.lines(across, plain.axis(y, title, scale, **more), "model", order=order)


def _curve(x: str, y: str, scale: Mapping[str, Any] = _BACK) -> _Chart:
    made = plain.lines(plain.axis(x, x, scale), plain.axis(y, y, _FREE), "model")
    return _curves, (x, y), {"transform": [{"flatten": ["order", x, y]}], **made}


def _by_model() -> tuple[_Chart, _Chart]:
    """a, and rises with their penalty."""
    rises = plain.axis("fluctuations", "rises (bars)", {"zero": True})
    both = plain.bars("model", rises, plain.axis("penalty", "penalty (marks)"))
    dots = plain.dots("model", plain.axis("a", "confidence a", _FREE))
    return (_parts, ("a",), dots), (_parts, ("fluctuations", "penalty"), both)


_A, _RISES = _by_model()
_RANKS = _by_tolerance("rank", "rank by DiSCA", {"zero": False, "reverse": True}, axis={"tickMinStep": 1})
# Name -> title, caption, chart.
_FIGURES: dict[str, tuple[str, str, _Chart]] = {
    "figure-1-b": (
        "b by tolerance",
        "Confidence at which accuracy first falls below each tolerance (Figures 1, 7 and 13).",
        _by_tolerance("b", "confidence b"),
    ),
    "figure-2-a": ("a by model", "Confidence at which accuracy first falls below 100 % (Figure 2).", _A),
    "figure-3-fluctuations": (
        "Rises and their penalty",
        "Bars: how often accuracy rises; marks: the third term (Figure 3).",
        _RISES,
    ),
    "figure-4-coverage-by-accuracy": (
        "Answered at each accuracy",
        "Coverage at each point where accuracy changes (Figures 4 and 10).",
        _curve("accuracy", "coverage"),
    ),
    "figure-5-coverage-by-tolerance": (
        "Answered until a tolerance fails",
        "Coverage at the first point below each tolerance (Figures 5 and 11).",
        _by_tolerance("coverage", "coverage"),
    ),
    "figure-6-confidence-by-accuracy": (
        "Confidence at each accuracy",
        "Confidence of the last answered where accuracy changes (Figures 6 and 12).",
        _curve("accuracy", "confidence"),
    ),
    "figure-8-curves": (
        "Accuracy against coverage",
        "The curve under which AUC is the area (Figures 8 and 14).",
        _curve("coverage", "accuracy", {**_BACK, "reverse": False}),
    ),
    "figure-9-accuracy-by-tolerance": (
        "Accuracy where a tolerance fails",
        "Accuracy at the first point below each tolerance (Figures 9 and 15).",
        _by_tolerance("accuracy", "accuracy"),
    ),
    "figure-16-rankings": (
        "Rank by tolerance",
        "Rank by DiSCA for each tolerance of b, 1 is best (Figure 16).",
        _RANKS,
    ),
}
