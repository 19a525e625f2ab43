"""FPR at 95 % TPR: the share of negatives that pass where 95 % of the positives do."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, final

import numpy as np

from ..errors import NotApplicable
from ..inference import decision_metrics
from ..intervals import clopper_pearson, normal_quantile
from ..registry import register
from .base import Measure, measure
from .one_vs_rest import OneVsRest, OneVsRestMetric, ScoreCounts, score_counts

_TPR = 0.95


def fpr_at_tpr(positive: Any, score: Any, tpr: float = _TPR) -> float:
    """Share of the negatives at or above the highest score that a share ``tpr`` of the positives reaches, a fraction.

    Arguments and errors as of `roc_auc`. Source: Hendrycks and Gimpel (2017), who so compare detectors.

    >>> fpr_at_tpr([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.2])
    0.5
    """
    return float(decision_metrics.fpr_at_tpr(*score_counts(positive, score), tpr=tpr))


class _Rate(NamedTuple):
    value: float
    lower: float
    upper: float


def _rate_of(counts: ScoreCounts, level: float) -> _Rate | None:
    """The rate and its interval; None without a positive or a negative.

    Two doubts are joined as Zou and Donner (2008) do, as if independent, which they are: how many negatives pass a
    given threshold (Clopper and Pearson), and where the threshold is. The latter is the place of the positives' order
    statistics whose ranks are z sqrt(n 0.95 0.05) away.
    """
    found, false = (np.cumsum(each[::-1]) for each in counts)  # falling scores
    if not len(found) or not found[-1] or not false[-1]:
        return None
    many, others = float(found[-1]), float(false[-1])

    def passing(reached: float) -> float:
        at = int(np.searchsorted(found, min(max(reached, 1.0), many) * (1 - 1e-12)))
        return float(false[min(at, len(false) - 1)])

    wanted = _TPR * many
    away = normal_quantile(level) * math.sqrt(many * _TPR * (1 - _TPR))
    value = passing(wanted) / others
    low, high = clopper_pearson(passing(wanted), others, level)
    higher = 1.0 if wanted + away + 1 > many else passing(wanted + away + 1) / others
    lower = passing(wanted - away) / others
    return _Rate(
        value,
        max(0.0, value - math.hypot(value - low, value - lower)),
        min(1.0, value + math.hypot(high - value, higher - value)),
    )


@final
@register("metric")
class FprAt95Tpr(OneVsRestMetric[Measure]):
    """False positive rate where 95 % of the positives are found, by the positive class's probability.

    The threshold is the highest that at least 95 % of the positives reach. Of more than two classes the mean over the
    classes that occur, each against the rest, with the mean of their intervals. Fewer than about 80 positives do not
    show where 95 % of all positives are, and the interval then reaches to 1. Source: Hendrycks and Gimpel (2017).

    >>> from oodometer import Predictions
    >>> p = [0.9, 0.7, 0.6, 0.2]
    >>> FprAt95Tpr().compute(Predictions.from_probabilities(p, label=[1, 0, 1, 0])).value
    0.5
    """

    name = "fpr_at_95_tpr"
    quiet = True
    bigger_is_better = False
    citation = "hendrycks2017"

    def finish(self, state: OneVsRest, level: float = 0.95, seed: int = 0) -> Measure:
        """The rate and its interval."""
        classes, by_class = state.confusion.classes, state.by_class
        if len(classes) == 2:
            at = self.position(classes)
            own = _rate_of(by_class[at], level)
            if own is None:
                raise NotApplicable("needs rows of both classes")
            return measure(own.value, (own.lower, own.upper), level, "asymptotic", positive=classes[at])
        there = [one for counts in by_class if (one := _rate_of(counts, level)) is not None]
        if not there:
            raise NotApplicable("every row is of one class: needs two")
        value, low, high = (float(end) for end in np.mean(there, axis=0))
        return measure(value, (low, high), level, "asymptotic", average="macro, one versus rest", classes=len(there))
