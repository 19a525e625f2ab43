"""Class mean: a ratio averaged over classes, a rare class counting as much as a common one, with its interval."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..intervals import normal_quantile
from .base import Measure, measure
from .confusion import Confusion, ConfusionMetric


class ClassMean(ConfusionMetric[Measure]):
    """Mean over classes of a ratio f hits / (s support + p predicted), with ``weights`` (f, s, p)."""

    bigger_is_better = True
    citation = "sokolova2009"
    weights: ClassVar[tuple[float, float, float]]

    def counted(self, state: Confusion) -> Array:
        """Which classes the mean goes over."""
        return (state.support + state.predicted) > 0

    def finish(self, state: Confusion, level: float = 0.95, seed: int = 0) -> Measure:
        """Mean and interval."""
        n = state.rows
        if not n:
            raise NotApplicable("needs at least one labelled row")
        of_hit, of_truth, of_guess = self.weights
        counted = self.counted(state)
        divisor = of_truth * state.support + of_guess * state.predicted
        safe = np.where(divisor > 0, divisor, 1)
        ratio = np.where(divisor > 0, of_hit * state.hits / safe, 0.0)
        value = float(ratio[counted].mean())
        # How a sample of (truth, guess) moves the mean, class by class: by what it adds to the hits, less the ratio
        # times what it adds to the divisor.
        truth, guess = state.truth, state.guess
        scale = np.where(counted, 1 / safe, 0.0) / counted.sum()
        moved = np.where(truth == guess, of_hit * scale[truth], 0.0)
        moved -= of_truth * ratio[truth] * scale[truth] + of_guess * ratio[guess] * scale[guess]
        half = normal_quantile(level) * float((state.counts * moved**2).sum()) ** 0.5
        # A class that was seldom or never taken for one shows little or no spread, though least is known of it, and its
        # ratio is pulled to 0: reach at least as far as the classes' posteriors do.
        trials = (divisor - (of_hit - 1) * state.hits)[counted]
        low, high = _posterior(state.hits[counted], trials, of_hit == 2, level)
        ends = (max(0.0, min(value - half, low)), min(1.0, max(value + half, high)))
        return measure(value, ends, level, "asymptotic")


def _posterior(hits: Array, trials: Array, is_f1: bool, level: float) -> tuple[float, float]:
    """Ends for the mean of shares with the posteriors Beta(hits + 1/2, misses + 1/2), as if independent."""
    known = trials > 0
    a, total = hits[known] + 0.5, trials[known] + 1.0
    mean = a / total
    variance = mean * (1 - mean) / (total + 1)
    if is_f1:  # F1 = 2q / (1 + q), q = hits among the samples that are, or are taken for, the class
        slope = 2 / (1 + mean) ** 2
        mean, variance = 2 * mean / (1 + mean), variance * slope**2
    half = normal_quantile(level) * float(variance.sum()) ** 0.5
    low, high = float(mean.sum()) - half, float(mean.sum()) + half + float((~known).sum())
    return low / len(hits), high / len(hits)
