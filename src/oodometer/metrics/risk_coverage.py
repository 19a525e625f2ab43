"""Risk and coverage: curves of selective accuracy, points on them and areas under them, of one sample or replicates."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import Array, present
from ..errors import NotApplicable, UsageError
from ..plain import Json
from ..predictions import Predictions as Predictions  # for the examples
from ..registry import register
from ..results import Curve
from ..results.values import answers_for
from . import resampling as resample
from .base import Measure, checked_pair, measure
from .disca import disca_terms
from .one_vs_rest import ScoreCounts, Uncertain
from .one_vs_rest import auc_of as order_of
from .ranks import Groups, RankMetric, Ranks


def area_under_accuracy_coverage(confidence: Any, correct: Any) -> float:
    """Mean over k = 1..n of the accuracy of the k most confident samples; ties in expectation over their order.

    A tie of m samples, c of them correct, after a samples of which C are correct, adds (C - c a / m)(H(a + m) - H(a)) +
    c, H harmonic numbers. ``confidence`` of shape (sample,), in [0, 1]; ``correct``, booleans or 0/1, of the same
    shape. Raises `InputError` for no sample or values that are no confidences. Source: Kamath, Jia and Liang (2020).

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
    """How much n times the area moves by one sample of (verdict, group), shape (2, group); ties in expectation."""
    size, before, harmonic = groups.sizes, groups.before, groups.harmonic
    slope = groups.correct / size
    start = groups.hits_before - slope * before  # g_k = start / k + slope inside the group
    own_mean = start * harmonic / size + slope
    # sum over the ranks of later groups of 1 / k and g_k / k, and the mean over ranks r of the group of its part k >= r
    later = harmonic[::-1].cumsum()[::-1] - harmonic
    share_inside = 1 - before * harmonic / size
    weighted = start * groups.harmonic2 + slope * harmonic
    weighted_later = weighted[::-1].cumsum()[::-1] - weighted
    weighted_inside = (
        slope * size + (start - before * slope) * harmonic - before * start * groups.harmonic2
    ) / size
    base = own_mean - area - weighted_later - weighted_inside
    return np.stack([base, base + later + share_inside])


def influence_variance(groups: Groups, influences: Array) -> float:
    """Variance of an estimate from the influences of its samples, shape (2, group)."""
    wrong = groups.sizes - groups.correct
    total = (wrong * influences[0] ** 2).sum() + (groups.correct * influences[1] ** 2).sum()
    return float(total) / groups.rows**2


def area_variance(groups: Groups) -> float:
    """Variance of the area, and of 1 minus it; made once for all metrics that share the state."""
    if "_area_variance" not in groups.__dict__:
        coarse = groups.coarse
        groups.__dict__["_area_variance"] = influence_variance(
            coarse, influence(coarse, auc_of(groups))
        )
    return float(groups.__dict__["_area_variance"])


class AreaMetric(RankMetric[Measure]):
    """An area with a linearised interval; ``rounding`` bounds what a histogram of very many rows may have lost."""

    @abstractmethod
    def _area(self, groups: Groups) -> tuple[float, float]:
        """The area and its variance."""

    def _finish(self, state: Ranks, level: float, seed: int) -> Measure:
        groups = state.groups
        value, variance = self._area(groups)
        ends = resample.from_influence(value, variance, groups.rows, groups.rarer, level)
        return measure(value, ends, level, "asymptotic", **self._rounding(groups))

    def _rounding(self, groups: Groups) -> dict[str, float]:
        if groups.widths is None:  # every row was kept
            return {}
        return {"rounding": float((groups.disorder * groups.harmonic).sum()) / groups.rows}


@register("metric")
class AccuracyCoverageArea(AreaMetric):
    """Area under the accuracy-coverage curve, 1 - AURC; larger is better. The interval is linearised (asymptotic).

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

    This is 1 minus the accuracy-coverage area. ``confidence``, ``correct`` and errors are as in
    `area_under_accuracy_coverage`. Source: Geifman, Uziel and El-Yaniv (2019).

    >>> round(area_under_risk_coverage([0.9, 0.8, 0.7], [1, 0, 1]), 4)  # (0 + 1/2 + 1/3) / 3
    0.2778
    """
    return 1 - auc_of(Ranks.of(*checked_pair(confidence, correct)).groups)


@register("metric")
class RiskCoverageArea(AreaMetric):
    """Area under the risk-coverage curve; smaller is better. The interval is linearised (asymptotic).

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

    ``confidence``, ``correct`` and errors are as in `area_under_accuracy_coverage`. Source: Geifman, Uziel and El-Yaniv
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


@register("metric")
class ExcessRiskCoverageArea(AreaMetric):
    """AURC in excess of the perfect order's; smaller is better. The interval is linearised (asymptotic).

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

    The optimum for error rate e and many samples is e^2 / 2. ``confidence``, ``correct`` and errors are as in
    `area_under_accuracy_coverage`. Source: Traub et al. (2024).

    >>> round(area_under_generalized_risk_coverage([0.9, 0.8, 0.7], [1, 0, 1]), 4)  # (0 + 1 + 1) / 3 / 3
    0.2222
    """
    return _generalized_area(Ranks.of(*checked_pair(confidence, correct)).groups)


def _generalized_area(groups: Groups) -> float:
    n = groups.rows
    return max(0.0, n * (n + 1) / 2 - groups.right_sum) / n**2


@register("metric")
class GeneralizedRiskCoverageArea(AreaMetric):
    """Area under the generalised risk-coverage curve; smaller is better. The interval is linearised (asymptotic).

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


def prediction_rejection_ratio(confidence: Any, correct: Any) -> float:
    """How much of what a perfect order would gain over chance the confidence gains, as wrong answers are rejected.

    The rejection curve is the number of errors left among all n rows after the least confident are rejected; PRR =
    (area under chance's - area under the confidence's) / (area under chance's - area under the perfect one). With
    verdicts of 0 and 1 that is 2 AUROC - 1, AUROC = P(right above wrong) + P(tied) / 2: 1 is perfect, 0 chance.

    ``confidence``, ``correct`` and errors are as in `area_under_accuracy_coverage`; nan where all are right, or all
    are wrong. Source: Malinin and Gales (2021). Software that rejects without an oracle takes the mean accuracy of what
    is left instead, (auc_coverage - accuracy) / (that of the perfect order - accuracy).

    >>> prediction_rejection_ratio([0.9, 0.8, 0.7], [1, 0, 1])  # areas 2/3 by chance, 2/3 here, 1/3 at best, of errors
    0.0
    >>> prediction_rejection_ratio([0.9, 0.8, 0.7], [1, 1, 0])
    1.0
    """
    found = _order_of(Ranks.of(*checked_pair(confidence, correct)).groups)
    return math.nan if found is None else 2 * found.value - 1


def _order_of(groups: Groups) -> Uncertain | None:
    """P(right above wrong) + P(tied) / 2, and how far a sample moves it; None where all verdicts are the same."""
    right = groups.correct[::-1]
    return order_of(ScoreCounts(right, groups.sizes[::-1] - right))


@register("metric")
class PredictionRejectionRatio(RankMetric[Measure]):
    """Prediction-rejection ratio, 2 P(right above wrong) + P(tied) - 1, from -1 to 1, 0 is chance; larger is better.

    The interval is Wilson's with DeLong's variance. ``of_accuracy`` is the ratio of areas under the accuracy-coverage
    curve, (auc_coverage - accuracy) / (best - accuracy). `NotApplicable` where all are right or all are wrong.

    >>> r = Predictions.from_confidence([0.9, 0.8, 0.7, 0.6], correct=[1, 1, 0, 1])
    >>> found = PredictionRejectionRatio().compute(r)
    >>> round(found.value, 3), round(found.extras["of_accuracy"], 3)
    (0.333, 0.556)
    """

    name = "prr"
    bigger_is_better = True
    bounds = (-1.0, 1.0)
    citation = "malinin2021"

    def _finish(self, state: Ranks, level: float, seed: int) -> Measure:
        groups = state.groups
        order, coarse = _order_of(groups), groups.coarse
        if order is None:
            raise NotApplicable("every answer is right, or every one is wrong: there is no order")
        by_right, by_wrong = present(_order_of(coarse))[1:]
        right = coarse.correct[::-1]
        moves = ScoreCounts(right, coarse.sizes[::-1] - right)
        variance = sum(Uncertain(order.value, by_right, by_wrong).variances(moves))
        low, high = resample.from_effective_rows(order.value, variance, int(groups.rarer), level)
        accuracy, area = groups.hits / groups.rows, auc_of(groups)
        best = area + _excess(groups)
        return measure(
            2 * order.value - 1,
            (2 * low - 1, 2 * high - 1),
            level,
            "asymptotic",
            of_accuracy=(area - accuracy) / (best - accuracy),
        )


RISKS, _BLOCK = (0.01, 0.02, 0.05, 0.1, 0.2), 1024


def coverage_at_risk(
    confidence: Any, correct: Any, risk: float = 0.05, *, first: bool = False
) -> float:
    """The largest coverage whose selective risk, errors / answered, is at most ``risk``; 0 where there is none.

    Only coverages that a threshold can reach count: samples of equal confidence are answered together. A curve may
    cross the risk more than once; the **largest** coverage is beyond every later crossing.

    confidence, correct : as in `area_under_accuracy_coverage`, as are their errors.
    risk : the share of errors that is allowed, in [0, 1); `UsageError` outside.
    first : True gives the largest coverage before the risk is exceeded for the **first** time, the most confident
        first.

    Source: Geifman and El-Yaniv (2017).

    >>> c, y = [0.9, 0.8, 0.7, 0.6, 0.5], [1, 0, 1, 1, 1]
    >>> coverage_at_risk(c, y, 0.2), coverage_at_risk(c, y, 0.2, first=True)
    (1.0, 0.2)
    """
    groups = Ranks.of(*checked_pair(confidence, correct)).groups
    at = _crossings(groups, _checked_risk(risk))[1 if first else 0]
    return float(groups.answered[at]) / groups.rows if at >= 0 else 0.0


def _checked_risk(risk: float) -> float:
    if not 0 <= risk < 1:
        raise UsageError(
            f"expected a risk from 0 to below 1, a share of wrong answers, got {risk}; 0.05 is usual"
        )
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
        within = np.flatnonzero(wrong[part] <= risk * answered[part] + bound)
        if len(within):
            last = int(start[block] + within[-1])
            break
    first = len(answered) - 1
    for block in np.flatnonzero(wrong[end - 1] > risk * answered[start] + bound):
        part = slice(start[block], end[block])
        over = np.flatnonzero(wrong[part] > risk * answered[part] + bound)
        if len(over):
            first = int(start[block] + over[0]) - 1
            break
    return last, first


def replicated_coverage_at_risk(bins: resample.RankBins, risk: float) -> Array:
    """The largest coverage of every replicate, to the nearest end of a cell; shape (replicate,)."""
    within = (bins.wrong <= risk * bins.answered + 1e-9) & (bins.answered > 0)
    at = within.shape[1] - 1 - within[:, ::-1].argmax(axis=1)
    at = np.where(within.any(axis=1), at, -1)
    reached = np.take_along_axis(bins.answered, np.maximum(at, 0)[:, None], axis=1)[:, 0]
    return np.where(at >= 0, reached / bins.rows, 0.0)


@register("metric")
class CoverageAtRisk(RankMetric[Measure]):
    """Coverage at ``risk`` (0.05); ``by_risk`` has it at 0.01, 0.02, 0.05, 0.1, 0.2, the first crossing, the threshold.

    The interval comes from a seeded bootstrap over at most 512 cells of ranks (so its ends are read to 0.2 % of
    coverage) and is empirical: the coverage jumps where the curve runs along the risk. Larger is better.

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
        groups = state.groups
        again = resample.resampled(groups, seed)
        rows: list[Json] = []
        for risk in sorted({*self.risks, self.risk}):
            last, first = _crossings(groups, risk)
            value = float(groups.answered[last]) / groups.rows if last >= 0 else 0.0
            lower, upper = resample.interval_of(
                value, replicated_coverage_at_risk(again, risk), level
            )
            if groups.rows < resample.FEW_ROWS:
                lower, upper = 0.0, 1.0
            row: Json = {
                "risk": risk,
                "value": value,
                "lower": max(lower, 0.0),
                "upper": min(upper, 1.0),
            }
            row["threshold"] = float(groups.lowest[last]) if last >= 0 else None
            rows.append(
                row | {"first": float(groups.answered[first]) / groups.rows if first >= 0 else 0.0}
            )
        chosen = next(row for row in rows if row["risk"] == self.risk)
        return measure(
            chosen["value"],
            (chosen["lower"], chosen["upper"]),
            level,
            "empirical",
            risk=chosen["risk"],
            first=chosen["first"],
            threshold=chosen["threshold"],
            by_risk=rows,
        )


COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def risk_at_coverage(confidence: Any, correct: Any, coverage: float = 0.8) -> float:
    """Expected share of errors among the ceil(coverage n) most confident samples; ties in expectation over their order.

    confidence, correct : as in `area_under_accuracy_coverage`, as are their errors.
    coverage : the share of the samples that is answered, in (0, 1]; `UsageError` outside.

    Source: Geifman and El-Yaniv (2017).

    >>> round(risk_at_coverage([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0], 0.7), 4)  # 3 of 4, one wrong
    0.3333
    """
    cells = resample.rank_bins(Ranks.of(*checked_pair(confidence, correct)).groups)
    return float(_risks(cells, np.array([_checked_coverage(coverage)]))[0, 0])


def _checked_coverage(coverage: float) -> float:
    if not 0 < coverage <= 1:
        raise UsageError(
            f"expected a coverage above 0 and up to 1, a share of the rows, got {coverage}; 0.8 is usual"
        )
    return float(coverage)


def _risks(bins: resample.RankBins, coverages: Array) -> Array:
    points = bins.at_coverages(coverages)
    return points.wrong / points.answered


@register("metric")
class RiskAtCoverage(RankMetric[Measure]):
    """Risk at ``coverage`` (0.8); ``by_coverage`` has it at 0.5, 0.6, ..., 1.0 with the threshold that answers so much.

    The interval is asymptotic, from a seeded bootstrap over at most 512 cells of ranks, and nowhere narrower than the
    exact interval of as many rows as are answered. Smaller is better.

    >>> found = RiskAtCoverage(coverage=0.5).compute(Predictions.from_confidence([0.9, 0.8], correct=[1, 0]))
    >>> found.value, found.extras["threshold"]
    (0.0, 0.9)
    """

    name = "risk_at_coverage"
    bigger_is_better = False
    citation = "geifman2017"

    def __init__(self, coverage: float = 0.8, coverages: Sequence[float] = COVERAGES) -> None:
        self.coverage, self.coverages = (
            _checked_coverage(coverage),
            tuple(_checked_coverage(c) for c in coverages),
        )

    def _finish(self, state: Ranks, level: float, seed: int) -> Measure:
        groups = state.groups
        grid = np.array(sorted({*self.coverages, self.coverage}))
        bins = resample.rank_bins(groups)
        points = bins.at_coverages(grid)
        risks = (points.wrong / points.answered)[0]
        low, high = resample.accuracy_band(bins, resample.resampled(groups, seed), grid, level)
        rows: list[Json] = []
        for i, coverage in enumerate(grid.tolist()):
            risk = float(risks[i])
            rows.append(
                {
                    "coverage": coverage,
                    "value": risk,
                    "lower": min(1 - float(high[i]), risk),
                    "upper": max(1 - float(low[i]), risk),
                    "threshold": float(points.confidence[0, i]),
                }
            )
        chosen = next(row for row in rows if row["coverage"] == self.coverage)
        return measure(
            chosen["value"],
            (chosen["lower"], chosen["upper"]),
            level,
            "asymptotic",
            coverage=self.coverage,
            threshold=chosen["threshold"],
            by_coverage=rows,
        )


@register("metric")
class AccuracyCoverageCurve(RankMetric[Curve]):
    """Selective accuracy at ``steps`` (100) equal steps of coverage, ties in expectation over their order.

    x = coverage, y = accuracy of the ceil(x n) most confident samples; ``extra`` has ``thresholds``, the confidence
    of the last of them. Unlike `risk_coverage`, whose points are thresholds, this curve is the grid of DiSCA. The
    band is asymptotic, point by point, from a seeded bootstrap over at most 512 cells of ranks, and nowhere narrower
    than the exact interval of as many rows as are answered. Source: Kamath, Jia and Liang (2020).

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
        bins = resample.rank_bins(groups)
        points = bins.at_coverages(coverages)
        accuracy = points.accuracy[0]
        band = resample.accuracy_band(bins, resample.resampled(groups, seed), coverages, level)
        extra = {"thresholds": points.confidence[0].astype(np.float64)}
        axes, assumes = ("coverage", "accuracy of the answered"), "each coverage on its own"
        return Curve(
            self.name, coverages, accuracy, *band, *axes, level, "asymptotic", assumes, extra
        )


@register("metric")
class RiskCoverageCurve(RankMetric[Curve]):
    """Selective accuracy over coverage: answer a sample if its confidence is at least the threshold.

    x = coverage (share answered), y = accuracy of the answered (risk is 1 - y), at up to ``points`` (200) coverages
    that a threshold can reach: samples of equal confidence are answered together. ``extra`` holds ``thresholds``, and
    ``answers``: for each of the ``target_accuracies`` (0.95) the largest coverage that reaches it and its threshold,
    and the same for the lower end of the band (``safe_coverage``, ``safe_threshold``), None where none does. The band
    is Clopper-Pearson's, exact for each threshold on its own. Source: Geifman and El-Yaniv (2017).

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
        trials, hits = answered[at], groups.right[at]
        share = hits / trials
        lower, upper = resample.clopper_pearson_many(hits, trials, level)
        threshold = groups.lowest[at].astype(np.float64)
        ends = {"": share, "safe_": lower}
        coverage, band = trials / groups.rows, (np.minimum(lower, share), np.maximum(upper, share))
        extra = {
            "thresholds": threshold,
            "answers": answers_for(self.target_accuracies, ends, coverage, threshold),
        }
        axes, assumes = ("coverage", "accuracy of the answered"), "each threshold on its own"
        return Curve(self.name, coverage, share, *band, *axes, level, "exact", assumes, extra)


_BLOCKS = 1024  # parts of the rows that are drawn as one; the variance of a metric is then off by some 4 %
_CELLS = 500


def jointly_resampled(
    groups: Sequence[Groups],
    confidences: Sequence[Array],
    verdicts: Sequence[Array],
    seed: int,
    clusters: Array | None = None,
) -> list[resample.RankBins]:
    """Bootstrap replicates of several models on the same rows; a replicate draws the same (or ``clusters``) for all."""
    n = len(confidences[0])
    rng = resample.generator(seed, "joint")
    dealt = np.arange(n) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    count = int(dealt.max(initial=0)) + 1
    blocks = min(_BLOCKS, count)
    block = (rng.permutation(count) % blocks)[dealt]
    draws = rng.poisson(1.0, size=(resample.REPLICATES, blocks)).astype(np.float32)
    draws[~draws.any(axis=1)] = 1
    out = []
    for group, confidence, verdict in zip(groups, confidences, verdicts, strict=True):
        cells = group.joined(_CELLS)
        count = len(cells.answered)
        # cells by falling confidence: how many end above the row's own
        at = count - np.searchsorted(cells.lowest[::-1], confidence, side="right")
        line = (block * count + at) * 2 + (verdict > 0)
        table = np.bincount(line, minlength=blocks * count * 2).reshape(blocks, count * 2)
        sums = (
            (draws @ table.astype(np.float32))
            .astype(np.float64)
            .reshape(resample.REPLICATES, count, 2)
        )
        wrong, right = np.cumsum(sums[..., 0], axis=1), np.cumsum(sums[..., 1], axis=1)
        out.append(
            resample.RankBins(
                wrong + right, wrong, cells.highest, cells.lowest, cells.widths is not None
            )
        )
    return out


def _auc_coverage(bins: resample.RankBins) -> Array:
    from scipy.special import digamma

    right = bins.answered - bins.wrong
    size, correct = np.diff(bins.answered, prepend=0.0, axis=1), np.diff(right, prepend=0.0, axis=1)
    before = bins.answered - size
    slope = correct / np.maximum(size, 1)
    harmonic = digamma(bins.answered + 1) - digamma(before + 1)
    total = ((right - correct - slope * before) * harmonic).sum(axis=1) + right[:, -1]
    return np.asarray(np.clip(total / bins.rows, 0, 1))


def _e_aurc(bins: resample.RankBins) -> Array:
    from scipy.special import digamma

    rows = bins.rows
    hits = rows - bins.wrong[:, -1]
    perfect = np.where(
        hits > 0, (rows - hits - hits * (digamma(rows + 1) - digamma(hits + 1))) / rows, 1.0
    )
    return np.asarray(np.maximum(1 - _auc_coverage(bins) - perfect, 0))


def _augrc(bins: resample.RankBins) -> Array:
    size = np.diff(bins.answered, prepend=0.0, axis=1)
    wrong = np.diff(bins.wrong, prepend=0.0, axis=1)
    return np.asarray(
        ((bins.wrong - wrong) * size + wrong * (size + 1) / 2).sum(axis=1) / bins.rows**2
    )


_PLAIN: dict[str, Callable[[resample.RankBins], Array]] = {
    "accuracy": lambda cells: 1 - cells.wrong[:, -1] / cells.rows,
    "auc_coverage": _auc_coverage,
    "aurc": lambda cells: 1 - _auc_coverage(cells),
    "e_aurc": _e_aurc,
    "augrc": _augrc,
}
REPLICATED = (*_PLAIN, "disca", "coverage_at_risk", "risk_at_coverage")


def replicated(
    bins: resample.RankBins, name: str, *, risk: float, coverage: float, **of_disca: Any
) -> Array:
    """A metric, one of `REPLICATED`, of every replicate, shape (replicate,); NaN where it is not defined. ``of_disca``
    has tolerance, weights, grid and steps.
    """
    if name == "disca":
        tolerance, weights, grid, steps = (
            of_disca[n] for n in ("tolerance", "weights", "grid", "steps")
        )
        return disca_terms(bins, grid, steps, (tolerance,)).values(weights)[:, 0]
    if name == "coverage_at_risk":
        return replicated_coverage_at_risk(bins, risk)
    return (
        _risks(bins, np.array([coverage]))[:, 0]
        if name == "risk_at_coverage"
        else _PLAIN[name](bins)
    )
