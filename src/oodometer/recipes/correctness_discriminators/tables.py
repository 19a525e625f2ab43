"""Tables: the results of all finished tasks, and of their other seeds, as one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ...version import __version__
from ..base import Workspace
from ..kit.tasks import joined
from .study import FORM

_TOLD = ("title", "domain", "rows", "judges", "gold", "methods", "inside", "width", "bounds", "choices")
_OF_TRAINING = ("task", "seed", "version", "cpu_seconds", "dev_accuracy", "thresholds")


def combine(workspace: Workspace, scale: str, tasks: Sequence[str], replicates: Sequence[str] = ()) -> dict[str, Any]:
    """One result of the tasks that have one of this form, in the order given, with their trainings from other seeds."""
    done = {name: one for name in tasks if (one := _finished(workspace, name)) is not None}
    others: dict[str, dict[str, Any]] = {}
    for name in replicates:
        one = _finished(workspace, name)
        if one is not None:
            others.setdefault(one["replicate_of"], {})[str(one["seed"])] = _short(one)
    return {
        "form": FORM,
        "paper": "correctness-discriminators",
        "scale": scale,
        "version": __version__,
        "cores": os.cpu_count(),
        "tasks": done,
        "replicates": others,
        "missing": [name for name in tasks if name not in done],
    }


def joined_replicates(old: Mapping[str, Any] | None, new: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The new result with the tasks and the other seeds of an old one of the same form that it lacks."""
    out = joined(old, new, names)
    before = old.get("replicates", {}) if old is not None and old["form"] == new["form"] else {}
    both = {name: {**before.get(name, {}), **new.get("replicates", {}).get(name, {})} for name in out["tasks"]}
    return {**out, "replicates": {name: one for name, one in both.items() if one}}


def _finished(workspace: Workspace, name: str) -> dict[str, Any] | None:
    """The result of a task in this form, if there is one."""
    try:
        one = workspace.read_json(f"{name}/result.json")
    except (OSError, ValueError):
        return None
    return one if isinstance(one, dict) and one.get("form") == FORM else None


def _short(one: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of a training from another seed: no types and no samples."""
    sets = {}
    for name, found in one["sets"].items():
        sets[name] = {key: found[key] for key in _TOLD}
        for other in ("at_half", "mixed"):
            if other in found:
                sets[name][other] = {key: value for key, value in found[other].items() if key != "subsets"}
    more = {"self_training": one["self_training"]} if "self_training" in one else {}
    return {**{key: one[key] for key in _OF_TRAINING}, "sets": sets, **more}
