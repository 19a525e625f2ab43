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
from .data import (
    ENCODER_FILES,
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
    train,
    write_sets,
)
from .findings import claims_of
from .markdown import FIGURES, markdown
from .study import FORM, study

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


@final
class Steps:
    """All steps but the tables."""

    def __init__(self, config: RunConfig, data: RunData) -> None:
        self.config, self.data = config, data
        self.conditions = conditions_of(config)
        known = data.fingerprints()
        self._data: dict[str, Any] = {name: one["fingerprint"] for name, one in known.items()}
        self._data |= {"seed": config.seed, "candidates": config.candidates}
        self._training = {"network": dict(config.network), "training": config.training, "rows": config.train_rows}
        self._training |= {"candidates": config.train_candidates, "data": self._data["train"], "seed": config.seed}

    def all(self) -> list[Step]:
        """The steps in an order in which each stands behind those that it needs."""
        out = [self._train(member) for member in range(self.config.members)]
        out += [self._sets("sets", self._of(*(one for one in GROUPS if one != "importance")))]
        out += [self._sets("sets-importance", self._of("importance"))]
        out += [self._count()]
        asked = [self._ask(member, group) for member in range(self.config.members) for group in GROUPS]
        wanted = self.config.dropout_conditions
        dropped = [
            self._dropout(member, one)
            for member in range(self.config.dropout_members)
            for one in self.conditions
            if wanted is None or one.name in wanted
        ]
        out += [*asked, *dropped]
        return [*out, *self._studies([one.name for one in asked], [one.name for one in dropped])]

    def _of(self, *groups: str) -> list[Condition]:
        return [one for one in self.conditions if one.group in groups]

    def _count(self) -> Step:
        settings = {"data": self._data, "ratios": PAPER_RATIOS, "turns": self.config.turns}
        return Step(
            "counts", "counting the shifted contexts", ("counts.json",), partial(count, self.data), settings, (), 80.0
        )

    def _sets(self, name: str, conditions: Sequence[Condition]) -> Step:
        by_importance = name != "sets"
        encoder = _ENCODER if by_importance else None
        work = placed("conditions", write_sets, self.data, conditions, encoder=encoder)
        config = self.config
        rows = [config.dev_rows, config.rows, config.turns_rows, config.length_rows, config.turns]
        settings = {"data": self._data, "rows": rows}
        files = tuple(f"conditions/{one.name}.json" for one in conditions)
        needs = ("train-0",) if by_importance else ()
        about = "shifting the contexts" + (" by the importance of words" if by_importance else "")
        return Step(name, about, files, work, settings, needs, 20.0)

    def _train(self, member: int) -> Step:
        folder, encoder = f"models/{member}", _ENCODER if member == 0 else None
        work = placed(folder, train, self.data, member, encoder=encoder)
        files = [f"{folder}/{one}" for one in MODEL_FILES]
        files += [f"{encoder}/{one}" for one in ENCODER_FILES if encoder is not None]
        about = f"training ranker {member + 1} of {self.config.members}"
        return Step(f"train-{member}", about, tuple(files), work, {**self._training, "member": member}, (), _TRAIN)

    def _ask(self, member: int, group: str) -> Step:
        conditions = self._of(group)
        about = f"asking ranker {member + 1} about {group}"
        return self._asking(f"ask-{member}-{group}", about, member, conditions, f"answers/{member}", 0)

    def _dropout(self, member: int, condition: Condition) -> Step:
        about = f"asking ranker {member + 1} with dropout about {condition.name}"
        name, passes = f"dropout-{member}-{condition.name}", self.config.dropout_passes
        return self._asking(name, about, member, [condition], f"answers/dropout-{member}", passes)

    def _asking(
        self, name: str, about: str, member: int, conditions: Sequence[Condition], folder: str, passes: int
    ) -> Step:
        work = placed(folder, ask, self.data, conditions, f"models/{member}", passes=passes)
        files = tuple(f"{folder}/{one.name}.npz" for one in conditions)
        sets = "sets-importance" if conditions and conditions[0].group == "importance" else "sets"
        weight = _ASK * len(conditions) * max(passes, 1)
        settings = {"passes": passes, "seed": self.config.seed}
        return Step(name, about, files, work, settings, (f"train-{member}", sets), weight)

    def _studies(self, asked: Sequence[str], dropped: Sequence[str]) -> list[Step]:
        judge, estimate = partial(study, self.config, self.data), partial(study_estimators, self.config)
        settings = {"form": FORM, "ensemble": self.config.ensemble}
        needs = ("counts", "sets", "sets-importance", *asked)
        return [
            Step("study", "judging the answers", ("study.json",), judge, settings, (*needs, *dropped), 30.0),
            Step("estimators", "every estimator", ("estimators.json",), estimate, settings, needs, 60.0),
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
        out = Steps(config, RunData(config)).all()

        return [*out, *last_steps(self, partial(combine, scale=scale), FIGURES, ("study", "estimators"))]


RECIPE = DialogueShift()
