"""The recipe: all steps, and tables and figures over what they left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from ...models.torch.library import transformers
from ..base import Progress, Recipe, Step, Workspace
from ..kit.claims import judged
from ..kit.publish import write_result
from . import figures, tables
from .data import RunData
from .findings import claims_of
from .markdown import markdown
from .run_config import RUN_CONFIGS, RunConfig
from .steps import Steps
from .work import check


@final
class FewShotRanking(Recipe):
    """The recipe; ``config`` replaces the usual one of each scale, for tests."""

    name = "few-shot-ranking"
    title = "Which of several models will do best, from ten examples?"
    citation = "singhal2022"
    row_key = "suite"
    side_by_side = True

    def __init__(self, config: Mapping[str, RunConfig] | None = None) -> None:
        self.config = dict(config or RUN_CONFIGS)

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """Trainings, questions, attributions and the study; then tables and figures, always made again."""
        transformers()  # a missing extra is said before anything is read
        config = self.config[scale]
        data = RunData(config)
        check(config, data)
        out = Steps(config, data).all()

        def tabulate(workspace: Workspace, progress: Progress) -> None:
            write_result(self, workspace, tables.combine(workspace, scale))
            progress(1, 1)

        left = ("result.json", "result.md")
        out.append(Step("tables", "comparing with the paper", left, tabulate, {}, ("study",), 1, True))
        out.append(Step("figures", "drawing", figures.names(), figures.draw, {}, ("tables",), 5, True))
        return out

    def claims(self, result: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The paper's findings, tested."""
        return judged(claims_of(result))

    def to_markdown(self, result: Mapping[str, Any]) -> str:
        """Tables and findings as Markdown."""
        return markdown(result)


RECIPE = FewShotRanking()
