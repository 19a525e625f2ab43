"""The recipe: the steps of each task, and tables and figures over all finished tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from ...errors import UsageError
from ...models.torch.library import torch
from ..base import Progress, Recipe, Step, Workspace
from ..kit.claims import judged
from ..kit.publish import write_result
from ..kit.tasks import joined
from . import figures, tables
from .data import RunData
from .findings import claims_of
from .markdown import markdown
from .run_config import RUN_CONFIGS, RunConfig
from .steps import TASKS, steps_of


@final
class ScoringFunctions(Recipe):
    """The recipe; ``config`` replaces the usual one of each scale, for tests."""

    name = "scoring-functions"
    title = "Which score of a sample predicts accuracy?"
    citation = "trivedi2023"
    row_key = "form"
    side_by_side = True

    def __init__(self, config: Mapping[str, RunConfig] | None = None) -> None:
        self.config = dict(config or RUN_CONFIGS)

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
        out = [step for task in chosen for step in steps_of(task, config, data)]

        def tabulate(workspace: Workspace, progress: Progress) -> None:
            write_result(self, workspace, tables.combine(workspace, scale, TASKS))
            progress(1, 1)

        studies = tuple(f"{task}/study" for task in chosen)
        # Other tasks may have been finished in the same folder since: tables and figures are always made again.
        left = ("result.json", "result.md")
        out.append(Step("tables", "comparing with the paper", left, tabulate, {}, studies, 1, True))
        out.append(Step("figures", "drawing", figures.names(), figures.draw, {}, ("tables",), 5, True))
        return out

    def is_finished(self, result: Mapping[str, Any]) -> bool:
        """Whether there is a finished task."""
        return bool(result["tasks"])

    def claims(self, result: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The paper's findings, tested."""
        return judged(claims_of(result))

    def joined(self, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
        """The new result with the tasks that it lacks."""
        return super().joined(old, joined(old, new, TASKS))

    def to_markdown(self, result: Mapping[str, Any]) -> str:
        """Tables and findings as Markdown."""
        return markdown(result)


RECIPE = ScoringFunctions()
