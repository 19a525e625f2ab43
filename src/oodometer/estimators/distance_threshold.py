"""Threshold with distance: above the confidence threshold AND no farther from the reference than its own rows are."""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np

from ..arrays import Array
from ..inference.folds import seeded_sample
from ..intervals import wilson_from_variance
from ..predictions import Predictions
from ..registry import create, register
from ..results import Estimate
from ..scores import NeighborDistance, Score
from .base import Estimator, Sums, root_sum_square
from .threshold import fit_threshold, total_credit

_ENOUGH_ROWS = 20
_MOST_ROWS = 10_000  # of the reference, to fit the gate and the threshold on
_QUANTILE = 0.01  # of the score, that is, the 0.99 quantile of the distance


@final
@register("estimator")
class DistanceThreshold(Estimator):
    """``threshold-distance:<score>``: mean_T [s >= t and d <= q_h(x)].

    d is the mean distance to the nearest reference features (`neighbor_distance`), q_k the 0.99 quantile of d among
    reference rows predicted as k (the global one below 20 rows); gate and threshold are fitted on a seeded sample of
    10,000 rows of a larger reference. Samples beyond it count as errors; t is fitted on the
    reference with the gate closed in the same way, so that the reference is matched (the paper fits t first).
    Needs `features`, a predicted class and the score's fields, else `NotApplicable`. Source: Roschewitz and
    Glocker (2023).

    >>> p = Predictions.from_arrays(probabilities=[[0.9, 0.1], [0.6, 0.4]], label=[0, 1], features=[[0.0], [0.1]])
    >>> DistanceThreshold().fit(p).estimate(p).value
    0.5
    """

    name = "threshold-distance"
    family = "threshold"
    beyond_overlap = True
    order = 80
    cost = "slow"
    needs = ("class", "features", "prediction|probabilities|members")
    assumes = "features tell new regions apart, and within the known ones the threshold holds"
    citation = "roschewitz2023"

    def __init__(self, *, score: str = "max_probability", level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        self._score: Score = create("score", score)
        self._distance = NeighborDistance()
        if score != "max_probability":
            self.name = f"threshold-distance:{score}"  # type: ignore[misc]

    @classmethod
    def from_argument(cls, argument: str, **options: Any) -> Self:
        """``threshold-distance:<score>``."""
        return cls(score=argument, **options)

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method needs, or None."""
        return super().why_not(record) or self._score.why_not(record) or self._distance.why_not(record)

    def _fit(self, reference: Predictions) -> None:
        self._score, self._distance = self._score.fit(reference), self._distance.fit(reference)
        if len(reference) > _MOST_ROWS:
            reference = reference.take(seeded_sample(len(reference), _MOST_ROWS, self.seed))
        nearness, predicted = self._distance.leave_one_out(reference), reference.predicted
        gates = np.full(reference.num_classes, np.quantile(nearness, _QUANTILE))
        for k in np.flatnonzero(np.bincount(predicted, minlength=len(gates)) >= _ENOUGH_ROWS):
            gates[k] = np.quantile(nearness[predicted == k], _QUANTILE)
        self._gates: Array = gates
        scores = self._gated(reference, self._score.leave_one_out(reference), nearness)
        self._thresholds, self._mismatch = fit_threshold(scores, reference.verdicts, self.level)

    def _gated(self, record: Predictions, scores: Array, nearness: Array) -> Array:
        """The score, with -inf for samples beyond the gate."""
        return np.where(nearness >= self._gates[record.predicted], scores.astype(np.float64), -np.inf)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows, rows beyond the gate, and how many score at or above the threshold and the ends of its interval."""
        scores = self._gated(batch, self._score(batch), self._distance(batch))
        within = scores[scores > -np.inf]  # what lies beyond is an error, even where the threshold is at -inf
        above = np.array([total_credit(within, threshold) for threshold in self._thresholds])
        return Sums(rows=len(batch), beyond=len(batch) - len(within), above=above)

    def finish(self, state: Sums) -> Estimate:
        """Share above the threshold and within the gate."""
        rows = state["rows"]
        value, low_cut, high_cut = (state["above"] / rows).tolist()
        variance = max(value * (1 - value), self._mismatch) / rows
        lower, upper = wilson_from_variance(value, variance, rows, self.level)
        down = root_sum_square(value - lower, value - min(low_cut, value))
        up = root_sum_square(upper - value, max(high_cut, value) - value)
        details = {"threshold": self._thresholds[0].threshold, "share_beyond_the_reference": state["beyond"] / rows}
        return self._estimate(state, value, value - down, value + up, score=self._score.name, details=details)
