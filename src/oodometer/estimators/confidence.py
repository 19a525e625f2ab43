"""Confidence: what several estimators ask of a record's confidence, worked out once a record."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..calibrators.binned_map import at_resolution, bins_for
from ..kernels import log_odds_bin, tally
from ..predictions import Predictions
from ..scores import Score

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


def counts_by_class_and_bin(record: Predictions, score: Score, classes: int) -> Array:
    """Samples by predicted class and log-odds bin of their confidence, int64, shape (class, bin); not to be written on.

    Every method that counts in cells made of these counts from them and not from the rows again. `ValueError` for a
    predicted class that is none of so many.

    >>> from oodometer.scores import natural_confidence
    >>> p = Predictions.from_probabilities([[0.9, 0.1], [0.2, 0.8]])
    >>> counts_by_class_and_bin(p, natural_confidence(p), 2).sum(axis=1).tolist()
    [1, 1]
    """

    def make() -> Array:
        bins = confidence_bins(record, score, classes)
        out = tally(bins, bins_for(classes), kinds=record.predicted, of=classes)[:, :, 0]
        out.flags.writeable = False
        return out

    made: Array = record.derived(f"class bins:{score.name}:{classes}", make)
    return made


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
