"""Beyond the paper: what `estimate` says of each condition without labels, the validation split being the reference."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from ...arrays import Array
from ...predictions import Predictions
from ...verbs.estimate import estimate
from ..base import Progress, Workspace
from ..kit.tables import rounded
from .data import conditions_of
from .run_config import RunConfig
from .study import FORM, mean_and_spread
from .work import load_answers

__all__ = ["LEVEL", "record_of", "study_estimators"]

LEVEL = 0.9


def record_of(answers: dict[str, Array], *, labels: bool = True) -> Predictions:
    """The answers of a member as a record of candidates."""
    fields = {"label": answers["target"]} if labels else {}
    return Predictions.from_candidates(answers["logits"], **fields)


def study_estimators(config: RunConfig, workspace: Workspace, progress: Progress) -> None:
    """What every estimator that applies, and the headline, say of each member; writes ``estimators.json``."""
    members = range(config.members)
    references = [record_of(load_answers(workspace, f"answers/{i}", "dev")) for i in members]
    kept = [one for one in conditions_of(config) if len(load_answers(workspace, "answers/0", one.name)["ids"])]
    targets = [one for one in kept if one.name != "dev"]
    out: list[dict[str, Any]] = []
    for done, one in enumerate(targets, 1):
        said: dict[str, list[float]] = defaultdict(list)
        truth, inside, ends = [], [], []
        for i in members:
            answers = load_answers(workspace, f"answers/{i}", one.name)
            truth.append(float((answers["logits"].argmax(1) == answers["target"]).mean()))
            target = record_of(answers, labels=False)
            found = estimate(references[i], target, level=LEVEL, target_accuracies=(), seed=config.seed)
            head = found.headline.interval
            for method, value in {"headline": head.value, **{o.method: o.value for o in found.estimates}}.items():
                said[method].append(value)
            inside.append(float(head.lower <= truth[-1] <= head.upper))
            ends.append((head.lower, head.upper))
        told = {
            method: {
                "said": mean_and_spread(values),
                "error": mean_and_spread([abs(a - b) for a, b in zip(values, truth, strict=True)]),
            }
            for method, values in said.items()
            if len(values) == len(truth)
        }
        about = {"condition": one.name, "group": one.group, "label": one.label, "truth": mean_and_spread(truth)}
        lower, upper = np.mean(ends, axis=0).tolist()
        out.append({**about, "inside": sum(inside) / len(inside), "lower": lower, "upper": upper, "methods": told})
        progress(done, len(targets))
    workspace.write_json("estimators.json", rounded({"form": FORM, "level": LEVEL, "conditions": out}))
