"""F1: the harmonic mean of precision and recall of the positive class."""

from __future__ import annotations

from typing import final

from ..intervals import clopper_pearson
from ..registry import register
from .base import Measure, measure
from .confusion import Confusion
from .positive_class import PositiveClassMetric


@final
@register("metric")
class F1(PositiveClassMetric):
    """F1 = 2 TP / (2 TP + FP + FN) of the positive class; of more than two classes it is `macro_f1`.

    Among the n samples that are positive or predicted so, hits are binomial with a rate q, and F1 = 2q / (1 + q), so
    that the interval of Clopper and Pearson (1934) for q gives an exact one. Where n is 0, F1 is 0, as in scikit-learn,
    and the interval is (0, 1). Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> F1().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0], classes=[0, 1])).value  # 4 / 5
    0.8
    """

    name = "f1"
    macro = "macro_f1"

    def binary(self, state: Confusion, at: int, level: float) -> Measure:
        """Hits among those that are of the class or are taken for it."""
        hits = int(state.hits[at])
        either = int(state.support[at] + state.predicted[at]) - hits
        low, high = clopper_pearson(hits, either, level)
        value = 2 * hits / (either + hits) if either else 0.0
        return measure(value, (2 * low / (1 + low), 2 * high / (1 + high)), level, "exact")
