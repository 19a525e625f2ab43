"""Correctness: the chance that each sample is right, learnt on the reference; what predictions add to labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..calibrators.binned_map import BinnedMap, bins_for, count_verdicts, fit_map
from ..errors import NotApplicable
from ..estimators.confidence import confidence_bins
from ..inference.folds import content_folds
from ..predictions import Predictions
from ..scores import Score, natural_confidence

__all__ = ["Correctness"]


@dataclass(frozen=True)
class Correctness:
    """f(x) in [0, 1], the reference's rate of being correct at x's confidence, and how far to lean on it.

    Parameters
    ----------
    score : the natural confidence, or None where the record has none.
    rate : f in each log-odds bin of confidence, shape (bin,); isotonic, or the confidence itself where five-fold
        cross-validation prefers that.
    slope : cov(Y, f)/var(f) on reference rows that f was not learnt from, cut to [0, 1].
    explained : the share of the variance of Y that slope * f takes away on such rows.

    >>> p = Predictions.from_confidence([0.9] * 60 + [0.6] * 60, correct=[1] * 60 + [0, 1] * 30)
    >>> learnt = Correctness.fit(p)
    >>> learnt(p)[[0, 60]].round(2).tolist(), round(learnt.slope, 1)
    ([1.0, 0.5], 1.0)
    """

    score: Score | None
    rate: Array
    slope: float
    explained: float = 0.0
    name: ClassVar[str] = "confidence"

    @classmethod
    def fit(cls, reference: Predictions) -> Correctness:
        """Learn on a labelled record; without any confidence, f is the reference accuracy and the slope 0."""
        reference = reference.known()
        if not len(reference):
            raise NotApplicable("needs labelled reference rows")
        verdicts = reference.verdicts
        try:
            score = natural_confidence(reference)
        except NotApplicable:
            return cls(None, np.array([verdicts.mean()]), 0.0)
        cell = confidence_bins(reference, score, 1)
        half = content_folds(reference) % 2
        other = np.empty(len(reference))
        for fold in (0, 1):
            held = half == fold
            if held.all() or not held.any():
                return cls(score, _map(cell, verdicts).rate[0], 0.0)
            other[held] = _map(cell[~held], verdicts[~held]).rate[0][cell[held]]
        spread = float(other.var())
        covariance = float(np.mean((other - other.mean()) * verdicts))
        slope = min(max(covariance / spread if spread > 0 else 0.0, 0.0), 1.0)
        whole = float(verdicts.mean() * (1 - verdicts.mean()))
        explained = (2 * slope * covariance - slope**2 * spread) / whole if whole > 0 else 0.0
        return cls(score, _map(cell, verdicts).rate[0], slope, explained)

    def __call__(self, batch: Predictions) -> Array:
        """f of each sample, shape (sample,)."""
        if self.score is None or self.score.why_not(batch) is not None:
            return np.full(len(batch), float(self.rate.mean()) if self.score is None else 0.5)
        rates: Array = self.rate[confidence_bins(batch, self.score, 1)]
        return rates


def _map(cell: Array, verdicts: Array) -> BinnedMap:
    rows, hits = count_verdicts(cell, verdicts, bins_for(1))
    return fit_map(rows[None, :], hits[None, :])
