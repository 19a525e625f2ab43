"""Correctness discriminators: bounds on sequence models from judges of their outputs. Yao and Koller (2024)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

from ...errors import UsageError
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


def steps_of(task: Task) -> list[Step]:
    """The steps of a task, whose files lie in its own folder; all trainings of a task share the pretraining."""
    config, data, out = task.config, TaskData(task), list[Step]()
    both = {part: data.set(part).fingerprint for part in PARTS}

    def folder_of(step: str) -> str:
        return task.first if step == "pretraining" else task.name

    def add(
        name: str,
        about: str,
        files: Names,
        doing: Callable[..., None],
        needs: Names,
        share: float,
        **settings: Any,
    ) -> str:
        """Add a step; files and needed steps are those of the task, ``share`` is of the time that all take."""
        folder = folder_of(name)

        def run(workspace: Workspace, progress: Progress) -> None:
            use_threads(1)
            doing(data, workspace=Workspace(workspace.folder / folder), progress=progress)

        left, before = (
            tuple(f"{folder}/{file}" for file in files),
            tuple(f"{folder_of(need)}/{need}" for need in needs),
        )
        title, weight, checks = (
            f"{task.title}: {about}",
            share * 60 * task.weight,
            pretrained_of(task, name),
        )
        out.append(
            Step(f"{folder}/{name}", title, left, run, settings, before, weight, checks=checks)
        )
        return name

    # The parser, and the mistakes of its first checkpoints
    made: dict[str, Any] = {
        "parser": config.parser,
        "plan": config.parser_plan,
        "tokens": config.tokens,
    }
    made |= {"seed": config.seed, "longest_output": config.longest_output, "data": both["train"]}
    early = {"every": config.every, "checkpoints": config.checkpoints}
    files = [*(f"parser/{file}" for file in _MODEL), "parser.json"]
    add("parser", "training the parser", files, work.train_parser, [], 0.3, **made, **early)
    drawn: dict[str, Any] = {
        "balance": config.balance,
        "beams": config.beams,
        "brackets": task.brackets,
    }
    rows = {
        "rows": [config.example_rows, config.per_checkpoint],
        "per_input": config.per_input,
        "data": both,
    }
    files = [*(f"examples/{part}.parquet" for part in PARTS), "examples/statistics.json"]
    about = "collecting mistakes of its first checkpoints"
    add("examples", about, files, work.collect_mistakes, ["parser"], 0.15, **drawn, **rows)
    # Parsers of two halves, and their mistakes on what they have not seen
    halves = []
    for fold in range(FOLDS) if config.halves else ():
        files = [f"halves/fold-{fold}/{file}" for file in (_MODEL[0], *_NETWORK)]
        about, train = f"training a parser without fold {fold}", partial(work.train_half, fold=fold)
        halves.append(
            add(
                f"half-{fold}",
                about,
                files,
                train,
                [],
                0.15,
                **made,
                folds=[FOLDS, config.data_seed],
            )
        )
    if halves:
        files, drawn["balance"] = (
            ["unseen/train.parquet", "unseen/statistics.json"],
            config.balance * SHARE,
        )
        about = "collecting their mistakes on what they have not seen"
        add(
            "unseen",
            about,
            files,
            work.collect_unseen,
            halves,
            0.1,
            **drawn,
            rows=config.example_rows,
        )
    # The judges, which may have learnt right outputs before
    needs, same = (
        ["examples", *(["unseen"] if halves else [])],
        {"judge": config.judge, "aligned": config.aligned},
    )
    if config.pretraining is not None:
        first: dict[str, Any] = {
            "data": both["train"],
            "plan": config.pretraining,
            "seed": config.data_seed,
        }
        about, files = "its judges learn right outputs", ["pretrained/model.safetensors"]
        needs.append(
            add("pretraining", about, files, work.pretrain_judges, [], 0.2, **same, **first)
        )
    how: dict[str, Any] = {"plan": config.judge_plan, **same, "seed": config.seed}
    how |= {"unseen": SHARE} if halves else {}
    judges = []
    for place in range(config.judges):
        files = [f"judges/judge-{place}.json", f"judges/judge-{place}/{_MODEL[0]}"]
        about, train = (
            f"training judge {place + 1} of {config.judges}",
            partial(work.train_judge, place=place),
        )
        judges.append(add(f"judge-{place}", about, files, train, needs, 0.3 / config.judges, **how))
    # Outputs of every set with the votes of the judges
    asked = []
    for name in ("dev", *(test.name for test in task.tests)):
        files = [f"predictions/{name}.parquet", f"predictions/{name}.json"]
        how = {
            "data": data.set(name).fingerprint,
            "beams": config.beams,
            "columns": PROBABILITY,
            "brackets": task.brackets,
        }
        about, ask, needs = (
            f"parsing and judging {name}",
            partial(work.ask, name=name),
            ["parser", *judges, *halves],
        )
        asked.append(
            add(f"ask-{name}", about, files, ask, needs, 0.15 / (len(task.tests) + 1), **how)
        )
    own = [
        step.name.removeprefix(f"{task.name}/")
        for step in out
        if step.name.startswith(f"{task.name}/")
    ]
    # Self-training and another metric where the task has them; what the votes say of each test set, beside the truth
    more = {}
    if task.pseudo_labels is not None:
        about, files = "learning from accepted outputs", ["self_training.json"]
        more["self_training"] = add(
            "self-training", about, files, work.self_train, asked, 0.5, set=task.pseudo_labels
        )
    if task.metric is not None:
        how = {
            "metric": task.metric,
            "judge": config.metric_judge,
            "plan": config.judge_plan,
            "gold": "as on dev",
        }
        about, files, needs = f"judging by {task.metric}", ["metric.json"], ["examples", *asked]
        more["metric"] = add("metric", about, files, work.learn_metric, needs, 0.1, **how)
    study = partial(work.study_task, steps=own, more=tuple(more))
    titles = [
        (test.name, test.title, test.domain, test.paper, test.resembles) for test in task.tests
    ]
    how = {"form": FORM, "draws": config.draws, "titles": titles}
    add(
        "study", "judging the judges", ["result.json"], study, [*asked, *more.values()], 0.02, **how
    )
    return out


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
        others = [run for task in lineup for run in replicates_of(task)]
        chosen = (
            [other for other in (*lineup, *others) if other.name in only] if only else [*lineup]
        )
        if not chosen:
            raise UsageError(
                f"expected tasks among {', '.join(self.tasks(scale))}, got {', '.join(only)}"
            )
        try:
            steps: dict[str, Step] = {}
            for step in (step for task in chosen for step in steps_of(task)):
                steps.setdefault(step.name, step)  # trainings of one task share a step
        except LACKS:
            check_all(needs_of(chosen))  # not the first thing that is missing, but all
            raise
        names, replicates = (tuple(task.name for task in some) for some in (lineup, others))
        combined = partial(work.combine, scale=scale, tasks=names, replicates=replicates)
        return [
            *steps.values(),
            *last_steps(self, combined, [f"{task.name}/study" for task in chosen]),
        ]


RECIPE = CorrectnessDiscriminators()
