"""Proxy: what stands for missing labels in an audit, confidence or judges' votes; chosen on the reference alone."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ..arrays import Array
from ..calibrators.binned_map import BinnedMap, bins_for, count_verdicts, fit_map
from ..errors import NotApplicable
from ..estimators.mean_confidence import confidence_bins
from ..inference.row_sample import content_folds
from ..kernels import pool_adjacent
from ..metrics.votes import count_votes
from ..predictions import Predictions
from ..scores import Score, natural_confidence


@dataclass(frozen=True)
class Correctness:
    """f(x) in [0, 1], the reference's rate of being correct at x's confidence; ``slope`` cov(Y, f)/var(f) on rows that
    f was not learnt from, ``explained`` the share of var(Y) that slope * f takes away.
    """

    score: Score | None
    rate: Array
    slope: float
    explained: float = 0.0
    name: ClassVar[str] = "confidence"

    @classmethod
    def fit(cls, reference: Predictions, seed: int = 0) -> Correctness:
        """Learn on a labelled record; without any confidence, f is the reference accuracy and the slope 0."""
        reference = reference.known()
        if not len(reference):
            raise NotApplicable("needs labelled reference rows")
        verdicts = reference.verdicts
        try:
            score = natural_confidence(reference)
        except NotApplicable:
            return cls(None, np.array([verdicts.mean()]), 0.0)
        cell = confidence_bins(reference, score)
        half = content_folds(reference, seed) % 2
        crossfitted = np.empty(len(reference))
        for fold in (0, 1):
            test = half == fold
            if test.all() or not test.any():
                return cls(score, _map(cell, verdicts, seed).rate[0], 0.0)
            crossfitted[test] = _map(cell[~test], verdicts[~test], seed).rate[0][cell[test]]
        spread = float(crossfitted.var())
        covariance = float(np.mean((crossfitted - crossfitted.mean()) * verdicts))
        slope = min(max(covariance / spread if spread > 0 else 0.0, 0.0), 1.0)
        total_variance = float(verdicts.mean() * (1 - verdicts.mean()))
        explained = (
            (2 * slope * covariance - slope**2 * spread) / total_variance
            if total_variance > 0
            else 0.0
        )
        return cls(score, _map(cell, verdicts, seed).rate[0], slope, explained)

    def __call__(self, batch: Predictions) -> Array:
        """f of each sample, shape (sample,)."""
        if self.score is None or self.score.why_not(batch) is not None:
            return np.full(len(batch), float(self.rate.mean()) if self.score is None else 0.5)
        return self.rate[confidence_bins(batch, self.score)]


def _map(cell: Array, verdicts: Array, seed: int) -> BinnedMap:
    rows, hits = count_verdicts(cell, verdicts, bins_for(1))
    return fit_map(rows[None, :], hits[None, :], seed=seed)


@final
@dataclass(frozen=True)
class VoteRate:
    """f(x) in [0, 1], the rate of being right by number of votes, rising, with ``slope`` and ``explained`` as in
    `Correctness`. Each step starts with one imagined row that is right with the chance j/n that its votes say.
    """

    rate: Array
    slope: float
    explained: float = float("nan")
    name: ClassVar[str] = "votes"

    @classmethod
    def fit(cls, reference: Predictions) -> VoteRate:
        """Learn on a labelled record; `NotApplicable` without votes or labelled rows."""
        labelled = reference.known()
        if labelled.votes is None or not len(labelled):
            raise NotApplicable("needs labelled reference rows with `votes`")
        judges = len(labelled.votes)
        code = count_votes(labelled.votes) * 2 + (labelled.verdicts > 0)
        return cls.from_counts(np.bincount(code, minlength=2 * judges + 2).reshape(judges + 1, 2))

    @classmethod
    def unseen(cls, judges: int) -> VoteRate:
        """Without a vote on the reference: the share of judges, taken at its word."""
        return cls.from_counts(np.zeros((judges + 1, 2)))

    @classmethod
    def from_counts(cls, table: Array) -> VoteRate:
        """From rows by number of votes and truth (0 wrong, 1 right), shape (count, 2)."""
        steps = len(table)
        stated = np.arange(steps) / max(steps - 1, 1)
        imagined = np.stack([1 - stated, stated], axis=1)
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
        return self.rate[count_votes(batch.votes)]


def _rising(table: Array) -> Array:
    """Isotonic rate of right rows by number of votes; each step weighs at least its imagined row."""
    starts, weights, hits = pool_adjacent(table.sum(axis=1), table[:, 1])
    out: Array = np.repeat(hits / weights, np.diff(starts, append=len(table)))
    return np.clip(out, 0.0, 1.0)


def _moments(predicted: Array, weight: Array) -> tuple[float, float, float]:
    """Slope, covariance of truth and prediction, variance of the prediction; all of weighted cells (line, truth)."""
    total = weight.sum()
    truth = np.broadcast_to(np.array([0.0, 1.0]), weight.shape)
    centred = predicted - (weight * predicted).sum() / total
    spread = float((weight * centred**2).sum() / total)
    covariance = float((weight * centred * truth).sum() / total)
    return (covariance / spread if spread > 0 else 0.0), covariance, spread


Proxy = Correctness | VoteRate
"""f(x) in [0, 1] with its ``slope``, its ``name`` and what it ``explained`` on the reference."""


def choose_proxy(
    reference: Predictions, fields: Collection[str], judges: int | None = None, seed: int = 0
) -> Proxy:
    """The chance of being right from votes or from confidence: whichever explains more of the reference's own truth;
    confidence where votes are of other judges. No label of the target is looked at, so that the level holds.
    """
    confident = Correctness.fit(reference, seed)
    if "votes" not in fields:
        return confident
    if reference.votes is None:
        return (
            confident if confident.score is not None or judges is None else VoteRate.unseen(judges)
        )
    votes = VoteRate.fit(reference)
    if judges is not None and len(votes.rate) != judges + 1:
        return confident  # other judges than those of the reference
    if (
        confident.score is None
        or math.isnan(votes.explained)
        or votes.explained > confident.explained
    ):
        return votes
    return confident
