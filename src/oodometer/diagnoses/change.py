"""Change: did anything move at all?"""

from __future__ import annotations

import math

from ..arrays import Array
from ..estimators.label_counts import LabelCounts
from ..estimators.target_prior import no_shift_test
from .base import Finding, reading_confidence

_LEVEL = 0.05
_STRONG = 2.0
_LEAST_RATIO = 1.2


def change_of_counts(label_counts: LabelCounts, counts: Array, seed: int = 0) -> Finding:
    """G test: do reference and target fall alike into the cells (predicted class, quantile of confidence)?

    Statistic: G over the median of its null distribution (`no_shift_test`). Source: the likelihood-ratio test of
    homogeneity, with a parametric bootstrap for sparse cells.

    >>> import numpy as np
    >>> from oodometer import Predictions
    >>> from oodometer.estimators.label_counts import count_labels
    >>> p = Predictions.from_classes([0, 1] * 100, label=[0, 1] * 100)
    >>> label_counts = count_labels(p)
    >>> change_of_counts(label_counts, label_counts.count(p)).strength
    'none'
    """
    test = no_shift_test(label_counts.rows, counts, seed=seed)
    moved = test.p_value < _LEVEL and test.ratio > _LEAST_RATIO  # a bootstrap's p-value cannot be very small
    says = (
        f"predictions and confidence are distributed unlike the reference's (G is {test.ratio:.1f} times chance)"
        if moved
        else "predictions and confidence are distributed as on the reference"
    )
    return Finding(
        "change",
        says,
        test.ratio,
        test.p_value,
        supports=() if moved else ("source",),
        refutes=("source",) if moved else (),
        strength="none" if not moved else "strong" if test.ratio > _STRONG else "weak",
        details={"cells": len(label_counts) - 1},
    )


def change_of_mean(name: str, here: tuple[float, float, int], there: tuple[float, float, int], what: str) -> Finding:
    """z test of the mean of a score; each side is (sum, sum of squares, rows).

    >>> change_of_mean("confidence", (90.0, 81.1, 100), (50.0, 26.0, 100), "mean confidence").strength
    'strong'
    """
    means, variances = [], []
    for total, squares, rows in (here, there):
        mean = total / rows
        means.append(mean)
        variances.append((max(squares / rows - mean * mean, 0.0) * rows + 1) / (rows + 1) / rows)
    gap = means[1] - means[0]
    z = gap / sum(variances) ** 0.5
    p_value = math.erfc(abs(z) / math.sqrt(2))
    moved = p_value < _LEVEL
    verb = "rose" if gap > 0 else "fell"
    return Finding(
        name,
        f"{what} {verb} from {means[0]:.3f} to {means[1]:.3f}" if moved else f"{what} stayed at {means[1]:.3f}",
        float(z),
        p_value,
        refutes=("source",) if moved and name == "confidence" else (),
        strength="none" if not moved else "strong" if p_value < 1e-4 else "weak",
        details={"reference": means[0], "target": means[1], "reads_it": list(reading_confidence())},
    )
