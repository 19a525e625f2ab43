"""Average confidence (AC): the mean confidence on the target, read as its accuracy."""

from __future__ import annotations

import sys
from typing import Any, Self, final

from ..errors import UsageError
from ..intervals import wilson_from_variance
from ..predictions import Predictions
from ..registry import create, register
from ..results import Estimate
from ..scores import Score, natural_confidence
from .base import Estimator, Sums
from .confidence import confidence_gap, total_confidence


@final
@register("estimator")
class AverageConfidence(Estimator):
    """mean_T s(x), s = max probability (or `confidence`, or any score that reads as a probability).

    Parameters
    ----------
    score : name of a score with ``is_probability``; by default the record's natural confidence.

    The interval adds the binomial variance v(1-v)/n_T (wide enough for the accuracy of the population and for
    that of these very rows) and, where the probabilities were calibrated on the reference, Var_S(correct -
    s)/n_S. Raises `UsageError` for a score that is no probability, `NotApplicable` without confidences. Over-confidence
    under shift breaks it. Source: Hendrycks and Gimpel (2017); Guo et al. (2017).

    >>> reference = Predictions.from_probabilities([[0.9, 0.1], [0.6, 0.4]], label=[0, 1])
    >>> target = Predictions.from_probabilities([[0.7, 0.3], [0.5, 0.5]])
    >>> round(AverageConfidence().fit(reference).estimate(target).value, 3)
    0.6
    """

    name = "ac"
    family = "calibrated confidence"
    order = 20
    reads = "confidence"
    voice = 3
    needs = ("probabilities|confidence|token_logprobs|members|views|votes",)
    assumes = "confidence is calibrated on the target"
    citation = "guo2017"

    def __init__(self, *, score: str | None = None, level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        self._score: Score | None = None if score is None else create("score", score)
        if self._score is not None and not self._score.is_probability:
            raise UsageError(f"the score {score!r} does not read as a probability; use threshold:{score} instead")
        if score is not None:
            self.name = f"ac:{score}"  # type: ignore[misc]  # the instance's own, longer name

    @classmethod
    def from_argument(cls, argument: str, **options: Any) -> Self:
        """``ac:<score>`` averages that score."""
        return cls(score=argument, **options)

    def _fit(self, reference: Predictions) -> None:
        score = self._score or natural_confidence(reference)
        self._score = score.fit(reference)
        self._rows = len(reference) if reference.calibrated else sys.maxsize  # raw scores owe it nothing
        self._reference_variance = confidence_gap(reference, self._score)[1] if reference.calibrated else 0.0

    def summarize(self, batch: Predictions) -> Sums:
        """Rows and the sum of the score."""
        assert self._score is not None
        return Sums(rows=len(batch), total=total_confidence(batch, self._score))

    def finish(self, state: Sums) -> Estimate:
        """Mean of the score."""
        assert self._score is not None
        rows = state["rows"]
        value = state["total"] / rows
        variance = max(value * (1 - value), 0.0) / rows + self._reference_variance
        lower, upper = wilson_from_variance(value, variance, min(rows, self._rows), self.level)
        return self._estimate(state, value, lower, upper, score=self._score.name)
