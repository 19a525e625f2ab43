"""Correctness discriminators: bounds on sequence models from judges of their outputs. Yao and Koller (2024)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, final

from oodometer.errors import UsageError

from ...models.torch.library import torch, use_threads
from ...verbs.discriminate.worth import PROBABILITY
from ..base import LACKS, Progress, Recipe, Step, Workspace, check_all
from ..kit.publish import last_steps
from . import findings as found
from . import study as work
from .study import FOLDS, FORM, PARTS, SHARE, TaskData
from .tasks import Task, needs_of, pretrained_of, replicates_of, tasks_of

__all__ = ["RECIPE", "CorrectnessDiscriminators"]

_MODEL = ("oodometer_model.json", "weights.safetensors")
Names = Sequence[str]
_NETWORK = tuple(f"model/{file}" for file in _MODEL)


@final
class _TaskSteps:
    """The steps of a task, whose files lie in its own folder; all trainings of a task share the pretraining."""

    def __init__(self, task: Task) -> None:
        self.task, self.config, self.data = task, task.config, TaskData(task)
        self.marks = {part: self.data.set(part).fingerprint for part in PARTS}
        self.halves = [f"half-{fold}" for fold in range(FOLDS)] if task.config.halves else []
        self.judges = [f"judge-{member}" for member in range(task.config.judges)]

    def all(self) -> list[Step]:
        """All of them in order: a parser, its mistakes, judges that learn from them, their votes, what these say."""
        task = self.task
        steps = [self.train_parser(), self.collect_mistakes()]
        if self.halves:
            steps += [self.train_half(fold) for fold in range(FOLDS)]
            steps.append(self.collect_unseen())
        if self.config.pretraining is not None:
            steps.append(self.pretrain_judges())
        steps += [self.train_judge(member) for member in range(self.config.judges)]
        sets = ("dev", *(test.name for test in task.tests))
        steps += [self.ask(name) for name in sets]
        of_task = f"{task.name}/"
        timed = [step.name.removeprefix(of_task) for step in steps if step.name.startswith(of_task)]
        ask_steps, more = [f"ask-{name}" for name in sets], dict[str, str]()
        if task.pseudo_labels is not None:
            steps.append(self.train_on_accepted(ask_steps))
            more["self_training"] = "self-training"
        if task.metric is not None:
            steps.append(self.learn_metric(ask_steps))
            more["metric"] = "metric"
        return [*steps, self.study(timed, ask_steps, more)]

    def _step(
        self,
        name: str,
        about: str,
        files: Names,
        doing: Callable[..., None],
        settings: Mapping[str, Any],
        needs: Names = (),
        share: float = 0.0,
    ) -> Step:
        """A step; files and needed steps are those of the task, ``share`` is of the time that all take."""
        folder = self._folder_of(name)
        return Step(
            f"{folder}/{name}",
            f"{self.task.title}: {about}",
            files=tuple(f"{folder}/{file}" for file in files),
            work=partial(_in_folder, partial(doing, self.data), folder),
            settings=settings,
            needs=tuple(f"{self._folder_of(need)}/{need}" for need in needs),
            weight=share * 60 * self.task.weight,
            checks=pretrained_of(self.task, name),
        )

    def _folder_of(self, step: str) -> str:
        return self.task.first if step == "pretraining" else self.task.name

    def _parser_settings(self) -> dict[str, Any]:
        config = self.config
        return {
            "parser": config.parser,
            "plan": config.parser_plan,
            "tokens": config.tokens,
            "seed": config.seed,
            "longest_output": config.longest_output,
            "data": self.marks["train"],
        }

    def train_parser(self) -> Step:
        """The parser, with snapshots of its first checkpoints."""
        early = {"every": self.config.every, "checkpoints": self.config.checkpoints}
        return self._step(
            "parser",
            "training the parser",
            [*(f"parser/{file}" for file in _MODEL), "parser.json"],
            work.train_parser,
            self._parser_settings() | early,
            share=0.3,
        )

    def collect_mistakes(self) -> Step:
        """Pairs to judge, with mistakes of the first checkpoints."""
        config = self.config
        return self._step(
            "examples",
            "collecting mistakes of its first checkpoints",
            [*(f"examples/{part}.parquet" for part in PARTS), "examples/statistics.json"],
            work.collect_mistakes,
            {
                "balance": config.balance,
                "beams": config.beams,
                "brackets": self.task.brackets,
                "rows": [config.example_rows, config.per_checkpoint],
                "per_input": config.per_input,
                "data": self.marks,
            },
            ["parser"],
            0.15,
        )

    def train_half(self, fold: int) -> Step:
        """A parser that has not seen a fold."""
        return self._step(
            self.halves[fold],
            f"training a parser without fold {fold}",
            [f"halves/fold-{fold}/{file}" for file in (_MODEL[0], *_NETWORK)],
            partial(work.train_half, fold=fold),
            self._parser_settings() | {"folds": [FOLDS, self.config.data_seed]},
            share=0.15,
        )

    def collect_unseen(self) -> Step:
        """Mistakes of the parsers of halves on what they have not seen."""
        config = self.config
        return self._step(
            "unseen",
            "collecting their mistakes on what they have not seen",
            ["unseen/train.parquet", "unseen/statistics.json"],
            work.collect_unseen,
            {
                "balance": config.balance * SHARE,
                "beams": config.beams,
                "brackets": self.task.brackets,
                "rows": config.example_rows,
            },
            self.halves,
            0.1,
        )

    def pretrain_judges(self) -> Step:
        """An encoder that has learnt right outputs, from which judges start."""
        config = self.config
        return self._step(
            "pretraining",
            "its judges learn right outputs",
            ["pretrained/model.safetensors"],
            work.pretrain_judges,
            {
                "judge": config.judge,
                "aligned": config.aligned,
                "data": self.marks["train"],
                "plan": config.pretraining,
                "seed": config.data_seed,
            },
            share=0.2,
        )

    def train_judge(self, member: int) -> Step:
        """A member of the panel."""
        config, needs = self.config, ["examples"]
        settings = {
            "plan": config.judge_plan,
            "judge": config.judge,
            "aligned": config.aligned,
            "seed": config.seed,
        }
        if self.halves:
            needs.append("unseen")
            settings["unseen"] = SHARE
        if config.pretraining is not None:
            needs.append("pretraining")
        return self._step(
            self.judges[member],
            f"training judge {member + 1} of {config.judges}",
            [f"judges/judge-{member}.json", f"judges/judge-{member}/{_MODEL[0]}"],
            partial(work.train_judge, member=member),
            settings,
            needs,
            0.3 / config.judges,
        )

    def ask(self, name: str) -> Step:
        """Outputs of a set with the votes of the judges."""
        return self._step(
            f"ask-{name}",
            f"parsing and judging {name}",
            [f"predictions/{name}.parquet", f"predictions/{name}.json"],
            partial(work.ask, name=name),
            {
                "data": self.data.set(name).fingerprint,
                "beams": self.config.beams,
                "columns": PROBABILITY,
                "brackets": self.task.brackets,
            },
            ["parser", *self.judges, *self.halves],
            0.15 / (len(self.task.tests) + 1),
        )

    def train_on_accepted(self, ask_steps: Names) -> Step:
        """Self-training."""
        return self._step(
            "self-training",
            "learning from accepted outputs",
            ["self_training.json"],
            work.self_train,
            {"set": self.task.pseudo_labels},
            ask_steps,
            0.5,
        )

    def learn_metric(self, ask_steps: Names) -> Step:
        """A judge of another metric."""
        return self._step(
            "metric",
            f"judging by {self.task.metric}",
            ["metric.json"],
            work.learn_metric,
            {
                "metric": self.task.metric,
                "judge": self.config.metric_judge,
                "plan": self.config.judge_plan,
                "gold": "as on dev",
            },
            ["examples", *ask_steps],
            0.1,
        )

    def study(self, timed: Names, ask_steps: Names, more: Mapping[str, str]) -> Step:
        """What the votes say of each test set, beside the truth; ``more``: files with their steps."""
        titles = [
            (test.name, test.title, test.domain, test.paper, test.resembles)
            for test in self.task.tests
        ]
        return self._step(
            "study",
            "judging the judges",
            ["result.json"],
            partial(work.study_task, steps=timed, more=tuple(more)),
            {"form": FORM, "draws": self.config.draws, "titles": titles},
            [*ask_steps, *more.values()],
            0.02,
        )


def _in_folder(
    doing: Callable[..., None], folder: str, workspace: Workspace, progress: Progress
) -> None:
    """Work on one thread in a folder of the run."""
    use_threads(1)
    doing(workspace=Workspace(workspace.folder / folder), progress=progress)


@final
class CorrectnessDiscriminators(Recipe):
    """The recipe; ``lineup`` gives the tasks of a scale, and other ones in tests."""

    name = "correctness-discriminators"
    title = "Between which bounds does a sequence model's accuracy lie?"
    citation = "yao2024"
    findings, form = found, FORM
    side_by_side = True

    def __init__(self, lineup: Callable[[str], tuple[Task, ...]] = tasks_of) -> None:
        self.lineup = lineup

    def tasks(self, scale: str) -> tuple[str, ...]:
        """Names of the tasks, and of their trainings from other seeds."""
        return tuple(
            run.name for task in self.lineup(scale) for run in (task, *replicates_of(task))
        )

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """Every task (with ``only`` those named, other seeds too), then the tables over all that are finished."""
        torch()  # a missing extra is said before anything is read
        lineup = self.lineup(scale)
        other_seeds = [run for task in lineup for run in replicates_of(task)]
        chosen = (
            [candidate for candidate in (*lineup, *other_seeds) if candidate.name in only]
            if only
            else [*lineup]
        )
        if not chosen:
            raise UsageError(
                f"expected tasks among {', '.join(self.tasks(scale))}, got {', '.join(only)}"
            )
        try:
            steps: dict[str, Step] = {}
            for step in (step for task in chosen for step in _TaskSteps(task).all()):
                steps.setdefault(step.name, step)  # trainings of one task share a step
        except LACKS:
            check_all(needs_of(chosen))  # not the first thing that is missing, but all
            raise
        names, replicates = (tuple(task.name for task in group) for group in (lineup, other_seeds))
        combined = partial(work.combine, scale=scale, tasks=names, replicates=replicates)
        return [
            *steps.values(),
            *last_steps(self, combined, [f"{task.name}/study" for task in chosen]),
        ]


RECIPE = CorrectnessDiscriminators()
