"""Figures: accuracy and calibration by severity (Figures 2 and D.1), and the label-free estimate beside the truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...reports.charts import plain
from ...reports.drawings import Drawing, Panel
from ..base import Progress, Workspace
from ..kit import figures as kit
from .scores import METHODS, METRICS

TITLE = "Dialogue shift: figures"
LEAD = "The shifts of Lee et al. (2021) as this run has them; numbers and claims are in result.md"
_AXES = {"accuracy": "R@1", "brier": "Brier score", "ece": "ECE"}
_GROUPS = {
    "uw": ("figure-2-unknown-words", "Unknown words", "ratio of exchanged words"),
    "ic": ("figure-2-deleted-turns", "Deleted turns", "share of deleted turns"),
    "kw": ("known-words", "Known words", "ratio of exchanged words"),
    "sr": ("short-contexts", "Contexts that really are short", "turns"),
    "importance": ("figure-d1-importance", "Words by importance", "fifth by importance"),
}
_ESTIMATE = "estimate-beside-truth"


def names() -> tuple[str, ...]:
    """Names of the files, relative to the workspace."""
    return kit.figure_files((*(name for name, _, _ in _GROUPS.values()), _ESTIMATE))


def draw(workspace: Workspace, progress: Progress) -> None:
    """Write the figures."""
    kit.draw(workspace, TITLE, drawings(workspace.read_json("result.json")), LEAD, progress)


def drawings(result: Mapping[str, Any]) -> list[Drawing]:
    """One figure for each kind of shift, and one for the estimates."""
    size: dict[str, Any] = {"width": 260, "height": 220, "columns": 3}
    caption = "Mean over the rankers, the band one standard deviation; one ensemble of all. Points: what was asked."
    out = []
    for group, (name, title, across) in _GROUPS.items():
        panels = [Panel(metric, _AXES[metric], _curves(across), _rows(result, group, metric)) for metric in METRICS]
        out.append(Drawing(name, title, caption, panels, **size))
    caption = "R@1 with its spread over the rankers, and what `estimate` says of it without labels, with its interval."
    panels = [Panel(group, title, _curves(across), _estimates(result, group))
              for group, (_, title, across) in _GROUPS.items()]  # fmt: skip
    return [*out, Drawing(_ESTIMATE, "Estimate beside truth", caption, panels, **size)]


def _row(label: str, order: int, what: str, one: Mapping[str, Any]) -> dict[str, Any]:
    spread = one["sd"] or 0.0
    ends = {"lower": one["mean"] - spread, "upper": one["mean"] + spread}
    return {"what": what, "severity": label, "order": order, "value": one["mean"], **ends}


def _rows(result: Mapping[str, Any], group: str, metric: str) -> list[dict[str, Any]]:
    """A row for each method and severity; the unshifted test instances stand first where that is the mildest one."""
    first = ["test"] if group in ("uw", "kw", "importance") else []
    labels = first + [one["condition"] for one in result["conditions"] if one["group"] == group]
    return [
        _row(str(row["label"]), labels.index(row["condition"]), row["method"], row[metric])
        for row in result["rows"]
        if row["method"] in METHODS and row["condition"] in labels and len(labels) > len(first)
    ]


def _estimates(result: Mapping[str, Any], group: str) -> list[dict[str, Any]]:
    """A row for the truth and for the headline at each severity."""
    found = [one for one in result["estimators"]["conditions"] if one["group"] == group]
    out = []
    for order, one in enumerate(found):
        out.append(_row(str(one["label"]), order, "truth", one["truth"]))
        said = _row(str(one["label"]), order, "estimate", one["methods"]["headline"]["said"])
        out.append({**said, "lower": one["lower"], "upper": one["upper"]})
    return out


def _curves(across: str) -> dict[str, Any]:
    """A line with its band for each of ``what``, the severities in their order."""
    x = {
        "field": "severity",
        "type": "ordinal",
        "title": across,
        "sort": {"field": "order"},
        "axis": {"labelAngle": 0},
    }
    up = {"type": "quantitative", "title": None, "scale": {"zero": False}}
    colour: dict[str, Any] = {
        "field": "what",
        "type": "nominal",
        "title": None,
        "sort": None,
        "scale": {"scheme": "tableau10"},
    }
    colour["legend"] = {"symbolOpacity": 1}
    line = plain.lines(x, {"field": "value", **up}, "what")
    line["encoding"]["color"] = colour
    band = {"x": x, "y": {"field": "lower", **up}, "y2": {"field": "upper"}, "color": colour}
    return {"layer": [{"mark": {"type": "area", "opacity": 0.15}, "encoding": band}, line]}
