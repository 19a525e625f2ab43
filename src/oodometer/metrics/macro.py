"""Macro averages: precision, recall and F1 averaged over classes, a rare class counting as much as a common one."""

from __future__ import annotations

from typing import final

from ..arrays import Array
from ..registry import register
from .class_mean import ClassMean
from .confusion import Confusion


@final
@register("metric")
class MacroPrecision(ClassMean):
    """Mean precision over the classes that occur as truth or prediction; a class never predicted counts as 0.

    The interval spans the linearised one and that of the classes' Jeffreys posteriors; as for the other macro
    averages. A class that was never predicted so adds all the doubt there is. Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> MacroPrecision().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value  # (1 + 1/2) / 2
    0.75
    """

    name = "macro_precision"
    weights = (1.0, 0.0, 1.0)


@final
@register("metric")
class MacroRecall(ClassMean):
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
class MacroF1(ClassMean):
    """Mean F1 over the classes that occur as truth or prediction.

    Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> round(MacroF1().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value, 4)  # (2/3 + 2/3) / 2
    0.6667
    """

    name = "macro_f1"
    weights = (2.0, 1.0, 1.0)
