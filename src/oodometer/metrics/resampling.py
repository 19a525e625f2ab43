"""Resampling: how far a metric could be off by chance, by linearisation or from many bootstrap replicates at once."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..intervals import (
    clopper_pearson,
    from_replicates,
    from_spread,
    quantiles,
    wilson_from_variance,
)
from .ranks import Groups

if TYPE_CHECKING:
    from jaxtyping import Float


# Below these sizes resampling cannot see what it has not seen, and the intervals are widened.
FEW_ROWS, FEW_OF_A_KIND = 30, 5


def generator(seed: int, name: str) -> np.random.Generator:
    """A random generator that depends on the seed and the metric alone, not on rows, batches or other metrics."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def poisson_counts(counts: Array, replicates: int, rng: np.random.Generator) -> Array:
    """Bootstrap counts of cells, float64, (replicate, *cells): Poisson(c) for a cell of c rows, 0 for empty ones."""
    flat = np.asarray(counts, dtype=np.float64).ravel()
    used = np.flatnonzero(flat > 0)
    out = np.zeros((replicates, flat.size))
    out[:, used] = rng.poisson(flat[used], size=(replicates, used.size))
    return out.reshape(replicates, *np.shape(counts))


def from_bootstrap(
    value: float, replicates: Array, rows: float, rarer: float, level: float
) -> tuple[float, float]:
    """Ends in [0, 1] from replicates of a metric that one row moves by at most 2 / rows; McDiarmid's under 30 rows."""
    if rows < FEW_ROWS:
        half = math.sqrt(2 * math.log(2 / (1 - level)) / rows)
        return max(0.0, value - half), min(1.0, value + half)
    lower, upper = from_replicates(replicates, value, level)
    if rarer < FEW_OF_A_KIND:
        slack = clopper_pearson(rarer, rows, level)[1] - rarer / rows
        lower, upper = max(0.0, lower - slack), min(1.0, upper + slack)
    return lower, upper


def from_influence(
    value: float, variance: float, rows: float, rarer: float, level: float
) -> tuple[float, float]:
    """Ends in [0, 1] from the variance (Wilson's form); with few rows, or few of a kind, at least that of a share."""
    value = min(max(value, 0.0), 1.0)
    if rows < FEW_ROWS or rarer < FEW_OF_A_KIND:
        variance = max(variance, value * (1 - value) / rows)
    return wilson_from_variance(value, variance, rows, level)


def dot(a: Array, b: Array) -> float:
    """sum_i a_i b_i, without the threads that a linear-algebra library starts for a product."""
    return float(np.einsum("i,i->", a, b))


def from_effective_rows(
    value: float, variance: float, few: float, level: float
) -> tuple[float, float]:
    """Wilson's ends for n' = (v (1 - v) + 1 / f^2) / (variance + 1 / f^3) rows, f = ``few``, the samples behind it."""
    few, value = max(few, 1), min(max(float(value), 0.0), 1.0)
    rows = (value * (1 - value) + few**-2) / (float(variance) + few**-3)
    return wilson_from_variance(value, value * (1 - value) / rows, rows, level)


def clopper_pearson_many(successes: Array, trials: Array, level: float) -> tuple[Array, Array]:
    """Clopper-Pearson intervals of many shares at once; (0, 1) where there was no trial."""
    from scipy.special import betaincinv

    k, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    tail = (1 - level) / 2
    lower = np.where(k > 0, betaincinv(np.maximum(k, 1e-9), n - k + 1, tail), 0.0)
    return lower, np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1e-9), 1 - tail), 1.0)


REPLICATES = 200
MOST_BINS = 512  # cells of ranks in a replicate; its curve is a straight line inside a cell of 0.2 % of the rows
_LARGE = (
    400  # a mean so large that a Poisson draw is never far from a normal one, and never below 0
)
_JOINED_ERROR = 0.5  # expected errors in a part of a joined cell that count as "there is one"


@dataclass(frozen=True, eq=False)
class Points:
    """Points of curves: samples answered, expected errors among them, the last one's confidence; (replicate, point)."""

    answered: Float[Array, "replicate point"]
    wrong: Float[Array, "replicate point"]
    confidence: Float[Array, "replicate point"]

    @cached_property
    def accuracy(self) -> Array:
        """Selective accuracy; 1 where nothing is answered."""
        return 1 - self.wrong / np.maximum(self.answered, 1)


@dataclass(frozen=True, eq=False)
class RankBins:
    """Cells of neighbouring ranks, most confident first: samples and errors to the end of each; (replicate, cell)."""

    answered: Float[Array, "replicate cell"]
    wrong: Float[Array, "replicate cell"]
    high: Float[Array, " cell"]
    low: Float[Array, " cell"]
    joined: bool

    @property
    def rows(self) -> Float[Array, " replicate"]:
        """Samples in all."""
        return self.answered[:, -1]

    @property
    def least_error(self) -> float:
        """Expected errors from which on "at least one" is said."""
        return _JOINED_ERROR if self.joined else 1e-12

    def at_ranks(self, ranks: Array) -> Points:
        """The points where so many samples are answered, whole numbers from 1 to all, shape (replicate, point)."""
        replicates, cells = self.answered.shape
        if replicates == 1:
            at = np.searchsorted(self.answered[0], ranks[0])[None]
        else:  # all replicates in one sorted line: each is moved beyond the end of the one before
            offset = (np.arange(replicates) * (2 * float(self.rows.max()) + 2))[:, None]
            line = (self.answered + offset).ravel()
            at = np.searchsorted(line, (ranks + offset).ravel()).reshape(replicates, -1)
            at -= (np.arange(replicates) * cells)[:, None]
        sides, first = (self.answered, self.wrong), np.maximum(at - 1, 0)
        end, wrong_end = (np.take_along_axis(x, at, axis=1) for x in sides)
        before, wrong_before = (
            np.where(at > 0, np.take_along_axis(x, first, axis=1), 0.0) for x in sides
        )
        part = (ranks - before) / (end - before)
        wrong = wrong_before + (wrong_end - wrong_before) * part
        high = self.high[at]
        confidence = high - (high - self.low[at]) * part if self.joined else high
        return Points(ranks.astype(np.float64), wrong, confidence)

    def at_coverages(self, coverages: Array) -> Points:
        """The points at shares of the rows, rounded up to whole samples; shape (replicate, coverage)."""
        ranks = np.ceil(self.rows[:, None] * coverages - 1e-9)
        return self.at_ranks(np.clip(ranks, 1, self.rows[:, None]))

    def at_confidences(self, thresholds: Array) -> Points:
        """The points where all of at least a confidence are answered, thresholds falling (threshold,)."""
        cells = len(self.high)
        # with falling confidences, how many cells start at or above the threshold
        begun = cells - np.searchsorted(self.high[::-1], thresholds, side="left")
        last = np.maximum(begun - 1, 0)
        width = self.high[last] - self.low[last]
        part = np.where(
            width > 0, (self.high[last] - thresholds) / np.where(width > 0, width, 1), 1.0
        )
        part = np.where(begun > 0, np.clip(part, 0, 1), 0.0)
        ends = (
            (x[:, last], np.where(last > 0, x[:, last - 1], 0.0))
            for x in (self.answered, self.wrong)
        )
        answered, wrong = (end - (1 - part) * (end - before) for end, before in ends)
        lowest = np.where(begun > 0, np.maximum(self.low[last], thresholds), thresholds)
        return Points(answered, wrong, np.broadcast_to(lowest, answered.shape))

    @property
    def ends(self) -> Points:
        """The points at the end of every cell."""
        return Points(self.answered, self.wrong, np.broadcast_to(self.low, self.answered.shape))


def rank_bins(groups: Groups) -> RankBins:
    """The sample itself, one replicate, every group a cell."""
    joined = groups.widths is not None
    return RankBins(
        groups.answered[None], groups.wrong[None], groups.highest, groups.lowest, joined
    )


def _poisson(counts: Array, replicates: int, rng: np.random.Generator) -> Array:
    """Poisson draws, shape (replicate, *counts); those of a large mean are rounded normal ones, five times faster."""
    large = counts >= _LARGE
    draws = poisson_counts(np.where(large, 0, counts), replicates, rng)
    mean = counts[large]
    normal = rng.standard_normal((replicates, len(mean)), dtype=np.float32)
    draws[:, large] = np.rint(mean + np.sqrt(mean) * normal)
    return draws


def resampled(
    groups: Groups, seed: int, limit: int = MOST_BINS, replicates: int = REPLICATES
) -> RankBins:
    """Poisson bootstrap replicates over at most ``limit`` cells; kept with the groups for the next metric."""
    cache: dict[tuple[int, int, int], RankBins] = groups.__dict__.setdefault("_resampled", {})
    if (seed, limit, replicates) in cache:
        return cache[seed, limit, replicates]
    cells = groups.joined(limit)
    right, wrong = cells.correct, cells.sizes - cells.correct
    rng = generator(seed, "ranks")
    draws = _poisson(np.stack([wrong, right]), replicates, rng)
    draws[~draws.any(axis=(1, 2))] = np.stack([wrong, right])
    for rare, common, seen in ((0, 1, groups.rows - groups.hits), (1, 0, groups.hits)):
        if seen < FEW_OF_A_KIND:
            mean = rng.exponential(size=(replicates, 1)) * cells.sizes / groups.rows
            unseen = np.minimum(rng.poisson(mean), draws[:, common])
            draws[:, rare] += unseen
            draws[:, common] -= unseen
    sums = np.cumsum(draws, axis=2)
    out = RankBins(
        sums[:, 0] + sums[:, 1], sums[:, 0], cells.highest, cells.lowest, cells.widths is not None
    )
    cache[seed, limit, replicates] = out
    return out


def accuracy_band(
    bins: RankBins, again: RankBins, coverages: Array, level: float
) -> tuple[Array, Array]:
    """Ends for the selective accuracy at each coverage: quantiles of replicates joined with Clopper and Pearson's."""
    points, tail = bins.at_coverages(coverages), (1 - level) / 2
    answered, accuracy = points.answered[0], points.accuracy[0]
    low, high = np.quantile(again.at_coverages(coverages).accuracy, [tail, 1 - tail], axis=0)
    exact = clopper_pearson_many(answered - points.wrong[0], answered, level)
    lower = np.minimum.reduce([low, exact[0], accuracy])
    upper = np.maximum.reduce([high, exact[1], accuracy])
    return np.clip(lower, 0, 1), np.clip(upper, 0, 1)


def interval_of(value: float, replicates: Array, level: float) -> tuple[float, float]:
    """Ends for a number that may jump: quantiles of replicates, as they are and moved to the value, the wider ones."""
    good = replicates[np.isfinite(replicates)]
    if len(good) < REPLICATES // 2:
        return from_spread(good, value, level, -np.inf, np.inf)
    tail = (1 - level) / 2
    low, high = (float(q) for q in quantiles(good, [tail, 1 - tail]))
    bias = value - float(good.mean())
    return min(low, low + bias, value), max(high, high + bias, value)
