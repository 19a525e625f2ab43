"""Macro averages: precision, recall and F1 averaged over classes, a rare class counting as much as a common one."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..intervals import normal_quantile
from ..registry import register
from .base import Measure, measure
from .confusion import Confusion, ConfusionMetric

__all__ = ["MacroF1", "MacroPrecision", "MacroRecall"]


class _Macro(ConfusionMetric[Measure]):
    """Mean over classes of a ratio of counts hits_k / divisor_k, with its linearised interval."""

    bigger_is_better = True
    citation = "sokolova2009"

    @staticmethod
    @abstractmethod
    def weights(state: Confusion) -> tuple[Array, Array, Array]:
        """By class: factor of hits, and of support and predicted in the divisor."""

    @staticmethod
    def counted(state: Confusion) -> Array:
        """Which classes the mean goes over."""
        return (state.support + state.predicted) > 0

    def finish(self, state: Confusion, level: float = 0.95, seed: int = 0) -> Measure:
        """Mean and interval."""
        n = state.rows
        if not n:
            raise NotApplicable("needs at least one labelled row")
        numerator, of_truth, of_guess = self.weights(state)
        counted = self.counted(state)
        divisor = of_truth * state.support + of_guess * state.predicted
        safe = np.where(divisor > 0, divisor, 1)
        ratio = np.where(divisor > 0, numerator * state.hits / safe, 0.0)
        value = float(ratio[counted].mean())
        # Influence of a sample of (truth, guess) on n times the sum of ratios: what it adds to each numerator, less the
        # ratio times what it adds to each divisor.
        truth, guess = state.truth, state.guess
        scale = np.where(counted, n / safe, 0.0) / counted.sum()
        moved = np.where(truth == guess, numerator[truth] * scale[truth], 0.0)
        moved = moved - of_truth[truth] * ratio[truth] * scale[truth]
        moved = moved - of_guess[guess] * ratio[guess] * scale[guess]
        # At least the variance of a single share of all rows, since few errors show too little spread.
        variance = float((state.counts * moved**2).sum()) / n**2
        half = normal_quantile(level) * variance**0.5 + 1 / n
        return measure(value, (max(0.0, value - half), min(1.0, value + half)), level, "asymptotic")


@register("metric")
class MacroPrecision(_Macro):
    """Mean precision over the classes that occur as truth or prediction; a class never predicted counts as 0.

    >>> from oodometer import Predictions
    >>> MacroPrecision().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value  # (1 + 1/2) / 2
    0.75
    """

    name = "macro_precision"

    @staticmethod
    def weights(state: Confusion) -> tuple[Array, Array, Array]:
        """Hits over predicted."""
        one = np.ones(len(state.classes))
        return one, 0 * one, one


@register("metric")
class MacroRecall(_Macro):
    """Mean recall over the classes that occur as truth, also called balanced accuracy.

    >>> from oodometer import Predictions
    >>> MacroRecall().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value  # (1/2 + 1) / 2
    0.75
    """

    name = "macro_recall"

    @staticmethod
    def weights(state: Confusion) -> tuple[Array, Array, Array]:
        """Hits over support."""
        one = np.ones(len(state.classes))
        return one, one, 0 * one

    @staticmethod
    def counted(state: Confusion) -> Array:
        """Classes that occur as truth."""
        return state.support > 0


@register("metric")
class MacroF1(_Macro):
    """Mean F1 over the classes that occur as truth or prediction.

    >>> from oodometer import Predictions
    >>> round(MacroF1().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value, 4)  # (2/3 + 2/3) / 2
    0.6667
    """

    name = "macro_f1"

    @staticmethod
    def weights(state: Confusion) -> tuple[Array, Array, Array]:
        """Twice the hits over support plus predicted."""
        one = np.ones(len(state.classes))
        return 2 * one, one, one
