"""Difference of confidences (DoC): reference accuracy minus the fall in mean confidence."""

from __future__ import annotations

from typing import final

from ..intervals import wilson_from_variance
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from ..scores import Score, natural_confidence
from .base import Estimator, Sums
from .confidence import confidence_gap, total_confidence


@final
@register("estimator")
class DifferenceOfConfidence(Estimator):
    """acc_S + mean_T s - mean_S s, s = max probability (or the record's natural confidence).

    Variance: Var_S(correct - s)/n_S + max(m(1-m), Var_S(correct - s))/n_T with m = mean_T s: the accuracy of these very
    rows differs from the estimate by their own gaps, which may vary more than confidence does. The value is cut to
    [0, 1], with a warning.
    `NotApplicable` without confidences. Confidence that does not move with the errors breaks it.
    Source: Guillory et al. (2021).

    >>> reference = Predictions.from_probabilities([[0.9, 0.1], [0.7, 0.3]], label=[0, 1])
    >>> target = Predictions.from_probabilities([[0.7, 0.3], [0.5, 0.5]])
    >>> round(DifferenceOfConfidence().fit(reference).estimate(target).value, 3)
    0.3
    """

    name = "doc"
    family = "difference of confidence"
    in_middle = True
    order = 30
    reads = "confidence"
    in_panel = True
    voice = 1
    needs = ("probabilities|confidence|token_logprobs",)
    assumes = "accuracy falls by as much as mean confidence"
    citation = "guillory2021"

    def _fit(self, reference: Predictions) -> None:
        self._score: Score = natural_confidence(reference).fit(reference)
        self._gap, self._gap_variance = confidence_gap(reference, self._score)
        self._rows = len(reference)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows and the sum of confidence."""
        return Sums(rows=len(batch), total=total_confidence(batch, self._score))

    def finish(self, state: Sums) -> Estimate:
        """Mean confidence of the target plus the reference's gap."""
        rows = state["rows"]
        mean = state["total"] / rows
        value = mean + self._gap
        own = max(mean * (1 - mean), self._gap_variance * self._rows)  # the population, or these very rows
        variance = self._gap_variance + own / rows
        inside = min(max(value, 0.0), 1.0)
        lower, upper = wilson_from_variance(inside, variance, min(rows, self._rows), self.level)
        return self._estimate(state, value, lower, upper, score=self._score.name, details={"reference_gap": self._gap})
