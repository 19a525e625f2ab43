"""E-AURC: how much risk-coverage area is lost because the confidences do not put errors last."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from ..errors import NotApplicable
from ..registry import register
from .auc_coverage import area_rounding, auc_of, influence, influence_variance
from .base import Measure, checked_pair, measure
from .ranks import Groups, RankMetric, Ranks
from .spread import from_influence


def excess_area_under_risk_coverage(confidence: Any, correct: Any) -> float:
    """AURC minus the AURC of the perfect order (all correct samples first) of the same n verdicts; 0 is best.

    For error rate e and many samples the perfect order has e + (1 - e) ln(1 - e); here it is summed for the n
    at hand. Arguments and errors as in `area_under_accuracy_coverage`. Source: Geifman, Uziel and El-Yaniv
    (2019).

    >>> round(excess_area_under_risk_coverage([0.9, 0.8, 0.7], [1, 0, 1]), 4)  # 5/18 - 1/9
    0.1667
    """
    return _excess(Ranks.of(*checked_pair(confidence, correct)).groups)


def perfect_area(rows: int, hits: int) -> float:
    """AURC when all hits come before all errors: mean over k of max(0, k - hits) / k.

    >>> round(perfect_area(3, 2), 4)
    0.1111
    """
    from scipy.special import digamma

    if not hits:
        return 1.0
    harmonic = float(digamma(rows + 1) - digamma(hits + 1))
    return (rows - hits - hits * harmonic) / rows


def _excess(groups: Groups) -> float:
    return max(0.0, 1 - auc_of(groups) - perfect_area(groups.rows, groups.hits))


@final
@register("metric")
class ExcessRiskCoverageArea(RankMetric[Measure]):
    """AURC in excess of the perfect order's; smaller is better. The interval is linearised (asymptotic).

    >>> from oodometer import Predictions
    >>> r = Predictions.from_confidence([0.9, 0.8, 0.7], correct=[1, 0, 1])
    >>> round(ExcessRiskCoverageArea().compute(r).value, 4)
    0.1667
    """

    name = "e_aurc"
    bigger_is_better = False
    citation = "geifman2019"

    def finish(self, state: Ranks, level: float = 0.95, seed: int = 0) -> Measure:
        """Excess area and interval; ``rounding`` bounds what a histogram of very many rows may have lost."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        groups = state.groups
        value = _excess(groups)
        coarse = groups.coarse
        influences = -influence(coarse, auc_of(groups))
        share = groups.hits / groups.rows
        if 0 < share < 1:  # the perfect order's area moves with the error rate e by -ln(1 - e)
            wrong = np.array([[1.0], [0.0]])
            influences = influences + math.log(share) * (wrong - (1 - share))
        variance = influence_variance(coarse, influences)
        ends = from_influence(value, variance, groups.rows, groups.rarer, level)
        return measure(value, ends, level, "asymptotic", **area_rounding(groups))
