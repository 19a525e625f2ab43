"""Histogram importance (IM): reference accuracy in ten bins of confidence, re-weighted to the target's bins."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..calibrators.binned_map import count_verdicts
from ..intervals import wilson_from_variance
from ..kernels import equal_bin, tally
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate, percent
from ..scores import Score, natural_confidence
from .base import Estimator, Sums


@final
@register("estimator")
class HistogramImportance(Estimator):
    """sum_b w_b acc_{S,b}, w_b = share of the target in bin b of 10 equal bins of confidence over [0, 1].

    This is the density-ratio mean of correctness with the ratio p_T(b)/p_S(b). A bin that the target fills and the
    reference leaves empty takes the accuracy of its neighbours (linear between them); the share of such rows
    is given and warned about. Variance: sum_b w_b^2 acc_b(1-acc_b)/n_{S,b} + v(1-v)/n_T.

    Parameters
    ----------
    bins : number of bins.

    `NotApplicable` without confidences. Source: Chen et al. (2021), as the baseline "IM" of Garg et al. (2022).

    >>> reference = Predictions.from_confidence([0.95, 0.95, 0.55, 0.55], correct=[1, 1, 1, 0])
    >>> target = Predictions.from_confidence([0.95, 0.55, 0.55, 0.55])
    >>> HistogramImportance().fit(reference).estimate(target).value
    0.625
    """

    name = "im"
    family = "calibrated confidence"
    in_middle = True
    order = 90
    reads = "confidence"
    stable = "P(y | x)"
    in_panel = True
    voice = 2
    needs = ("probabilities|confidence|token_logprobs",)
    assumes = "accuracy at a given confidence is the same on the target (covariate shift in confidence)"
    citation = "chen2021"

    def __init__(self, *, bins: int = 10, level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        self._bins = bins

    def _bin(self, record: Predictions) -> Array:
        return equal_bin(self._score(record), self._bins)

    def _fit(self, reference: Predictions) -> None:
        self._score: Score = natural_confidence(reference).fit(reference)
        self._rows = len(reference)
        index = self._bin(reference)
        rows, hits = count_verdicts(index, reference.verdicts, self._bins)
        full = rows > 0
        centres = np.arange(self._bins)
        self._accuracy: Array = np.interp(centres, centres[full], hits[full] / rows[full])
        self._empty: Array = ~full
        # add-half smoothing: a bin without errors has a variance all the same; an empty bin that of one sample
        smooth = (hits + 0.5) / (rows + 1)
        self._variance: Array = np.where(full, smooth * (1 - smooth) / np.maximum(rows, 1), 0.25)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows in each bin."""
        return Sums(rows=len(batch), counts=tally(self._bin(batch), self._bins)[0, :, 0])

    def finish(self, state: Sums) -> Estimate:
        """Reference accuracy of the bins, weighted by the target."""
        rows, weights = state["rows"], state["counts"] / state["rows"]
        value = float(weights @ self._accuracy)
        variance = float(np.square(weights) @ self._variance) + max(value * (1 - value), 0.0) / rows
        lower, upper = wilson_from_variance(value, variance, min(rows, self._rows), self.level)
        outside = float(weights[self._empty].sum())
        notes = (f"{percent(outside)} of the target lies in confidence bins that the reference leaves empty",)
        return self._estimate(
            state,
            value,
            lower,
            upper,
            score=self._score.name,
            details={"share_outside_reference": outside},
            warnings=notes if outside > 0.01 else (),
        )
