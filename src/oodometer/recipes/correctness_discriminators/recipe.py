"""The recipe: the steps of each task, and tables and figures over all finished tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from ...errors import UsageError
from ...models.torch.library import torch
from ..base import Progress, Recipe, Step, Workspace
from ..kit.claims import judged
from ..kit.publish import write_result
from ..missing import LACKS, check_all
from . import figures, tables
from .findings import claims_of
from .markdown import markdown
from .needs import needs_of
from .steps import steps_of
from .tasks import Task, replicates_of, tasks_of


@final
class CorrectnessDiscriminators(Recipe):
    """The recipe; ``lineup`` gives the tasks of a scale, and other ones in tests."""

    name = "correctness-discriminators"
    title = "Between which bounds does a sequence model's accuracy lie?"
    citation = "yao2024"
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

        def tabulate(workspace: Workspace, progress: Progress) -> None:
            write_result(self, workspace, tables.combine(workspace, scale, names, replicates))
            progress(1, 1)

        studies = tuple(f"{task.name}/study" for task in chosen)
        # Other tasks may have been finished in the same folder since: tables and figures are always made again.
        left = ("result.json", "result.md")
        out.append(Step("tables", "comparing with the paper", left, tabulate, {}, studies, 1, True))
        out.append(Step("figures", "drawing", figures.names(), figures.draw, {}, ("tables",), 5, True))
        return out

    def is_finished(self, result: Mapping[str, Any]) -> bool:
        """Whether there is a finished task, or a training of one from another seed."""
        return bool(result["tasks"] or result.get("replicates"))

    def claims(self, result: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The paper's findings, tested."""
        return judged(claims_of(result))

    def joined(self, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
        """The new result with the tasks that it lacks."""
        names = tuple(task.name for task in self.lineup(new["scale"]))
        return super().joined(old, tables.joined_replicates(old, new, names))

    def to_markdown(self, result: Mapping[str, Any]) -> str:
        """Tables and findings as Markdown."""
        return markdown(result)


RECIPE = CorrectnessDiscriminators()
