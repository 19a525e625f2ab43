"""Keeping: what live models answered, and attributions, in a run folder, each by all that it depends on."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..attributions import WordAttributions, Words
from ..attributions.base import Attribution
from ..datasets import Dataset, Table
from ..models.answers import Answers
from ..models.sent import SentModel
from ..passes.run_folder import RunFolder
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
