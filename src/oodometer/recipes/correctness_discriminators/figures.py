"""Figures: bounds beside the truth, with thresholds and without, samples of every size (Figure 4), k-of-n voting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...reports.charts import plain
from ...reports.drawings import Drawing, Panel
from ..base import Progress, Workspace
from ..kit import figures as kit
from .findings import BASELINES, sets_of

TITLE = "Correctness discriminators: figures"
LEAD = "The tasks of Yao and Koller (2024) as this run has them; numbers and claims are in result.md"


def names() -> tuple[str, ...]:
    """Names of the files, relative to the workspace."""
    return kit.figure_files(("bounds", "bounds-of-judges", "bounds-at-half", "figure-4-samples", "k-of-n"))


def draw(workspace: Workspace, progress: Progress) -> None:
    """Write the figures."""
    kit.draw(workspace, TITLE, drawings(workspace.read_json("result.json")), LEAD, progress)


def drawings(result: Mapping[str, Any]) -> list[Drawing]:
    """One figure of all data sets, and two with a panel for each of them."""
    bounds = "Bar: lower to upper bound; dark mark: their mean; orange: gold; grey: baselines."
    half = "The same of the judges alone, which accept at P ≥ 0.5, as in the paper."
    judges = "The same of the judges alone, each at its threshold."
    every = "mixed" if sets_of(result, at="mixed") else "thresholds"
    if every == "mixed":
        bounds = f"Judges, parsers of halves and confidence at thresholds; one may disagree. {bounds}"
    samples = "Bounds (blue) and gold (orange) in samples of the test set (Figure 4)."
    agreement = "Width of the bounds and share of the samples that hold the truth."
    sets = sets_of(result)
    places = [f"{one['task']}-{one['name']}".replace(".", "-") for one in sets]

    size = {"width": 300, "height": 220, "columns": 3}

    def each(make: Any) -> list[Panel]:
        return [make(one, place) for one, place in zip(sets, places, strict=True)]

    return [
        Drawing("bounds", "Bounds and truth", bounds, [_bounds(result, every)], width=520),
        Drawing("bounds-of-judges", "Bounds and truth, judges", judges, [_bounds(result, "thresholds")], width=520),
        Drawing("bounds-at-half", "Bounds and truth, P ≥ 0.5", half, [_bounds(result, "half")], width=520),
        Drawing("figure-4-samples", "Samples of every size", samples, each(_samples), **size),
        Drawing("k-of-n", "Fewer judges that must agree", agreement, each(_agreement), **size),
    ]


def _bounds(result: Mapping[str, Any], at: str) -> Panel:
    """A row for each data set: the bar of its bounds, and marks."""
    bars, marks = [], []
    for one in sets_of(result, at=at):
        told = {name: row["value"]["value"] for name, row in one["by_method"].items()}
        bars.append({"data": one["title"], "lower": told["lower"], "upper": told["upper"]})
        said = {"gold": one["gold"]["value"], "mean": told["mean"]}
        said |= {BASELINES[name]: told[name] for name in BASELINES if name in told}
        marks += [{"data": one["title"], "what": name, "value": value} for name, value in said.items()]
    kinds = ["gold", "mean", *BASELINES.values()]
    return Panel("all", "", plain.bounds("data", bars, marks, kinds, "accuracy"))


def _samples(one: Mapping[str, Any], place: str) -> Panel:
    """Mean and span of the draws of every size, of the bounds and of the truth."""
    kinds = ("lower", "upper", "gold")
    rows = [
        {"rows": row["rows"], "what": name, **{end: row[name][end] for end in ("value", "lower", "upper")}}
        for row in one["subsets"]
        for name in kinds
    ]
    marks = {"values": [row["rows"] for row in one["subsets"]], "labelOverlap": True}
    across = plain.axis("rows", "rows drawn", {"type": "log", "nice": False}, axis=marks)
    return Panel(place, one["title"], plain.bands(across, "accuracy", list(kinds)), rows)


def _agreement(one: Mapping[str, Any], place: str) -> Panel:
    """Width and reliability for every k, a line for each size of sample."""
    picked = [one["subsets"][i] for i in sorted({0, len(one["subsets"]) // 2, len(one["subsets"]) - 1})]
    rows = []
    for row in picked:
        for bound in row["bounds"]:
            agree = {"agree": f"{bound['agree']} of {one['judges']}", "order": bound["agree"]}
            shares = {name: bound[name]["value"] for name in ("width", "reliability")}
            rows.append({"rows drawn": str(row["rows"]), **agree, **shares})
    across = plain.axis("width", "width of the bounds", **plain.PERCENT)
    up = plain.axis("reliability", "samples with gold inside", {"domain": [0, 1]}, **plain.PERCENT)
    chart = plain.lines(across, up, "rows drawn", few=True, more=("agree",))
    return Panel(place, one["title"], chart, rows)
