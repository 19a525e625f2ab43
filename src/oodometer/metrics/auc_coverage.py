"""Areas under curves of accuracy or risk over coverage: accuracy-coverage AUC, AURC, E-AURC and AUGRC."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..registry import register
from .base import Measure, checked_pair, measure
from .ranks import Groups, RankMetric, Ranks
from .spread import from_influence


def area_under_accuracy_coverage(confidence: Any, correct: Any) -> float:
    """Mean over k = 1..n of the accuracy of the k most confident samples; ties in expectation over their order.

    For a tie of m samples, c of them correct, after a samples of which C are correct, the expected number of
    correct samples among the first k is C + c (k - a) / m, so the tie adds (C - c a / m)(H(a + m) - H(a)) +
    c, H harmonic numbers.

    ``confidence`` of shape (sample,), in [0, 1]; ``correct``, booleans or 0/1, of the same shape.

    Raises `InputError` for no sample or values that are no confidences. Source: Kamath, Jia and Liang (2020).

    >>> round(area_under_accuracy_coverage([0.9, 0.8, 0.7], [1, 0, 1]), 4)  # (1 + 1/2 + 2/3) / 3
    0.7222
    >>> area_under_accuracy_coverage([0.5, 0.5], [1, 0])  # either order: (1 + 1/2) / 2 or (0 + 1/2) / 2
    0.5
    """
    return auc_of(Ranks.of(*checked_pair(confidence, correct)).groups)


def auc_of(groups: Groups) -> float:
    """The area of grouped samples."""
    return min(max(groups.accuracy_sum / groups.rows, 0.0), 1.0)


def influence(groups: Groups, area: float) -> Array:
    """Influence of one sample on the area by (verdict, group): how much n times the area moves; shape (2, group).

    For a sample of verdict y at rank r: g_r - area + sum over k >= r of (y - g_k) / k, with g_k the accuracy
    of the first k; ties in expectation.
    """
    size, before, harmonic = groups.sizes, groups.before, groups.harmonic
    slope = groups.correct / size
    start = groups.hits_before - slope * before  # g_k = start / k + slope inside the group
    own = start * harmonic / size + slope
    # sum over the ranks of later groups of 1 / k and g_k / k, and the mean over ranks r of the group of its part k >= r
    later = harmonic[::-1].cumsum()[::-1] - harmonic
    inside = 1 - before * harmonic / size
    weighted = start * groups.harmonic2 + slope * harmonic
    weighted_later = weighted[::-1].cumsum()[::-1] - weighted
    weighted_inside = (slope * size + (start - before * slope) * harmonic - before * start * groups.harmonic2) / size
    base = own - area - weighted_later - weighted_inside
    return np.stack([base, base + later + inside])


def influence_variance(groups: Groups, influences: Array) -> float:
    """Variance of an estimate from the influences of its samples, shape (2, group)."""
    wrong = groups.sizes - groups.correct
    total = (wrong * influences[0] ** 2).sum() + (groups.correct * influences[1] ** 2).sum()
    return float(total) / groups.rows**2


def area_variance(groups: Groups) -> float:
    """Variance of the area, and of 1 minus it; made once for all metrics that share the state."""
    variance: float | None = groups.__dict__.get("_area_variance")
    if variance is None:
        coarse = groups.coarse
        variance = influence_variance(coarse, influence(coarse, auc_of(groups)))
        groups.__dict__["_area_variance"] = variance
    return variance


class AreaMetric(RankMetric[Measure]):
    """An area with a linearised interval; ``rounding`` bounds what a histogram of very many rows may have lost."""

    @abstractmethod
    def _area(self, groups: Groups) -> tuple[float, float]:
        """The area and its variance."""

    def _finish(self, state: Ranks, level: float, seed: int) -> Measure:
        groups = state.groups
        value, variance = self._area(groups)
        ends = from_influence(value, variance, groups.rows, groups.rarer, level)
        return measure(value, ends, level, "asymptotic", **self._rounding(groups))

    def _rounding(self, groups: Groups) -> dict[str, float]:
        if groups.widths is None:  # every row was kept
            return {}
        return {"rounding": float((groups.disorder * groups.harmonic).sum()) / groups.rows}


@final
@register("metric")
class AccuracyCoverageArea(AreaMetric):
    """Area under the accuracy-coverage curve, 1 - AURC; larger is better. The interval is linearised (asymptotic).

    >>> from oodometer import Predictions
    >>> r = Predictions.from_confidence([0.9, 0.8, 0.7], correct=[1, 0, 1])
    >>> round(AccuracyCoverageArea().compute(r).value, 4)
    0.7222
    """

    name = "auc_coverage"
    bigger_is_better = True
    citation = "kamath2020"

    def _area(self, groups: Groups) -> tuple[float, float]:
        return auc_of(groups), area_variance(groups)


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
class RiskCoverageArea(AreaMetric):
    """Area under the risk-coverage curve; smaller is better. The interval is linearised (asymptotic).

    >>> from oodometer import Predictions
    >>> r = Predictions.from_confidence([0.9, 0.8, 0.7], correct=[1, 0, 1])
    >>> round(RiskCoverageArea().compute(r).value, 4)
    0.2778
    """

    name = "aurc"
    bigger_is_better = False
    citation = "geifman2019"

    def _area(self, groups: Groups) -> tuple[float, float]:
        return 1 - auc_of(groups), area_variance(groups)


def excess_area_under_risk_coverage(confidence: Any, correct: Any) -> float:
    """AURC minus the AURC of the perfect order (all correct samples first) of the same n verdicts; 0 is best.

    For error rate e and many samples the perfect order has e + (1 - e) ln(1 - e); here it is summed for the n
    at hand. Arguments and errors as in `area_under_accuracy_coverage`. Source: Geifman, Uziel and El-Yaniv
    (2019).

    >>> round(excess_area_under_risk_coverage([0.9, 0.8, 0.7], [1, 0, 1]), 4)  # 5/18 - 1/9
    0.1667
    """
    return _excess(Ranks.of(*checked_pair(confidence, correct)).groups)


def _excess(groups: Groups) -> float:
    from scipy.special import digamma

    rows, hits, perfect = groups.rows, groups.hits, 1.0
    if hits:  # AURC when all hits come before all errors: mean over k of max(0, k - hits) / k
        harmonic = float(digamma(rows + 1) - digamma(hits + 1))
        perfect = (rows - hits - hits * harmonic) / rows
    return max(0.0, 1 - auc_of(groups) - perfect)


@final
@register("metric")
class ExcessRiskCoverageArea(AreaMetric):
    """AURC in excess of the perfect order's; smaller is better. The interval is linearised (asymptotic).

    >>> from oodometer import Predictions
    >>> r = Predictions.from_confidence([0.9, 0.8, 0.7], correct=[1, 0, 1])
    >>> round(ExcessRiskCoverageArea().compute(r).value, 4)
    0.1667
    """

    name = "e_aurc"
    bigger_is_better = False
    citation = "geifman2019"

    def _area(self, groups: Groups) -> tuple[float, float]:
        coarse = groups.coarse
        influences = -influence(coarse, auc_of(groups))
        share = groups.hits / groups.rows
        if 0 < share < 1:  # the perfect order's area moves with the error rate e by -ln(1 - e)
            wrong = np.array([[1.0], [0.0]])
            influences = influences + math.log(share) * (wrong - (1 - share))
        return _excess(groups), influence_variance(coarse, influences)


def area_under_generalized_risk_coverage(confidence: Any, correct: Any) -> float:
    """Mean over k = 1..n of (errors among the k most confident samples) / n; ties in expectation over their order.

    The optimum for error rate e and many samples is e^2 / 2. Arguments and errors as in
    `area_under_accuracy_coverage`. Source: Traub et al. (2024).

    >>> round(area_under_generalized_risk_coverage([0.9, 0.8, 0.7], [1, 0, 1]), 4)  # (0 + 1 + 1) / 3 / 3
    0.2222
    """
    return _generalized_area(Ranks.of(*checked_pair(confidence, correct)).groups)


def _generalized_area(groups: Groups) -> float:
    n = groups.rows
    return max(0.0, n * (n + 1) / 2 - groups.right_sum) / n**2


@final
@register("metric")
class GeneralizedRiskCoverageArea(AreaMetric):
    """Area under the generalised risk-coverage curve; smaller is better. The interval is linearised (asymptotic).

    >>> from oodometer import Predictions
    >>> r = Predictions.from_confidence([0.9, 0.8, 0.7], correct=[1, 0, 1])
    >>> round(GeneralizedRiskCoverageArea().compute(r).value, 4)
    0.2222
    """

    name = "augrc"
    bigger_is_better = False
    citation = "traub2024"

    def _area(self, groups: Groups) -> tuple[float, float]:
        n, coarse = groups.rows, groups.coarse
        value, size = _generalized_area(groups), coarse.sizes
        wrong = size - coarse.correct
        # A sample counts among the first k for its own error, and for each error that stands before it.
        as_error = (n - coarse.before - (size - 1) / 2) / n
        as_place = (coarse.before - coarse.hits_before + wrong * (size + 1) / (2 * size)) / n
        base = as_place - 2 * value
        return value, influence_variance(coarse, np.stack([base + as_error, base]))

    def _rounding(self, groups: Groups) -> dict[str, float]:
        if groups.widths is None:
            return {}
        return {"rounding": float((groups.disorder * groups.sizes).sum()) / groups.rows**2}
