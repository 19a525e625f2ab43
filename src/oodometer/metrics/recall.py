"""Recall: the share of the samples of the positive class that are found."""

from __future__ import annotations

from typing import final

from ..intervals import clopper_pearson
from ..registry import register
from .base import Measure, measure
from .confusion import Confusion
from .positive_class import PositiveClassMetric


@final
@register("metric")
class Recall(PositiveClassMetric):
    """Recall, true positives / positives, with the interval of Clopper and Pearson (1934); also called sensitivity.

    Of more than two classes it is `macro_recall`. Where there is no positive it is 0, as in scikit-learn, and the
    interval is (0, 1). Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> Recall().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0], classes=[0, 1])).value  # 2 of 2
    1.0
    """

    name = "recall"
    quiet = True
    macro = "macro_recall"

    def binary(self, state: Confusion, at: int, level: float) -> Measure:
        """Hits among those of the class."""
        hits, trials = int(state.hits[at]), int(state.support[at])
        return measure(hits / max(trials, 1), clopper_pearson(hits, trials, level), level, "exact")
