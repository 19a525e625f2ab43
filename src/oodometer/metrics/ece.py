"""ECE: expected calibration error over bins of equal width."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..registry import register
from .base import Measure, checked_pair
from .calibration_bins import BINS, BinnedMetric, CalibrationBins
from .consistency import NULL_REPLICATES, calibrated_labels, population_error
from .spread import generator, poisson_counts

_REPLICATES = 1000
_PARTS = 16  # of a bin, within which confidences are taken to be alike


def expected_calibration_error(confidence: Any, correct: Any, bins: int = BINS) -> float:
    """Sum over bins of n_b / n * |accuracy_b - confidence_b|, with mean accuracy and confidence in bin b.

    Bin b covers (b / bins, (b + 1) / bins]; a confidence of 0 belongs to the first.

    ``confidence`` of shape (sample,), in [0, 1]; ``correct``, booleans or 0/1, of the same shape.

    Raises `InputError` for no sample or values that are no confidences. Sources: Naeini et al. (2015), Guo et
    al. (2017).

    >>> round(expected_calibration_error([0.95, 0.94, 0.45, 0.0], [1, 0, 1, 0]), 4)  # (|1 - 1.89| + |1 - .45| + 0) / 4
    0.36
    """
    return binned_error(CalibrationBins.of(*checked_pair(confidence, correct), bins))


def binned_error(bins: CalibrationBins) -> float:
    """ECE of bins."""
    return float(np.abs(bins.gaps).sum()) / bins.rows


def replicated_gaps(bins: CalibrationBins, replicates: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Bootstrap draws of the sums of (confidence - correctness), (replicate, bin), and of their rows, (replicate,)."""
    draws = poisson_counts(bins.counts, replicates, rng)
    return (draws * bins.residuals).sum(axis=2), np.maximum(draws.sum(axis=(1, 2)), 1)


def calibrated_errors(state: CalibrationBins, bins: int, rng: np.random.Generator) -> Array:
    """ECE over ``bins`` bins of labels drawn as the confidences say, shape (replicate,)."""
    fine = state.coarse(bins * min(_PARTS, len(state.counts) // bins))
    counts, sums = fine.counts.sum(axis=1), fine.sums.sum(axis=1)
    hits = calibrated_labels(counts, sums / np.maximum(counts, 1), NULL_REPLICATES, rng)
    gaps = (sums - hits).reshape(NULL_REPLICATES, bins, -1).sum(axis=2)
    out: Array = np.abs(gaps).sum(axis=1) / state.rows
    return out


@final
@register("metric")
class ExpectedCalibrationError(BinnedMetric[Measure]):
    """ECE over ``bins`` (15) bins of equal width; the state is a sum by bin, no sample is stored.

    The value is the usual plug-in, which noise pushes up; `ece_debiased` takes the push off. The interval is for
    the error of the population over the same bins: a Poisson bootstrap over (bin, verdict), its lower end 0 where a
    calibrated model might show as much (`consistency`).

    >>> from oodometer import Predictions
    >>> record = Predictions.from_confidence([0.95, 0.94, 0.45, 0.0], correct=[1, 0, 1, 0])
    >>> e = ExpectedCalibrationError().compute(record)
    >>> round(e.value, 4), e.lower <= e.value <= e.upper
    (0.36, True)
    """

    name = "ece"
    bigger_is_better = False
    citation = "naeini2015"

    def finish(self, state: CalibrationBins, level: float = 0.95, seed: int = 0) -> Measure:
        """Error and interval."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        bins = state.coarse(self.bins)
        value = binned_error(bins)
        rng = generator(seed, self.name)
        gaps, rows = replicated_gaps(bins, _REPLICATES, rng)
        replicates = np.abs(gaps).sum(axis=1) / rows
        null = calibrated_errors(state, self.bins, rng)
        sizes = (bins.rows, bins.rarer)
        return population_error(value, replicates, value, null, sizes, level, bins=self.bins)
