"""Macro averages: precision, recall and F1 averaged over classes, a rare class counting as much as a common one."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..intervals import normal_quantile
from ..registry import register
from .base import Measure, measure
from .confusion import Confusion, ConfusionMetric

__all__ = ["MacroF1", "MacroPrecision", "MacroRecall"]


class MacroMetric(ConfusionMetric[Measure]):
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
        # A class without an error shows no spread, though it has some: go at least as far as the intervals of the
        # classes do when they are joined as independent ones.
        used = counted & (divisor > 0)
        down, up = _reach(state.hits[used], (divisor - (of_hit - 1) * state.hits)[used], of_hit == 2, level)
        classes = int(counted.sum())
        ends = (max(0.0, value - max(half, down / classes)), min(1.0, value + max(half, up / classes)))
        return measure(value, ends, level, "asymptotic")


def _reach(hits: Array, trials: Array, is_f1: bool, level: float) -> tuple[float, float]:
    """Root of summed squared distances from each class's share to the ends of its Wilson interval."""
    z2 = normal_quantile(level) ** 2
    share = hits / trials
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = np.sqrt(z2 * (share * (1 - share) / trials + z2 / (4 * trials**2))) / (1 + z2 / trials)
    lower, upper = np.clip(centre - half, 0, share), np.clip(centre + half, share, 1)
    if is_f1:  # F1 = 2q / (1 + q), q = hits among the samples that are, or are taken for, the class
        lower, upper, share = (2 * q / (1 + q) for q in (lower, upper, share))
    return float(np.sqrt(((share - lower) ** 2).sum())), float(np.sqrt(((upper - share) ** 2).sum()))


@final
@register("metric")
class MacroPrecision(MacroMetric):
    """Mean precision over the classes that occur as truth or prediction; a class never predicted counts as 0.

    The interval is the linearised one, or that of the classes' Wilson intervals joined, whichever is wider; as for
    the other macro averages. Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> MacroPrecision().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value  # (1 + 1/2) / 2
    0.75
    """

    name = "macro_precision"
    weights = (1.0, 0.0, 1.0)


@final
@register("metric")
class MacroRecall(MacroMetric):
    """Mean recall over the classes that occur as truth, also called balanced accuracy.

    Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> MacroRecall().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value  # (1/2 + 1) / 2
    0.75
    """

    name = "macro_recall"
    weights = (1.0, 1.0, 0.0)

    def counted(self, state: Confusion) -> Array:
        """Classes that occur as truth."""
        return state.support > 0


@final
@register("metric")
class MacroF1(MacroMetric):
    """Mean F1 over the classes that occur as truth or prediction.

    Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> round(MacroF1().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value, 4)  # (2/3 + 2/3) / 2
    0.6667
    """

    name = "macro_f1"
    weights = (2.0, 1.0, 1.0)
