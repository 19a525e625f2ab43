"""Confusion matrix: how often each class was taken for each other; Matthews' correlation and Cohen's kappa."""

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
from .base import CLASSES, Measure, Metric, R, measure
from .spread import dot, from_signed_influence

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
            remedy = "read them with the same class names"
            expected = "parts that name the same classes"
            got = f"{len(self.classes)} and {len(other.classes)} classes"
            raise InputError(expected, got=got, remedy=remedy, column="label")
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
    state = "confusion"

    def summarize(self, batch: Predictions) -> Confusion:
        """Count one batch."""
        return batch.derived("confusion", lambda: Confusion.of(batch))


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

    def _finish(self, state: Confusion, level: float, seed: int) -> dict[str, Any]:
        if len(state.classes) > _LARGEST:
            raise NotApplicable(f"a table of {len(state.classes)} by {len(state.classes)} classes is too large")
        return {"classes": list(state.classes), "counts": state.matrix().tolist()}


@final
@register("metric")
class CohenKappa(ConfusionMetric[Measure]):
    """Kappa = (p_o - p_e) / (1 - p_e): p_o the accuracy, p_e = sum_k t_k p_k / n^2 that of chance with the same counts.

    1 = all right, 0 = as good as chance. The interval is linearised. Where all rows are of one class and predicted as
    it, there is no kappa. Source: Cohen (1960).

    >>> from oodometer import Predictions
    >>> CohenKappa().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0])).value
    0.5
    """

    name = "cohen_kappa"
    quiet = True
    bigger_is_better = True
    citation = "cohen1960"
    bounds = (-1.0, 1.0)

    def _finish(self, state: Confusion, level: float, seed: int) -> Measure:
        n = float(state.rows)
        support, predicted = state.support.astype(np.float64), state.predicted.astype(np.float64)
        if (support + predicted > 0).sum() < 2:
            raise NotApplicable("every row is of one class and predicted as it: chance agrees as well")
        chance = dot(support, predicted)
        divisor = n * n - chance
        value = float(np.clip((float(state.hits.sum()) * n - chance) / divisor, -1, 1))
        truth, guess = state.truth, state.guess
        by_chance = predicted[truth] + support[guess]  # how one more sample moves it
        over = (truth == guess) * n + float(state.hits.sum()) - by_chance
        moved = (over - value * (2 * n - by_chance)) / divisor
        variance = float((state.counts * moved**2).sum())
        ends = from_signed_influence(value, variance, state.rows, state.rarest, level)
        return measure(value, ends, level, "asymptotic")


@final
@register("metric")
class MatthewsCorrelation(ConfusionMetric[Measure]):
    """Matthews' correlation coefficient, of many classes R_K: 1 = all right, 0 = as good as chance, -1 = all wrong.

    (c s - sum_k p_k t_k) / sqrt((s^2 - sum_k p_k^2) (s^2 - sum_k t_k^2)) with c hits of s samples, t_k of class k and
    p_k predicted as it. Where all rows are of one class, or predicted as one, it is 0, as in scikit-learn, and the
    interval is (-1, 1). The interval is linearised. Source: Gorodkin (2004).

    >>> from oodometer import Predictions
    >>> round(MatthewsCorrelation().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0])).value, 4)
    0.5774
    """

    name = "mcc"
    quiet = True
    bigger_is_better = True
    citation = "gorodkin2004"
    bounds = (-1.0, 1.0)

    def _finish(self, state: Confusion, level: float, seed: int) -> Measure:
        n = float(state.rows)
        support, predicted = state.support.astype(np.float64), state.predicted.astype(np.float64)
        if (support > 0).sum() < 2 or (predicted > 0).sum() < 2:
            return measure(0.0, (-1.0, 1.0), level, "asymptotic", undefined="one class only")
        hits = float(state.hits.sum())
        of_guess, of_truth = n * n - dot(predicted, predicted), n * n - dot(support, support)
        divisor = (of_guess * of_truth) ** 0.5
        value = float(np.clip((hits * n - dot(support, predicted)) / divisor, -1, 1))
        # How one more sample of (truth, guess) moves numerator and divisors.
        truth, guess = state.truth, state.guess
        over = (truth == guess) * n + hits - predicted[truth] - support[guess]
        under = (n - predicted[guess]) / of_guess + (n - support[truth]) / of_truth
        moved = over / divisor - value * under
        variance = float((state.counts * moved**2).sum())
        ends = from_signed_influence(value, variance, state.rows, state.rarest, level)
        return measure(value, ends, level, "asymptotic")
