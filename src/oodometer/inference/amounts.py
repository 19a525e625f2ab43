"""Amounts without an upper end, such as costs and times: their mean and quantiles, of rows in clusters or alone."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array
from ..intervals import quantiles
from ..results import Interval, Kind
from .clusters import Clusters

LEAST_CLUSTERS = 10  # from which on replicates tell a spread
_MOST_GROUPS = 1024  # of whole clusters that are drawn again
_REPLICATES = 1999


def amount_mean(
    values: Array, clusters: Array | None = None, *, level: float = 0.95, seed: int = 0
) -> Interval | None:
    """The mean of ``values`` (sample,) with the bootstrap-t interval, which hears how skewed they are; rows with one of
    the ``clusters`` (sample,) are drawn together.

    Of a replicate t* = (mean* - mean) / se*, se^2 = G / (G - 1) sum_g (S_g - mean N_g)^2 / (sum_g N_g)^2 of sums S_g
    and rows N_g of G clusters; the ends are mean - q se for the quantiles q of t*. None of fewer than 10 clusters, or
    where all are alike: they tell no spread. Source: Efron (1981), Hall (1988).

    >>> found = amount_mean(np.geomspace(0.01, 1, 50))
    >>> round(found.value, 3), round(found.lower, 3), round(found.upper, 3), found.kind
    (0.221, 0.157, 0.313, 'asymptotic')
    """
    x, rng = np.asarray(values, dtype=np.float64), np.random.default_rng([seed, len(values)])
    codes = np.arange(len(x)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    if len(x) == 0 or codes.max() + 1 < LEAST_CLUSTERS or x.min() == x.max():
        return None
    if codes.max() >= _MOST_GROUPS:
        codes = (rng.permutation(int(codes.max()) + 1) % _MOST_GROUPS)[codes]
    sums, sizes = np.bincount(codes, x), np.bincount(codes).astype(np.float64)
    groups, value = len(sums), float(x.mean())
    moments = np.stack([sums, sizes, sums**2, sums * sizes, sizes**2], axis=1)
    drawn = rng.multinomial(groups, np.full(groups, 1 / groups), _REPLICATES) @ moments
    mean = drawn[:, 0] / drawn[:, 1]
    spread = drawn[:, 2] - 2 * mean * drawn[:, 3] + mean**2 * drawn[:, 4]
    errors = np.sqrt(np.maximum(spread, 0) * groups / (groups - 1)) / drawn[:, 1]
    known = errors > 0
    t = (mean[known] - value) / errors[known]
    gaps = sums - value * sizes
    error = float(np.sqrt(groups / (groups - 1) * (gaps @ gaps)) / len(x))
    low, high = quantiles(t, [(1 - level) / 2, (1 + level) / 2]).tolist()
    lower, upper = value - high * error, value - low * error
    if x.min() >= 0:
        lower = max(lower, 0.0)
    return Interval(value, min(lower, value), max(upper, value), level, "asymptotic")


def amount_quantile(
    values: Array, share: float, clusters: Array | None = None, *, level: float = 0.95
) -> Interval | None:
    """The quantile of ``values`` (sample,) at a ``share``, such as 0.95, between two order statistics: x_(r) and x_(s)
    with r the largest and s the smallest for which P(X < r) and P(X >= s) are at most (1 - level) / 2, X being binomial
    of the rows and the share. Of rows with one of the ``clusters`` (sample,) as many count as they are worth, by the
    design effect of being below. None where the rows are too few to bound it. Source: Woodruff (1952).

    >>> found = amount_quantile(np.arange(1.0, 101.0), 0.5)
    >>> found.value, found.lower, found.upper, amount_quantile(np.arange(50.0), 0.95)
    (50.5, 40.0, 61.0, None)
    """
    from scipy.special import bdtr

    x = np.sort(np.asarray(values, dtype=np.float64))
    rows = worth = len(x)
    if rows == 0:
        return None
    value = float(quantiles(x, [share])[0])
    if clusters is not None:
        below = (np.asarray(values) <= value).astype(np.float64)
        keys = np.unique(clusters, return_inverse=True)[1].astype(np.uint64)
        worth = max(round(rows / Clusters.of(keys, below).effect(level)), 1)
    chance = np.asarray(bdtr(np.arange(worth), worth, share))  # P(X <= i)
    tail = (1 - level) / 2
    few, many = np.flatnonzero(chance <= tail), np.flatnonzero(chance >= 1 - tail)
    if not len(few) or not len(many):
        return None
    lower = x[max(math.floor((few[-1] + 1) * rows / worth) - 1, 0)]
    upper = x[min(math.ceil((many[0] + 1) * rows / worth) - 1, rows - 1)]
    kind: Kind = "exact" if clusters is None else "asymptotic"
    return Interval(value, min(float(lower), value), max(float(upper), value), level, kind)
