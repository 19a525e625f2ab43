"""Risk and coverage: curves of selective accuracy, the risk at a coverage and the coverage at a risk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..inference.decision_metrics import answers_for
from ..registry import register
from ..results import Curve
from .base import Measure, checked_pair, measure
from .ranks import Groups, RankMetric, Ranks
from .resampling import RankBins, accuracy_band, interval_of, rank_bins, resampled
from .spread import FEW_ROWS, clopper_pearson_many

RISKS = (0.01, 0.02, 0.05, 0.1, 0.2)
_BLOCK = 1024


def coverage_at_risk(confidence: Any, correct: Any, risk: float = 0.05, *, first: bool = False) -> float:
    """The largest coverage whose selective risk, errors / answered, is at most ``risk``; 0 where there is none.

    Only coverages that a threshold can reach count: samples of equal confidence are answered together. A curve may
    cross the risk more than once; the **largest** coverage is beyond every later crossing. ``first=True`` gives the
    largest coverage before the risk is exceeded for the **first** time, the most confident first.

    Arguments and errors as in `area_under_accuracy_coverage`; `UsageError` for a risk outside [0, 1). Source: Geifman
    and El-Yaniv (2017).

    >>> c, y = [0.9, 0.8, 0.7, 0.6, 0.5], [1, 0, 1, 1, 1]
    >>> coverage_at_risk(c, y, 0.2), coverage_at_risk(c, y, 0.2, first=True)
    (1.0, 0.2)
    """
    groups = Ranks.of(*checked_pair(confidence, correct)).groups
    at = _crossings(groups, _checked_risk(risk))[1 if first else 0]
    return float(groups.answered[at]) / groups.rows if at >= 0 else 0.0


def _checked_risk(risk: float) -> float:
    if not 0 <= risk < 1:
        raise UsageError(f"expected a risk from 0 to below 1, a share of wrong answers, got {risk}; 0.05 is usual")
    return float(risk)


def _crossings(groups: Groups, risk: float) -> tuple[int, int]:
    """Numbers of the last group with errors <= risk * answered, and before the first with more; or -1."""
    answered, wrong = groups.answered, groups.wrong
    start = np.arange(0, len(answered), _BLOCK)
    end = np.minimum(start + _BLOCK, len(answered))
    bound = 1e-9
    last = -1
    for block in np.flatnonzero(wrong[start] <= risk * answered[end - 1] + bound)[::-1]:
        part = slice(start[block], end[block])
        kept = np.flatnonzero(wrong[part] <= risk * answered[part] + bound)
        if len(kept):
            last = int(start[block] + kept[-1])
            break
    first = len(answered) - 1
    for block in np.flatnonzero(wrong[end - 1] > risk * answered[start] + bound):
        part = slice(start[block], end[block])
        over = np.flatnonzero(wrong[part] > risk * answered[part] + bound)
        if len(over):
            first = int(start[block] + over[0]) - 1
            break
    return last, first


def replicated_coverage_at_risk(bins: RankBins, risk: float, *, first: bool = False) -> Array:
    """The same for every replicate, to the nearest end of a cell; shape (replicate,)."""
    within = bins.wrong <= risk * bins.answered + 1e-9
    within &= bins.answered > 0
    if first:
        over = ~within & (bins.answered > 0)
        at = np.where(over.any(axis=1), over.argmax(axis=1), within.shape[1]) - 1
    else:
        at = within.shape[1] - 1 - within[:, ::-1].argmax(axis=1)
        at = np.where(within.any(axis=1), at, -1)
    reached = np.take_along_axis(bins.answered, np.maximum(at, 0)[:, None], axis=1)[:, 0]
    return np.where(at >= 0, reached / bins.rows, 0.0)


@final
@register("metric")
class CoverageAtRisk(RankMetric[Measure]):
    """Coverage at ``risk`` (0.05); ``by_risk`` has it at 0.01, 0.02, 0.05, 0.1, 0.2, the first crossing, the threshold.

    The interval comes from a seeded bootstrap over at most 512 cells of ranks (so its ends are read to 0.2 % of
    coverage) and is empirical: the coverage jumps where the curve runs along the risk. Larger is better.

    >>> from oodometer import Predictions
    >>> found = CoverageAtRisk(risk=0.4).compute(Predictions.from_confidence([0.9, 0.8, 0.7], correct=[1, 0, 1]))
    >>> found.value, round(found.extras["first"], 3), found.extras["threshold"]
    (1.0, 0.333, 0.7)
    """

    name = "coverage_at_risk"
    bigger_is_better = True
    citation = "geifman2017"

    def __init__(self, risk: float = 0.05, risks: Sequence[float] = RISKS) -> None:
        self.risk, self.risks = _checked_risk(risk), tuple(_checked_risk(r) for r in risks)

    def _finish(self, state: Ranks, level: float, seed: int) -> Measure:
        """Coverage and interval; ``first``, ``threshold`` and ``by_risk`` as extras."""
        groups = state.groups
        again = resampled(groups, seed)
        rows: list[dict[str, Any]] = []
        for risk in sorted({*self.risks, self.risk}):
            last, first = _crossings(groups, risk)
            value = float(groups.answered[last]) / groups.rows if last >= 0 else 0.0
            lower, upper = interval_of(value, replicated_coverage_at_risk(again, risk), level)
            few = groups.rows < FEW_ROWS
            row: dict[str, float | None] = {"risk": risk, "value": value, "lower": 0.0 if few else max(lower, 0.0)}
            row |= {"upper": 1.0 if few else min(upper, 1.0)}
            row |= {"threshold": float(groups.lowest[last]) if last >= 0 else None}
            rows.append(row | {"first": float(groups.answered[first]) / groups.rows if first >= 0 else 0.0})
        own = next(row for row in rows if row["risk"] == self.risk)
        ends, extras = (own["lower"], own["upper"]), {name: own[name] for name in ("risk", "first", "threshold")}
        return measure(own["value"], ends, level, "empirical", **extras, by_risk=rows)


COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def risk_at_coverage(confidence: Any, correct: Any, coverage: float = 0.8) -> float:
    """Expected share of errors among the ceil(coverage n) most confident samples; ties in expectation over their order.

    Arguments and errors as in `area_under_accuracy_coverage`; `UsageError` for a coverage outside (0, 1]. Source:
    Geifman and El-Yaniv (2017).

    >>> round(risk_at_coverage([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0], 0.7), 4)  # 3 of 4, one wrong
    0.3333
    """
    cells = rank_bins(Ranks.of(*checked_pair(confidence, correct)).groups)
    return float(replicated_risk_at_coverage(cells, np.array([_checked_coverage(coverage)]))[0, 0])


def _checked_coverage(coverage: float) -> float:
    if not 0 < coverage <= 1:
        raise UsageError(f"expected a coverage above 0 and up to 1, a share of the rows, got {coverage}; 0.8 is usual")
    return float(coverage)


def replicated_risk_at_coverage(bins: RankBins, coverages: Array) -> Array:
    """The same for every replicate and coverage, shape (replicate, coverage)."""
    points = bins.at_coverages(coverages)
    return points.wrong / points.answered


@final
@register("metric")
class RiskAtCoverage(RankMetric[Measure]):
    """Risk at ``coverage`` (0.8); ``by_coverage`` has it at 0.5, 0.6, ..., 1.0 with the threshold that answers so much.

    The interval is asymptotic, from a seeded bootstrap over at most 512 cells of ranks, and nowhere narrower than the
    exact interval of as many rows as are answered. Smaller is better.

    >>> from oodometer import Predictions
    >>> found = RiskAtCoverage(coverage=0.5).compute(Predictions.from_confidence([0.9, 0.8], correct=[1, 0]))
    >>> found.value, found.extras["threshold"]
    (0.0, 0.9)
    """

    name = "risk_at_coverage"
    bigger_is_better = False
    citation = "geifman2017"

    def __init__(self, coverage: float = 0.8, coverages: Sequence[float] = COVERAGES) -> None:
        self.coverage, self.coverages = _checked_coverage(coverage), tuple(_checked_coverage(c) for c in coverages)

    def _finish(self, state: Ranks, level: float, seed: int) -> Measure:
        """Risk and interval; ``threshold`` and ``by_coverage`` as extras."""
        groups = state.groups
        wanted = np.array(sorted({*self.coverages, self.coverage}))
        bins = rank_bins(groups)
        points = bins.at_coverages(wanted)
        risks = (points.wrong / points.answered)[0]
        low, high = accuracy_band(bins, resampled(groups, seed), wanted, level)
        rows: list[dict[str, Any]] = []
        for i, coverage in enumerate(wanted.tolist()):
            risk = float(risks[i])
            ends = {"lower": min(1 - float(high[i]), risk), "upper": max(1 - float(low[i]), risk)}
            rows.append({"coverage": coverage, "value": risk, **ends, "threshold": float(points.confidence[0, i])})
        own = next(row for row in rows if row["coverage"] == self.coverage)
        extras = {"coverage": self.coverage, "threshold": own["threshold"], "by_coverage": rows}
        return measure(own["value"], (own["lower"], own["upper"]), level, "asymptotic", **extras)


@final
@register("metric")
class AccuracyCoverageCurve(RankMetric[Curve]):
    """Selective accuracy at ``steps`` (100) equal steps of coverage, ties in expectation over their order.

    x = coverage, y = accuracy of the ceil(x n) most confident samples; ``extra`` has ``thresholds``, the confidence
    of the last of them. Unlike `risk_coverage`, whose points are thresholds, this curve is the grid of DiSCA. The
    band is asymptotic, point by point, from a seeded bootstrap over at most 512 cells of ranks, and nowhere narrower
    than the exact interval of as many rows as are answered. Source: Kamath, Jia and Liang (2020).

    >>> from oodometer import Predictions
    >>> r = Predictions.from_confidence([0.9, 0.8, 0.8, 0.1], correct=[1, 1, 0, 0])
    >>> c = AccuracyCoverageCurve(steps=4).compute(r)
    >>> c.y.round(3).tolist(), c.extra["thresholds"].tolist()
    ([1.0, 0.75, 0.667, 0.5], [0.9, 0.8, 0.8, 0.1])
    """

    name = "accuracy_coverage"
    bigger_is_better = None
    citation = "kamath2020"
    gives = "curve"

    def __init__(self, steps: int = 100) -> None:
        if steps < 2:
            raise UsageError(f"expected at least 2 steps of coverage, got {steps}; 100 is usual")
        self.steps = steps

    def _finish(self, state: Ranks, level: float, seed: int) -> Curve:
        groups = state.groups
        coverages = np.arange(1, self.steps + 1) / self.steps
        bins = rank_bins(groups)
        points = bins.at_coverages(coverages)
        accuracy = points.accuracy[0]
        band = accuracy_band(bins, resampled(groups, seed), coverages, level)
        extra = {"thresholds": points.confidence[0].astype(np.float64)}
        axes, assumes = ("coverage", "accuracy of the answered"), "each coverage on its own"
        return Curve(self.name, coverages, accuracy, *band, *axes, level, "asymptotic", assumes, extra)


@final
@register("metric")
class RiskCoverageCurve(RankMetric[Curve]):
    """Selective accuracy over coverage: answer a sample if its confidence is at least the threshold.

    x = coverage (share answered), y = accuracy of the answered (risk is 1 - y), at up to ``points`` (200)
    coverages that a threshold can reach: samples of equal confidence are answered together. ``extra`` holds
    ``thresholds``, and ``answers``: for each of the ``target_accuracies`` (0.95) the largest coverage that reaches
    it and its threshold, and the same for the lower end of the band (``safe_coverage``, ``safe_threshold``), None
    where none does. The band is Clopper-Pearson's, exact for each threshold on its own. Source: Geifman and
    El-Yaniv (2017).

    >>> from oodometer import Predictions
    >>> c = RiskCoverageCurve().compute(Predictions.from_confidence([0.9, 0.8, 0.8, 0.1], correct=[1, 1, 0, 0]))
    >>> c.x.tolist(), c.y.round(3).tolist(), c.extra["thresholds"].tolist()
    ([0.25, 0.75, 1.0], [1.0, 0.667, 0.5], [0.9, 0.8, 0.1])
    """

    name = "risk_coverage"
    bigger_is_better = None
    citation = "geifman2017"
    gives = "curve"

    def __init__(self, points: int = 200, target_accuracies: Sequence[float] = (0.95,)) -> None:
        if points < 2:
            raise UsageError(f"expected at least 2 points, got {points}; 200 is usual")
        self.points = points
        self.target_accuracies = tuple(target_accuracies)

    def _finish(self, state: Ranks, level: float, seed: int) -> Curve:
        groups = state.groups
        answered = groups.answered
        even = np.linspace(answered[0], groups.rows, self.points)
        at = np.unique(np.minimum(np.searchsorted(answered, even), len(answered) - 1))
        trials = answered[at]
        hits = groups.right[at]
        share = hits / trials
        lower, upper = clopper_pearson_many(hits, trials, level)
        threshold = groups.lowest[at].astype(np.float64)
        ends = {"": share, "safe_": lower}
        coverage, band = trials / groups.rows, (np.minimum(lower, share), np.maximum(upper, share))
        extra = {"thresholds": threshold, "answers": answers_for(self.target_accuracies, ends, coverage, threshold)}
        axes, assumes = ("coverage", "accuracy of the answered"), "each threshold on its own"
        return Curve(self.name, coverage, share, *band, *axes, level, "exact", assumes, extra)
