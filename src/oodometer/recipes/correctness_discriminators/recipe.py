"""The steps of each task: parser, mistakes, panel, judged predictions, study; and tables over all finished tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from ...errors import UsageError
from ...models.torch.library import torch
from ..base import Recipe, Step, Tick, Workspace
from . import figures, tables
from .data import TaskData
from .metric import learn_metric
from .self_training import self_train
from .study import FORM, study_task
from .tasks import Task, tasks_of
from .work import PARTS, ask, collect_mistakes, pretrain_judges, train_panel, train_parser

__all__ = ["RECIPE", "CorrectnessDiscriminators"]

_MODEL = ("oodometer_model.json", "weights.safetensors")
Work = Callable[[Workspace, Tick], None]


@final
class CorrectnessDiscriminators(Recipe):
    """The recipe; ``lineup`` gives the tasks of a scale, and other ones in tests."""

    name = "correctness-discriminators"
    title = "Between which bounds does a sequence model's accuracy lie?"
    citation = "yao2024"

    def __init__(self, lineup: Callable[[str], tuple[Task, ...]] = tasks_of) -> None:
        self.lineup = lineup

    def tasks(self, scale: str) -> tuple[str, ...]:
        """Names of the tasks."""
        return tuple(task.name for task in self.lineup(scale))

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """Every task by itself, then the tables over all that are finished; with ``only`` no other tasks."""
        torch()  # a missing extra is said before anything is read
        chosen = [task for task in self.lineup(scale) if not only or task.name in only]
        if not chosen:
            raise UsageError(f"expected tasks among {', '.join(self.tasks(scale))}, got {', '.join(only)}")
        out = [step for task in chosen for step in _steps(task)]
        names = tuple(task.name for task in self.lineup(scale))

        def tabulate(workspace: Workspace, tick: Tick) -> None:
            tables.tabulate(workspace, scale, names, tick)

        def draw(workspace: Workspace, tick: Tick) -> None:
            figures.draw(workspace, tick)

        studies = tuple(f"{task.name}/study" for task in chosen)
        # Other tasks may have been finished in the same folder since: tables and figures are always made again.
        out.append(
            Step(
                "tables",
                "comparing with the paper",
                ("result.json", "result.md"),
                tabulate,
                {},
                studies,
                1,
                True,
            )
        )
        out.append(Step("figures", "drawing", figures.names(), draw, {}, ("tables",), 5, True))
        return out

    def result(self, workspace: Workspace) -> dict[str, Any]:
        """What was found on all tasks that are finished."""
        found: dict[str, Any] = workspace.read_json("result.json")
        return found

    def to_markdown(self, result: Mapping[str, Any]) -> str:
        """Tables and findings as Markdown."""
        return tables.markdown(result)


def _steps(task: Task) -> list[Step]:
    """The steps of one task, whose files lie in its own folder."""
    data, home, sizes = TaskData(task), task.name, task.sizes
    seconds = 60 * task.weight
    out: list[Step] = []

    def add(name: str, about: str, files: Sequence[str], work: Callable[..., None], needs: Sequence[str] = (),
            share: float = 0.01, **settings: Any) -> None:  # fmt: skip
        def run(workspace: Workspace, tick: Tick) -> None:
            work(data, workspace=workspace, home=home, tick=tick)

        left = tuple(f"{home}/{file}" for file in files)
        before = tuple(f"{home}/{one}" for one in needs)
        out.append(
            Step(f"{home}/{name}", f"{task.title}: {about}", left, run, settings, before, share * seconds)
        )

    both = {part: data.mark(part) for part in PARTS}
    parser: dict[str, Any] = {
        "parser": sizes.parser,
        "plan": sizes.parser_plan,
        "tokens": sizes.tokens,
        "seed": sizes.seed,
        "longest_output": sizes.longest_output,
    }
    add(
        "parser", "training the parser", [*(f"parser/{one}" for one in _MODEL), "parser.json"], train_parser,
        share=0.3, data=both["train"], every=sizes.every, checkpoints=sizes.checkpoints, **parser,
    )  # fmt: skip
    add(
        "examples", "collecting mistakes of its first checkpoints",
        [*(f"examples/{part}.parquet" for part in PARTS), "examples/statistics.json"], collect_mistakes, ["parser"],
        0.15, data=both, rows=[sizes.example_rows, sizes.per_checkpoint], per_input=sizes.per_input,
        balance=sizes.balance, beams=sizes.beams, brackets=task.brackets,
    )  # fmt: skip
    start = []
    if sizes.pretraining is not None:
        start = ["pretraining"]
        add(
            "pretraining", "its judges learn right outputs", ["pretrained/model.safetensors"], pretrain_judges, [], 0.2,
            data=both["train"], judge=sizes.judge, plan=sizes.pretraining, aligned=sizes.aligned, seed=sizes.seed,
        )  # fmt: skip
    add(
        "panel", "training its judges", ["panel.json"], train_panel, ["examples", *start], 0.3, judge=sizes.judge,
        plan=sizes.judge_plan, judges=sizes.judges, seed=sizes.seed, aligned=sizes.aligned,
    )  # fmt: skip
    asked = []
    for name in ("dev", *(test.name for test in task.tests)):

        def answer(data: TaskData, name: str = name, **given: Any) -> None:
            ask(data, name, **given)

        asked.append(f"ask-{name}")
        add(
            asked[-1], f"parsing and judging {name}", [f"predictions/{name}.parquet", f"predictions/{name}.json"],
            answer, ["parser", "panel"], 0.15 / (len(task.tests) + 1), data=data.mark(name), beams=sizes.beams,
            brackets=task.brackets,
        )  # fmt: skip
    more: dict[str, str] = {}
    if task.pseudo_labels is not None:
        more["self_training"] = f"{home}/self_training.json"
        add("self-training", "learning from accepted outputs", ["self_training.json"], self_train, asked, 0.5,
            set=task.pseudo_labels)  # fmt: skip
    if task.metric is not None:
        more["metric"] = f"{home}/metric.json"
        add("metric", f"judging by {task.metric}", ["metric.json"], learn_metric, ["examples", *asked], 0.1,
            metric=task.metric, judge=sizes.metric_judge, plan=sizes.judge_plan, gold="as on dev")  # fmt: skip

    def study(data: TaskData, **given: Any) -> None:
        study_task(data, more=more, **given)

    rest = [name.replace("_", "-") for name in more]
    add("study", "judging the judges", ["result.json"], study, [*asked, *rest], 0.02, form=FORM, draws=sizes.draws,
        titles=[(test.name, test.title, test.domain, test.paper, test.resembles) for test in task.tests])  # fmt: skip
    return out


RECIPE = CorrectnessDiscriminators()
