"""Top-k accuracy: how often the true class is among the k of the highest probabilities."""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np

from ..arrays import Array
from ..checks import check_length, check_probabilities
from ..classes import encode
from ..errors import InputError, NotApplicable, UsageError
from ..intervals import clopper_pearson
from ..predictions import Predictions
from ..registry import register
from .accuracy import Counts
from .base import Measure, Metric, measure


def top_k_accuracy(probabilities: Any, label: Any, k: int = 5) -> float:
    """Share of samples whose true class is among the k of the highest probabilities, a fraction.

    ``probabilities`` of shape (sample, class), ``label`` integer classes of shape (sample,). Among equal probabilities
    the first class comes first, as in a prediction, so that k = 1 is the accuracy. Raises `InputError` for arrays that
    hold no probabilities or no known classes, `UsageError` for a k below 1. Source: Russakovsky et al. (2015).

    >>> top_k_accuracy([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], [1, 0], k=2)
    0.5
    """
    checked = check_probabilities(probabilities)
    codes = encode(label, tuple(range(checked.shape[1])), "label")
    check_length(len(checked), len(codes), "label")
    if not len(codes) or (codes < 0).any():
        raise InputError("a known class for every sample", got="null", remedy="drop the row", column="label")
    return float((_places(checked, codes) < _checked(k)).mean())


def _checked(k: Any) -> int:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise UsageError(f"expected a k of at least 1, got {k!r}; top 1 is the accuracy")
    return int(k)


def _places(probabilities: Array, label: Array) -> Array:
    """How many classes stand before the true one, int64, shape (sample,)."""
    own = probabilities[np.arange(len(label)), label][:, None]
    before = probabilities > own
    tied = (probabilities == own) & (np.arange(probabilities.shape[1]) < label[:, None])
    out: Array = np.count_nonzero(before | tied, axis=1)
    return out


@final
@register("metric")
class TopKAccuracy(Metric[Counts, Measure]):
    """Top-k accuracy with the interval of Clopper and Pearson (1934); ``top_k_accuracy:3`` asks for k = 3, not 5.

    Only for more than k classes. Source: Russakovsky et al. (2015).

    >>> from oodometer import Predictions
    >>> p = Predictions.from_probabilities([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], label=[1, 0])
    >>> TopKAccuracy(k=2).compute(p).value
    0.5
    """

    name = "top_k_accuracy"
    needs = (("class", "label", "probabilities"),)
    bigger_is_better = True
    quiet = True
    citation = "russakovsky2015"

    def __init__(self, k: int = 5) -> None:
        self.k = _checked(k)

    @classmethod
    def from_argument(cls, argument: str) -> Self:
        """``top_k_accuracy:3``."""
        if not (argument.isascii() and argument.isdecimal()):
            raise UsageError(f"expected a k such as top_k_accuracy:3, got {argument!r}")
        return cls(int(argument))

    @property
    def state_key(self) -> str:
        """One state for each k."""
        return f"top:{self.k}"

    def why_not(self, record: Predictions) -> str | None:
        """Why this record is not enough, or None."""
        few = record.probabilities is not None and record.num_classes <= self.k
        return f"needs more than {self.k} classes; ask for top_k_accuracy:2, say" if few else self.missing(record)

    def summarize(self, batch: Predictions) -> Counts:
        """Count the rows whose true class is among the first k."""
        if batch.label is None or batch.probabilities is None:
            raise NotApplicable("needs `probabilities` and `label`")
        known = batch.label >= 0
        places = _places(batch.probabilities[known], batch.label[known])
        return Counts(len(places), int(np.count_nonzero(places < self.k)))

    def finish(self, state: Counts, level: float = 0.95, seed: int = 0) -> Measure:
        """The share and its exact interval."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        ends = clopper_pearson(state.hits, state.rows, level)
        return measure(state.hits / state.rows, ends, level, "exact", k=self.k)
