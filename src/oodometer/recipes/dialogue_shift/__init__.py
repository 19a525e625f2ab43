"""Dialogue shift: how a ranker of replies loses accuracy and calibration as conversations drift. Lee et al. (2021)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, final

from ...models.torch.library import transformers
from ..base import Recipe, Step, Workspace
from ..kit.claims import judged
from ..kit.publish import last_steps, of_study
from ..kit.sources import placed
from . import study as work
from .findings import FIGURES, claims_of, markdown
from .study import FORM, GROUPS, RUN_CONFIGS, Condition, RunConfig, RunData, conditions_of

__all__ = ["RECIPE", "DialogueShift"]


def combine(workspace: Workspace, scale: str) -> dict[str, Any]:
    """One result of the study and of the estimators."""
    return {**of_study(workspace, "dialogue-shift", scale), "estimators": workspace.read_json("estimators.json")}


_ENCODER = "models/encoder"  # of the first member, for the importance of words
_TRAIN, _ASK = 330.0, 12.0  # seconds at the small scale, the second a condition; only bar and order depend on them


def steps_of(config: RunConfig, data: RunData) -> list[Step]:
    """All steps but the tables, each behind those that it needs."""
    conditions = conditions_of(config)
    marks: dict[str, Any] = {name: split["fingerprint"] for name, split in data.fingerprints().items()}
    marks |= {"seed": config.seed, "candidates": config.candidates}
    out = []
    training = {"network": dict(config.network), "training": config.training, "rows": config.train_rows}
    training |= {"candidates": config.train_candidates, "data": marks["train"], "seed": config.seed}
    for member in range(config.members):
        folder, encoder = f"models/{member}", _ENCODER if member == 0 else None
        step = placed(folder, work.train, data, member, encoder=encoder)
        files = [f"{folder}/{file}" for file in work.MODEL_FILES]
        files += [f"{encoder}/{file}" for file in work.ENCODER_FILES if encoder is not None]
        about, settings = f"training ranker {member + 1} of {config.members}", {**training, "member": member}
        out.append(Step(f"train-{member}", about, tuple(files), step, settings, (), _TRAIN))
    rows = [config.dev_rows, config.rows, config.turns_rows, config.length_rows, config.turns]
    for name, words, encoder in (("sets", "", None), ("sets-importance", " by the importance of words", _ENCODER)):
        some = [condition for condition in conditions if (condition.group == "importance") == (encoder is not None)]
        step = placed("conditions", work.write_sets, data, some, encoder=encoder)
        files = [f"conditions/{condition.name}.json" for condition in some]
        needs, settings = ("train-0",) if encoder else (), {"data": marks, "rows": rows}
        out.append(Step(name, f"shifting the contexts{words}", tuple(files), step, settings, needs, 20.0))
    settings = {"data": marks, "ratios": work.PAPER_RATIOS, "turns": config.turns}
    about, counted = "counting the shifted contexts", partial(work.count, data)
    out.append(Step("counts", about, ("counts.json",), counted, settings, (), 80.0))

    def ask_step(name: str, about: str, member: int, some: Sequence[Condition], folder: str, passes: int) -> str:
        step = placed(folder, work.ask, data, some, f"models/{member}", passes=passes)
        sets = "sets-importance" if some and some[0].group == "importance" else "sets"
        files = tuple(f"{folder}/{condition.name}.npz" for condition in some)
        settings = {"passes": passes, "seed": config.seed}
        weight, needs = _ASK * len(some) * max(passes, 1), (f"train-{member}", sets)
        out.append(Step(name, f"asking ranker {member + 1} {about}", files, step, settings, needs, weight))
        return name

    asked, dropped = [], []
    for member in range(config.members):
        for group in GROUPS:
            some = [condition for condition in conditions if condition.group == group]
            asked.append(ask_step(f"ask-{member}-{group}", f"about {group}", member, some, f"answers/{member}", 0))
    wanted, passes = config.dropout_conditions, config.dropout_passes
    for member in range(config.dropout_members):
        for condition in conditions:
            if wanted is None or condition.name in wanted:
                name, about = f"dropout-{member}-{condition.name}", f"with dropout about {condition.name}"
                dropped.append(ask_step(name, about, member, [condition], f"answers/dropout-{member}", passes))
    judge, estimate = partial(work.judge, config, data), partial(work.study_estimators, config)
    settings, before = {"form": FORM, "ensemble": config.ensemble}, ("counts", "sets", "sets-importance", *asked)
    return [
        *out,
        Step("study", "judging the answers", ("study.json",), judge, settings, (*before, *dropped), 30.0),
        Step("estimators", "every estimator", ("estimators.json",), estimate, settings, before, 60.0),
    ]


@final
class DialogueShift(Recipe):
    """The recipe."""

    name = "dialogue-shift"
    title = "How does a dialogue model break as the conversation drifts?"
    citation = "lee2021"
    claims = staticmethod(lambda result: judged(claims_of(result)))
    to_markdown = staticmethod(markdown)
    form, figures = FORM, FIGURES
    configs = RUN_CONFIGS
    row_key = "condition"
    side_by_side = True

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """Shifts, trainings, questions and studies; then tables and figures, always made again."""
        transformers()  # a missing extra is said before anything is read
        config = self.config[scale]
        work.check(config)
        out = steps_of(config, RunData(config))
        return [*out, *last_steps(self, partial(combine, scale=scale), ("study", "estimators"))]


RECIPE = DialogueShift()
