"""Asking: live models about the same rows, in the same calls; what a run folder has of it is not asked again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..attributions import WordAttributions, Words
from ..attributions.base import Attribution
from ..datasets import Dataset, Table
from ..errors import InputError
from ..models.base import Answers, Classifier, Progress
from ..models.sent import SentModel
from ..passes.run_folder import RunFolder
from ..predictions import Predictions
from ..store.artifact_cache import checksum
from ..version import __version__

_FORM = "1"  # of what is kept: other versions of the package have other names anyway


@final
@dataclass
class Kept:
    """Parts of a work by their places: those that the run folder has are there, the others are kept as they are made.

    names : of the parts, from `name_of_answers` or `name_of_attributions`; without a ``folder`` none is there.
    """

    folder: RunFolder | None
    names: Sequence[str]
    there: list[bool] = field(init=False)

    def __post_init__(self) -> None:
        self.there = [False] * len(self.names) if self.folder is None else self.folder.expect(self.names)

    def answers(self, place: int) -> tuple[Answers, int] | None:
        """Answers and how many inputs were cut; None where they are not there, or damaged."""
        held = self._recalled(place)
        if held is None:
            return None
        return Answers(held["classes"], logits=held["logits"], probabilities=held["probabilities"]), held["truncated"]

    def keep_answers(self, place: int, answers: Answers, truncated: int) -> None:
        """Keep what a model answered: classes and numbers as they came."""
        if self.folder is not None:
            logits, p = (None if one is None else np.asarray(one) for one in (answers.logits, answers.probabilities))
            held = {"classes": tuple(answers.classes), "logits": logits, "probabilities": p, "truncated": truncated}
            self.folder.keep(self.names[place], held)

    def attributions(self, place: int, texts: Sequence[Words]) -> list[WordAttributions] | None:
        """Attributions of these texts; None where they are not there, or damaged."""
        held = self._recalled(place)
        if held is None:
            return None
        values = np.split(held["values"], np.cumsum([len(one.words) for one in texts])[:-1])
        rows = zip(texts, values, held["targets"].tolist(), held["numbers"].tolist(), strict=True)
        return [
            WordAttributions(words, own, separator, target, probability, base, fit)
            for words, own, target, (separator, probability, base, fit) in rows
        ]

    def keep_attributions(self, place: int, found: Sequence[WordAttributions]) -> None:
        """Keep the attributions of the texts of a part, to the last bit."""
        if self.folder is not None:
            numbers = [[one.separator, one.probability, one.base, one.fit] for one in found]
            held = {
                "values": np.concatenate([one.values for one in found]),
                "targets": np.array([one.target for one in found], dtype=np.int64),
                "numbers": np.array(numbers, dtype=np.float64),
            }
            self.folder.keep(self.names[place], held)

    def _recalled(self, place: int) -> Any:
        return self.folder.recall(self.names[place]) if self.folder is not None and self.there[place] else None


def name_of_answers(model: SentModel, asked: Dataset) -> str:
    """What tells the answers of a model to these inputs from any others.

    >>> model = SentModel("m", ["m", ["weights", 10, 99]])
    >>> name_of_answers(model, Dataset("", ("a", "b"))) == name_of_answers(model, Dataset("other", ("a", "b")))
    True
    >>> name_of_answers(model, Dataset("", ("a", "b"))) == name_of_answers(model, Dataset("", ("a\\nb",)))
    False
    """
    return checksum("answers", *_model(model), asked.modality, *_content(asked.inputs))


def name_of_attributions(model: SentModel, method: Attribution, texts: Sequence[Words], tasks: bool) -> str:
    """What tells the attributions of texts by a method and a model from any others.

    ``tasks``: whether they are made in tasks of one thread, whose sums are rounded alike everywhere.
    """
    said = json.dumps([method.name, method.options(), tasks], default=repr)
    features = [repr(one.feature) for one in texts]
    return checksum("attributions", *_model(model), said, *features, *_content([one.text for one in texts]))


def _model(model: SentModel) -> Iterator[str]:
    """The version of the package, files and options of a model, and where it runs."""
    yield from (_FORM, __version__)
    yield json.dumps([model.stamp, sorted(model.options.items()), model.on_gpu_here], default=repr)


def _content(inputs: Any) -> Iterator[str | bytes]:
    """All that inputs are, of whatever kind, each piece told from the next."""
    if isinstance(inputs, np.ndarray):
        yield from (f"array {inputs.dtype} {inputs.shape}", _bytes(inputs))
    elif isinstance(inputs, Table):
        for name, values in inputs.columns.items():
            yield name
            yield from _content(values)
    elif isinstance(inputs, (list, tuple)):
        yield f"{len(inputs)} of a list"
        for one in inputs:
            yield from _content(one)
    else:
        yield type(inputs).__name__
        yield inputs if isinstance(inputs, (str, bytes)) else repr(inputs)


def _bytes(values: Array) -> bytes:
    if values.dtype.kind == "O":
        return repr([("nan" if isinstance(one, float) and math.isnan(one) else one) for one in values.ravel()]).encode(
            "utf-8", "surrogatepass"
        )
    return np.ascontiguousarray(values).tobytes()


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
        probabilities, logits, cut = list[Array](), list[Array | None](), 0
        for place, part in enumerate(parts, number * len(parts)):
            found, more = _answers(model, part, kept, place, count)
            own = [str(one) for one in found.classes]
            order = [own.index(str(one)) for one in classes]
            probabilities.append(np.asarray(found.distribution)[:, order])
            logits.append(None if found.logits is None else np.asarray(found.logits)[:, order])
            cut += more
        records.append(_record(probabilities, logits, classes, name))
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
