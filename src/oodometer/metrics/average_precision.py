"""Average precision: the area under the curve of precision and recall, step by step."""

from __future__ import annotations

from functools import partial
from typing import Any, final

import numpy as np

from ..inference import decision_metrics
from ..registry import register
from .base import Measure
from .one_vs_rest import OneVsRest, OneVsRestMetric, ScoreCounts, Uncertain, score_counts
from .spread import dot


def average_precision(positive: Any, score: Any) -> float:
    """Mean over positive samples of the precision among the samples that score at least as much, a fraction.

    Arguments and errors as of `roc_auc`. Source: Zhu (2004).

    >>> round(average_precision([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.2]), 4)  # (1 + 2/3) / 2
    0.8333
    """
    return float(decision_metrics.average_precision(*score_counts(positive, score)))


def precision_of(counts: ScoreCounts, *, tied: bool = True) -> Uncertain | None:
    """The average precision and its linearised variance; None without a positive or a negative.

    Where the samples of a group are not ``tied`` but only of one bin, its positives and negatives are taken to be mixed
    evenly: before a positive stands half of either.

    One more positive of score s brings its own precision, and raises that of every positive of at most s by
    F / (T + F)^2, where T positives and F negatives stand there or above; one more negative lowers it by T / (T + F)^2.
    """
    positives, negatives = (each[::-1] for each in counts)  # falling scores
    found, false = np.cumsum(positives), np.cumsum(negatives)
    if not len(found) or not found[-1] or not false[-1]:
        return None
    many = found[-1]
    if not tied:
        found, false = found - np.maximum(positives - 1, 0) / 2, false - negatives / 2
    answered = np.maximum(found + false, 1)
    precision = found / answered
    value = min(max(dot(positives, precision) / float(many), 0.0), 1.0)
    raised = np.cumsum((positives * false / answered**2)[::-1])[::-1]
    lowered = np.cumsum((positives * found / answered**2)[::-1])[::-1]
    by_positive, by_negative = (precision - value + raised) / many, -lowered / many
    return Uncertain(value, by_positive[::-1], by_negative[::-1])


@final
@register("metric")
class AveragePrecision(OneVsRestMetric[Measure]):
    """Average precision of the positive class's probability: sum over thresholds of (recall gained) * precision.

    Of more than two classes the mean over the classes that occur, each against the rest. The interval is Wilson's with
    a linearised variance. The share of positives is its value by chance. Source: Zhu (2004).

    >>> from oodometer import Predictions
    >>> p = [0.9, 0.7, 0.6, 0.2]
    >>> round(AveragePrecision().compute(Predictions.from_probabilities(p, label=[1, 0, 1, 0])).value, 4)
    0.8333
    """

    name = "average_precision"
    quiet = True
    bigger_is_better = True
    citation = "zhu2004"

    def finish(self, state: OneVsRest, level: float = 0.95, seed: int = 0) -> Measure:
        """The number and its interval."""
        return self.averaged(state, partial(precision_of, tied=state.exact), level)
