"""AURC: area under the risk-coverage curve, mean error over all coverages."""

from __future__ import annotations

from typing import Any, final

from ..errors import NotApplicable
from ..registry import register
from .auc_coverage import area_rounding, area_variance, auc_of
from .base import Measure, checked_pair, measure
from .ranks import RankMetric, Ranks
from .spread import from_influence


def area_under_risk_coverage(confidence: Any, correct: Any) -> float:
    """Mean over k = 1..n of the error rate of the k most confident samples; ties in expectation over their order.

    This is 1 minus the accuracy-coverage area. Arguments and errors as in `area_under_accuracy_coverage`. Source:
    Geifman, Uziel and El-Yaniv (2019).

    >>> round(area_under_risk_coverage([0.9, 0.8, 0.7], [1, 0, 1]), 4)  # (0 + 1/2 + 1/3) / 3
    0.2778
    """
    return 1 - auc_of(Ranks.of(*checked_pair(confidence, correct)).groups)


@final
@register("metric")
class RiskCoverageArea(RankMetric[Measure]):
    """Area under the risk-coverage curve; smaller is better. The interval is linearised (asymptotic).

    >>> from oodometer import Predictions
    >>> r = Predictions.from_confidence([0.9, 0.8, 0.7], correct=[1, 0, 1])
    >>> round(RiskCoverageArea().compute(r).value, 4)
    0.2778
    """

    name = "aurc"
    bigger_is_better = False
    citation = "geifman2019"

    def finish(self, state: Ranks, level: float = 0.95, seed: int = 0) -> Measure:
        """Area and interval; ``rounding`` bounds what a histogram of very many rows may have lost."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        groups = state.groups
        area = auc_of(groups)
        variance = area_variance(groups)
        ends = from_influence(1 - area, variance, groups.rows, groups.rarer, level)
        return measure(1 - area, ends, level, "asymptotic", **area_rounding(groups))
