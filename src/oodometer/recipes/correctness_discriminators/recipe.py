"""The recipe: the steps of each task, and tables and figures over all finished tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, final

from ...errors import UsageError
from ...models.torch.library import torch
from ...verbs.discriminate.thresholding import PROBABILITY
from ..base import LACKS, Progress, Recipe, Step, Workspace, check_all
from ..kit.claims import judged
from ..kit.publish import last_steps
from .data import TaskData
from .findings import claims_of
from .markdown import FIGURES, markdown
from .self_training import learn_metric, self_train
from .study import FORM, combine, joined_replicates, study_task
from .tasks import Task, needs_of, pretrained_of, replicates_of, tasks_of
from .work import (
    FOLDS,
    PARTS,
    SHARE,
    ask,
    collect_mistakes,
    collect_unseen,
    pretrain_judges,
    train_half,
    train_judge,
    train_parser,
)

_MODEL = ("oodometer_model.json", "weights.safetensors")
_NETWORK = tuple(f"model/{one}" for one in _MODEL)


def steps_of(task: Task) -> list[Step]:
    """The steps of a task, whose files lie in its own folder."""
    made = _Steps(task)
    made.parse()
    if task.config.halves:
        made.halve()
    made.judge()
    asked = made.ask()
    made.study(asked, made.more(asked))
    return made.steps


@final
class _Steps:
    """The steps made so far; each method adds those of one part of the work."""

    def __init__(self, task: Task) -> None:
        self.task, self.data = task, TaskData(task)
        self.both = {part: self.data.fingerprint(part) for part in PARTS}
        self.steps: list[Step] = []

    def add(
        self,
        name: str,
        about: str,
        files: Sequence[str],
        work: Callable[..., None],
        needs: Sequence[str] = (),
        share: float = 0.01,
        **settings: Any,
    ) -> None:
        """Add a step; files and needed steps are those of the task, ``share`` is of the time that all take."""
        home = self._home(name)

        def run(workspace: Workspace, progress: Progress) -> None:
            work(self.data, workspace=workspace, home=home, progress=progress)

        left = tuple(f"{home}/{one}" for one in files)
        before = tuple(f"{self._home(one)}/{one}" for one in needs)
        weight = share * 60 * self.task.weight
        checks = pretrained_of(self.task, name)
        title = f"{self.task.title}: {about}"
        self.steps.append(Step(f"{home}/{name}", title, left, run, settings, before, weight, checks=checks))

    def _home(self, step: str) -> str:
        """The folder of a step: the task's, or that of its first training where all of them share the step."""
        return self.task.first if step == "pretraining" else self.task.name

    def parse(self) -> None:
        """The parser, and the mistakes of its first checkpoints."""
        config = self.task.config
        files = [*(f"parser/{one}" for one in _MODEL), "parser.json"]
        made: dict[str, Any] = {"parser": config.parser, "plan": config.parser_plan, "tokens": config.tokens}
        made |= {"seed": config.seed, "longest_output": config.longest_output}
        made |= {"data": self.both["train"], "every": config.every, "checkpoints": config.checkpoints}
        self.add("parser", "training the parser", files, train_parser, share=0.3, **made)
        files = [*(f"examples/{part}.parquet" for part in PARTS), "examples/statistics.json"]
        drawn: dict[str, Any] = {"data": self.both, "rows": [config.example_rows, config.per_checkpoint]}
        drawn |= {"per_input": config.per_input, "balance": config.balance, "beams": config.beams}
        drawn["brackets"] = self.task.brackets
        about = "collecting mistakes of its first checkpoints"
        self.add("examples", about, files, collect_mistakes, ["parser"], 0.15, **drawn)

    def halve(self) -> None:
        """Parsers of two halves, and their mistakes on what they have not seen."""
        config = self.task.config
        made: dict[str, Any] = {"parser": config.parser, "plan": config.parser_plan, "tokens": config.tokens}
        made |= {"seed": config.seed, "longest_output": config.longest_output, "data": self.both["train"]}
        made["folds"] = [FOLDS, config.data_seed]
        halves = []
        for fold in range(FOLDS):
            halves.append(f"half-{fold}")
            files = [f"halves/fold-{fold}/{one}" for one in (_MODEL[0], *_NETWORK)]
            about = f"training a parser without fold {fold}"
            self.add(halves[-1], about, files, partial(train_half, fold=fold), [], 0.15, **made)
        files = ["unseen/train.parquet", "unseen/statistics.json"]
        drawn: dict[str, Any] = {"rows": config.example_rows, "balance": config.balance * SHARE, "beams": config.beams}
        drawn["brackets"] = self.task.brackets
        about = "collecting their mistakes on what they have not seen"
        self.add("unseen", about, files, collect_unseen, halves, 0.1, **drawn)

    def judge(self) -> None:
        """The judges, which may have learnt right outputs before."""
        config, needs = self.task.config, ["examples", *(["unseen"] if self.task.config.halves else [])]
        same: dict[str, Any] = {"judge": config.judge, "seed": config.seed, "aligned": config.aligned}
        if config.pretraining is not None:
            needs.append("pretraining")
            files = ["pretrained/model.safetensors"]
            first: dict[str, Any] = {"data": self.both["train"], "plan": config.pretraining}
            about = "its judges learn right outputs"
            first |= {**same, "seed": config.data_seed}
            self.add("pretraining", about, files, pretrain_judges, [], 0.2, **first)
        how: dict[str, Any] = {"plan": config.judge_plan, **same}
        if config.halves:
            how["unseen"] = SHARE
        for place in range(config.judges):
            files = [f"judges/judge-{place}.json", f"judges/judge-{place}/{_MODEL[0]}"]
            about, work = f"training judge {place + 1} of {config.judges}", partial(train_judge, place=place)
            self.add(f"judge-{place}", about, files, work, needs, 0.3 / config.judges, **how)

    def ask(self) -> list[str]:
        """Outputs of every set with the votes of the judges; returns the names of the steps."""
        asked = []
        config = self.task.config
        judges = [f"judge-{place}" for place in range(config.judges)]
        halves = [f"half-{fold}" for fold in range(FOLDS)] if config.halves else []
        for name in ("dev", *(test.name for test in self.task.tests)):
            asked.append(f"ask-{name}")
            files = [f"predictions/{name}.parquet", f"predictions/{name}.json"]
            how: dict[str, Any] = {"data": self.data.fingerprint(name), "beams": config.beams}
            how["columns"] = PROBABILITY
            share = 0.15 / (len(self.task.tests) + 1)
            about = f"parsing and judging {name}"
            needs = ["parser", *judges, *halves]
            self.add(asked[-1], about, files, partial(ask, name=name), needs, share, **how, brackets=self.task.brackets)
        return asked

    def more(self, asked: Sequence[str]) -> dict[str, str]:
        """Self-training and another metric where the task has them; returns their files."""
        task, config = self.task, self.task.config
        out: dict[str, str] = {}
        if task.pseudo_labels is not None:
            out["self_training"] = f"{task.name}/self_training.json"
            about, files = "learning from accepted outputs", ["self_training.json"]
            self.add("self-training", about, files, self_train, asked, 0.5, set=task.pseudo_labels)
        if task.metric is not None:
            out["metric"] = f"{task.name}/metric.json"
            how: dict[str, Any] = {"metric": task.metric, "judge": config.metric_judge, "plan": config.judge_plan}
            about, files, needs = f"judging by {task.metric}", ["metric.json"], ["examples", *asked]
            self.add("metric", about, files, learn_metric, needs, 0.1, **how, gold="as on dev")
        return out

    def study(self, asked: Sequence[str], more: dict[str, str]) -> None:
        """What the votes say of each test set, beside the truth."""
        more_steps, home = [name.replace("_", "-") for name in more], f"{self.task.name}/"
        timed = [step.name.removeprefix(home) for step in self.steps if step.name.startswith(home)]
        told = [name for name in timed if name not in more_steps]
        needs, study = [*asked, *more_steps], partial(study_task, steps=told, more=more)
        tests = self.task.tests
        titles = [(test.name, test.title, test.domain, test.paper, test.resembles) for test in tests]
        how: dict[str, Any] = {"form": FORM, "draws": self.task.config.draws, "titles": titles}
        self.add("study", "judging the judges", ["result.json"], study, needs, 0.02, **how)


@final
class CorrectnessDiscriminators(Recipe):
    """The recipe; ``lineup`` gives the tasks of a scale, and other ones in tests."""

    name = "correctness-discriminators"
    title = "Between which bounds does a sequence model's accuracy lie?"
    citation = "yao2024"
    claims = staticmethod(lambda result: judged(claims_of(result)))
    to_markdown = staticmethod(markdown)
    row_key = "form"
    side_by_side = True

    def __init__(self, lineup: Callable[[str], tuple[Task, ...]] = tasks_of) -> None:
        self.lineup = lineup

    def tasks(self, scale: str) -> tuple[str, ...]:
        """Names of the tasks, and of their trainings from other seeds."""
        return tuple(one.name for task in self.lineup(scale) for one in (task, *replicates_of(task)))

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """Every task by itself, then the tables over all that are finished; with ``only`` no other tasks.

        Trainings from other seeds are done where they are named.
        """
        torch()  # a missing extra is said before anything is read
        lineup = self.lineup(scale)
        others = [one for task in lineup for one in replicates_of(task)]
        chosen = [one for one in (*lineup, *others) if one.name in only] if only else [*lineup]
        if not chosen:
            raise UsageError(f"expected tasks among {', '.join(self.tasks(scale))}, got {', '.join(only)}")
        try:
            found: dict[str, Step] = {}
            for step in (step for task in chosen for step in steps_of(task)):
                found.setdefault(step.name, step)  # trainings of one task share a step
            out = [*found.values()]
        except LACKS:
            check_all(needs_of(chosen))  # not the first thing that is missing, but all
            raise
        names, replicates = (tuple(one.name for one in some) for some in (lineup, others))

        return [
            *out,
            *last_steps(
                self,
                partial(combine, scale=scale, tasks=names, replicates=replicates),
                FIGURES,
                [f"{task.name}/study" for task in chosen],
            ),
        ]

    def is_finished(self, result: Mapping[str, Any]) -> bool:
        """Whether there is a finished task, or a training of one from another seed."""
        return bool(result["tasks"] or result.get("replicates"))

    def joined(self, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
        """The new result with the tasks that it lacks."""
        names = tuple(task.name for task in self.lineup(new["scale"]))
        return super().joined(old, joined_replicates(old, new, names))


RECIPE = CorrectnessDiscriminators()
