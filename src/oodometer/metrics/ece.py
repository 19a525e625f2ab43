"""ECE: expected calibration error over bins of equal width."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..registry import register
from .base import Measure, checked_pair, measure
from .cells import BINS, CellMetric, Cells
from .spread import from_bootstrap, generator, poisson_counts

__all__ = ["ExpectedCalibrationError", "expected_calibration_error"]

_REPLICATES = 1000


def expected_calibration_error(confidence: Any, correct: Any, bins: int = BINS) -> float:
    """Sum over bins of n_b / n * |accuracy_b - confidence_b|, with mean accuracy and confidence in bin b.

    Bin b covers (b / bins, (b + 1) / bins]; a confidence of 0 belongs to the first.

    ``confidence`` of shape (sample,), in [0, 1]; ``correct``, booleans or 0/1, of the same shape.

    Raises `InputError` for no sample or values that are no confidences. Sources: Naeini et al. (2015), Guo et
    al. (2017).

    >>> round(expected_calibration_error([0.95, 0.94, 0.45, 0.0], [1, 0, 1, 0]), 4)  # (|1 - 1.89| + |1 - .45| + 0) / 4
    0.36
    """
    return binned_error(Cells.of(*checked_pair(confidence, correct), bins))


def binned_error(bins: Cells) -> float:
    """ECE of bins."""
    return float(np.abs(bins.gaps).sum()) / bins.rows


def replicated_gaps(bins: Cells, replicates: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Bootstrap draws of the sums of (confidence - correctness), (replicate, bin), and of their rows, (replicate,)."""
    draws = poisson_counts(bins.counts, replicates, rng)
    return (draws * bins.residuals).sum(axis=2), np.maximum(draws.sum(axis=(1, 2)), 1)


@final
@register("metric")
class ExpectedCalibrationError(CellMetric[Measure]):
    """ECE over ``bins`` (15) bins of equal width; the state is a sum by bin, no sample is stored.

    The value is the usual plug-in, which noise pushes up; the interval is a Poisson bootstrap over (bin,
    verdict) about it and so speaks of the plug-in too. `ece_debiased` takes the push off.

    >>> from oodometer import Predictions
    >>> record = Predictions.from_confidence([0.95, 0.94, 0.45, 0.0], correct=[1, 0, 1, 0])
    >>> e = ExpectedCalibrationError().compute(record)
    >>> round(e.value, 4), e.lower <= e.value <= e.upper
    (0.36, True)
    """

    name = "ece"
    bigger_is_better = False
    citation = "naeini2015"

    def finish(self, state: Cells, level: float = 0.95, seed: int = 0) -> Measure:
        """Error and interval."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        bins = state.coarse(self.bins)
        value = binned_error(bins)
        gaps, rows = replicated_gaps(bins, _REPLICATES, generator(seed, self.name))
        ends = from_bootstrap(value, np.abs(gaps).sum(axis=1) / rows, bins.rows, bins.rarer, level)
        return measure(value, ends, level, "asymptotic", bins=self.bins)
