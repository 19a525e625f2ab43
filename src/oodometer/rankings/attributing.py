"""Attributing: attributions of texts for each model, group by group, here or as tasks, those that are kept left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

from ..attributions import WordAttributions, Words
from ..attributions.base import Attribution
from ..attributions.elsewhere import explain_elsewhere
from ..engines import Engine
from ..models.base import Classifier, Progress
from ..models.sent import SentModel
from ..passes.run_folder import RunFolder
from .keeping import Kept, name_of_attributions


@final
@dataclass(frozen=True)
class Means:
    """How models are asked: the models as they travel, the engine of tasks, and the folder that keeps what is finished.

    sent : None for models in memory, which no engine and no folder takes.
    """

    sent: Sequence[SentModel] | None = None
    engine: Engine | None = None
    folder: RunFolder | None = None


def attributions_of(
    models: Sequence[Classifier],
    method: Attribution,
    texts: Sequence[Words],
    means: Means,
    progress: Progress | None = None,
) -> list[list[WordAttributions]]:
    """What a method says of the texts for each model, in order; ``progress`` is called with (texts explained, all).

    Texts are explained in the groups of `Attribution.groups_for`, whose numbers do not depend on each other, so that
    neither an engine nor a folder moves a number, but for the threads: tasks have one.
    """
    groups = [(number, group) for number, model in enumerate(models) for group in method.groups_for(model, texts)]
    words = [[texts[at] for at in group] for _, group in groups]
    names: list[str] = []
    if means.folder is not None and means.sent is not None:
        tasks = means.engine is not None
        whose = [means.sent[number] for number, _ in groups]
        names = [name_of_attributions(one, method, own, tasks) for one, own in zip(whose, words, strict=True)]
    kept = Kept(means.folder, names)
    found: dict[int, list[WordAttributions]] = {}
    for place in range(len(names)):
        held = kept.attributions(place, words[place])
        if held is not None:
            found[place] = held
    total, done = len(models) * len(texts), sum(map(len, found.values()))
    rest = [place for place in range(len(groups)) if place not in found]

    def tell(rows: int, more: int, all_: int) -> None:
        if progress is not None:
            progress(done + rows * more // max(all_, 1), total)

    def finished(place: int, new: list[WordAttributions]) -> None:
        nonlocal done
        kept.keep_attributions(place, new)
        found[place] = new
        done += len(new)
        tell(0, 0, 1)

    if done:
        tell(0, 0, 1)
    if means.engine is None or means.sent is None:
        for place in rest:
            own = words[place]
            finished(place, method.explain(models[groups[place][0]], own, progress=partial(tell, len(own))))
    else:
        items = [(means.sent[groups[place][0]], words[place]) for place in rest]
        order = iter(rest)
        explain_elsewhere(means.engine, method, items, lambda new: finished(next(order), new))
    by_text: list[dict[int, WordAttributions]] = [{} for _ in models]
    for place, (number, group) in enumerate(groups):
        by_text[number].update(zip(group, found[place], strict=True))
    return [[one[at] for at in range(len(texts))] for one in by_text]
