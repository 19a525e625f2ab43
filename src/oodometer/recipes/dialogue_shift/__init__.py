"""Dialogue shift: how a ranker of replies loses accuracy and calibration as conversations drift. Lee et al. (2021)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, final

from ...models.torch.library import transformers
from ..base import Recipe, Step, Workspace
from ..kit.publish import last_steps, of_study
from ..kit.sources import placed
from . import findings as found
from . import study as work
from .study import FORM, GROUPS, RUN_CONFIGS, Condition, RunConfig, RunData, conditions_of

__all__ = ["RECIPE", "DialogueShift"]


def combine(workspace: Workspace, scale: str) -> dict[str, Any]:
    """One result of the study and of the estimators."""
    return {
        **of_study(workspace, "dialogue-shift", scale),
        "estimators": workspace.read_json("estimators.json"),
    }


_ENCODER = "models/encoder"  # of the first member, for the importance of words
_TRAIN, _ASK = (
    330.0,
    12.0,
)  # seconds at the small scale, the second a condition; only bar and order depend on them


def steps_of(config: RunConfig, data: RunData) -> list[Step]:
    """All steps but the tables, each behind those that it needs."""
    conditions = conditions_of(config)
    marks: dict[str, Any] = {
        name: split["fingerprint"] for name, split in data.fingerprints().items()
    }
    marks |= {"seed": config.seed, "candidates": config.candidates}
    out = []
    training = {
        "network": dict(config.network),
        "training": config.training,
        "rows": config.train_rows,
    }
    training |= {"candidates": config.train_candidates, "data": marks["train"], "seed": config.seed}
    training |= {"conversations": config.train_conversations}
    rows = [config.dev_rows, config.rows, config.turns_rows, config.length_rows, config.turns]
    frozen, weighed = config.frozen, f"train-{config.members if config.frozen else 0}"

    def encode_step(name: str, *needs: str, weight: float = 60.0) -> None:
        network = {name: config.network[name] for name in ("source", "max_length", "turns")}
        settings: dict[str, Any] = {
            "network": network,
            "data": marks,
            "rows": rows,
            "lengths": config.lengths,
        }
        if name == "train":
            settings = {
                "network": network,
                "data": marks,
                "rows": config.train_rows,
                "of": config.train_conversations,
            }
        step, files = placed("vectors", work.encode, data, name), (f"vectors/{name}.npz",)
        out.append(
            Step(
                f"encode-{name}",
                f"encoding sentences: {name}",
                files,
                step,
                settings,
                needs,
                weight,
            )
        )

    for name in ("turns", "train") if frozen else ():
        encode_step(name)
    for member in range(
        config.members + frozen
    ):  # the one behind the members says which words are important
        folder, encoder = f"models/{member}", _ENCODER if member == 0 and not frozen else None
        step = placed(folder, work.train, data, member, encoder=encoder)
        files = [f"{folder}/{file}" for file in (work.HEAD_FILES if frozen else work.MODEL_FILES)]
        files += [f"{encoder}/{file}" for file in work.ENCODER_FILES if encoder is not None]
        about, settings = (
            f"training ranker {member + 1} of {config.members}",
            {**training, "member": member},
        )
        needs: tuple[str, ...] = ("encode-train",) if frozen else ()
        out.append(
            Step(
                f"train-{member}",
                about,
                tuple(files),
                step,
                settings,
                needs,
                15.0 if frozen else _TRAIN,
            )
        )
    if frozen:
        step, needs = placed(".", work.weigh, data, config.members), (weighed, "encode-turns")
        weighed, settings = "weigh", {"data": marks, "rows": rows}
        out.append(
            Step("weigh", "weighing words", ("importance.npz",), step, settings, needs, 300.0)
        )
    for name, words, by in (
        ("sets", "", None),
        ("sets-importance", " by importance", "." if frozen else _ENCODER),
    ):
        some = [
            condition
            for condition in conditions
            if (condition.group == "importance") == (by is not None)
        ]
        step = placed("conditions", work.write_sets, data, some, by=by)
        files = [f"conditions/{condition.name}.json" for condition in some]
        needs, settings = (weighed,) if by else (), {"data": marks, "rows": rows}
        out.append(
            Step(name, f"shifting the contexts{words}", tuple(files), step, settings, needs, 20.0)
        )
        for condition in some:
            if frozen and condition.group in work.WORDS:
                encode_step(condition.name, name)
    settings = {"data": marks, "ratios": work.PAPER_RATIOS, "turns": config.turns}
    about, counted = "counting the shifted contexts", partial(work.count, data)
    out.append(Step("counts", about, ("counts.json",), counted, settings, (), 80.0))

    def ask_step(
        name: str, about: str, members: Sequence[int], some: Sequence[Condition], passes: int
    ) -> str:
        step = placed("answers", work.ask, data, some, members, passes=passes)
        kind = "dropout-" if passes else ""
        sets = {
            "sets-importance" if condition.group == "importance" else "sets" for condition in some
        }
        files = tuple(
            f"answers/{kind}{member}/{condition.name}.npz"
            for member in members
            for condition in some
        )
        settings, needs = (
            {"passes": passes, "seed": config.seed},
            [*(f"train-{member}" for member in members), *sets],
        )
        if frozen:
            needs += ["encode-turns", *(f"encode-{c.name}" for c in some if c.group in work.WORDS)]
        weight = (0.2 if frozen else _ASK) * len(files) * max(passes, 1)
        out.append(Step(name, f"asking {about}", files, step, settings, tuple(needs), weight))
        return name

    asked, dropped, wanted, passes = [], [], config.dropout_conditions, config.dropout_passes
    every = list(range(config.members))
    for members in [every] if frozen else [[member] for member in every]:
        for group in GROUPS:
            label = f"{group}" if frozen else f"{members[0]}-{group}"
            some = [condition for condition in conditions if condition.group == group]
            asked.append(ask_step(f"ask-{label}", f"about {label}", members, some, 0))
            some = [condition for condition in some if wanted is None or condition.name in wanted]
            more = [member for member in members if member < config.dropout_members]
            if some and more:
                dropped.append(
                    ask_step(f"dropout-{label}", f"with dropout about {label}", more, some, passes)
                )
    judge, estimate = partial(work.judge, config, data), partial(work.study_estimators, config)
    settings, before = (
        {"form": FORM, "ensemble": config.ensemble},
        ("counts", "sets", "sets-importance", *asked),
    )
    return [
        *out,
        Step(
            "study",
            "judging the answers",
            ("study.json",),
            judge,
            settings,
            (*before, *dropped),
            30.0,
        ),
        Step(
            "estimators", "every estimator", ("estimators.json",), estimate, settings, before, 60.0
        ),
    ]


@final
class DialogueShift(Recipe):
    """The recipe."""

    name = "dialogue-shift"
    title = "How does a dialogue model break as the conversation drifts?"
    citation = "lee2021"
    findings, form, configs = found, FORM, RUN_CONFIGS
    side_by_side = True

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """Shifts, trainings, questions and studies; then tables and figures, always made again."""
        transformers()  # a missing extra is said before anything is read
        config = self.config[scale]
        work.check(config)
        out = steps_of(config, RunData(config))
        return [*out, *last_steps(self, partial(combine, scale=scale), ("study", "estimators"))]


RECIPE = DialogueShift()
