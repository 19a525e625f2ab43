"""Expected value: what a prediction brings or costs on average, by a pay-off matrix."""

from __future__ import annotations

from typing import Any, final

from ..errors import NotApplicable
from ..intervals import wilson_from_variance
from ..predictions import Predictions
from ..registry import register
from .base import Measure, measure
from .confusion import Confusion, ConfusionMetric
from .payoff import Payoff
from .spread import FEW_OF_A_KIND, FEW_ROWS, dot


@final
@register("metric")
class ExpectedValue(ConfusionMetric[Measure]):
    """Mean pay-off of a row, sum_jk C_jk V_jk / n, in the units of the matrix V; costs are numbers below 0.

    ``payoff`` gives V by class name: rows are true classes, columns predicted ones. ``total`` is that of all rows. The
    interval is Wilson's for a mean between the smallest and the largest entry of V. Source: Elkan (2001).

    >>> from oodometer import Predictions
    >>> worth = ExpectedValue({"no": {"no": 0, "yes": -1}, "yes": {"no": -20, "yes": 5}})
    >>> record = Predictions.from_classes(["no", "yes", "yes"], label=["no", "yes", "no"])
    >>> worth.compute(record).value  # (0 + 5 - 1) / 3
    1.3333333333333333
    """

    name = "expected_value"
    bigger_is_better = True
    quiet = True
    citation = "elkan2001"
    bounds = (float("-inf"), float("inf"))

    def __init__(self, payoff: Any = None) -> None:
        self.payoff = None if payoff is None else Payoff.of(payoff)

    def why_not(self, record: Predictions) -> str | None:
        """Why this record is not enough, or None."""
        return "needs a pay-off matrix: --payoff FILE, payoff={...}" if self.payoff is None else self.missing(record)

    def finish(self, state: Confusion, level: float = 0.95, seed: int = 0) -> Measure:
        """The mean and its interval."""
        n = state.rows
        if not n:
            raise NotApplicable("needs at least one labelled row")
        if self.payoff is None:
            raise NotApplicable("needs a pay-off matrix: --payoff FILE, payoff={...}")
        values = self.payoff.matrix(state.classes)
        low, high = float(values.min()), float(values.max())
        each = values[state.truth, state.guess]
        mean = dot(state.counts, each) / n
        span = high - low
        if not span:
            return measure(mean, (mean, mean), level, "exact", total=mean * n)
        share = min(max((mean - low) / span, 0.0), 1.0)
        variance = dot(state.counts, ((each - mean) / span) ** 2) / n / n
        if n < FEW_ROWS or state.rarest < FEW_OF_A_KIND:
            variance = max(variance, share * (1 - share) / n)
        bottom, top = wilson_from_variance(share, variance, n, level)
        return measure(mean, (low + span * bottom, low + span * top), level, "asymptotic", total=mean * n)


def with_payoff(metrics: Any, payoff: Any) -> None:
    """Give the metrics that weigh by a pay-off matrix that matrix."""
    for metric in metrics:
        if isinstance(metric, ExpectedValue) and payoff is not None:
            metric.payoff = Payoff.of(payoff)
