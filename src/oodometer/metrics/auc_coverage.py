"""Accuracy-coverage AUC: mean accuracy over all coverages when the most confident samples are answered first."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
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


def area_rounding(groups: Groups) -> dict[str, float]:
    """What the area may have lost to a histogram of very many rows, as an extra; nothing where every row was kept."""
    if groups.widths is None:
        return {}
    return {"rounding": float((groups.disorder * groups.harmonic).sum()) / groups.rows}


@final
@register("metric")
class AccuracyCoverageArea(RankMetric[Measure]):
    """Area under the accuracy-coverage curve, 1 - AURC; larger is better. The interval is linearised (asymptotic).

    >>> from oodometer import Predictions
    >>> r = Predictions.from_confidence([0.9, 0.8, 0.7], correct=[1, 0, 1])
    >>> round(AccuracyCoverageArea().compute(r).value, 4)
    0.7222
    """

    name = "auc_coverage"
    bigger_is_better = True
    citation = "kamath2020"

    def finish(self, state: Ranks, level: float = 0.95, seed: int = 0) -> Measure:
        """Area and interval; ``rounding`` bounds what a histogram of very many rows may have lost."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        groups = state.groups
        value = auc_of(groups)
        variance = area_variance(groups)
        ends = from_influence(value, variance, groups.rows, groups.rarer, level)
        return measure(value, ends, level, "asymptotic", **area_rounding(groups))
