"""Consistency: could a calibrated model have shown this calibration error? If so, the interval reaches down to 0.

A plug-in calibration error is above 0 for every sample, so that an interval drawn about it never holds the 0 of a
calibrated model. Here labels are drawn as the confidences say (Broecker and Smith 2007), and the error that such labels
show is the yardstick.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..kernels import quantiles
from .base import Measure, measure
from .spread import from_bootstrap

NULL_REPLICATES = 1000
_OF = "the population's error"


def calibrated_labels(counts: Array, confidence: Array, replicates: int, rng: np.random.Generator) -> Array:
    """Correct samples of each cell as calibrated confidences would give them, shape (replicate, cell).

    counts (whole numbers) and mean confidence of the cells have shape (cell,).

    >>> calibrated_labels(np.array([3, 0, 2]), np.array([1.0, 0.5, 0.0]), 2, np.random.default_rng(0)).tolist()
    [[3.0, 0.0, 0.0], [3.0, 0.0, 0.0]]
    """
    used = np.flatnonzero(counts > 0)
    out = np.zeros((replicates, len(counts)))
    whole = np.rint(counts[used]).astype(np.int64)
    out[:, used] = rng.binomial(whole, np.clip(confidence[used], 0, 1), size=(replicates, len(used)))
    return out


def population_error(
    value: float,
    replicates: Array,
    observed: float,
    null: Array,
    rows: tuple[float, float],
    level: float,
    *,
    debiased: bool = False,
    **extras: object,
) -> Measure:
    """A calibration error with an interval for that of the population.

    replicates : bootstrap replicates of the plug-in. null : the plug-in of labels drawn from the confidences.
    rows : how many there are, and how many of the rarer verdict.
    observed : the plug-in on the cells from which both were made. The ends are those of the bootstrap; the lower one
    moves down by the bias that the bootstrap shows (not if ``debiased``), and to 0 where at least (1 - level) / 2 of
    the null is as large as what was observed: a calibrated model would then be no surprise. Nor is it above what was
    observed less that quantile of the null, which bounds what noise can add. So the 0 of a calibrated model is held in
    nearly ``level`` + (1 - level) / 2 of all samples of any size.

    >>> m = population_error(0.1, np.array([0.08, 0.12]), 0.1, np.array([0.05, 0.11]), (100, 40), 0.95)
    >>> m.lower, round(m.extras["p_calibrated"], 2)
    (0.0, 0.67)
    """
    lower, upper = from_bootstrap(value, replicates, *rows, level)
    if not debiased:
        lower = max(0.0, lower - max(float(replicates.mean()) - observed, 0.0))
    tail = (1 - level) / 2
    # a norm of gap and noise is at most the norm of the gap and that of the noise
    lower = min(lower, max(0.0, observed - float(quantiles(null, [1 - tail])[0])))
    p = (1 + int((null >= observed * (1 - 1e-9)).sum())) / (1 + len(null))
    if p > tail:
        lower = 0.0
    return measure(value, (lower, upper), level, "asymptotic", **extras, interval_of=_OF, p_calibrated=p)
