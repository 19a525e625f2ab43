"""What every live classifier is: fit on texts and labels, give logits, become a record; saved to a folder."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from ..predictions import Predictions

__all__ = ["Progress", "SequenceClassifier", "Text", "check_labels", "check_texts", "joined"]

Text = str | tuple[str, str]
"""A sequence to be classified, or a pair of them (premise and hypothesis, context and reply)."""

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""


class SequenceClassifier(ABC):
    """A classifier of sequences that can be trained, asked, saved and loaded.

    Logits z have the shape (sample, class); probabilities are their softmax. The order of classes is that of
    ``classes``. Training is seeded: the same data, options and number of threads give the same weights. A training
    that is given a ``checkpoint`` folder goes on from there after an interruption, to the weights it would have had.
    """

    kind: ClassVar[str]
    """Name of the kind of model, unique; it is written into a saved folder."""

    classes: tuple[int | str, ...] = ()
    """Class names in the order of the logits; empty before `fit`."""

    @abstractmethod
    def fit(
        self,
        texts: Sequence[Text],
        labels: Sequence[int] | Sequence[str],
        *,
        classes: Sequence[int | str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train; labels are class names, ``classes`` their order (by default sorted). Returns the model itself."""

    @abstractmethod
    def logits(self, texts: Sequence[Text], *, progress: Progress | None = None) -> Array:
        """Logits, float32, shape (sample, class), in the order of the texts. `UsageError` before `fit`."""

    @property
    @abstractmethod
    def parameters(self) -> int:
        """Number of parameters that a prediction reads, trained here or not (word vectors count)."""

    @abstractmethod
    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the model to a folder: weights as safetensors, the rest as JSON; no pickle."""

    @classmethod
    @abstractmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote. Raises `InputError` where the folder holds something else."""

    def predict(
        self,
        texts: Sequence[Text],
        *,
        label: Sequence[int] | Sequence[str] | None = None,
        ids: Sequence[int | str] | None = None,
        keep_input: bool = False,
        progress: Progress | None = None,
    ) -> Predictions:
        """Ask the model: a record with logits, probabilities, and the labels and ids (column ``id``) if given.

        ``keep_input`` also keeps the texts, as the column ``input`` (parts of a pair separated by a tab).
        """
        found = self.logits(texts, progress=progress)
        fields: dict[str, Any] = {"classes": list(self.classes)}
        if label is not None:
            fields["label"] = list(label)
        if ids is not None:
            fields["columns"] = {"id": np.array([str(one) for one in ids], dtype=object)}
        if keep_input:
            fields["input"] = np.array([joined(text, "\t") for text in texts], dtype=object)
        return Predictions.from_logits(found, **fields)

    def _must_be_fitted(self) -> None:
        if not self.classes:
            raise UsageError(
                f"the {self.kind} model has not been trained; call fit first or load a saved one"
            )


def joined(text: Text, between: str = " ") -> str:
    """A sequence as one string; the parts of a pair with ``between`` between them.

    >>> joined("alone"), joined(("a man eats", "a man sleeps"), " / ")
    ('alone', 'a man eats / a man sleeps')
    """
    return text if isinstance(text, str) else between.join(text)


def check_texts(texts: Sequence[Text]) -> list[Text]:
    """The texts as a list; `InputError` for none at all and for what is neither a string nor a pair of strings.

    >>> check_texts(["good", 3])
    Traceback (most recent call last):
    oodometer.errors.InputError: row 2: column text: expected a string or a pair of strings, got 3; clean the texts
    """
    found = list(texts) if not isinstance(texts, str) else []
    if not found:
        raise InputError("a list of texts", got="none", remedy="give at least one text", column="text")
    for row, one in enumerate(found, 1):
        if not (isinstance(one, str) or _is_pair(one)):
            raise InputError(
                "a string or a pair of strings",
                got=repr(one),
                remedy="clean the texts",
                row=row,
                column="text",
            )
    return found


def _is_pair(one: object) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and all(isinstance(part, str) for part in one)


def check_labels(
    labels: Sequence[int] | Sequence[str], rows: int, classes: Sequence[int | str] | None
) -> tuple[Array, tuple[int | str, ...]]:
    """Positions of the labels among the classes, int64, shape (sample,), and the classes.

    Raises `InputError` where the numbers of texts and labels differ, a label is not among the classes, or fewer than
    two classes are seen.

    >>> codes, classes = check_labels(["neg", "pos", "neg"], 3, None)
    >>> codes.tolist(), classes
    ([0, 1, 0], ('neg', 'pos'))
    """
    found: list[Any] = [one.item() if hasattr(one, "item") else one for one in labels]
    if len(found) != rows:
        raise InputError(
            f"{rows} labels, one a text",
            got=str(len(found)),
            remedy="give as many labels as texts",
            column="label",
        )
    if len({type(one) for one in found}) > 1:
        raise InputError(
            "labels that are all integers or all strings", got="both", remedy="convert them", column="label"
        )
    named = tuple(classes) if classes is not None else tuple(sorted(set(found)))
    if len(named) < 2 or len(set(named)) < len(named):
        raise InputError(
            "at least two different classes", got=repr(list(named)), remedy="give rows of more classes",
            column="label",
        )  # fmt: skip
    place = {name: code for code, name in enumerate(named)}
    for row, one in enumerate(found, 1):
        if one not in place:
            raise InputError(
                f"one of the classes {', '.join(map(str, named))}",
                got=repr(one),
                remedy="name it among the classes",
                row=row,
                column="label",
            )
    return np.array([place[one] for one in found], dtype=np.int64), named
