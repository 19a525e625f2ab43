"""Cohen's kappa: how much of the agreement of prediction and truth is more than chance."""

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
class CohenKappa(ConfusionMetric[Measure]):
    """Kappa = (p_o - p_e) / (1 - p_e): p_o the accuracy, p_e = sum_k t_k p_k / n^2 that of chance with the same counts.

    1 = all right, 0 = as good as chance. The interval is linearised. Where all rows are of one class and predicted as
    it, there is no kappa. Source: Cohen (1960).

    >>> from oodometer import Predictions
    >>> CohenKappa().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0])).value
    0.5
    """

    name = "cohen_kappa"
    quiet = True
    bigger_is_better = True
    citation = "cohen1960"
    bounds = (-1.0, 1.0)

    def finish(self, state: Confusion, level: float = 0.95, seed: int = 0) -> Measure:
        """Kappa and its interval."""
        n = float(state.rows)
        if not n:
            raise NotApplicable("needs at least one labelled row")
        support, predicted = state.support.astype(np.float64), state.predicted.astype(np.float64)
        if (support + predicted > 0).sum() < 2:
            raise NotApplicable("every row is of one class and predicted as it: chance agrees as well")
        chance = dot(support, predicted)
        divisor = n * n - chance
        value = float(np.clip((float(state.hits.sum()) * n - chance) / divisor, -1, 1))
        truth, guess = state.truth, state.guess
        by_chance = predicted[truth] + support[guess]  # how one more sample moves it
        over = (truth == guess) * n + float(state.hits.sum()) - by_chance
        moved = (over - value * (2 * n - by_chance)) / divisor
        variance = float((state.counts * moved**2).sum())
        ends = from_signed_influence(value, variance, state.rows, state.rarest, level)
        return measure(value, ends, level, "asymptotic")
