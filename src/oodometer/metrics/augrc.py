"""AUGRC: area under the generalised risk-coverage curve, the mean share of undetected errors."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ..errors import NotApplicable
from ..registry import register
from .auc_coverage import influence_variance
from .base import Measure, checked_pair, measure
from .ranks import Groups, RankMetric, Ranks
from .spread import from_influence


def area_under_generalized_risk_coverage(confidence: Any, correct: Any) -> float:
    """Mean over k = 1..n of (errors among the k most confident samples) / n; ties in expectation over their order.

    The optimum for error rate e and many samples is e^2 / 2. Arguments and errors as in
    `area_under_accuracy_coverage`. Source: Traub et al. (2024).

    >>> round(area_under_generalized_risk_coverage([0.9, 0.8, 0.7], [1, 0, 1]), 4)  # (0 + 1 + 1) / 3 / 3
    0.2222
    """
    return _area(Ranks.of(*checked_pair(confidence, correct)).groups)


def _area(groups: Groups) -> float:
    n = groups.rows
    return max(0.0, n * (n + 1) / 2 - groups.right_sum) / n**2


@final
@register("metric")
class GeneralizedRiskCoverageArea(RankMetric[Measure]):
    """Area under the generalised risk-coverage curve; smaller is better. The interval is linearised (asymptotic).

    >>> from oodometer import Predictions
    >>> r = Predictions.from_confidence([0.9, 0.8, 0.7], correct=[1, 0, 1])
    >>> round(GeneralizedRiskCoverageArea().compute(r).value, 4)
    0.2222
    """

    name = "augrc"
    bigger_is_better = False
    citation = "traub2024"

    def finish(self, state: Ranks, level: float = 0.95, seed: int = 0) -> Measure:
        """Area and interval; ``rounding`` bounds what a histogram of very many rows may have lost."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        groups = state.groups
        n, coarse = groups.rows, groups.coarse
        value, size = _area(groups), coarse.sizes
        wrong = size - coarse.correct
        # A sample counts among the first k for its own error, and for each error that stands before it.
        as_error = (n - coarse.before - (size - 1) / 2) / n
        as_place = (coarse.before - coarse.hits_before + wrong * (size + 1) / (2 * size)) / n
        base = as_place - 2 * value
        variance = influence_variance(coarse, np.stack([base + as_error, base]))
        ends = from_influence(value, variance, n, groups.rarer, level)
        extras: dict[str, Any] = {}
        if groups.widths is not None:
            extras["rounding"] = float((groups.disorder * groups.sizes).sum()) / n**2
        return measure(value, ends, level, "asymptotic", **extras)
