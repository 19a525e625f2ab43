"""Cells: the fixed-size state of binned calibration metrics, counts and sums of narrow confidence cells."""

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

__all__ = ["BINS", "CellMetric", "Cells", "cell_number"]

BINS = 15
_FINE = 3840  # 15 * 256: narrow enough for the smooth metric, and every default metric shares the state


def cell_number(confidence: Array, cells: int) -> Array:
    """Cell of each confidence, intp: cell i covers (i / cells, (i + 1) / cells], and 0 belongs to the first.

    Computed in the dtype of the input, so that a float32 0.2 counts as 0.2 and not as a little more.

    >>> cell_number(np.array([0.0, 0.2, 0.21, 1.0]), 5).tolist()
    [0, 0, 1, 4]
    """
    scaled = confidence * confidence.dtype.type(cells)
    out: Array = np.ceil(scaled, out=scaled).astype(np.intp)
    out -= 1
    return np.clip(out, 0, cells - 1, out=out)


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts and sums of confidence by cell of equal width and by verdict.

    counts : int64, shape (cell, verdict), verdict 0 = wrong, 1 = correct.
    sums : float64, shape (cell, verdict), summed confidence.

    >>> c = Cells.of(np.array([0.9, 0.8, 0.1]), np.array([1, 0, 0]), 2)
    >>> c.counts.tolist(), c.sums.round(3).tolist()
    ([[1, 0], [1, 1]], [[0.1, 0.0], [0.8, 0.9]])
    """

    counts: Int[Array, "cell 2"]
    sums: Float[Array, "cell 2"]

    @classmethod
    def of(cls, confidence: Array, verdict: Array, cells: int) -> Cells:
        """State of confidences in [0, 1] and verdicts 0 or 1, both of shape (sample,)."""
        code = cell_number(confidence, cells)
        code *= 2
        code += verdict
        counts = np.bincount(code, minlength=2 * cells)
        sums = np.bincount(code, weights=confidence, minlength=2 * cells).astype(np.float64, copy=False)
        return cls(counts.reshape(cells, 2).astype(np.int64, copy=False), sums.reshape(cells, 2))

    def __add__(self, other: Cells) -> Cells:
        """Sum of both."""
        if self.counts.shape != other.counts.shape:
            raise UsageError("states of different numbers of cells cannot merge; use one metric for all parts")
        return Cells(self.counts + other.counts, self.sums + other.sums)

    def coarse(self, cells: int) -> Cells:
        """The same in fewer cells, a divisor of their number."""
        return Cells(self.counts.reshape(cells, -1, 2).sum(axis=1), self.sums.reshape(cells, -1, 2).sum(axis=1))

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
        """Sum of (confidence - correctness) in each cell."""
        gaps: Array = self.sums.sum(axis=1) - self.counts[:, 1]
        return gaps

    @property
    def residuals(self) -> Float[Array, "cell 2"]:
        """Mean of (confidence - correctness) in each cell and verdict; 0 where empty."""
        means = self.sums / np.maximum(self.counts, 1)
        residuals: Array = np.where(self.counts > 0, means - np.array([0.0, 1.0]), 0.0)
        return residuals


class CellMetric(Metric[Cells, R]):
    """A metric over `Cells`; ``bins`` is the number of bins that is reported."""

    needs = CONFIDENCE

    def __init__(self, bins: int = BINS) -> None:
        if bins < 1:
            raise UsageError(f"expected at least one bin, got {bins}; 15 is usual")
        self.bins = bins

    @property
    def cells(self) -> int:
        """Cells kept: the bins times a power of two, so that summing cells gives the bins to the last bit."""
        return self.bins << max(0, math.ceil(math.log2(_FINE / self.bins)))

    @property
    def state_key(self) -> str:
        """All metrics with the same number of cells share their state."""
        return f"cells:{self.cells}"

    def summarize(self, batch: Predictions) -> Cells:
        """Counts and sums of one batch."""
        return Cells.of(*confidence_and_verdict(batch), self.cells)
