"""Accuracy-coverage curve: accuracy of the most confident part, for every hundredth of coverage, with a band."""

from __future__ import annotations

from typing import final

import numpy as np

from ..errors import NotApplicable, UsageError
from ..registry import register
from ..results import Curve
from .ranks import RankMetric, Ranks
from .resampling import accuracy_band, rank_bins, resampled


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

    def finish(self, state: Ranks, level: float = 0.95, seed: int = 0) -> Curve:
        """The curve."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        groups = state.groups
        coverages = np.arange(1, self.steps + 1) / self.steps
        bins = rank_bins(groups)
        points = bins.at_coverages(coverages)
        accuracy = points.accuracy[0]
        lower, upper = accuracy_band(bins, resampled(groups, seed), coverages, level)
        return Curve(
            name=self.name,
            x=coverages,
            y=accuracy,
            lower=lower,
            upper=upper,
            x_name="coverage",
            y_name="accuracy of the answered",
            level=level,
            kind="asymptotic",
            assumes="each coverage on its own",
            extra={"thresholds": points.confidence[0].astype(np.float64)},
        )
