"""Dialogue shift: how a ranker of replies loses accuracy and calibration as conversations drift. Lee et al. (2021)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...models.torch.library import transformers
from ...predictions import Predictions
from ...verbs.estimate import estimate
from ..base import Progress, Recipe, Step, Workspace
from ..kit.claims import judged
from ..kit.publish import last_steps, of_study
from ..kit.sources import load_answers, placed
from ..kit.tables import mean_and_spread, rounded
from .findings import FIGURES, claims_of, markdown
from .study import (
    ENCODER_FILES,
    FORM,
    GROUPS,
    MODEL_FILES,
    PAPER_RATIOS,
    RUN_CONFIGS,
    Condition,
    RunConfig,
    RunData,
    ask,
    check,
    conditions_of,
    count,
    study,
    train,
    write_sets,
)

__all__ = ["RECIPE", "DialogueShift"]

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


def combine(workspace: Workspace, scale: str) -> dict[str, Any]:
    """One result of the study and of the estimators."""
    found = of_study(workspace, "dialogue-shift", scale)
    return {**found, "estimators": workspace.read_json("estimators.json")}


_ENCODER = "models/encoder"  # of the first member, for the importance of words
_TRAIN, _ASK = 330.0, 12.0  # seconds at the small scale, the second a condition; only bar and order depend on them


def steps_of(config: RunConfig, data: RunData) -> list[Step]:
    """All steps but the tables, each behind those that it needs."""
    conditions = conditions_of(config)
    marks: dict[str, Any] = {name: one["fingerprint"] for name, one in data.fingerprints().items()}
    marks |= {"seed": config.seed, "candidates": config.candidates}
    out = []
    training = {"network": dict(config.network), "training": config.training, "rows": config.train_rows}
    training |= {"candidates": config.train_candidates, "data": marks["train"], "seed": config.seed}
    for member in range(config.members):
        folder, encoder = f"models/{member}", _ENCODER if member == 0 else None
        work = placed(folder, train, data, member, encoder=encoder)
        files = [f"{folder}/{one}" for one in MODEL_FILES]
        files += [f"{encoder}/{one}" for one in ENCODER_FILES if encoder is not None]
        about, settings = f"training ranker {member + 1} of {config.members}", {**training, "member": member}
        out.append(Step(f"train-{member}", about, tuple(files), work, settings, (), _TRAIN))
    rows = [config.dev_rows, config.rows, config.turns_rows, config.length_rows, config.turns]
    for name, words, encoder in (("sets", "", None), ("sets-importance", " by the importance of words", _ENCODER)):
        some = [one for one in conditions if (one.group == "importance") == (encoder is not None)]
        work = placed("conditions", write_sets, data, some, encoder=encoder)
        files = [f"conditions/{one.name}.json" for one in some]
        needs, settings = ("train-0",) if encoder else (), {"data": marks, "rows": rows}
        out.append(Step(name, f"shifting the contexts{words}", tuple(files), work, settings, needs, 20.0))
    settings = {"data": marks, "ratios": PAPER_RATIOS, "turns": config.turns}
    about, counted = "counting the shifted contexts", partial(count, data)
    out.append(Step("counts", about, ("counts.json",), counted, settings, (), 80.0))

    def ask_step(name: str, about: str, member: int, some: Sequence[Condition], folder: str, passes: int) -> str:
        work = placed(folder, ask, data, some, f"models/{member}", passes=passes)
        sets = "sets-importance" if some and some[0].group == "importance" else "sets"
        files, settings = tuple(f"{folder}/{one.name}.npz" for one in some), {"passes": passes, "seed": config.seed}
        weight, needs = _ASK * len(some) * max(passes, 1), (f"train-{member}", sets)
        out.append(Step(name, f"asking ranker {member + 1} {about}", files, work, settings, needs, weight))
        return name

    asked, dropped = [], []
    for member in range(config.members):
        for group in GROUPS:
            some = [one for one in conditions if one.group == group]
            asked.append(ask_step(f"ask-{member}-{group}", f"about {group}", member, some, f"answers/{member}", 0))
    wanted, passes = config.dropout_conditions, config.dropout_passes
    for member in range(config.dropout_members):
        for one in conditions:
            if wanted is None or one.name in wanted:
                name, about = f"dropout-{member}-{one.name}", f"with dropout about {one.name}"
                dropped.append(ask_step(name, about, member, [one], f"answers/dropout-{member}", passes))
    judge, estimate = partial(study, config, data), partial(study_estimators, config)
    settings, before = {"form": FORM, "ensemble": config.ensemble}, ("counts", "sets", "sets-importance", *asked)
    return [
        *out,
        Step("study", "judging the answers", ("study.json",), judge, settings, (*before, *dropped), 30.0),
        Step("estimators", "every estimator", ("estimators.json",), estimate, settings, before, 60.0),
    ]


@final
class DialogueShift(Recipe):
    """The recipe; ``config`` replaces the usual one of each scale, for tests."""

    name = "dialogue-shift"
    title = "How does a dialogue model break as the conversation drifts?"
    citation = "lee2021"
    claims = staticmethod(lambda result: judged(claims_of(result)))
    to_markdown = staticmethod(markdown)
    row_key = "condition"
    side_by_side = True

    def __init__(self, config: Mapping[str, RunConfig] | None = None) -> None:
        self.config = dict(config or RUN_CONFIGS)

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """Shifts, trainings, questions and studies; then tables and figures, always made again."""
        transformers()  # a missing extra is said before anything is read
        config = self.config[scale]
        check(config)
        out = steps_of(config, RunData(config))
        return [*out, *last_steps(self, partial(combine, scale=scale), FIGURES, ("study", "estimators"))]


RECIPE = DialogueShift()
