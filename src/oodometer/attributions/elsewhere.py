"""Elsewhere: attributions as tasks of an engine, one a model and a group of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from ..engines import Engine, run_tasks
from ..models.base import Progress
from ..models.sent import SentModel, forgetting
from .base import Attribution, WordAttributions
from .words import Words

__all__ = ["explain_elsewhere"]

_Item = tuple[SentModel, list[Words]]


@final
@dataclass(frozen=True)
class _Task:
    """Explains a group of texts by a model, with one thread."""

    method: Attribution
    gpu: bool

    def __call__(self, item: _Item) -> list[WordAttributions]:
        model, texts = item
        with model.opened() as classifier:
            return self.method.explain(classifier, texts)


def explain_elsewhere(
    engine: Engine,
    models: Sequence[SentModel],
    method: Attribution,
    texts: Sequence[Words],
    progress: Progress | None = None,
) -> list[list[WordAttributions]]:
    """Attributions of texts by each model, in order; models travel as paths. Called with (texts done, all)."""
    groups = method.groups(texts)
    items: list[_Item] = [(model, group) for model in models for group in groups]
    done = 0

    def tell(item: _Item) -> None:
        nonlocal done
        done += len(item[1])
        if progress is not None:
            progress(done, len(models) * len(texts))

    with forgetting():
        found = run_tasks(engine, _Task(method, any(one.gpu for one in models)), items, on_done=tell)
    each = [found[at : at + len(groups)] for at in range(0, len(found), len(groups))]
    return [[one for part in parts for one in part] for parts in each]
