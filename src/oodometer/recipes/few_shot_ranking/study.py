"""The study: every suite of every seed evaluated, and what the claims and tables are about."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...rankings.baselines import guess_accuracy
from ...version import __version__
from ..base import Progress, Workspace
from ..kit.answers import load_answers
from ..kit.tables import rounded
from .data import STAND_INS, RunData
from .evaluation import BASELINE, COMBINED, Evaluation, learnt_weights, spread_over
from .lineup import FAMILIES, SUITES, Plan, lineup, suites_of
from .record import accuracies, balanced
from .run_config import RunConfig

FORM = 1  # raise it where the form of the result changes: then the step is done again


def study(config: RunConfig, data: RunData, workspace: Workspace, progress: Progress) -> None:
    """Judge all rankings; writes ``study.json``."""
    rows: list[dict[str, Any]] = []
    sets: list[dict[str, Any]] = []
    guesses: list[list[list[float]]] = []
    done = 0
    learnt: list[dict[str, Any]] = []
    for seed in range(config.seeds):
        three: list[list[float]] = []
        suites = [Evaluation(workspace, data, one, seed, ranked_plans(config, one.family)) for one in SUITES]
        weights = learnt_weights(suites)
        learnt += [{"left_out": name, "seed": seed, **one.to_dict()} for name, one in weights.items()]
        for suite, held in zip(SUITES, suites, strict=True):
            found = list(held.rows(weights.get(suite.name)))
            rows += found
            three += [one["accuracy"] for one in found if one["group"] == "architectures"]
            counts = data.rows(suite, seed).counts
            sets.append({"set": suite.name, "seed": seed, **counts, "absent": held.absent()})
            done += 1
            progress(done, config.seeds * len(SUITES) + 1)
        guesses.append(three)
    result: dict[str, Any] = {"form": FORM, "version": __version__, "python": platform.python_version()}
    result |= {"sizes": config.to_dict(), "stand_ins": STAND_INS, "baseline": BASELINE, "combined": list(COMBINED)}
    result["data"] = {family: data.fingerprints(family) for family in FAMILIES}
    result |= {"sets": sets, "models": models(config, workspace), "rows": rows, "guess": _guess(guesses)}
    result["learnt"] = learnt
    workspace.write_json("study.json", rounded(result))
    progress(1, 1)


def ranked_plans(config: RunConfig, family: str) -> list[Plan]:
    """The models of a family that stand in suites; those of other networks that others only go on from do not."""
    plans = [plan for plan in lineup(config) if plan.family == family]
    return [plan for plan in plans if plan.inoculated or all(other.start != plan.name for other in plans)]


def models(config: RunConfig, workspace: Workspace) -> list[dict[str, Any]]:
    """Every model with its accuracy in-domain and on each suite (Tables 5 and 6), over the seeds."""
    out = []
    for plan in lineup(config):
        told: dict[str, Any] = {**plan.to_dict(), "family": plan.family, "accuracy": {}, "balanced": {}}
        for name in ("in-domain", *(suite.name for suite in suites_of(plan.family))):
            right, even = [], []
            for seed in range(config.seeds):
                held = load_answers(workspace, f"answers/{seed}/{plan.name}", name)
                right.append(float(accuracies(held["positive"][None], held["label"])[0]))
                even.append(float(balanced(held["positive"][None], held["label"])[0]))
            told["accuracy"][name], told["balanced"][name] = spread_over(right), spread_over(even)
        out.append(told)
    return out


def _guess(by_seed: Sequence[Sequence[Sequence[float]]]) -> list[dict[str, Any]]:
    """GUESS for each architecture that could be named best in every set: few-shot accuracy over the seeds."""
    found = [guess_accuracy(sets) for sets in by_seed if sets]
    if not found:
        return []
    return [
        {"model": place, "few_shot": spread_over(values.tolist())} for place, values in enumerate(np.array(found).T)
    ]
