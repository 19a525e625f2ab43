"""The contract of a calibrator, and the choice of one where cross-validation on the reference says it helps."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..fields import check_probabilities
from ..inference.row_sample import FOLDS, content_folds, content_keys, content_sample
from ..predictions import Predictions
from ..registry import answer, create


def brier(probabilities: Array, label: Array) -> Array:
    """Brier score of each sample: sum_k (p_k - [y = k])^2, half of it where there are two classes; shape (sample,)."""
    squares = np.einsum("nk,nk->n", probabilities, probabilities)
    out: Array = squares - 2 * probabilities[np.arange(len(label)), label] + 1
    return out / 2 if probabilities.shape[1] == 2 else out


def _check(record: Any, rows: int) -> None:
    """An error where what a calibrator of someone else gives is no record with probabilities."""
    if not isinstance(record, Predictions) or record.rows != rows:
        raise TypeError(f"expected a record of {rows} rows, got {type(record).__name__}")
    check_probabilities(record.probabilities)


class Calibrator(ABC):
    """Predictions -> Predictions with calibrated `probabilities`; the predicted class never changes.

    A subclass is final and defines ``_fit`` and ``_calibrate``. ``fit`` returns a fitted copy.
    """

    name: ClassVar[str]
    citation: ClassVar[str]
    seed: int  # of its folds and samples
    _is_foreign: ClassVar[bool] = True  # until it is registered: then it is known

    def fit(self, reference: Predictions, seed: int = 0) -> Self:
        """A fitted copy; raises `NotApplicable` without probabilities and labels."""
        if reference.probabilities is None or reference.label is None:
            raise NotApplicable("needs `probabilities` (or `logits`) and `label` on the reference")
        labelled = (
            reference if (reference.label >= 0).all() else reference.take(reference.label >= 0)
        )
        if not labelled.rows:
            raise NotApplicable("needs labelled reference rows")
        fitted = copy.copy(self)
        fitted.seed = seed
        fitted._fit(labelled)
        return fitted

    def __call__(self, record: Predictions) -> Predictions:
        """The record with calibrated probabilities."""
        if record.probabilities is None:
            raise NotApplicable("needs `probabilities` (or `logits`)")
        content_keys(record)  # of the rows as they came, whose last digits no calibrator touched
        if not self._is_foreign:
            return self._calibrate(record)
        calibrated: Predictions = answer(
            self, lambda: self._calibrate(record), partial(_check, rows=record.rows)
        )
        return calibrated

    def held_out(self, record: Predictions, fold: Array, seed: int = 0) -> Array | None:
        """Probabilities of every row by the calibrator fitted on the other folds, of a record whose rows are all
        labelled, shape (sample, class); None where a fold holds no row or all of them.
        """
        assert record.probabilities is not None
        out = np.empty(record.probabilities.shape)
        for f in range(FOLDS):
            test, rest = np.flatnonzero(fold == f), np.flatnonzero(fold != f)
            if not len(test) or not len(rest):
                return None
            out[test] = self.fit(record.take(rest), seed)(record.take(test)).probabilities
        return out

    @abstractmethod
    def _fit(self, reference: Predictions) -> None:
        """Learn from a labelled record; called on a fresh copy."""

    @abstractmethod
    def _calibrate(self, record: Predictions) -> Predictions:
        """The record with calibrated probabilities."""


_MOST_VALUES = 50_000


@dataclass(frozen=True)
class Choice:
    """What `choose_calibrator` chose.

    calibrator : fitted on all labelled rows of the reference; None where none is better than the raw probabilities.
    why : the reason, in a sentence.
    scores : cross-validated Brier score of every candidate that could be tried, and of the raw probabilities ("none");
        empty where nothing could be tried.
    """

    calibrator: Calibrator | None
    why: str
    scores: dict[str, float]

    @property
    def is_named(self) -> bool:
        """Whether the calibrator was asked for by name: nothing was weighed then."""
        return self.calibrator is not None and not self.scores

    def apply(self, record: Predictions) -> Predictions:
        """The record, calibrated where a calibrator was chosen and there are probabilities."""
        return (
            record
            if self.calibrator is None or record.probabilities is None
            else self.calibrator(record)
        )


def choose_calibrator(
    reference: Predictions, candidates: Sequence[str] = ("temperature",), seed: int = 0
) -> Choice:
    """The candidate with the lowest five-fold Brier score, if it beats raw probabilities by more than one standard
    error.

    reference : record with probabilities and labels; of a large one a seeded sample of 50,000 probabilities is looked
        at, and what is chosen is then fitted on all labelled rows. Without probabilities or labels nothing is chosen.
    candidates : registered names of calibrators; those that do not apply are passed over.
    seed : of the sample, the folds and the calibrators' own draws.

    >>> choose_calibrator(Predictions.from_confidence([0.5], correct=[1])).calibrator is None
    True
    """
    if reference.probabilities is None or reference.label is None:
        return Choice(None, "there are no class probabilities with labels to calibrate", {})
    labelled = reference if (reference.label >= 0).all() else reference.take(reference.label >= 0)
    if labelled.rows < 10 * FOLDS:
        return Choice(
            None, f"{labelled.rows} labelled reference rows are too few to calibrate on", {}
        )
    limit = max(_MOST_VALUES // max(labelled.num_classes, 1), 2_000)
    sample = labelled
    if labelled.rows > limit:
        sample = labelled.take(content_sample(labelled, limit, seed))
    assert sample.probabilities is not None
    assert sample.label is not None
    fold = content_folds(sample, seed)
    raw = brier(sample.probabilities.astype(np.float64), sample.label)
    scores = {"none": float(raw.mean())}
    gains, tried = {}, {}
    for name in candidates:
        with suppress(NotApplicable):
            tried[name] = create("calibrator", name)
            calibrated = tried[name].held_out(sample, fold, seed)
            if calibrated is None:
                continue
            after = brier(calibrated.astype(np.float64, copy=False), sample.label)
            scores[name] = float(after.mean())
            gains[name] = (
                float((raw - after).mean()),
                float((raw - after).std() / np.sqrt(len(raw))),
            )
    best = max(gains, key=lambda n: gains[n][0], default=None)
    if best is None or not gains[best][0] > gains[best][1]:
        return Choice(
            None,
            "no calibrator lowered the cross-validated Brier score by more than its standard error",
            scores,
        )
    fitted = tried[best].fit(labelled, seed)
    why = f"{best} lowered the cross-validated Brier score from {scores['none']:.4f} to {scores[best]:.4f}"
    return Choice(fitted, why, scores)
