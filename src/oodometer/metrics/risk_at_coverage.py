"""Risk at coverage: the share of wrong answers if so much is answered, the most confident first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable, UsageError
from ..registry import register
from .base import Measure, checked_pair, measure
from .ranks import RankMetric, Ranks
from .resampling import RankBins, accuracy_band, rank_bins, resampled

COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def risk_at_coverage(confidence: Any, correct: Any, coverage: float = 0.8) -> float:
    """Expected share of errors among the ceil(coverage n) most confident samples; ties in expectation over their order.

    Arguments and errors as in `area_under_accuracy_coverage`; `UsageError` for a coverage outside (0, 1]. Source:
    Geifman and El-Yaniv (2017).

    >>> round(risk_at_coverage([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0], 0.7), 4)  # 3 of 4, one wrong
    0.3333
    """
    cells = rank_bins(Ranks.of(*checked_pair(confidence, correct)).groups)
    return float(replicated_risk_at_coverage(cells, np.array([_checked(coverage)]))[0, 0])


def _checked(coverage: float) -> float:
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
        self.coverage, self.coverages = _checked(coverage), tuple(_checked(c) for c in coverages)

    def finish(self, state: Ranks, level: float = 0.95, seed: int = 0) -> Measure:
        """Risk and interval; ``threshold`` and ``by_coverage`` as extras."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        groups = state.groups
        wanted = np.array(sorted({*self.coverages, self.coverage}))
        bins = rank_bins(groups)
        points = bins.at_coverages(wanted)
        risks = (points.wrong / points.answered)[0]
        low, high = accuracy_band(bins, resampled(groups, seed), wanted, level)
        rows: list[dict[str, Any]] = []
        for i, coverage in enumerate(wanted.tolist()):
            lower, upper = min(1 - float(high[i]), float(risks[i])), max(1 - float(low[i]), float(risks[i]))
            rows.append(
                {
                    "coverage": coverage,
                    "value": float(risks[i]),
                    "lower": lower,
                    "upper": upper,
                    "threshold": float(points.confidence[0, i]),
                }
            )
        own = next(row for row in rows if row["coverage"] == self.coverage)
        return measure(
            own["value"],
            (own["lower"], own["upper"]),
            level,
            "asymptotic",
            coverage=self.coverage,
            threshold=own["threshold"],
            by_coverage=rows,
        )
