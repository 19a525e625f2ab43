"""Vote rate: the chance that each sample is right, by how many judges accept it; what votes add to labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..kernels import pool_adjacent
from ..metrics.vote_rules import count_votes
from ..predictions import Predictions

__all__ = ["VoteRate"]


@final
@dataclass(frozen=True)
class VoteRate:
    """f(x) in [0, 1], the rate of being right among rows that as many judges accept, and how far to lean on it.

    Parameters
    ----------
    rate : f for 0, 1, ..., n votes, shape (count,), rising.
    slope : cov(Y, f)/var(f) on reference rows, each left out of what its f was learnt from, cut to [0, 1].
    explained : the share of the variance of Y that slope * f takes away there; NaN where Y does not vary.

    Each step of the ladder starts with one imagined row that is right with the chance j/n that its votes say: where the
    reference knows nothing (it has no votes; or the model is always right there, and every judge says so), f is the
    share of judges and the slope is 1; where it knows much, the imagined rows are forgotten.

    >>> p = Predictions.from_arrays(votes=[[1, 1, 0, 0] * 50, [1, 0, 1, 0] * 50], correct=[1, 1, 0, 0] * 50)
    >>> learnt = VoteRate.fit(p)
    >>> learnt.rate.round(2).tolist(), round(learnt.slope, 2)
    ([0.0, 0.5, 1.0], 0.99)
    """

    rate: Array
    slope: float
    explained: float = float("nan")
    name: ClassVar[str] = "votes"

    @classmethod
    def fit(cls, reference: Predictions) -> VoteRate:
        """Learn on a labelled record; `NotApplicable` without votes or labelled rows."""
        known = reference.known()
        if known.votes is None or not len(known):
            raise NotApplicable("needs labelled reference rows with `votes`")
        judges = len(known.votes)
        code = count_votes(known.votes) * 2 + (known.verdicts > 0)
        return cls.from_counts(np.bincount(code, minlength=2 * judges + 2).reshape(judges + 1, 2))

    @classmethod
    def unseen(cls, judges: int) -> VoteRate:
        """Without a vote on the reference: the share of judges, taken at its word.

        >>> VoteRate.unseen(4).rate.tolist(), VoteRate.unseen(4).slope
        ([0.0, 0.25, 0.5, 0.75, 1.0], 1.0)
        """
        return cls.from_counts(np.zeros((judges + 1, 2)))

    @classmethod
    def from_counts(cls, table: Array) -> VoteRate:
        """From rows by number of votes and truth (0 wrong, 1 right), shape (count, 2)."""
        steps = len(table)
        said = np.arange(steps) / max(steps - 1, 1)
        imagined = np.stack([1 - said, said], axis=1)
        rate = _rising(table + imagined)
        left_out = np.tile(rate[:, None], (1, 2))
        for step, truth in zip(*np.nonzero(table), strict=True):  # cells of a small table, not rows
            less = table + imagined
            less[step, truth] -= 1
            left_out[step, truth] = _rising(less)[step]
        predicted = np.concatenate([left_out, np.stack([rate, rate], axis=1)])
        weight = np.concatenate([table, imagined])
        slope, _, _ = _moments(predicted, weight)
        slope = min(max(slope, 0.0), 1.0)
        if not table[:, 0].any() or not table[:, 1].any():
            return cls(rate, slope)
        _, covariance, spread = _moments(left_out, table)
        mean = table[:, 1].sum() / table.sum()
        explained = (2 * slope * covariance - slope**2 * spread) / (mean * (1 - mean))
        return cls(rate, slope, float(explained))

    def __call__(self, batch: Predictions) -> Array:
        """f of each sample, shape (sample,)."""
        if batch.votes is None:
            raise NotApplicable("needs `votes`")
        out: Array = self.rate[count_votes(batch.votes)]
        return out


def _rising(table: Array) -> Array:
    """Isotonic rate of right rows by number of votes; each step weighs at least its imagined row."""
    starts, many, hits = pool_adjacent(table.sum(axis=1), table[:, 1])
    out: Array = np.repeat(hits / many, np.diff(starts, append=len(table)))
    return np.clip(out, 0.0, 1.0)


def _moments(predicted: Array, weight: Array) -> tuple[float, float, float]:
    """Slope, covariance of truth and prediction, variance of the prediction; all of weighted cells (line, truth)."""
    total = weight.sum()
    truth = np.broadcast_to(np.array([0.0, 1.0]), weight.shape)
    centred = predicted - (weight * predicted).sum() / total
    spread = float((weight * centred**2).sum() / total)
    covariance = float((weight * centred * truth).sum() / total)
    return (covariance / spread if spread > 0 else 0.0), covariance, spread
