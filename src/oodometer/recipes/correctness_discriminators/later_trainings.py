"""Later trainings: how the bounds fared on the parsers of other seeds, which no choice of this recipe had seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..kit.looks import sign_flips
from .findings import BASELINES, PROCEDURES, sets_of
from .seeds import trainings


class Faring(NamedTuple):
    """How one procedure fared on the later trainings; errors and widths are shares, ``nearer`` counts data sets.

    ``inside`` and ``looks`` count data sets of each training, all and in distribution. ``beside`` has for each
    baseline its error, on how many of ``away`` data sets (those out of distribution) the mean of the bounds was
    nearer, and the p-value of the paired test over these; without such sets ``error`` is None and ``beside`` empty.
    """

    procedure: str
    inside: int
    looks: int
    inside_near: int
    looks_near: int
    width: float
    away: int
    error: float | None
    beside: dict[str, tuple[float, int, float]]


def without_first(result: Mapping[str, Any]) -> dict[str, Any]:
    """The result as if the first training of every task had not been done; tasks with one training are left out."""
    tasks, others = {}, {}
    for name in result["tasks"]:
        first, *later = trainings(result, name)
        if later:
            tasks[name] = {**first, "sets": later[0]["sets"]}
            others[name] = {str(one["seed"]): one for one in later[1:]}
    return {**result, "tasks": tasks, "replicates": others}


def farings(result: Mapping[str, Any]) -> list[Faring]:
    """Each procedure on the later trainings; empty where there are none.

    Truth inside or not is counted for each training. Errors are means over the trainings of a data set before they
    are paired: trainings on the same rows are not independent, so that the test is over data sets.
    """
    later = without_first(result)
    return [one for at in PROCEDURES if (one := _faring(later, at)) is not None]


def _faring(later: Mapping[str, Any], at: str) -> Faring | None:
    found = sets_of(later, at=at)
    if not found:
        return None
    looks = [(one["domain"] == "in", one["inside"]) for single in _singly(later) for one in sets_of(single, at=at)]
    away = [one for one in found if one["domain"] == "out"]
    ours = [_error(one, "mean") for one in away]
    beside = {}
    for key in BASELINES if away else ():
        theirs = [_error(one, key) for one in away]
        gains = [their - our for our, their in zip(ours, theirs, strict=True)]
        beside[key] = (float(np.mean(theirs)), sum(gain > 0 for gain in gains), sign_flips(gains).supports)
    near = [inside for is_near, inside in looks if is_near]
    return Faring(
        procedure=at,
        inside=sum(inside for _, inside in looks),
        looks=len(looks),
        inside_near=sum(near),
        looks_near=len(near),
        width=float(np.mean([one["width"]["value"] for one in found])),
        away=len(away),
        error=float(np.mean(ours)) if ours else None,
        beside=beside,
    )


def _singly(later: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A result for each training, so that what is inside is counted for each."""
    out = []
    for name in later["tasks"]:
        for one in trainings(later, name):
            task = {**later["tasks"][name], "sets": one["sets"]}
            out.append({**later, "tasks": {name: task}, "replicates": {}})
    return out


def _error(one: Mapping[str, Any], method: str) -> float:
    return float(one["by_method"][method]["error"]["value"])
