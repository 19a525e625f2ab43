"""Suite: what several models say about the same rows, with the classes of all in one order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from ..predictions import Predictions

Rule = Callable[[Array], Array]
"""From positions of drawn rows, int64, shape (draw, size), to scores, shape (draw, model); larger = better."""

ROUNDING = 1e-12  # relative differences below it are none: sums in another order are not the same to the last digit

Method = Array | Rule
"""Values, shape (model, row), whose mean over the drawn rows is the score; or a rule."""


def fixed(scores: Any) -> Rule:
    """The rule that gives the same scores, shape (model,), whatever is drawn: what an unlabelled pool says.

    >>> fixed([0.5, 0.75])(np.zeros((2, 10), dtype=np.int64)).tolist()
    [[0.5, 0.75], [0.5, 0.75]]
    """
    given = np.asarray(scores, dtype=np.float64)
    if given.ndim != 1:
        raise UsageError(f"expected one score a model, got an array of shape {given.shape}")
    return lambda drawn: np.broadcast_to(given, (len(drawn), len(given)))


def drawn_scores(method: Method, drawn: Array) -> Array:
    """Scores of the models in each draw, float64, shape (draw, model); nan where a model has no value at all.

    The score from values v, shape (model, row), is the mean of v over the drawn rows, nan left out: where the words of
    a factor do not occur it says nothing. A row that is drawn twice counts twice.

    Raises `UsageError` for values or a rule of the wrong shape.

    >>> drawn_scores(np.array([[0.0, 1.0, np.nan], [np.nan] * 3]), np.array([[0, 1, 2], [1, 1, 0]])).round(2).tolist()
    [[0.5, nan], [0.67, nan]]
    """
    if callable(method):
        out = np.asarray(method(drawn), dtype=np.float64)
        if out.ndim != 2 or len(out) != len(drawn):
            raise UsageError(f"expected scores of shape ({len(drawn)}, model) of a rule, got {out.shape}")
        return out
    values = np.asarray(method, dtype=np.float64)
    if values.ndim != 2:
        raise UsageError(f"expected values of shape (model, row), got {values.shape}")
    there = ~np.isnan(values)
    # sums by gathering rows first: (row, model) is read in whole lines
    total = np.where(there, values, 0.0).T[drawn].sum(axis=1)
    if there.all():
        return np.asarray(total / drawn.shape[1])
    count = there.T[drawn].sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def scored(methods: Mapping[str, Method], drawn: Array) -> Array:
    """Scores of several methods, float64, shape (method, draw, model). Raises `UsageError` where models differ.

    >>> scored({"a": np.eye(2), "b": fixed([1, 2])}, np.array([[0, 0]])).tolist()
    [[[1.0, 0.0]], [[1.0, 2.0]]]
    """
    if not methods:
        raise UsageError("expected at least one method, got none; give name -> values or rule")
    found = {name: drawn_scores(method, drawn) for name, method in methods.items()}
    counts = {name: scores.shape[1] for name, scores in found.items()}
    if len(set(counts.values())) > 1:
        raise UsageError(f"expected methods that score the same models, got {counts} models")
    return np.stack(list(found.values()))


@final
@dataclass(frozen=True, eq=False)
class Suite:
    """Predictions of several models on the same rows.

    Parameters
    ----------
    models : their names, in the order of the first axis.
    classes : names of the classes.
    predicted : positions of classes, int64, shape (model, row).
    truth : position of the true class, int64, shape (row,), -1 where unknown.
    probabilities : float64, shape (model, row, class); None where a model gives none.
    """

    models: tuple[str, ...]
    classes: tuple[str, ...]
    predicted: Array
    truth: Array
    probabilities: Array | None = None

    @property
    def correct(self) -> Array:
        """1 where a model is right, 0 where it is wrong, nan where the truth is unknown, shape (model, row)."""
        return np.where(self.truth < 0, np.nan, self.predicted == self.truth)

    @property
    def labelled(self) -> Array:
        """Positions of the rows whose truth is known."""
        return np.flatnonzero(self.truth >= 0)


def suite_of(records: Mapping[str, Predictions]) -> Suite:
    """Records of the same rows by several models, as one suite.

    Classes are put in the order of the first record with probabilities, which names them all; else of the first record.

    Raises `UsageError` for fewer than two models, and `InputError` for records that differ in their rows, classes or
    labels, that have fewer than two classes, or that predict no classes.

    >>> a = Predictions.from_probabilities([[0.9, 0.1], [0.4, 0.6]], label=["cat", "cat"], classes=["cat", "dog"])
    >>> b = Predictions.from_probabilities([[0.3, 0.7], [0.6, 0.4]], label=["cat", "cat"], classes=["dog", "cat"])
    >>> found = suite_of({"a": a, "b": b})
    >>> found.predicted.tolist(), found.correct.tolist()
    ([[0, 1], [0, 1]], [[1.0, 0.0], [1.0, 0.0]])
    """
    if len(records) < 2:
        raise UsageError(f"expected at least two models to rank, got {len(records)}; give name -> predictions")
    first, *_ = records
    base = records[first]
    for name, record in records.items():
        # Complaints about one record that can be made without the others' numbers
        if record.classes is None or not record.has_prediction:
            got = f"a record of {name} without them"
            raise InputError("predicted classes", got=got, remedy="give probabilities or predictions")
        if len(record) != len(base) or not len(record):
            got, remedy = f"{len(record)} and {len(base)}", "ask all models about the same rows, at least one"
            raise InputError(f"as many rows for {name} as for {first}", got=got, remedy=remedy)
    # Predictions without probabilities name the classes that occur, which may be fewer than there are; those with name
    # all, and must name the same. The order is that of the first record with probabilities, else of the first.
    named = {name: tuple(str(one) for one in record.classes or ()) for name, record in records.items()}
    full = {name: named[name] for name, record in records.items() if record.probabilities is not None}
    classes = tuple(dict.fromkeys(one for some in (*full.values(), *named.values()) for one in some))
    for name, known in full.items():
        lacking = [one for one in classes if one not in known]
        if lacking:
            got, remedy = f"{name} without {', '.join(lacking[:5])}", "rank models that tell the same classes apart"
            raise InputError("the same classes of all models", got=got, remedy=remedy)
    if len(classes) < 2:
        raise InputError("at least two classes", got=", ".join(classes), remedy="name all classes")
    truth: Array | None = None
    predicted, probabilities = [], []
    for name, record in records.items():
        order = np.array([classes.index(str(one)) for one in record.classes or ()], dtype=np.int64)
        predicted.append(order[record.predicted])
        if record.probabilities is not None:
            there = np.empty(record.probabilities.shape)
            there[:, order] = record.probabilities
            probabilities.append(there)
        if record.label is not None:
            label = np.where(record.label < 0, -1, order[record.label])
            if truth is not None and not np.array_equal(truth, label):
                row = int(np.flatnonzero(truth != label)[0]) + 1
                got = f"another for {name}"
                raise InputError("the same labels for all models", got=got, remedy="give the same rows", row=row)
            truth = label
    return Suite(
        models=tuple(records),
        classes=classes,
        predicted=np.stack(predicted).astype(np.int64),
        truth=np.full(len(base), -1) if truth is None else truth.astype(np.int64),
        probabilities=np.stack(probabilities) if len(probabilities) == len(records) else None,
    )
