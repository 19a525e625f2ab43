"""MCC: Matthews' correlation of truth and prediction."""

from __future__ import annotations

from typing import final

import numpy as np

from ..errors import NotApplicable
from ..registry import register
from .base import Measure, measure
from .confusion import Confusion, ConfusionMetric
from .spread import dot, from_signed_influence


@final
@register("metric")
class MatthewsCorrelation(ConfusionMetric[Measure]):
    """Matthews' correlation coefficient, of many classes R_K: 1 = all right, 0 = as good as chance, -1 = all wrong.

    (c s - sum_k p_k t_k) / sqrt((s^2 - sum_k p_k^2) (s^2 - sum_k t_k^2)) with c hits of s samples, t_k of class k and
    p_k predicted as it. Where all rows are of one class, or predicted as one, it is 0, as in scikit-learn, and the
    interval is (-1, 1). The interval is linearised. Source: Gorodkin (2004).

    >>> from oodometer import Predictions
    >>> round(MatthewsCorrelation().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0])).value, 4)
    0.5774
    """

    name = "mcc"
    quiet = True
    bigger_is_better = True
    citation = "gorodkin2004"
    bounds = (-1.0, 1.0)

    def finish(self, state: Confusion, level: float = 0.95, seed: int = 0) -> Measure:
        """The correlation and its interval."""
        n = float(state.rows)
        if not n:
            raise NotApplicable("needs at least one labelled row")
        support, predicted = state.support.astype(np.float64), state.predicted.astype(np.float64)
        if (support > 0).sum() < 2 or (predicted > 0).sum() < 2:
            return measure(0.0, (-1.0, 1.0), level, "asymptotic", undefined="one class only")
        hits = float(state.hits.sum())
        of_guess, of_truth = n * n - dot(predicted, predicted), n * n - dot(support, support)
        divisor = (of_guess * of_truth) ** 0.5
        value = float(np.clip((hits * n - dot(support, predicted)) / divisor, -1, 1))
        # How one more sample of (truth, guess) moves numerator and divisors.
        truth, guess = state.truth, state.guess
        over = (truth == guess) * n + hits - predicted[truth] - support[guess]
        under = (n - predicted[guess]) / of_guess + (n - support[truth]) / of_truth
        moved = over / divisor - value * under
        variance = float((state.counts * moved**2).sum())
        ends = from_signed_influence(value, variance, state.rows, state.rarest, level)
        return measure(value, ends, level, "asymptotic")
