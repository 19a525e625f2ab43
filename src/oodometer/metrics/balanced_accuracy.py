"""Balanced accuracy: recall averaged over the true classes, so that a rare class counts as much as a common one."""

from __future__ import annotations

from typing import final

from ..arrays import Array
from ..registry import register
from .class_mean import ClassMean
from .confusion import Confusion


@final
@register("metric")
class BalancedAccuracy(ClassMean):
    """Mean recall over the classes that occur as truth; of two classes (sensitivity + specificity) / 2.

    The same number as `macro_recall`, with its interval. Source: Brodersen et al. (2010).

    >>> from oodometer import Predictions
    >>> BalancedAccuracy().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value  # (1/2 + 1) / 2
    0.75
    """

    name = "balanced_accuracy"
    quiet = True
    citation = "brodersen2010"
    weights = (1.0, 1.0, 0.0)

    def counted(self, state: Confusion) -> Array:
        """Classes that occur as truth."""
        return state.support > 0
