"""Precision: the share of the predictions of the positive class that are right."""

from __future__ import annotations

from typing import final

from ..intervals import clopper_pearson
from ..registry import register
from .base import Measure, measure
from .confusion import Confusion
from .positive_class import PositiveClassMetric


@final
@register("metric")
class Precision(PositiveClassMetric):
    """Precision, true positives / predicted positives, with the interval of Clopper and Pearson (1934).

    Of more than two classes it is `macro_precision`. Where nothing is predicted positive it is 0, as in scikit-learn,
    and the interval is (0, 1). Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> Precision().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0], classes=[0, 1])).value  # 2 of 3
    0.6666666666666666
    """

    name = "precision"
    quiet = True
    macro = "macro_precision"

    def binary(self, state: Confusion, at: int, level: float) -> Measure:
        """Hits among the predicted."""
        hits, trials = int(state.hits[at]), int(state.predicted[at])
        return measure(hits / max(trials, 1), clopper_pearson(hits, trials, level), level, "exact")
