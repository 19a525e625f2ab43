"""Asking: live models about the same rows, in the same calls; what a run folder has of it is not asked again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..datasets import Dataset
from ..errors import InputError
from ..models.answers import Answers
from ..models.base import Classifier, Progress
from ..models.sent import SentModel
from ..passes.run_folder import RunFolder
from ..predictions import Predictions
from .keeping import Kept, name_of_answers

AT_ONCE = 4096
"""Rows that a model is asked about in one call: enough to fill batches of one length, few enough to be lost."""

Asked = tuple[list[Predictions], dict[str, int]]
"""The record of each model, and the inputs that were cut by its name."""


def ask_all(
    models: Sequence[Classifier],
    names: Sequence[str],
    parts: Sequence[Dataset],
    classes: Sequence[int | str],
    sent: Sequence[SentModel] | None = None,
    folder: RunFolder | None = None,
    progress: Progress | None = None,
) -> Asked:
    """The record of each model, rows in the order of the parts and classes in one order; and who cut how many inputs.

    Each part is one call. With a ``folder``, what a model (as ``sent``) answered to a part is kept there as it comes,
    and not asked again. ``progress`` is called with (rows answered, rows of all models). Raises `InputError` for
    answers that are no probabilities.
    """
    told = [] if folder is None or sent is None else [name_of_answers(one, part) for one in sent for part in parts]
    kept = Kept(folder, told)
    rows = [len(part) for part in parts]
    before = sum(some for some, there in zip(rows * len(models), kept.there, strict=False) if there)
    count = _Count(progress, before, len(models) * sum(rows))
    records, truncated = [], {}
    for number, (name, model) in enumerate(zip(names, models, strict=True)):
        each, cut = [], 0
        for place, part in enumerate(parts, number * len(parts)):
            found, more = _answers(model, part, kept, place, count)
            each.append(_ordered(found, classes))
            cut += more
        records.append(_record([p for p, _ in each], [logits for _, logits in each], classes, name))
        if cut:
            truncated[name] = cut
    return records, truncated


class _Count:
    """Rows that are answered, those that were kept from the start."""

    def __init__(self, progress: Progress | None, done: int, total: int) -> None:
        self._progress, self._done, self._total = progress, done, total
        if done:
            self.within(0)()

    def within(self, rows: int) -> Callable[..., None]:
        """What a model tells of its progress in so many rows."""

        def tell(done: int = 0, all_: int = 1) -> None:
            if self._progress is not None:
                self._progress(min(self._done + rows * done // max(all_, 1), self._total), self._total)

        return tell

    def add(self, rows: int) -> None:
        """So many rows more are answered."""
        self._done += rows


def _answers(model: Classifier, part: Dataset, kept: Kept, place: int, count: _Count) -> tuple[Answers, int]:
    """What a model says of a part, asked or kept, and how many inputs it cut."""
    was_there = place < len(kept.there) and kept.there[place]
    held = kept.answers(place) if was_there else None
    if held is not None:
        return held
    found = model.ask(part, progress=count.within(0 if was_there else len(part)))
    cut = model.truncated
    kept.keep_answers(place, found, cut)
    count.add(0 if was_there else len(part))
    return found, cut


def _ordered(answers: Answers, classes: Sequence[int | str]) -> tuple[Array, Array | None]:
    """Probabilities and logits, the classes in this order."""
    own = [str(one) for one in answers.classes]
    order = [own.index(str(one)) for one in classes]
    logits = None if answers.logits is None else np.asarray(answers.logits)[:, order]
    return np.asarray(answers.distribution)[:, order], logits


def _record(
    probabilities: Sequence[Array], logits: Sequence[Array | None], classes: Sequence[int | str], name: str
) -> Predictions:
    fields: dict[str, Any] = {"probabilities": np.concatenate(probabilities)}
    if all(one is not None for one in logits):
        fields = {"logits": np.concatenate([one for one in logits if one is not None])}
    try:
        return Predictions.from_arrays(classes=list(classes), source=name, **fields)
    except InputError as error:
        raise error.at(file=name) from None
