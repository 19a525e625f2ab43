"""Class-wise threshold: one threshold for each predicted class, the global one where a class is small."""

from __future__ import annotations

import itertools
from typing import Any, Self, final

import numpy as np

from ..arrays import Array
from ..intervals import wilson_from_variance
from ..kernels import count_passed
from ..predictions import Predictions
from ..registry import create, register
from ..results import Estimate
from ..scores import Score
from .base import Estimator, Sums, root_sum_square
from .threshold import ScoreThreshold, fit_record_threshold, fit_threshold

_ENOUGH_ROWS = 20


@final
@register("estimator")
class ClasswiseThreshold(Estimator):
    """``threshold-classwise:<score>``: for each predicted class k choose t_k with mean_{S,k} [s >= t_k] = acc_{S,k}.

    Answers mean_T [s >= t_h(x)]. A class predicted fewer than 20 times on the reference gets the global threshold. The
    interval joins the binomial variance of the target with the rank uncertainty of every class's threshold.

    Parameters
    ----------
    score : name of a score; max probability by default.

    Needs a predicted class and the score's fields, else `NotApplicable`. Source: Li et al. (2022).

    >>> p = Predictions.from_probabilities([[0.9, 0.1], [0.6, 0.4]], label=[0, 1])
    >>> ClasswiseThreshold().fit(p).estimate(p).value
    0.5
    """

    name = "threshold-classwise"
    family = "threshold"
    order = 70
    reads = "confidence"
    in_panel = True
    needs = ("class", "prediction|probabilities|members")
    assumes = "within each predicted class as many target samples lie above the threshold as are correct"
    citation = "li2022"

    def __init__(self, *, score: str = "max_probability", level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        self._score: Score = create("score", score)
        if score != "max_probability":
            self.name = f"threshold-classwise:{score}"  # type: ignore[misc]

    @classmethod
    def from_argument(cls, argument: str, **options: Any) -> Self:
        """``threshold-classwise:<score>``."""
        return cls(score=argument, **options)

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method needs, or None."""
        return super().why_not(record) or self._score.why_not(record)

    def _fit(self, reference: Predictions) -> None:
        self._score = self._score.fit(reference)
        scores, verdicts, predicted = (
            self._score.leave_one_out(reference),
            reference.verdicts,
            reference.predicted,
        )
        overall, self._mismatch = fit_record_threshold(reference, self._score, self.level)
        thresholds: list[tuple[ScoreThreshold, ScoreThreshold, ScoreThreshold]] = []
        own = np.zeros(reference.num_classes, dtype=bool)
        # codes of 8 or 16 bits sort by radix, in a pass or two
        order = np.argsort(predicted.astype(np.min_scalar_type(reference.num_classes)), kind="stable")
        scores, verdicts = scores[order], verdicts[order]
        edges = np.concatenate([[0], np.cumsum(np.bincount(predicted, minlength=reference.num_classes))])
        for k, (start, stop) in enumerate(itertools.pairwise(edges.tolist())):
            own[k] = stop - start >= _ENOUGH_ROWS
            thresholds.append(
                fit_threshold(scores[start:stop], verdicts[start:stop], self.level, within_gap=True)[0]
                if own[k]
                else overall
            )
        self._own = own
        self._thresholds: Array = np.array([[three[j].threshold for three in thresholds] for j in range(3)])
        self._ties: Array = np.array([[three[j].share_of_ties for three in thresholds] for j in range(3)])

    def summarize(self, batch: Predictions) -> Sums:
        """Rows, and for each predicted class the credit at its threshold and at the ends of its interval."""
        reached, tied = count_passed(self._score(batch), batch.predicted, self._thresholds)
        above = reached - tied * (1 - self._ties)
        return Sums(rows=len(batch), above=above)

    def finish(self, state: Sums) -> Estimate:
        """Share above the class's own threshold."""
        rows, above = state["rows"], state["above"] / state["rows"]
        value = float(above[0].sum())
        lower, upper = wilson_from_variance(value, max(value * (1 - value), self._mismatch) / rows, rows, self.level)
        falls, rises = above[0] - np.minimum(above[1], above[0]), np.maximum(above[2], above[0]) - above[0]
        # classes with a threshold of their own vary independently; those with the global one vary together
        shared = ~self._own
        down = root_sum_square(value - lower, *falls[self._own], falls[shared].sum())
        up = root_sum_square(upper - value, *rises[self._own], rises[shared].sum())
        details = {"own_threshold": int(self._own.sum()), "global_threshold": int(shared.sum())}
        return self._estimate(state, value, value - down, value + up, score=self._score.name, details=details)
