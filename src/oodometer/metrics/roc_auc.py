"""ROC AUC: the chance that a sample of the positive class scores above one that is not of it."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ..inference import decision_metrics
from ..registry import register
from .base import Measure
from .one_vs_rest import OneVsRest, OneVsRestMetric, ScoreCounts, Uncertain, score_counts
from .spread import dot


def roc_auc(positive: Any, score: Any) -> float:
    """Share of the pairs of a positive and a negative sample in which the positive has the higher score, ties half.

    ``positive`` says which samples are of the class, ``score`` is any number that is larger the more likely they are;
    both of shape (sample,). Raises `InputError` where all or none are positive. Source: Hanley and McNeil (1982).

    >>> roc_auc([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.2])
    0.75
    """
    counts = score_counts(positive, score)
    return float(decision_metrics.roc_auc(*counts))


def auc_of(counts: ScoreCounts) -> Uncertain | None:
    """The area and its variance by placements (DeLong et al. 1988); None without a positive or a negative.

    A sample's placement is the share of the other kind that it is in the right order with; the variance is that of the
    positives' placements over their number plus that of the negatives'.
    """
    positives, negatives = counts
    many, others = positives.sum(), negatives.sum()
    if not many or not others:
        return None
    below = (np.cumsum(negatives) - negatives / 2) / others
    above = 1 - (np.cumsum(positives) - positives / 2) / many
    area = min(max(dot(positives, below) / float(many), 0.0), 1.0)
    own, theirs = (float(count * max(count - 1, 1)) ** 0.5 for count in (many, others))
    return Uncertain(area, (below - area) / own, (above - area) / theirs)


@final
@register("metric")
class RocAuc(OneVsRestMetric[Measure]):
    """Area under the ROC curve of the positive class's probability: P(positive above negative) + P(tied) / 2.

    Of more than two classes the mean over the classes that occur, each against the rest. The interval is Wilson's with
    the variance of DeLong et al. (1988). Orders are exact up to 262,144 probabilities (rows, times classes where there
    are more than two); beyond, those of one narrow bin count as tied, and ``binning`` bounds what that may have cost.
    Source: Hanley and McNeil (1982).

    >>> from oodometer import Predictions
    >>> p = [0.9, 0.7, 0.6, 0.2]
    >>> RocAuc().compute(Predictions.from_probabilities(p, label=[1, 0, 1, 0])).value
    0.75
    """

    name = "roc_auc"
    bigger_is_better = True
    citation = "delong1988"

    def finish(self, state: OneVsRest, level: float = 0.95, seed: int = 0) -> Measure:
        """The area and its interval."""
        return self.averaged(state, auc_of, level, binning=state.binning)
