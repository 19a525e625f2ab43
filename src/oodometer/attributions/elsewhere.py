"""Elsewhere: attributions as tasks of an engine, one a model and a group of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from ..engines import Engine, run_tasks
from ..models.sent import SentModel, forgetting
from .base import Attribution, WordAttributions
from .words import Words

Question = tuple[SentModel, list[Words]]
"""A model, and texts that are explained for it together."""


@final
@dataclass(frozen=True)
class _Task:
    """Explains a group of texts by a model, with one thread."""

    method: Attribution
    gpu: bool

    def __call__(self, item: Question) -> list[WordAttributions]:
        model, texts = item
        with model.opened() as classifier:
            return self.method.explain(classifier, texts)


def explain_elsewhere(
    engine: Engine,
    method: Attribution,
    items: Sequence[Question],
    on_result: Callable[[list[WordAttributions]], None],
) -> None:
    """Explain groups of texts, each by a model that travels as its path.

    ``on_result`` is called with the attributions of each group, in the order of the items, as they come.
    """
    with forgetting():
        gpu = any(model.gpu for model, _ in items)
        run_tasks(engine, _Task(method, gpu), items, on_result=lambda _, found: on_result(found))
