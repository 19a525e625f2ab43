"""MaxProb: every sample whose confidence exceeds a fixed level counts as correct, no other; a baseline."""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np

from ..errors import UsageError
from ..intervals import wilson
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from ..scores import Score, natural_confidence
from .base import Estimator, Sums


@final
@register("estimator")
class MaxProb(Estimator):
    """mean_T [s > gamma], s = max probability (or `confidence`, or the sequence probability).

    Parameters
    ----------
    gamma : the level; 0.5, as nothing is known of the target. ``max-prob:<gamma>`` by name.

    The interval is Wilson's of that share. A baseline to compare with, run only where it is asked for: a fixed level is
    no estimate, and a model that is always sure gets 1. `UsageError` for a gamma outside [0, 1), `NotApplicable`
    without confidences; the reference is not used. Source: Kamath, Jia and Liang (2020); Yao and Koller (2024).

    >>> target = Predictions.from_confidence([0.9, 0.6, 0.5, 0.2])
    >>> MaxProb().fit(target).estimate(target).value, MaxProb(gamma=0.8).fit(target).estimate(target).value
    (0.5, 0.25)
    """

    name = "max-prob"
    family = "baseline"
    order = 300
    cost = "slow"
    runs_as = ()
    needs = ("probabilities|confidence|token_logprobs",)
    assumes = "exactly the answers with a confidence above the level are right"
    citation = "kamath2020"
    needs_labels = False

    def __init__(self, *, gamma: float = 0.5, level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        if not 0 <= gamma < 1:
            raise UsageError(f"expected a level of confidence from 0 to below 1 such as 0.5, got {gamma}")
        self.gamma = float(gamma)
        if gamma != 0.5:
            self.name = f"max-prob:{gamma:g}"  # type: ignore[misc]  # the instance's own, longer name

    @classmethod
    def from_argument(cls, argument: str, **options: Any) -> Self:
        """``max-prob:<gamma>``."""
        try:
            gamma = float(argument)
        except ValueError:
            raise UsageError(f"expected max-prob:<gamma> such as max-prob:0.7, got max-prob:{argument}") from None
        return cls(gamma=gamma, **options)

    def _fit(self, reference: Predictions) -> None:
        self._score: Score = natural_confidence(reference).fit(reference)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows, and how many are more confident than gamma."""
        return Sums(rows=len(batch), above=int(np.count_nonzero(self._score(batch) > self.gamma)))

    def finish(self, state: Sums) -> Estimate:
        """Share above gamma."""
        rows = state["rows"]
        value = state["above"] / rows
        lower, upper = wilson(value, rows, self.level)
        details = {"threshold": self.gamma}
        return self._estimate(state, value, lower, upper, score=self._score.name, details=details)
