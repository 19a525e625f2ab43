"""The contract of a calibrator: learn on a labelled record, return records whose probabilities are calibrated."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Array
from ..checks import check_probabilities
from ..errors import NotApplicable
from ..plugins import answer
from ..predictions import Predictions


def brier(probabilities: Array, label: Array) -> Array:
    """Brier score of each sample: sum_k (p_k - [y = k])^2, half of it where there are two classes; shape (sample,)."""
    squares = np.einsum("nk,nk->n", probabilities, probabilities)
    out: Array = squares - 2 * probabilities[np.arange(len(label)), label] + 1
    return out / 2 if probabilities.shape[1] == 2 else out


def _check(found: Any, rows: int) -> None:
    """An error where what a calibrator of someone else gives is no record with probabilities."""
    if not isinstance(found, Predictions) or len(found) != rows:
        raise TypeError(f"expected a record of {rows} rows, got {type(found).__name__}")
    check_probabilities(found.probabilities)


class Calibrator(ABC):
    """Predictions -> Predictions with calibrated `probabilities`; the predicted class never changes.

    A subclass is final and defines ``_fit`` and ``_calibrate``. ``fit`` returns a fitted copy.
    """

    name: ClassVar[str]
    citation: ClassVar[str]
    seed: int  # of its folds and samples

    def fit(self, reference: Predictions, seed: int = 0) -> Self:
        """A fitted copy; raises `NotApplicable` without probabilities and labels."""
        if reference.probabilities is None or reference.label is None:
            raise NotApplicable("needs `probabilities` (or `logits`) and `label` on the reference")
        labelled = reference if (reference.label >= 0).all() else reference.take(reference.label >= 0)
        if not len(labelled):
            raise NotApplicable("needs labelled reference rows")
        fitted = copy.copy(self)
        fitted.seed = seed
        fitted._fit(labelled)
        return fitted

    def __call__(self, record: Predictions) -> Predictions:
        """The record with calibrated probabilities."""
        if record.probabilities is None:
            raise NotApplicable("needs `probabilities` (or `logits`)")
        made: Predictions = answer(self, lambda: self._calibrate(record), partial(_check, rows=len(record)))
        return made

    @abstractmethod
    def _fit(self, reference: Predictions) -> None:
        """Learn from a labelled record; called on a fresh copy."""

    @abstractmethod
    def _calibrate(self, record: Predictions) -> Predictions:
        """The record with calibrated probabilities."""
