"""Calibration bins: the state of binned calibration metrics, counts and sums of narrow bins of confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..predictions import Predictions
from .base import CONFIDENCE, Metric, R, confidence_and_verdict

if TYPE_CHECKING:
    from jaxtyping import Float, Int


BINS = 15
_FINE = 3840  # 15 * 256: narrow enough for the smooth metric, and every default metric shares the state


def bin_number(confidence: Array, bins: int) -> Array:
    """Bin of each confidence, intp: bin i covers (i / bins, (i + 1) / bins], and 0 belongs to the first.

    Computed in the dtype of the input, so that a float32 0.2 counts as 0.2 and not as a little more.

    >>> bin_number(np.array([0.0, 0.2, 0.21, 1.0]), 5).tolist()
    [0, 0, 1, 4]
    """
    scaled = confidence * confidence.dtype.type(bins)
    out: Array = np.ceil(scaled, out=scaled).astype(np.intp)
    out -= 1
    return np.clip(out, 0, bins - 1, out=out)


@dataclass(frozen=True, eq=False)
class CalibrationBins:
    """Counts and sums of confidence by bin of equal width and by verdict.

    counts : int64, shape (bin, verdict), verdict 0 = wrong, 1 = correct.
    sums : float64, shape (bin, verdict), summed confidence.

    >>> c = CalibrationBins.of(np.array([0.9, 0.8, 0.1]), np.array([1, 0, 0]), 2)
    >>> c.counts.tolist(), c.sums.round(3).tolist()
    ([[1, 0], [1, 1]], [[0.1, 0.0], [0.8, 0.9]])
    """

    counts: Int[Array, "bin 2"]
    sums: Float[Array, "bin 2"]

    @classmethod
    def of(cls, confidence: Array, verdict: Array, bins: int) -> CalibrationBins:
        """State of confidences in [0, 1] and verdicts 0 or 1, both of shape (sample,)."""
        code = bin_number(confidence, bins)
        code *= 2
        code += verdict
        counts = np.bincount(code, minlength=2 * bins)
        sums = np.bincount(code, weights=confidence, minlength=2 * bins).astype(np.float64, copy=False)
        return cls(counts.reshape(bins, 2).astype(np.int64, copy=False), sums.reshape(bins, 2))

    def __add__(self, other: CalibrationBins) -> CalibrationBins:
        """Sum of both."""
        if self.counts.shape != other.counts.shape:
            raise UsageError("states of different numbers of cells cannot merge; use one metric for all parts")
        return CalibrationBins(self.counts + other.counts, self.sums + other.sums)

    def coarse(self, bins: int) -> CalibrationBins:
        """The same in fewer bins, a divisor of their number."""
        return CalibrationBins(self.counts.reshape(bins, -1, 2).sum(axis=1), self.sums.reshape(bins, -1, 2).sum(axis=1))

    @property
    def rows(self) -> int:
        """Number of samples."""
        return int(self.counts.sum())

    @property
    def rarer(self) -> int:
        """Number of samples of the rarer verdict."""
        return int(self.counts.sum(axis=0).min())

    @property
    def gaps(self) -> Array:
        """Sum of (confidence - correctness) in each bin."""
        gaps: Array = self.sums.sum(axis=1) - self.counts[:, 1]
        return gaps

    @property
    def residuals(self) -> Float[Array, "bin 2"]:
        """Mean of (confidence - correctness) in each bin and verdict; 0 where empty."""
        means = self.sums / np.maximum(self.counts, 1)
        residuals: Array = np.where(self.counts > 0, means - np.array([0.0, 1.0]), 0.0)
        return residuals


class BinnedMetric(Metric[CalibrationBins, R]):
    """A metric over `CalibrationBins`; ``bins`` is the number of bins that is reported."""

    needs = CONFIDENCE

    def __init__(self, bins: int = BINS) -> None:
        if bins < 1:
            raise UsageError(f"expected at least one bin, got {bins}; 15 is usual")
        self.bins = bins

    @property
    def fine_bins(self) -> int:
        """Bins kept: those reported times a power of two, so that summing them gives these to the last bit."""
        return self.bins << max(0, math.ceil(math.log2(_FINE / self.bins)))

    @property
    def state_key(self) -> str:
        """All metrics with the same number of bins share their state."""
        return f"cells:{self.fine_bins}"

    def summarize(self, batch: Predictions) -> CalibrationBins:
        """Counts and sums of one batch."""
        return CalibrationBins.of(*confidence_and_verdict(batch), self.fine_bins)
