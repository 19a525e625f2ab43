"""Markdown of what was chosen and repeated: how each choice of the bounds fared, and the seeds side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..kit.tables import section
from .choices import ENOUGH, Fare, fares, left_out
from .findings import BASELINES, PROCEDURES
from .later_trainings import Faring, farings
from .seeds import trainings

__all__ = ["choices_table", "later_table", "seeds_table"]


def choices_table(result: Mapping[str, Any]) -> str:
    """Every choice of voters, thresholds and agreement, and what choosing on other tasks gives."""
    found = fares(result)
    if not found:
        return ""
    rows, after, chosen = [_row(one) for one in found], "", left_out(result)
    if chosen is not None:
        rows.append(_row(chosen[0]))
        told = "; ".join(f"{task}: {choice}" for task, choice in chosen[1].items())
        after = "In the last row each task has the choice that was the narrowest of those with the truth inside on at "
        after += f"least {100 * ENOUGH:.0f} % of the sets of the OTHER tasks ({told})."
    heads = ["choice", "gold inside", "in distribution", "mean width", "AE of the mean", "out of distribution"]
    text = "**The bounds under each choice, %.** `confidence` is the parser's, thresholded as ATC does; parsers of "
    text += (
        "halves vote by how probable they find an output; slack: strict thresholds for the lower bound, lenient ones "
    )
    text += "for the upper, each off by what so few development rows leave open."
    return section(text, heads, rows, after)


def _row(one: Fare) -> list[str]:
    inside = [f"{one.inside} of {one.sets}", f"{one.inside_near} of {one.sets_near}"]
    return [one.name, *inside, *(f"{100 * value:.1f}" for value in (one.width, one.error, one.error_away))]


def seeds_table(result: Mapping[str, Any]) -> str:
    """Truth, bounds and error of the mean of every training; empty where each task has one."""
    rows = []
    for name, task in result["tasks"].items():
        runs = trainings(result, name)
        if len(runs) < 2:
            continue
        for key, first in task["sets"].items():
            cells = [first["title"]]
            told = [run["sets"][key] for run in runs if key in run["sets"]]
            cells.append("; ".join(map(_gold, told)))
            for found in (told, [one["mixed"] for one in told if "mixed" in one]):
                cells += ["; ".join(of(one) for one in found) or "-" for of in (_bounds, _error)]
            rows.append(cells)
    if not rows:
        return ""
    heads = ["data", "gold", "judges at thresholds: bounds", "AE of the mean", "all voters: bounds", "AE of the mean"]
    text = (
        "**Seeds, %.** The same rows, trained again from other seeds: parsers, their mistakes and judges; in the order "
    )
    return section(f"{text}of the seeds.", heads, rows)


def later_table(result: Mapping[str, Any]) -> str:
    """How each procedure fared on trainings after the first; empty where each task has one."""
    found = farings(result)
    if not found:
        return ""
    heads = ["procedure", "gold inside", "in distribution", "mean width", "AE of the mean, out of distribution"]
    heads += [f"{name}: AE, nearer than it on, p" for name in BASELINES.values()]
    text = (
        "**Trainings after the first, %.** Who votes was chosen on parsers of the first seed; these are parsers that "
    )
    text += "no choice had seen, on the same rows. Inside is counted for each training; errors are means over the "
    text += "trainings of a data set, and the paired test is over data sets (p: the mean of the bounds is nearer; for "
    text += "one look, not corrected)."
    return section(text, heads, [_later(one) for one in found])


def _later(one: Faring) -> list[str]:
    cells = [PROCEDURES[one.procedure], f"{one.inside} of {one.looks}", f"{one.inside_near} of {one.looks_near}"]
    cells += [f"{100 * one.width:.1f}", "-" if one.error is None else f"{100 * one.error:.1f}"]
    for key in BASELINES:
        told = one.beside.get(key)
        cells.append("-" if told is None else f"{100 * told[0]:.1f}, {told[1]} of {one.away}, {told[2]:.3f}")
    return cells


def _gold(one: Mapping[str, Any]) -> str:
    return f"{100 * one['gold']['value']:.1f}"


def _bounds(one: Mapping[str, Any]) -> str:
    ends = {row["method"]: row["value"]["value"] for row in one["methods"]}
    mark = "" if one["inside"] else " (**no**)"
    return f"{100 * ends['lower']:.1f} to {100 * ends['upper']:.1f}{mark}"


def _error(one: Mapping[str, Any]) -> str:
    return next(f"{100 * row['error']['value']:.1f}" for row in one["methods"] if row["method"] == "mean")
