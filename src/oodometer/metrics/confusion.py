"""Confusion matrix: how often each class was taken for each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..classes import ClassNames
from ..errors import InputError, NotApplicable
from ..predictions import Predictions
from ..registry import register
from .base import CLASSES, Metric, R

_DENSE = 1 << 20  # cells up to which counting densely beats sorting
_LARGEST = 2048


def confusion_matrix(label: Any, prediction: Any, classes: int) -> Array:
    """Counts of shape (class, class): row = true class, column = predicted class.

    ``label`` and ``prediction`` are integers below ``classes``, shape (sample,); `InputError` for others. Source: the
    definition, C[j, k] = number of samples of class j predicted as k.

    >>> confusion_matrix([0, 0, 1], [0, 1, 1], 2).tolist()
    [[1, 1], [0, 1]]
    """
    names = tuple(range(classes))
    record = Predictions.from_classes(prediction, label=label, classes=names)
    return Confusion.of(record).matrix()


@dataclass(frozen=True, eq=False)
class Confusion:
    """The matrix without its zeros: cells ``label * K + prediction``, increasing, and their counts."""

    classes: ClassNames
    codes: Array
    counts: Array

    @classmethod
    def of(cls, batch: Predictions) -> Confusion:
        """State of the rows of a record whose class is known."""
        if batch.label is None or batch.classes is None:
            raise NotApplicable("needs `label`")
        size = len(batch.classes)
        at: Any = batch.label >= 0
        at = slice(None) if at.all() else at
        code = batch.label[at].astype(np.int64)
        code *= size
        code += batch.predicted[at]
        if size * size <= _DENSE:
            counts = np.bincount(code, minlength=1)
            codes = np.flatnonzero(counts)
            return cls(batch.classes, codes, counts[codes])
        codes, counts = np.unique(code, return_counts=True)
        return cls(batch.classes, codes, counts)

    def __add__(self, other: Confusion) -> Confusion:
        """Sum of both, of the same classes."""
        if self.classes != other.classes:
            raise InputError(
                "parts that name the same classes",
                got=f"{len(self.classes)} and {len(other.classes)} classes",
                remedy="read them with the same class names",
                column="label",
            )
        codes, at = np.unique(np.concatenate([self.codes, other.codes]), return_inverse=True)
        counts = np.zeros(len(codes), dtype=np.int64)
        np.add.at(counts, at, np.concatenate([self.counts, other.counts]))
        return Confusion(self.classes, codes, counts)

    @property
    def rows(self) -> int:
        """Number of samples."""
        return int(self.counts.sum())

    @property
    def truth(self) -> Array:
        """True class of each cell."""
        return self.codes // max(len(self.classes), 1)

    @property
    def guess(self) -> Array:
        """Predicted class of each cell."""
        return self.codes % max(len(self.classes), 1)

    def _sum(self, by: Array, counts: Array) -> Array:
        out = np.zeros(len(self.classes), dtype=np.int64)
        np.add.at(out, by, counts)
        return out

    @cached_property
    def support(self) -> Array:
        """Samples of each true class, shape (class,)."""
        return self._sum(self.truth, self.counts)

    @cached_property
    def predicted(self) -> Array:
        """Samples predicted as each class, shape (class,)."""
        return self._sum(self.guess, self.counts)

    @cached_property
    def hits(self) -> Array:
        """Samples of each class that were predicted as it, shape (class,)."""
        return self._sum(self.truth, np.where(self.truth == self.guess, self.counts, 0))

    @property
    def rarest(self) -> int:
        """Samples that are right, are wrong, or are of the rarest true class: the fewest of these."""
        hits = int(self.hits.sum())
        return min(hits, self.rows - hits, int(self.support[self.support > 0].min(initial=self.rows)))

    def matrix(self) -> Array:
        """Dense counts, shape (class, class): row = true class, column = predicted class."""
        size = len(self.classes)
        dense = np.zeros(size * size, dtype=np.int64)
        dense[self.codes] = self.counts
        return dense.reshape(size, size)


class ConfusionMetric(Metric[Confusion, R]):
    """A metric over `Confusion`; all of them share one state."""

    needs = CLASSES

    @property
    def state_key(self) -> str:
        """One state for all."""
        return "confusion"

    def summarize(self, batch: Predictions) -> Confusion:
        """Count one batch."""
        counted: Confusion = batch.derived("confusion", lambda: Confusion.of(batch))
        return counted


@final
@register("metric")
class ConfusionTable(ConfusionMetric[dict[str, Any]]):
    """The confusion matrix as a table: ``classes`` and ``counts`` (row = true class, column = predicted class).

    >>> from oodometer import Predictions
    >>> ConfusionTable().compute(Predictions.from_classes(["a", "b", "b"], label=["a", "a", "b"]))
    {'classes': ['a', 'b'], 'counts': [[1, 1], [0, 1]]}
    """

    name = "confusion"
    bigger_is_better = None
    citation = "sokolova2009"
    gives = "table"

    def finish(self, state: Confusion, level: float = 0.95, seed: int = 0) -> dict[str, Any]:
        """The table; `NotApplicable` where it would not fit."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        if len(state.classes) > _LARGEST:
            raise NotApplicable(f"a table of {len(state.classes)} by {len(state.classes)} classes is too large")
        return {"classes": list(state.classes), "counts": state.matrix().tolist()}
