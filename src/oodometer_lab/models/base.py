"""Every live classifier: what is asked of it and what it answers; fit, asked for more in one pass, saved, loaded."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from oodometer.arrays import Array, Ragged, softmax
from oodometer.errors import InputError, UsageError
from oodometer.predictions import Predictions

from ..datasets import Dataset
from ..datasets.base import Modality
from .artifacts import Artifact, load_artifact

Text = str | tuple[str, str]
"""A sequence to be classified, or a pair of them (premise and hypothesis, context and reply)."""

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""

Folder = str | os.PathLike[str] | None
Dev = tuple[Dataset, Array] | None
"""Labelled data beside the training's, with the codes of their classes."""


def part_of(progress: Progress | None, index: int, parts: int, unit: int = 1000) -> Progress:
    """The progress of one of several equal parts of a work."""

    def tell(done: int, total: int) -> None:
        if progress is not None:
            progress(index * unit + unit * done // max(total, 1), unit * parts)

    return tell


class Classifier(Artifact):
    """A classifier of examples of some modality that can be trained, asked, saved and loaded.

    Logits z have the shape (sample, class); probabilities are their softmax. The order of classes is that of
    ``classes``. Training is seeded: the same data, options and number of threads give the same weights. A training
    that is given a ``checkpoint`` folder goes on from there after an interruption, to the weights it would have had.
    """

    reads: tuple[Modality, ...] = ("text", "pair")
    """Modalities of the inputs that it takes."""

    by_position: bool = False
    """Whether the columns of a table are told apart by their order alone."""

    classes: tuple[int | str, ...] = ()
    """Class names in the order of the logits; empty before `fit`."""

    truncated: int = 0
    """Inputs of the last call that were too long and were cut, where a model counts them."""

    def fit(
        self,
        data: Dataset | Sequence[Any],
        targets: Any = None,
        *,
        dev: Dataset | tuple[Sequence[Any], Sequence[Any]] | None = None,
        classes: Sequence[int | str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train on a data set whose targets are class names, or distributions over ``classes``, shape (sample, class).

        data, targets : A data set with targets; or inputs, and the target of each.
        dev : Labelled data of which the smallest loss chooses the weights, where the model is trained step by step.
        classes : Class names in their order, by default sorted; needed with distributions.
        checkpoint : Folder of an interrupted training, to go on from.
        progress : Called with (steps done, steps in all).

        Returns the model itself. Raises `InputError` for targets that are not among the classes, for fewer than two
        classes, and for inputs of another modality.
        """
        dataset = self._data(data, targets)
        held_out = (
            None if dev is None else self._data(*((dev, None) if isinstance(dev, Dataset) else dev))
        )
        codes, named = self._codes(dataset, classes)
        beside = None if held_out is None else (held_out, self._codes(held_out, named)[0])
        self.classes = named
        self._fit(dataset, codes, beside, checkpoint, progress)
        return self

    def _codes(
        self, data: Dataset, classes: Sequence[int | str] | None
    ) -> tuple[Array, tuple[int | str, ...]]:
        return class_codes(data.targets, len(data), classes)

    @abstractmethod
    def _fit(
        self, data: Dataset, truth: Array, dev: Dev, checkpoint: Folder, progress: Progress | None
    ) -> None:
        """Train on checked data; ``truth`` is positions of classes (sample,), or distributions (sample, class)."""

    @abstractmethod
    def ask(
        self, inputs: Any, request: Request | None = None, *, progress: Progress | None = None
    ) -> Answers:
        """What the model says of inputs (or of a data set), in their order. `UsageError` before `fit`."""

    def logits(self, inputs: Any, *, progress: Progress | None = None) -> Array:
        """Logits, float32, shape (sample, class), in the order of the inputs. `UsageError` before `fit`."""
        return self.ask(inputs, progress=progress).logits_of(self.kind)

    @property
    @abstractmethod
    def parameters(self) -> int:
        """Number of parameters that a prediction reads, trained here or not (word vectors count)."""

    def predict(
        self,
        data: Any,
        *,
        label: Sequence[int] | Sequence[str] | None = None,
        ids: Sequence[int | str] | None = None,
        keep_input: bool = False,
        request: Request | None = None,
        progress: Progress | None = None,
    ) -> Predictions:
        """Ask the model: a record with logits, probabilities, and the labels and ids (column ``id``) if known.

        ``data`` is a data set, or inputs; labels and ids of a data set go into the record. ``keep_input`` also keeps
        texts, as the column ``input`` (parts of a pair separated by a tab).
        """
        if isinstance(data, Dataset):
            # distributions are no labels
            named = len(data.targets) > 0 and np.ndim(data.targets[0]) == 0
            label = list(data.targets) if label is None and named else label
            ids = ids if ids is not None or not data.ids else list(data.ids)
        fields: dict[str, Any] = {} if label is None else {"label": list(label)}
        if ids is not None:
            fields["columns"] = {"id": np.array([str(row_id) for row_id in ids], dtype=object)}
        inputs = self._inputs(data)
        if keep_input:
            fields["input"] = np.array([joined(text, "\t") for text in inputs], dtype=object)
        return self.ask(inputs, request, progress=progress).record(**fields)

    def _views(self, inputs: Any, request: Request, scores: Callable[[Any], Array]) -> Array | None:
        """The classes of augmented copies, by a function that gives scores, of a model that defines ``_view``."""
        seeds = [(request.seed, view, request.first_row) for view in range(request.views)]
        views = [scores(self._view(inputs, seed, request.augmentation)).argmax(1) for seed in seeds]  # type: ignore[attr-defined]
        return np.stack(views) if views else None

    def _inputs(self, data: Any) -> Any:
        """The inputs of a data set of the right modality, checked; or inputs as they are, checked."""
        if isinstance(data, Dataset):
            if data.modality not in self.reads:
                expected = f"inputs of the modality {' or '.join(self.reads)}"
                raise InputError(
                    expected,
                    got=data.modality,
                    remedy="use another model",
                    file=data.source or None,
                )
            data = data.inputs
        return self._checked(data)

    def _checked(self, inputs: Any) -> Any:
        """Inputs that `ask` can read; `InputError` for others, or for none at all."""
        return check_texts(inputs)

    def _data(self, data: Dataset | Sequence[Any], targets: Any) -> Dataset:
        inputs = self._inputs(data)
        if isinstance(data, Dataset) and targets is None:
            return data
        if targets is None:
            raise UsageError(
                "expected targets, got inputs alone; give fit(inputs, targets) or a Dataset"
            )
        targets = (
            targets if isinstance(targets, np.ndarray) and targets.ndim == 2 else tuple(targets)
        )
        if len(targets) != len(inputs):
            raise _other_number(len(inputs), len(targets))
        return Dataset("", inputs, targets, modality=self.reads[0])


def only_shift(augmentation: str, what: str) -> None:
    """`UsageError` for an augmentation of images that is asked of something else."""
    if augmentation != "shift":
        raise UsageError(f"the augmentation {augmentation} is of images; leave it out for {what}")


def joined(text: Text, between: str = " ") -> str:
    """A sequence as one string; the parts of a pair with ``between`` between them."""
    return text if isinstance(text, str) else between.join(text)


def check_texts(texts: Sequence[Text]) -> list[Text]:
    """The texts as a list; `InputError` for none at all and for what is neither a string nor a pair of strings."""
    checked: list[Any] = list(texts) if not isinstance(texts, str) else []
    if not checked:
        raise InputError(
            "a list of texts", got="none", remedy="give at least one text", column="text"
        )
    for row, text in enumerate(checked, 1):
        pair = (
            isinstance(text, tuple)
            and len(text) == 2
            and all(isinstance(part, str) for part in text)
        )
        if not (isinstance(text, str) or pair):
            got = repr(text)
            raise InputError(
                "a string or a pair of strings",
                got=got,
                remedy="clean the texts",
                row=row,
                column="text",
            )
    return checked


def _distributions(
    targets: Array, rows: int, classes: Sequence[int | str] | None
) -> tuple[Array, tuple[int | str, ...]]:
    """Distributions as targets, float32, and the classes; an error where they are none."""
    if classes is None:
        raise UsageError(
            "expected classes= with distributions as targets, got none; name them in order"
        )
    array, shape = np.asarray(targets, dtype=np.float32), (rows, len(classes))
    if array.shape != shape:
        got, remedy = f"shape {array.shape}", "give one distribution over the classes an input"
        raise InputError(f"targets of the shape {shape}", got=got, remedy=remedy, column="targets")
    wrong = ~((array >= 0).all(axis=1) & (np.abs(array.sum(axis=1) - 1) < 1e-3))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            "a distribution that sums to 1",
            got=str(array[row].tolist())[:60],
            remedy="divide it by its sum",
            row=row + 1,
            column="targets",
        )
    return array, tuple(classes)


def class_codes(
    targets: Any, rows: int, classes: Sequence[int | str] | None
) -> tuple[Array, tuple[int | str, ...]]:
    """Positions of targets among the classes, int64, (sample,), or distributions as float32; and the classes."""
    if isinstance(targets, np.ndarray) and targets.ndim == 2:
        return _distributions(targets, rows, classes)
    labels: list[Any] = [label.item() if hasattr(label, "item") else label for label in targets]
    if len(labels) != rows:
        raise _other_number(rows, len(labels))
    if len({type(label) for label in labels}) > 1:
        got = "both"
        raise InputError(
            "labels that are all integers or all strings",
            got=got,
            remedy="convert them",
            column="label",
        )
    named = tuple(classes) if classes is not None else tuple(sorted(set(labels)))
    if len(named) < 2 or len(set(named)) < len(named):
        got = repr(list(named))
        raise InputError(
            "at least two different classes",
            got=got,
            remedy="give rows of more classes",
            column="label",
        )
    code_of = {name: code for code, name in enumerate(named)}
    for row, label in enumerate(labels, 1):
        if label not in code_of:
            expected = f"one of the classes {', '.join(map(str, named))}"
            raise InputError(
                expected,
                got=repr(label),
                remedy="name it among the classes",
                row=row,
                column="label",
            )
    return np.array([code_of[label] for label in labels], dtype=np.int64), named


def _other_number(rows: int, got: int) -> InputError:
    remedy = "give as many labels as inputs"
    return InputError(f"{rows} labels, one an input", got=str(got), remedy=remedy, column="label")


AUGMENTATIONS = ("shift", "randaugment", "randaugment-published")
"""How views are made: of images mirrored and moved, of texts with words left out; or, of images, by RandAugment, whose
changes grow with the magnitude, or as the code of Trivedi et al. (2023) has it.
"""


@dataclass(frozen=True)
class Request:
    """What is asked of a classifier beside its logits.

    features : what the last linear layer reads.
    views : number of augmented copies of each input whose class is asked.
    dropout : number of passes with dropout left on (Monte Carlo dropout); the probabilities are then their mean, and
        the classes of the passes stand among the views. Source: Gal and Ghahramani (2016).
    seed : of the augmentation and of dropout.
    first_row : position of the first input in the whole data set: draws depend on it, not on how the rows are batched.
    augmentation : how views are made, one of `AUGMENTATIONS`.

    >>> Request(views=2, dropout=2)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected views or dropout, got both; ask for one of them
    """

    features: bool = False
    views: int = 0
    dropout: int = 0
    seed: int = 0
    first_row: int = 0
    augmentation: str = "shift"

    def __post_init__(self) -> None:
        if min(self.views, self.dropout) < 0:
            raise UsageError(
                f"expected counts from 0 on, got {self.views} views and {self.dropout} passes"
            )
        if self.views and self.dropout:
            raise UsageError("expected views or dropout, got both; ask for one of them")
        if self.augmentation not in AUGMENTATIONS:
            raise UsageError(
                f"expected augmentation {' or '.join(AUGMENTATIONS)}, got {self.augmentation!r}"
            )


@dataclass(frozen=True, eq=False)
class Answers:
    """What a classifier said of its inputs.

    classes : class names, in the order of the class axis.
    logits : float32, shape (sample, class); None where the model gives probabilities alone.
    probabilities : float, shape (sample, class); None where they are the softmax of the logits.
    features : float32, shape (sample, feature), where asked for.
    views : positions of classes, int64, shape (view, sample), where asked for.
    members : probabilities of each model of an ensemble, shape (model, sample, class).
    names : names along the model axis.
    variance : of the probabilities over passes with dropout, or over the models of an averaged ensemble, shape
        (sample, class); None of a single pass.
    candidates : number of candidates of each sample, int64, shape (sample,), of a ranker; None of a classifier. The
        classes are then positions among the candidates; behind a sample's last one logits are -inf, probabilities 0.
    """

    classes: tuple[int | str, ...]
    logits: Array | None = None
    probabilities: Array | None = None
    features: Array | None = None
    views: Array | None = None
    members: Array | None = None
    names: tuple[str, ...] = ()
    variance: Array | None = None
    candidates: Array | None = None

    @property
    def distribution(self) -> Array:
        """Probabilities, shape (sample, class)."""
        if self.probabilities is not None:
            return self.probabilities
        assert self.logits is not None
        return softmax(self.logits)

    def logits_of(self, kind: str) -> Array:
        """The logits; `UsageError` where the model, of a ``kind``, gives probabilities alone."""
        if self.logits is None:
            raise UsageError(f"the {kind} model gives probabilities and no logits; use ask")
        return self.logits

    def record(self, **fields: Any) -> Predictions:
        """The record of these answers; ``fields`` are further ones, such as ``label`` and ``columns``.

        A variance becomes the column ``variance``: that of the probability of the predicted class.
        """
        classes = list(self.classes)
        named = np.array(classes, dtype=object)
        if self.features is not None:
            fields["features"] = self.features
        if self.views is not None:
            fields["views"] = named[self.views]
        if self.variance is not None:
            of_predicted = self.variance[np.arange(len(self.variance)), self.distribution.argmax(1)]
            columns = fields.get("columns", {})
            if "variance" in columns:
                expected = "no column variance beside that of the answers"
                raise InputError(
                    expected,
                    got="one",
                    remedy="give it another name, or leave it out",
                    column="variance",
                )
            fields["columns"] = {**columns, "variance": of_predicted}
        if self.members is not None:
            fields["members"] = named[self.members.argmax(-1)]
            fields["names"] = {"model": self.names} if self.names else {}
        # a score for each candidate: its logit, or the logarithm of its probability
        if self.candidates is not None:
            values = self.logits
            if values is None:
                values = np.log(
                    np.maximum(self.distribution, np.finfo(self.distribution.dtype).tiny)
                )
            real = np.arange(values.shape[1]) < self.candidates[:, None]
            scores = Ragged(values[real], np.concatenate([[0], np.cumsum(self.candidates)]))
            return Predictions.from_candidates(scores, **fields)
        if self.members is not None:
            fields["member_probabilities"] = self.members
        if self.logits is not None:
            return Predictions.from_logits(self.logits, classes=classes, **fields)
        return Predictions.from_probabilities(self.distribution, classes=classes, **fields)


def load_model(folder: str | os.PathLike[str]) -> Classifier:
    """Read a classifier of any kind that `save` wrote; `InputError` where the folder holds none.

    >>> load_model("no-such-folder")
    Traceback (most recent call last):
    oodometer.errors.InputError: no-such-folder/oodometer_model.json: expected a model saved by oodometer, got ...
    """
    model: Classifier = load_artifact(folder, Classifier, "a classifier")
    return model
