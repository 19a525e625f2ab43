"""Debiased ECE: equal-width calibration error less the part that sampling noise alone adds."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..registry import register
from .base import Measure, checked_pair
from .calibration_bins import BINS, BinnedMetric, CalibrationBins
from .consistency import population_error
from .ece import binned_error, calibrated_errors, replicated_gaps
from .spread import generator

_REPLICATES = 1000


def debiased_calibration_error(confidence: Any, correct: Any, bins: int = BINS) -> float:
    """ECE less its expected bias: sum_b n_b / n (|g_b| - (E|N(g_b, s_b^2)| - |g_b|)), cut at 0.

    g_b is accuracy minus mean confidence in bin b and s_b^2 = accuracy_b (1 - accuracy_b) / n_b. The
    expectation has a closed form (a folded normal). Arguments and errors as in `expected_calibration_error`.
    Source: Kumar, Liang and Ma (2019), section 5 and their reference code, which draws the normals.

    >>> round(debiased_calibration_error([0.9] * 10, [1] * 9 + [0]), 3)  # no gap at all
    0.0
    >>> 0.35 < debiased_calibration_error([0.9] * 10, [1] * 5 + [0] * 5) <= 0.4
    True
    """
    return _debiased(CalibrationBins.of(*checked_pair(confidence, correct), bins))


def folded_normal_mean(mean: Array, sd: Array) -> Array:
    """E|N(mean, sd^2)| = sd sqrt(2 / pi) exp(-mean^2 / 2 sd^2) + mean (1 - 2 Phi(-mean / sd)); |mean| for sd 0.

    >>> folded_normal_mean(np.array([0.0, -2.0]), np.array([1.0, 0.0])).round(4).tolist()
    [0.7979, 2.0]
    """
    from scipy.special import erf

    safe = np.where(sd > 0, sd, 1.0)
    z = mean / safe
    folded = safe * math.sqrt(2 / math.pi) * np.exp(-z * z / 2) + mean * erf(z / math.sqrt(2))
    out: Array = np.where(sd > 0, folded, np.abs(mean))
    return out


def _debiased(bins: CalibrationBins) -> float:
    size = np.maximum(bins.counts.sum(axis=1), 1)
    share = bins.counts[:, 1] / size
    gap = bins.gaps / size
    expected = folded_normal_mean(gap, np.sqrt(share * (1 - share) / size))
    bias = float((size * (expected - np.abs(gap)))[bins.counts.sum(axis=1) > 0].sum()) / bins.rows
    return max(0.0, binned_error(bins) - bias)


@final
@register("metric")
class DebiasedCalibrationError(BinnedMetric[Measure]):
    """ECE less its expected bias (Kumar et al. 2019); the one to compare data sets of different sizes by.

    >>> from oodometer import Predictions
    >>> calm = Predictions.from_confidence([0.9] * 10, correct=[1] * 9 + [0])
    >>> round(DebiasedCalibrationError().compute(calm).value, 3)
    0.0
    """

    name = "ece_debiased"
    bigger_is_better = False
    citation = "kumar2019"

    def finish(self, state: CalibrationBins, level: float = 0.95, seed: int = 0) -> Measure:
        """Error and interval, that of the plug-in moved by the bias; it reaches 0 as that of `ece` does."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        bins = state.coarse(self.bins)
        value = _debiased(bins)
        rng = generator(seed, self.name)
        gaps, rows = replicated_gaps(bins, _REPLICATES, rng)
        replicates = np.abs(gaps).sum(axis=1) / rows
        null = calibrated_errors(state, self.bins, rng)
        plug_in = binned_error(bins)
        sizes = (bins.rows, bins.rarer)
        return population_error(value, replicates, plug_in, null, sizes, level, debiased=True, bins=self.bins)
