"""Sampling: labelled rows of a target in the order of their drawing, as a game and as an unbiased estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from .betting import Game

_STEEP = 0.5  # f below it counts as fully uncertain, so that no error hides behind a small size


def sizes(score: Array, share: float) -> Array:
    """How eagerly each row is drawn: share + (1 - share) g(f)/mean g, shape (sample,); its mean is 1.

    g = sqrt(f (1 - f)), the spread of a Bernoulli variable (Neyman's allocation), and 1/2 for f below 1/2. The
    uniform ``share`` keeps every row's chance away from 0: no weight exceeds 1/share.

    >>> sizes(np.array([0.5, 1.0]), 0.5).tolist()
    [1.5, 0.5]
    """
    eager = np.where(score > _STEEP, np.sqrt(np.clip(score * (1 - score), 0.0, None)), _STEEP)
    mean = float(eager.mean())
    if share >= 1 or mean <= 0:
        return np.ones(len(score))
    out: Array = share + (1 - share) * eager / mean
    return out


@dataclass(frozen=True)
class SampledRows:
    """Labelled rows, each drawn from those not drawn before with a known chance.

    Parameters
    ----------
    row : shape (draw,), target rows, all different, in the order of drawing.
    correct : shape (draw,), 1 or 0.
    share : shape (draw,), uniform share of `sizes` at that draw; 1 for rows drawn evenly.
    probability : shape (draw,), the chance that was written down at the draw, NaN where none was.
    gaps : rows that were drawn before another one and never labelled.

    >>> SampledRows.evenly(np.array([4, 2]), np.array([1, 0])).weighted
    False
    """

    row: Array
    correct: Array
    share: Array
    probability: Array
    gaps: Array

    @classmethod
    def evenly(cls, row: Array, correct: Array, seed: int = 0) -> SampledRows:
        """Rows drawn evenly, brought into a random order that does not depend on theirs."""
        order = np.argsort(row)[np.random.default_rng([seed, 0xD4A]).permutation(len(row))]
        ones = np.ones(len(row))
        return cls(row[order], correct[order], ones, ones * np.nan, np.zeros(0, dtype=np.int64))

    @property
    def weighted(self) -> bool:
        """Whether some rows were more likely to be drawn than others."""
        return bool((self.share < 1).any())

    def __len__(self) -> int:
        return len(self.row)

    def chances(self, score: Array) -> Array:
        """The chance of each row at its draw among the rows not yet drawn, as `sizes` has it; shape (draw,)."""
        out = np.empty(len(self))
        for share in np.unique(self.share):
            size = sizes(score, float(share))
            drawn = size[self.row]
            left = size.sum() - size[self.gaps].sum() - (np.cumsum(drawn) - drawn)
            out = np.where(self.share == share, drawn / left, out)
        return out

    def game(self, score: Array, slope: float) -> Game:
        """The rows as a betting game for the accuracy of the target rows without the gaps."""
        return sampled_game(self.row, self.correct, self.share, score, slope, self.gaps)

    def mean(self, score: Array, slope: float) -> float:
        """Unbiased estimate of the accuracy of the target rows without the gaps."""
        return float(sampled_mean(self.row, self.correct, self.share, score, slope, self.gaps))


def sampled_game(
    row: Array, correct: Array, share: Array, score: Array, slope: float, gaps: Array | None = None
) -> Game:
    """A game whose mean is the accuracy, from rows drawn one after the other without replacement.

    With e = Y - slope f and the weight w_t = 1/(chance of the row x rows left), the t-th observation is e_t w_t; its
    mean given the past is the mean of e over the rows left, (N (m - slope mean f) - sum of the e seen)/(rows left).
    It lies between the extremes of -slope f w and (1 - slope f) w over the target. slope must not depend on the
    labels. row and correct have axes (..., draw), share (draw,), score (sample,).

    >>> rows = np.array([0, 1])
    >>> sampled_game(rows, np.array([1, 0]), np.ones(2), np.full(4, 0.5), 1.0).value.tolist()
    [0.5, -0.5]
    """
    gaps = np.zeros(0, dtype=np.int64) if gaps is None else gaps
    kept = np.delete(score, gaps)
    left = len(kept) - np.arange(row.shape[-1], dtype=np.float64)
    error = correct - slope * score[row]
    before = np.cumsum(error, axis=-1) - error
    low, high, weight = np.empty(row.shape), np.empty(row.shape), np.empty(row.shape)
    second, mean = 0.0, float(kept.mean())
    expected = kept * np.square(1 - slope * kept) + (1 - kept) * np.square(slope * kept)
    for one, uses in zip(*np.unique(share, return_counts=True), strict=True):
        size = sizes(score, float(one))
        inside, here = np.delete(size, gaps), share == one
        drawn = size[row]
        level = (inside.sum() - (np.cumsum(drawn, axis=-1) - drawn)) / left
        weight[..., here] = (level / drawn)[..., here]
        low[..., here] = (level * float(np.min(-slope * kept / inside)))[..., here]
        high[..., here] = (level * float(np.max((1 - slope * kept) / inside)))[..., here]
        second += float(np.mean(expected / inside)) * uses / row.shape[-1]
    scale = np.broadcast_to(len(kept) / left, row.shape)
    offset = (slope * kept.sum() + before) / left
    binary = max(mean * (1 - mean), 0.25 / len(kept))
    spread = max(second - (mean * (1 - slope)) ** 2, 0.02 * binary) / binary
    return Game(error * weight, low, high, scale, offset, np.full(row.shape[:-1], spread))


def sampled_mean(
    row: Array, correct: Array, share: Array, score: Array, slope: float, gaps: Array | None = None
) -> Array:
    """Unbiased estimate of the accuracy from rows drawn as in `sampled_game`, shape (...).

    slope mean f + sum_t a_t (sum_(s<t) e_s + e_t w_t (rows left))/N with a_t ~ 1/((N - t)(N - t - 1)), t from 0: with
    even chances it is slope mean f + mean e, the difference estimator. Source: Farquhar, Gal and Rainforth (2021).

    >>> float(sampled_mean(np.array([0, 2]), np.array([1, 0]), np.ones(2), np.zeros(4), 0.0))
    0.5
    """
    game = sampled_game(row, correct, share, score, slope, gaps)
    rounds = row.shape[-1]
    total = len(score) - (0 if gaps is None else len(gaps))
    if rounds >= total:
        everything: Array = correct.mean(axis=-1)
        return everything
    t = np.arange(rounds, dtype=np.float64)
    part = 1 / ((total - t) * (total - t - 1))
    out: Array = np.sum((game.value + game.offset) / game.scale * part, axis=-1) / part.sum()
    return out
