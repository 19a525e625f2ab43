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
from ..kernels import mix, row_hash
from ..plugins import answer
from ..predictions import Predictions

__all__ = ["FOLDS", "Calibrator", "assign_folds", "brier", "content_hash", "scramble", "seeded_sample"]

FOLDS = 5


def content_hash(record: Predictions, seed: int = 0) -> Array:
    """A hash of each row's confidence and truth: folds that do not depend on row order."""
    columns = [record.verdicts]
    if record.probabilities is not None:
        columns += [record.top.first, record.top.second]
    elif record.confidence is not None:
        columns.append(record.confidence)
    elif record.members is not None:
        columns.append(np.ascontiguousarray(record.members.T))
    return row_hash(*columns, seed=seed)


def assign_folds(key: Array) -> Array:
    """Fold numbers 0..4 from content hashes: dealt out in the order of the hash, intp, shape (sample,).

    The order of rows does not matter, and equal rows are spread over all folds (a fold by the hash itself would put all
    rows of one rounded confidence into one fold, and cross-validation could learn nothing about it).

    >>> np.bincount(assign_folds(np.array([7, 7, 7, 7, 7, 9, 9, 9, 9, 9], dtype=np.uint64))).tolist()
    [2, 2, 2, 2, 2]
    """
    fold = np.empty(len(key), dtype=np.intp)
    fold[np.argsort(key)] = np.arange(len(key)) % FOLDS
    return fold


def scramble(rows: Array) -> Array:
    """Row numbers as 64-bit keys that look random, all different."""
    return mix(rows.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))


def seeded_sample(total: int, count: int) -> Array:
    """Positions of a uniform sample of ``count`` out of ``total`` rows, ascending and always the same; intp.

    (A hash of the content would not do: all rows of one rounded confidence would be in or out together.)

    >>> seeded_sample(10, 3).shape, seeded_sample(2, 3).tolist()
    ((3,), [0, 1])
    """
    if count >= total:
        return np.arange(total)
    rng = np.random.default_rng([total, count])
    return np.sort(rng.choice(total, count, replace=False, shuffle=False))


def brier(probabilities: Array, label: Array) -> Array:
    """Multi-class Brier score of each sample: sum_k (p_k - [y = k])^2, shape (sample,)."""
    squares = np.einsum("nk,nk->n", probabilities, probabilities)
    out: Array = squares - 2 * probabilities[np.arange(len(label)), label] + 1
    return out


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

    def fit(self, reference: Predictions) -> Self:
        """A fitted copy; raises `NotApplicable` without probabilities and labels."""
        if reference.probabilities is None or reference.label is None:
            raise NotApplicable("needs `probabilities` (or `logits`) and `label` on the reference")
        labelled = reference if (reference.label >= 0).all() else reference.take(reference.label >= 0)
        if not len(labelled):
            raise NotApplicable("needs labelled reference rows")
        fitted = copy.copy(self)
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
