"""The choice of a calibrator: used only where cross-validation on the reference says that it helps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..inference.folds import FOLDS, content_folds, seeded_sample
from ..predictions import Predictions
from ..registry import create
from .base import Calibrator, brier

_MOST_VALUES = 50_000


@dataclass(frozen=True)
class Choice:
    """A fitted calibrator or None, why, and the cross-validated Brier score of every candidate."""

    calibrator: Calibrator | None
    why: str
    scores: dict[str, float]

    def apply(self, record: Predictions) -> Predictions:
        """The record, calibrated where a calibrator was chosen and there are probabilities."""
        if self.calibrator is None or record.probabilities is None:
            return record
        return self.calibrator(record)


def choose_calibrator(reference: Predictions, candidates: Sequence[str] = ("temperature",), seed: int = 0) -> Choice:
    """The candidate with the lowest five-fold Brier score, if it beats raw probabilities by more than one
    standard error.

    Of a large reference a seeded sample of 50,000 probabilities is looked at. Without labels nothing is chosen.

    >>> choose_calibrator(Predictions.from_confidence([0.5], correct=[1])).calibrator is None
    True
    """
    if reference.probabilities is None or reference.label is None:
        return Choice(None, "there are no class probabilities with labels to calibrate", {})
    labelled = reference if (reference.label >= 0).all() else reference.take(reference.label >= 0)
    if len(labelled) < 10 * FOLDS:
        return Choice(None, f"{len(labelled)} labelled reference rows are too few to calibrate on", {})
    most = max(_MOST_VALUES // max(labelled.num_classes, 1), 2_000)
    sample = labelled
    if len(labelled) > most:
        sample = labelled.take(seeded_sample(len(labelled), most, seed))
    assert sample.probabilities is not None
    assert sample.label is not None
    fold = content_folds(sample, seed)
    raw = brier(sample.probabilities.astype(np.float64), sample.label)
    scores = {"none": float(raw.mean())}
    gains = {}
    for name in candidates:
        after = _held_out_brier(sample, name, fold, seed)
        if after is not None:
            scores[name] = float(after.mean())
            gains[name] = (float((raw - after).mean()), float((raw - after).std() / np.sqrt(len(raw))))
    best = max(gains, key=lambda n: gains[n][0], default=None)
    if best is None or not gains[best][0] > gains[best][1]:
        return Choice(
            None,
            "no calibrator lowered the cross-validated Brier score by more than its standard error",
            scores,
        )
    fitted = create("calibrator", best).fit(labelled, seed)
    why = f"{best} lowered the cross-validated Brier score from {scores['none']:.4f} to {scores[best]:.4f}"
    return Choice(fitted, why, scores)


def _held_out_brier(sample: Predictions, name: str, fold: Array, seed: int) -> Array | None:
    """Brier score of every row under the calibrator fitted on the other folds; None where a fold is empty."""
    after = np.empty(len(sample))
    for f in range(FOLDS):
        held = np.flatnonzero(fold == f)
        rest = np.flatnonzero(fold != f)
        if not len(held) or not len(rest):
            return None
        try:
            made = create("calibrator", name).fit(sample.take(rest), seed)(sample.take(held))
        except NotApplicable:
            return None
        after[held] = brier(made.probabilities.astype(np.float64), made.label)
    return after
