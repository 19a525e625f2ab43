"""Scoring functions: which score of a sample predicts accuracy on shifted images. Trivedi et al. (2023)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from typing import final

from oodometer.errors import UsageError

from ...models.torch.library import torch
from ..base import Recipe, Step
from ..kit.publish import last_steps, of_tasks
from ..kit.sources import placed
from . import findings as found
from . import study as work
from .study import FORM, MODEL_FILES, RUN_CONFIGS, VARIANTS, RunConfig, RunData

__all__ = ["RECIPE", "ScoringFunctions"]


TASKS = ("clean", "measurement-noise", "under-sampling", "label-noise", "dominoes")
# About how many seconds a step takes at the small scale; only the bar depends on it.
_TRAIN, _ASK = 45.0, 30.0


@final
class _ConditionSteps:
    """Two ensembles trained on clean or compromised data, asked and judged; of the second, labels are flipped. On clean
    data there may be further ones like the first, without a model in common.
    """

    def __init__(self, condition: str, config: RunConfig, data: RunData) -> None:
        self.condition, self.config, self.data = condition, config, data
        self.is_clean = condition == "clean"
        self.epochs = config.training.epochs if self.is_clean else config.compromised_epochs
        self.members = {
            "ma": config.clean_members if self.is_clean else config.members,
            "ma-diverse": config.members,
        }
        self.sets = {
            "ma": self._sets_of(config.severities if self.is_clean else self._ends()),
            "ma-diverse": self._sets_of(self._ends()),
        }
        count = config.clean_ensembles if self.is_clean else 1
        self.further = [f"ma-{number}" for number in range(2, count + 1)]
        for variant in self.further:
            self.members[variant], self.sets[variant] = self.members["ma"], self.sets["ma"]

    def _ends(self) -> Iterable[int]:
        """The mildest and the strongest severity."""
        return dict.fromkeys((min(self.config.severities), max(self.config.severities)))

    def _sets_of(self, severities: Iterable[int]) -> dict[str, tuple[str, ...]]:
        """Sets of images that are asked about in one step: natural ones, and the corruptions of a severity."""
        corrupted = {
            str(severity): tuple(f"{kind}-{severity}" for kind in self.data.kinds)
            for severity in severities
        }
        return {"source": ("validation", *self.data.present)} | corrupted

    def all(self) -> list[Step]:
        """All of them in order."""
        steps, ask_steps = list[Step](), list[str]()
        for variant in (*VARIANTS, *self.further):
            steps += [self.train(variant, member) for member in range(self.members[variant])]
            questions = [self.ask(variant, part) for part in self.sets[variant]]
            ask_steps += [step.name for step in questions]
            steps += questions
        return [*steps, self.study(ask_steps)]

    def train(self, variant: str, member: int) -> Step:
        """A training of one member."""
        condition, config, epochs = self.condition, self.config, self.epochs
        folder = f"{condition}/models/{variant}-{member}"
        flipped = config.flipped if variant == "ma-diverse" else 0.0
        number = member  # of its seed, another one for each plain model
        if variant in self.further:
            number += (1 + self.further.index(variant)) * self.members["ma"]

        return Step(
            f"{condition}/train-{variant}-{member}",
            f"{condition}: training model {member + 1} of {self.members[variant]} ({variant})",
            files=tuple(f"{folder}/{file}" for file in MODEL_FILES),
            work=placed(
                folder, work.train_condition, self.data, condition, flipped, epochs, number
            ),
            settings={
                "network": dict(config.network),
                "training": config.training,
                "epochs": epochs,
                "condition": condition,
                "flipped": flipped,
                "seed": config.seed + number,
                "data": self.data.parts["train"].fingerprint,
            },
            weight=_TRAIN,
        )

    def ask(self, variant: str, part: str) -> Step:
        """What all members say of the natural sets, or of the corruptions of a severity."""
        condition, config, data = self.condition, self.config, self.data
        folder, sets = f"{condition}/answers-{variant}", self.sets[variant][part]
        models = [f"{variant}-{member}" for member in range(self.members[variant])]
        policies = {"published": ("timm", config.bases)} if variant == "ma" else {}
        if variant == "ma" and self.is_clean:
            policies["views"] = ("increasing", config.mild_bases)

        about = part if part == "source" else f"severity {part}"
        return Step(
            f"{condition}/ask-{variant}-{part}",
            f"{condition}: asking about {about} ({variant})",
            files=tuple(f"{folder}/{name}.npz" for name in sets),
            work=placed(folder, work.ask_condition, data, condition, models, part, policies),
            settings={
                "rows": config.rows,
                "overlap": config.overlap,
                "seed": config.seed,
                "validation": data.parts["validation"].fingerprint,
                "held": data.parts["held"].fingerprint,
                "policies": policies,
                "views": config.views,
                "view_rows": config.view_rows,
            },
            needs=tuple(f"{condition}/train-{model}" for model in models),
            weight=_ASK,
        )

    def study(self, ask_steps: Sequence[str]) -> Step:
        """What is found in all answers."""
        targets = {
            variant: [name for name in chain.from_iterable(sets.values()) if name != "validation"]
            for variant, sets in self.sets.items()
        }
        return Step(
            f"{self.condition}/study",
            f"{self.condition}: judging the scores",
            files=(f"{self.condition}/result.json",),
            work=partial(work.study_condition, self.data, self.condition, targets),
            settings={
                "form": FORM,
                "groups": self.config.groups,
                "view_rows": self.config.view_rows,
            },
            needs=tuple(ask_steps),
            weight=5.0,
        )


@final
class _DominoesSteps:
    """Networks trained on a simple image above a complex one, for each correlation of the two, asked and judged."""

    def __init__(self, config: RunConfig, data: RunData) -> None:
        self.config, self.data = config, data

    def all(self) -> list[Step]:
        """All of them in order."""
        steps, ask_steps = list[Step](), list[str]()
        for correlation in self.config.dominoes.correlations:
            trainings = self.train(correlation)
            question = self.ask(correlation, [step.name for step in trainings])
            steps += [*trainings, question]
            ask_steps.append(question.name)
        return [*steps, self.study(ask_steps)]

    def train(self, correlation: float) -> list[Step]:
        """The trainings of all members at a correlation."""
        config, sizes, data = self.config, self.config.dominoes, self.data
        return [
            Step(
                f"dominoes/train-{correlation:g}-{member}",
                f"dominoes: training at correlation {correlation:g}, model {member + 1}",
                files=tuple(f"{folder}/{file}" for file in MODEL_FILES),
                work=partial(work.train_dominoes, data, correlation, member),
                settings={
                    "network": dict(config.network),
                    "training": config.training,
                    "rows": sizes.train_rows,
                    "data": data.parts["train"].fingerprint,
                    "epochs": sizes.epochs,
                    "correlation": correlation,
                    "seed": config.seed + member,
                },
                weight=25.0,
            )
            for member, folder in enumerate(work.folders_of(correlation, sizes.members))
        ]

    def ask(self, correlation: float, trained: Sequence[str]) -> Step:
        """What the networks of a correlation say of the images of the threshold and of both targets."""
        config, folder = self.config, f"dominoes/answers/{correlation:g}"
        return Step(
            f"dominoes/ask-{correlation:g}",
            f"dominoes: asking at correlation {correlation:g}",
            files=tuple(f"{folder}/{target}.npz" for target in ("validation", *work.TARGETS)),
            work=partial(work.ask_dominoes, self.data, correlation),
            settings={
                "severity": config.dominoes.severity,
                "views": config.views,
                "view_rows": config.view_rows,
                "seed": config.seed,
                "held": self.data.parts["held"].fingerprint,
                "far": list(self.data.present),
            },
            needs=tuple(trained),
            weight=25.0,
        )

    def study(self, ask_steps: Sequence[str]) -> Step:
        """What is found in all answers."""
        sizes = self.config.dominoes
        return Step(
            "dominoes/study",
            "dominoes: judging the scores and the alarms",
            files=("dominoes/result.json",),
            work=partial(work.study_dominoes, self.data),
            settings={
                "form": FORM,
                "groups": self.config.groups,
                "labels": sizes.labels,
                "draws": sizes.draws,
            },
            needs=tuple(ask_steps),
            weight=120.0,
        )


@final
class ScoringFunctions(Recipe):
    """The recipe."""

    name = "scoring-functions"
    title = "Which score of a sample predicts accuracy?"
    citation = "trivedi2023"
    findings, form, configs = found, FORM, RUN_CONFIGS
    side_by_side = True

    def tasks(self, scale: str) -> tuple[str, ...]:
        """The conditions of the training data, and the dominoes."""
        return TASKS

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """Every task by itself, then the tables over all that are finished; with ``only`` no other tasks."""
        torch()  # a missing extra is said before anything is read
        chosen = [task for task in TASKS if not only or task in only]
        if not chosen:
            raise UsageError(f"expected tasks among {', '.join(TASKS)}, got {', '.join(only)}")
        config = self.config[scale]
        data = RunData(config)
        out: list[Step] = []
        for task in chosen:
            if task == "dominoes":
                out += _DominoesSteps(config, data).all()
            else:
                out += _ConditionSteps(task, config, data).all()
        combined = partial(of_tasks, paper=self.name, scale=scale, form=FORM, names=TASKS)
        return [*out, *last_steps(self, combined, [f"{task}/study" for task in chosen])]


RECIPE = ScoringFunctions()
