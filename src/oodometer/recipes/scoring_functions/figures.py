"""Figures: the error of every score by severity, by size of the ensemble (Figure 2), and on the dominoes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...reports.charts import plain
from ...reports.drawings import Drawing, Panel
from ..base import Progress, Workspace
from ..kit import figures as kit
from .findings import NAMES

TITLE = "Scoring functions: figures"
LEAD = "The shifts of Trivedi et al. (2023) as this run has them; numbers and claims are in result.md"


def names() -> tuple[str, ...]:
    """Names of the files, relative to the workspace."""
    return kit.figure_files(("severity", "figure-2-ensemble", "dominoes"))


def draw(workspace: Workspace, progress: Progress) -> None:
    """Write the figures."""
    kit.draw(workspace, TITLE, drawings(workspace.read_json("result.json")), LEAD, progress)


def drawings(result: Mapping[str, Any]) -> list[Drawing]:
    """Three figures; those of tasks that are not finished are empty."""
    tasks = result["tasks"]
    clean, dominoes = tasks.get("clean"), tasks.get("dominoes")
    severity = "Mean absolute error of each score over the corruptions of a severity."
    sizes = "Mean absolute error of MA by number of models, for each kind of shift."
    bias = "Mean absolute error where the simple half tells the class as in training, and where it tells nothing."
    size = {"width": 300, "height": 220, "columns": 3}
    return [
        Drawing("severity", "Error by severity", severity, _severity(clean) if clean else [], width=520),
        Drawing("figure-2-ensemble", "Ensembles of every size", sizes, _sizes(clean) if clean else [], width=520),
        Drawing("dominoes", "Simplicity bias", bias, _dominoes(dominoes) if dominoes else [], **size),
    ]


def _severity(clean: Mapping[str, Any]) -> list[Panel]:
    """A line for each score."""
    rows = []
    for variant, scores in (("ma", ("conf", "lms", "ma")), ("ma-diverse", ("ma",))):
        for group, shift in clean[variant]["shifts"].items():
            if not group.startswith("severity"):
                continue
            for score in scores:
                name = NAMES["ma-diverse"] if variant == "ma-diverse" else NAMES[score]
                grade = int(group.rpartition(" ")[2])
                rows.append({"score": name, "severity": grade, "order": grade, "error": shift[score]["exact"]["mean"]})
    marks = {"values": sorted({row["severity"] for row in rows}), "format": "d"}
    across = plain.axis("severity", "severity", {"nice": False}, axis=marks)
    chart = plain.lines(across, plain.axis("error", "mean absolute error"), "score", few=True)
    return [Panel("all", "", chart, rows)]


def _sizes(clean: Mapping[str, Any]) -> list[Panel]:
    """A line for each kind of shift."""
    rows = [
        {"shift": group, "models": one["models"], "order": one["models"], "error": sum(errors) / len(errors)}
        for group, sizes in clean["sizes_of_ensemble"].items()
        for one in sizes
        if (errors := one["by_model"])
    ]
    marks = {"values": sorted({row["models"] for row in rows}), "format": "d"}
    across = plain.axis("models", "models of the ensemble", {"nice": False, "zero": False}, axis=marks)
    chart = plain.lines(across, plain.axis("error", "mean absolute error"), "shift", few=True)
    return [Panel("all", "", chart, rows)]


def _dominoes(task: Mapping[str, Any]) -> list[Panel]:
    """A panel for each score, a line for each target."""
    panels = []
    grades = sorted(task["correlations"], key=float)
    for score in ("conf", "lms", "ma"):
        rows = [
            {
                "target": target,
                "correlation": grade,
                "order": place,
                "error": task["correlations"][grade][target][score]["exact"]["mean"],
            }
            for target in ("correlated", "randomized")
            for place, grade in enumerate(grades)
        ]
        across = {"field": "correlation", "type": "ordinal", "title": "correlation in training", "sort": None}
        up = plain.axis("error", "mean absolute error", {"domain": [0, 1]})
        panels.append(Panel(score, NAMES[score], plain.lines(across, up, "target", few=True), rows))
    return panels
