"""The study of a condition: the error of every score by kind of shift, the size of the ensemble, its mean."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...arrays import Array
from ...version import __version__
from ..base import Progress, Workspace
from ..kit.tables import rounded
from .data import NATURAL, RunData
from .errors import SCORES, Errors, agreement_of_subsets, mean_and_spread
from .work import Answers, load_answers

FORM = 2  # raise it where the form of the result changes: then the step is done again
VARIANTS = ("ma", "ma-diverse")


def groups_of(names: Sequence[str]) -> dict[str, list[str]]:
    """Sets by kind of shift: each natural one by itself, corruptions by severity.

    >>> groups_of(["cifar10.1", "fog-1", "snow-1", "fog-5"])
    {'cifar10.1': ['cifar10.1'], 'severity 1': ['fog-1', 'snow-1'], 'severity 5': ['fog-5']}
    """
    out: dict[str, list[str]] = {}
    for name in names:
        severity = name.rpartition("-")[2]
        out.setdefault(f"severity {severity}" if severity.isdigit() else name, []).append(name)
    return out


def study_condition(
    data: RunData,
    condition: str,
    names: Mapping[str, Sequence[str]],
    *,
    workspace: Workspace,
    progress: Progress,
) -> None:
    """Judge every score of both ensembles; writes ``<condition>/result.json``. ``names`` are the sets of each."""
    config = data.config
    result: dict[str, Any] = {"form": FORM, "condition": condition, "version": __version__}
    result |= {"python": platform.python_version(), "sizes": config.to_dict(), "data": data.fingerprints()}
    result |= {"present": list(data.present()), "absent": [one for one in NATURAL if one not in data.present()]}
    for done, variant in enumerate(VARIANTS):
        folder = f"{condition}/answers-{variant}"
        validation = load_answers(workspace, folder, "validation")
        targets = {name: load_answers(workspace, folder, name) for name in names[variant]}
        result[variant] = _errors(validation, targets, config.grid)
        if condition == "clean" and variant == "ma":
            result["sizes_of_ensemble"] = _sizes(validation, targets, config.subsets, config.seed)
            result["disjoint"] = _disjoint(validation, targets, config.grid)
        progress(done + 1, len(VARIANTS))
    workspace.write_json(f"{condition}/result.json", rounded(result))


def _errors(validation: Answers, targets: Mapping[str, Answers], grid: int) -> dict[str, Any]:
    """Accuracy, and mean absolute error of every score, by kind of shift."""
    errors = Errors(validation, grid)
    predicted = validation["probabilities"].argmax(-1)
    found = {name: list(errors.of(one)) for name, one in targets.items()}
    whole = {name: errors.ensemble(one) for name, one in targets.items()}
    out: dict[str, Any] = {
        "models": errors.models,
        "validation_accuracy": mean_and_spread((predicted == validation["label"]).mean(1)),
        "ensemble_accuracy": float((validation["probabilities"].mean(0).argmax(-1) == validation["label"]).mean()),
        "shifts": {},
    }
    for group, members in groups_of(list(targets)).items():
        about: dict[str, Any] = {"sets": len(members)}
        rows = [[found[name][base] for name in members] for base in range(errors.models)]
        about["accuracy"] = mean_and_spread([float(np.mean([one["accuracy"] for one in row])) for row in rows])
        for score in SCORES:
            have = [row for row in rows if score in row[0]]
            if have:
                about[score] = {
                    how: mean_and_spread([float(np.mean([abs(getattr(o[score], how)) for o in row])) for row in have])
                    for how in ("exact", "grid")
                }
        about["ensemble"] = {
            "accuracy": float(np.mean([whole[name]["accuracy"] for name in members])),
            "ma": float(np.mean([abs(whole[name]["ma"]) for name in members])),
        }
        out["shifts"][group] = about
    return out


def _sizes(validation: Answers, targets: Mapping[str, Answers], draws: int, seed: int) -> dict[str, Any]:
    """Error of agreement by number of models: over all sets, and over the strongest shift alone (Figure 2)."""
    models = len(validation["probabilities"])
    sizes = list(range(2, models + 1))
    groups = groups_of(list(targets))
    out = {}
    for name, members in {"all": list(targets), **groups}.items():
        found = agreement_of_subsets(validation, [targets[one] for one in members], sizes, draws, seed)
        out[name] = [
            {
                "models": size,
                "by_model": one.mean(1).tolist(),
                "spread": _spread(one),
                "spread_by_model": one.std(axis=1, ddof=1).tolist() if one.shape[1] > 1 else None,
            }
            for size, one in found.items()
        ]
    return out


def _spread(errors: Array) -> float | None:
    """Mean over models of the standard deviation over draws; None where all draws are one."""
    return float(errors.std(axis=1, ddof=1).mean()) if errors.shape[1] > 1 else None


def _disjoint(validation: Answers, targets: Mapping[str, Answers], grid: int) -> dict[str, Any]:
    """Three ensembles that share no model: their errors are independent, given the images."""
    each = len(validation["probabilities"]) // 3
    if each < 2:
        return {}
    out: dict[str, Any] = {"models": each, "shifts": {}}
    for group, members in groups_of(list(targets)).items():
        found = []
        for start in range(0, 3 * each, each):
            part = slice(start, start + each)
            errors = Errors(_models(validation, part), grid)
            found.append([next(errors.of(_models(targets[name], part))) for name in members])
        out["shifts"][group] = {
            score: mean_and_spread([float(np.mean([abs(one[score].exact) for one in row])) for row in found])
            for score in ("conf", "ma")
        }
    return out


def _models(answers: Answers, part: slice) -> Answers:
    """The answers of some of the models; smoothness is left out."""
    return {"label": answers["label"], "probabilities": answers["probabilities"][part]}
