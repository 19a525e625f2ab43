"""Voting bounds: any-Incorrect-wins below, any-Correct-wins above, their mean between."""

from __future__ import annotations

from typing import final

from ..intervals import wilson
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from .base import Estimator, Sums

__all__ = ["VotingBounds"]


@final
@register("estimator")
class VotingBounds(Estimator):
    """lower = mean_T [all judges say Correct], upper = mean_T [some judge says Correct], value = their mean.

    The printed interval runs from Wilson's lower end of the one share to the upper end of the other, so that sampling
    error is on top of the votes' own width; the bare shares are in ``details``. Empirical: discriminators
    that fail alike put the truth outside, and nothing in the method notices. Needs `votes`; `NotApplicable`
    without. The reference is not used. Source: Yao and Koller (2024).

    >>> p = Predictions.from_arrays(votes=[[1, 1, 0, 0], [1, 0, 0, 0]])
    >>> e = VotingBounds().fit(p).estimate(p)
    >>> e.value, e.details["lower_bound"], e.details["upper_bound"]
    (0.375, 0.25, 0.5)
    """

    name = "votes"
    needs = ("votes",)
    assumes = "the judges generalise to the target and do not all fail alike"
    citation = "yao2024"
    kind = "empirical"
    needs_labels = False

    def _fit(self, reference: Predictions) -> None:
        """Nothing is learnt from the reference."""

    def summarize(self, batch: Predictions) -> Sums:
        """Rows, rows where all say Correct, rows where some judge does."""
        assert batch.votes is not None
        votes = batch.votes > 0
        return Sums(rows=len(batch), every=int(votes.all(axis=0).sum()), some=int(votes.any(axis=0).sum()))

    def finish(self, state: Sums) -> Estimate:
        """The two shares and their mean."""
        rows = state["rows"]
        low, high = state["every"] / rows, state["some"] / rows
        lower, upper = wilson(low, rows, self.level)[0], wilson(high, rows, self.level)[1]
        details = {"lower_bound": low, "upper_bound": high}
        return self._estimate(state, (low + high) / 2, lower, upper, score="vote_share", details=details)
