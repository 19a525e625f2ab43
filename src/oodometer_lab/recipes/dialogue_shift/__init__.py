"""Dialogue shift: how a ranker of replies loses accuracy and calibration as conversations drift. Lee et al. (2021)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
# Seconds at the small scale, the second of one condition; only bar and order depend on them.
_TRAIN, _ASK = 330.0, 12.0


@final
class _Steps:
    """The steps of a run but the tables, each behind those that it needs."""

    def __init__(self, config: RunConfig, data: RunData) -> None:
        self.config, self.data, self.conditions = config, data, conditions_of(config)
        self.marks: dict[str, Any] = {
            name: split["fingerprint"] for name, split in data.fingerprints().items()
        }
        self.marks |= {"seed": config.seed, "candidates": config.candidates}
        self.rows = [
            config.dev_rows,
            config.rows,
            config.word_rows,
            config.turns_rows,
            config.length_rows,
            config.turns,
            config.unused_lengths,
        ]

    def all(self) -> list[Step]:
        """All of them in order; on a frozen encoder one more ranker says which words are important."""
        if self.config.frozen:
            prepared = [
                *(self.encode(name) for name in ("turns", "train")),
                *(self.train(member) for member in range(self.config.members + 1)),
                self.weigh(),
            ]
            by, needs = ".", "weigh"
        else:
            prepared = [self.train(member) for member in range(self.config.members)]
            by, needs = _ENCODER, "train-0"
        shifted = [
            *self.shift("sets", "", [c for c in self.conditions if c.group != "importance"]),
            *self.shift(
                "sets-importance",
                " by importance",
                [c for c in self.conditions if c.group == "importance"],
                by,
                (needs,),
            ),
        ]
        ask_steps = list(self.ask_all())
        return [*prepared, *shifted, self.count(), *ask_steps, *self.studies(ask_steps)]

    def encode(self, name: str, *needs: str) -> Step:
        """Vectors of the sentences of a name, see `RunData.vectors`."""
        config = self.config
        settings: dict[str, Any] = {
            "network": {key: config.network[key] for key in ("source", "max_length", "turns")},
            "data": self.marks,
        }
        if name == "train":
            settings |= {"rows": config.train_rows, "of": config.train_conversations}
        else:
            settings |= {"rows": self.rows, "lengths": config.lengths}
        return Step(
            f"encode-{name}",
            f"encoding sentences: {name}",
            files=(f"vectors/{name}.npz",),
            work=placed("vectors", work.encode, self.data, name),
            settings=settings,
            needs=needs,
            weight=60.0,
        )

    def train(self, member: int) -> Step:
        """A ranker: a head on the frozen encoder, or a cross-encoder, of which the first leaves its encoder, too."""
        config, folder = self.config, f"models/{member}"
        encoder = _ENCODER if member == 0 and not config.frozen else None
        names = work.HEAD_FILES if config.frozen else work.MODEL_FILES
        files = [f"{folder}/{name}" for name in names]
        if encoder is not None:
            files += [f"{encoder}/{name}" for name in work.ENCODER_FILES]
        return Step(
            f"train-{member}",
            f"training ranker {member + 1} of {config.members}",
            files=tuple(files),
            work=placed(folder, work.train, self.data, member, encoder=encoder),
            settings={
                "network": dict(config.network),
                "training": config.training,
                "rows": config.train_rows,
                "candidates": config.train_candidates,
                "data": self.marks["train"],
                "seed": config.seed,
                "conversations": config.train_conversations,
                "member": member,
            },
            needs=("encode-train",) if config.frozen else (),
            weight=15.0 if config.frozen else _TRAIN,
        )

    def weigh(self) -> Step:
        """The importance of each word to the ranker behind the members."""
        return Step(
            "weigh",
            "weighing words",
            files=("importance.npz",),
            work=placed(".", work.weigh, self.data, self.config.members),
            settings={"data": self.marks, "rows": self.rows},
            needs=(f"train-{self.config.members}", "encode-turns"),
            weight=300.0,
        )

    def shift(
        self,
        name: str,
        words: str,
        conditions: Sequence[Condition],
        by: str | None = None,
        needs: tuple[str, ...] = (),
    ) -> Iterator[Step]:
        """The contexts of some conditions, then the vectors of sentences that no conversation has; ``by``: where the
        importance of words lies.
        """
        yield Step(
            name,
            f"shifting the contexts{words}",
            files=tuple(f"conditions/{condition.name}.json" for condition in conditions),
            work=placed("conditions", work.write_sets, self.data, conditions, by=by),
            settings={"data": self.marks, "rows": self.rows},
            needs=needs,
            weight=20.0,
        )
        if self.config.frozen:
            for condition in conditions:
                if condition.group in work.WORDS:
                    yield self.encode(condition.name, name)

    def count(self) -> Step:
        """Contexts that can be shifted, and words exchanged."""
        return Step(
            "counts",
            "counting the shifted contexts",
            files=("counts.json",),
            work=partial(work.count, self.data),
            settings={"data": self.marks, "ratios": work.PAPER_RATIOS, "turns": self.config.turns},
            weight=80.0,
        )

    def ask_all(self) -> Iterator[Step]:
        """Questions about each group of conditions, to each member, or on a frozen encoder to all members at once."""
        config, every = self.config, list(range(self.config.members))
        for members in [every] if config.frozen else [[member] for member in every]:
            for group in GROUPS:
                label = group if config.frozen else f"{members[0]}-{group}"
                conditions = [
                    condition for condition in self.conditions if condition.group == group
                ]
                yield self.ask(f"ask-{label}", f"asking about {label}", members, conditions)
                conditions = [c for c in conditions if config.has_dropout(c.name)]
                members_dropping = [m for m in members if m < config.dropout_members]
                if conditions and members_dropping:
                    about, passes = f"asking with dropout about {label}", config.dropout_passes
                    yield self.ask(f"dropout-{label}", about, members_dropping, conditions, passes)

    def ask(
        self,
        name: str,
        about: str,
        members: Sequence[int],
        conditions: Sequence[Condition],
        passes: int = 0,
    ) -> Step:
        """What members say of conditions, with dropout where there are passes."""
        kind = "dropout-" if passes else ""
        files = tuple(f"answers/{kind}{m}/{c.name}.npz" for m in members for c in conditions)
        needs = [f"train-{member}" for member in members]
        needs += {"sets-importance" if c.group == "importance" else "sets" for c in conditions}
        if self.config.frozen:
            needs.append("encode-turns")
            needs += [f"encode-{c.name}" for c in conditions if c.group in work.WORDS]
        return Step(
            name,
            about,
            files,
            work=placed("answers", work.ask, self.data, conditions, members, passes=passes),
            settings={"passes": passes, "seed": self.config.seed},
            needs=tuple(needs),
            weight=(0.2 if self.config.frozen else _ASK) * len(files) * max(passes, 1),
        )

    def studies(self, ask_steps: Sequence[Step]) -> tuple[Step, Step]:
        """What is found in all answers, and what estimators find in those without dropout."""
        names, settings = [step.name for step in ask_steps], {"form": FORM}
        settings["ensemble"] = self.config.ensemble
        plain = [name for name in names if name.startswith("ask-")]
        needs = ("counts", "sets", "sets-importance", *plain)
        study = Step(
            "study",
            "judging the answers",
            files=("study.json",),
            work=partial(work.judge, self.config, self.data),
            settings=settings,
            needs=(*needs, *(name for name in names if name not in plain)),
            weight=30.0,
        )
        estimators = Step(
            "estimators",
            "every estimator",
            files=("estimators.json",),
            work=partial(work.study_estimators, self.config),
            settings=settings,
            needs=needs,
            weight=60.0,
        )
        return study, estimators


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
        steps = _Steps(config, RunData(config)).all()
        return [*steps, *last_steps(self, partial(combine, scale=scale), ("study", "estimators"))]


RECIPE = DialogueShift()
