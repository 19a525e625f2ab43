"""Choices: how the bounds fare under each choice of voters, thresholds and agreement, and one chosen on other tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .seeds import trainings

ENOUGH = 0.9  # of the sets must have the truth inside: the paper's 9 of 10
Row = Mapping[str, Any]


class Fare(NamedTuple):
    """How a choice fared: sets that hold the truth, of how many; the same in distribution; mean width and error."""

    name: str
    inside: int
    sets: int
    inside_near: int
    sets_near: int
    width: float
    error: float
    error_away: float


def fares(result: Mapping[str, Any]) -> list[Fare]:
    """Every choice over all data sets and trainings."""
    rows = list(_rows(result))
    return [_fare(name, [one for one in rows if one["choice"] == name]) for name in _names(rows)]


def left_out(result: Mapping[str, Any]) -> tuple[Fare, dict[str, str]] | None:
    """What a choice made on the other tasks would have given on each task, and which choice it was.

    Chosen is the narrowest of those with the truth inside on at least `ENOUGH` of the other tasks' sets, or the
    most often right one where none is. None with fewer than three tasks.
    """
    rows = list(_rows(result))
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    if len(tasks) < 3:
        return None
    kept, chosen = [], {}
    for task in tasks:
        others = [row for row in rows if row["task"] != task]
        chosen[task] = _best([_fare(name, [one for one in others if one["choice"] == name]) for name in _names(others)])
        kept += [row for row in rows if row["task"] == task and row["choice"] == chosen[task]]
    return _fare("chosen on the other tasks", kept), chosen


def _best(found: Sequence[Fare]) -> str:
    enough = [one for one in found if one.inside >= ENOUGH * one.sets]
    if enough:
        return min(enough, key=lambda one: one.width).name
    return max(found, key=lambda one: (one.inside, -one.width)).name


def _rows(result: Mapping[str, Any]) -> Iterator[Row]:
    """A row for each data set, training and choice that every set has."""
    for task in result["tasks"]:
        for training in trainings(result, task):
            for one in training["sets"].values():
                for row in one["choices"]:
                    yield {**row, "task": task, "choice": _name(row), "near": one["domain"] == "in"}


_ACCEPT = {"half": "P ≥ 0.5", "thresholds": "thresholds", "slack": "thresholds with slack"}


def _name(row: Row) -> str:
    return f"{row['voters']}, {_ACCEPT[row['accept']]}, {row['agree']} of {row['of']}"


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["choice"] for row in rows))


def _fare(name: str, rows: Sequence[Row]) -> Fare:
    near = [row for row in rows if row["near"]]
    away = [row["error"] for row in rows if not row["near"]]
    widths, errors = ([row["upper"] - row["lower"] for row in rows], [row["error"] for row in rows])
    inside = (sum(row["inside"] for row in some) for some in (rows, near))
    means = [sum(some) / max(1, len(some)) for some in (widths, errors, away)]
    counts = [count for pair in zip(inside, (len(rows), len(near)), strict=True) for count in pair]
    return Fare(name, counts[0], counts[1], counts[2], counts[3], *means)
