"""Spread: how far a metric could be off by chance, from linearisation or from a bootstrap over cells."""

from __future__ import annotations

import math
import zlib

import numpy as np

from ..arrays import Array
from ..intervals import clopper_pearson, from_replicates, wilson_from_variance

# Below these sizes resampling cannot see what it has not seen, and the intervals are widened.
FEW_ROWS = 30
FEW_OF_A_KIND = 5


def generator(seed: int, name: str) -> np.random.Generator:
    """A random generator that depends on the seed and the metric alone, not on rows, batches or other metrics."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def poisson_counts(counts: Array, replicates: int, rng: np.random.Generator) -> Array:
    """Bootstrap counts of cells, float64, shape (replicate, *cells): independent Poisson draws. The Poisson bootstrap
    resamples n independent rows as each row's own Poisson(1) weight, so a cell of c equal rows gets Poisson(c): the
    cost depends on the number of cells, not of rows. Empty cells stay empty.
    """
    flat = np.asarray(counts, dtype=np.float64).ravel()
    used = np.flatnonzero(flat > 0)
    out = np.zeros((replicates, flat.size))
    out[:, used] = rng.poisson(flat[used], size=(replicates, used.size))
    return out.reshape(replicates, *np.shape(counts))


def from_bootstrap(value: float, replicates: Array, rows: float, rarer: float, level: float) -> tuple[float, float]:
    """Ends in [0, 1] from replicates of a metric that one row moves by at most 2 / rows. Under 30 rows McDiarmid's
    half-width sqrt(2 ln(2 / (1 - level)) / rows); with fewer than 5 of the ``rarer`` verdict ends move out by as much
    as its share may be larger.

    >>> from_bootstrap(0.1, np.full(9, 0.1), rows=1, rarer=0, level=0.95)
    (0.0, 1.0)
    """
    if rows < FEW_ROWS:
        half = math.sqrt(2 * math.log(2 / (1 - level)) / rows)
        return max(0.0, value - half), min(1.0, value + half)
    lower, upper = from_replicates(replicates, value, level)
    if rarer < FEW_OF_A_KIND:
        slack = clopper_pearson(rarer, rows, level)[1] - rarer / rows
        lower, upper = max(0.0, lower - slack), min(1.0, upper + slack)
    return lower, upper


def from_influence(value: float, variance: float, rows: float, rarer: float, level: float) -> tuple[float, float]:
    """Ends of an interval in [0, 1] from the variance of the estimate (Wilson's form, so it stays inside). With few
    rows, or few of the rarer verdict, the variance is taken to be at least that of a share of ``rows`` samples.
    """
    value = min(max(value, 0.0), 1.0)
    if rows < FEW_ROWS or rarer < FEW_OF_A_KIND:
        variance = max(variance, value * (1 - value) / rows)
    return wilson_from_variance(value, variance, rows, level)


def dot(a: Array, b: Array) -> float:
    """sum_i a_i b_i, without the threads that a linear-algebra library starts for a product."""
    return float(np.einsum("i,i->", a, b))


def from_signed_influence(
    value: float, variance: float, rows: float, rarer: float, level: float
) -> tuple[float, float]:
    """`from_influence` for a number in [-1, 1]: its ends are those of (1 + v) / 2."""
    low, high = from_influence((1 + value) / 2, variance / 4, rows, rarer, level)
    return 2 * low - 1, 2 * high - 1


def from_effective_rows(value: float, variance: float, few: int, level: float) -> tuple[float, float]:
    """Ends for a mean of shares in [0, 1] of which only the variance is known: Wilson's for n' = (v (1 - v) + 1 / f^2)
    / (variance + 1 / f^3) rows, f = ``few``, the samples that it rests on.

    >>> [round(end, 3) for end in from_effective_rows(0.8, 0.0016, few=50, level=0.95)]
    [0.711, 0.867]
    >>> [round(end, 3) for end in from_effective_rows(1.0, 0.0, few=50, level=0.95)]
    [0.929, 1.0]
    """
    few, value = max(few, 1), min(max(float(value), 0.0), 1.0)
    rows = (value * (1 - value) + few**-2) / (float(variance) + few**-3)
    return wilson_from_variance(value, value * (1 - value) / rows, rows, level)


def clopper_pearson_many(successes: Array, trials: Array, level: float) -> tuple[Array, Array]:
    """Clopper-Pearson intervals of many shares at once; (0, 1) where there was no trial."""
    from scipy.special import betaincinv

    k, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    tail = (1 - level) / 2
    lower = np.where(k > 0, betaincinv(np.maximum(k, 1e-9), n - k + 1, tail), 0.0)
    upper = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1e-9), 1 - tail), 1.0)
    return lower, upper
