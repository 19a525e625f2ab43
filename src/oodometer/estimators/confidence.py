"""Confidence: what several estimators ask of a record's confidence, worked out once a record."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..calibrators.binned_map import at_resolution
from ..kernels import log_odds_bin
from ..predictions import Predictions
from ..scores import Score

__all__ = ["confidence_bins", "confidence_gap", "total_confidence"]

_ROWS_AT_A_TIME = 1 << 14  # small enough for the cache


def confidence_bins(record: Predictions, score: Score, classes: int) -> Array:
    """Log-odds bin of each sample's confidence at the resolution for so many classes, intp, shape (sample,).

    >>> from oodometer.scores import natural_confidence
    >>> p = Predictions.from_confidence([0.0, 1.0])
    >>> confidence_bins(p, natural_confidence(p), 1).tolist()
    [0, 959]
    """
    made: Array = record.derived(f"bins:{score.name}", lambda: log_odds_bin(score(record)))
    return at_resolution(made, classes)


def total_confidence(record: Predictions, score: Score) -> float:
    """Sum of the score over the samples, in double precision.

    >>> from oodometer.scores import natural_confidence
    >>> p = Predictions.from_confidence([0.25, 1.0])
    >>> total_confidence(p, natural_confidence(p))
    1.25
    """
    made: float = record.derived(f"total:{score.name}", lambda: float(score(record).sum(dtype=np.float64)))
    return made


def confidence_gap(record: Predictions, score: Score) -> tuple[float, float]:
    """Mean over the samples of (correct - confidence), and the variance of that mean (`mean_and_variance`).

    >>> from oodometer.scores import natural_confidence
    >>> p = Predictions.from_confidence([0.5, 0.75], correct=[1, 1])
    >>> confidence_gap(p, natural_confidence(p))[0]
    0.375
    """

    def make() -> tuple[float, float]:
        verdicts, values = record.verdicts, score(record)
        sums = squares = 0.0
        for start in range(0, len(record), _ROWS_AT_A_TIME):
            part = slice(start, start + _ROWS_AT_A_TIME)
            gap = np.subtract(verdicts[part], values[part], dtype=np.float64)
            sums += float(gap.sum())
            squares += float(np.einsum("n,n->", gap, gap))
        mean = sums / len(record)
        spread = max(squares - sums * mean, 0.0) + 1  # one squared unit more, as in `mean_and_variance`
        return mean, spread / (len(record) + 1) / len(record)

    made: tuple[float, float] = record.derived(f"gap:{score.name}", make)
    return made
