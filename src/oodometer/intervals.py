"""Intervals: exact and large-sample intervals for shares and means, all inside their natural range; tests of many."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np

from .arrays import Array
from .kernels.incomplete_beta import beta_quantile


def check_level(level: float) -> float:
    """A confidence level strictly between 0 and 1; `UsageError` otherwise."""
    from .errors import UsageError

    if not isinstance(level, numbers.Real) or isinstance(level, bool):
        raise UsageError(
            f"expected a level between 0 and 1 such as 0.95, got {level!r} ({type(level).__name__})"
        )
    if not 0 < level < 1:
        raise UsageError(
            f"expected a level between 0 and 1 such as 0.95, got {level}; percents are divided by 100"
        )
    return float(level)


@cache
def normal_quantile(level: float) -> float:
    """The z with P(|N(0, 1)| <= z) = level.

    >>> round(normal_quantile(0.95), 3)
    1.96
    """
    return NormalDist().inv_cdf(0.5 + level / 2)


def quantiles(values: Array, shares: Sequence[float]) -> Array:
    """`np.quantile` along the first axis, linear between neighbours; axes (share, ...). At its first call numpy's own
    loads its masked arrays, 10 ms. Values have at least one entry and no NaN.
    """
    ordered = np.sort(values, axis=0)
    at = np.asarray(shares, dtype=np.float64) * (len(ordered) - 1)
    below = np.floor(at).astype(np.intp)
    part = (at - below).reshape(-1, *[1] * (values.ndim - 1))
    low, high = ordered[below], ordered[np.minimum(below + 1, len(ordered) - 1)]
    # from the nearer neighbour, as numpy does, so that the result is the same to the last digit
    return np.asarray(
        np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part))
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number, in the order given: the k-th smallest times n - k + 1, never falling.
    Source: Holm (1979).
    """
    out, highest = [0.0] * len(p_values), 0.0
    for k, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - k) * p_values[i]))
        out[i] = highest
    return out


def clopper_pearson(successes: float, trials: float, level: float) -> tuple[float, float]:
    """Exact binomial interval (Clopper and Pearson 1934): coverage at least ``level`` for every sample size.

    lower = Beta^-1(a/2; k, n-k+1), upper = Beta^-1(1-a/2; k+1, n-k), a = 1 - level; (0, 1) for no trial.

    >>> tuple(round(x, 4) for x in clopper_pearson(8, 10, 0.95))
    (0.4439, 0.9748)
    """
    if trials <= 0:
        return 0.0, 1.0
    tail = (1 - level) / 2
    lower = 0.0 if successes <= 0 else beta_quantile(successes, trials - successes + 1, tail)
    upper = (
        1.0 if successes >= trials else beta_quantile(successes + 1, trials - successes, 1 - tail)
    )
    return lower, upper


def difference_ends(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float, float]:
    """The difference of two independent numbers, each a (value, lower, upper), first - second, with its ends (MOVER):
    d - sqrt((a - a_low)^2 + (b_high - b)^2) and d + sqrt((a_high - a)^2 + (b - b_low)^2). Source: Newcombe (1998).

    >>> [round(end, 3) for end in difference_ends((0.8, 0.7, 0.9), (0.6, 0.5, 0.7))]
    [0.2, 0.059, 0.341]
    """
    (a, a_low, a_high), (b, b_low, b_high) = first, second
    value = a - b
    return (
        value,
        value - math.hypot(a - a_low, b_high - b),
        value + math.hypot(a_high - a, b - b_low),
    )


def wilson(value: float, trials: float, level: float) -> tuple[float, float]:
    """Wilson's score interval for a share from ``trials`` samples; inside [0, 1], holds the share; (0, 1) for none.

    >>> tuple(round(x, 4) for x in wilson(0.8, 10, 0.95))
    (0.4902, 0.9433)
    """
    return wilson_from_variance(
        value, value * (1 - value) / trials if trials > 0 else 0.0, trials, level
    )


def wilson_from_variance(
    value: float, variance: float, trials: float, level: float
) -> tuple[float, float]:
    """Wilson's interval with another variance in the place of v(1-v)/n; inside [0, 1], holds the share.

    Centre (v + z^2/2n)/(1 + z^2/n), half-width z sqrt(variance + z^2/4n^2)/(1 + z^2/n), n = ``trials``. With the
    variance v(1-v)/n it is Wilson's own; a variance that does not vanish at 0 and 1 keeps its width there.

    >>> wilson_from_variance(0.8, 0.016, 10, 0.95) == wilson(0.8, 10, 0.95)
    True
    """
    if not trials > 0:
        return 0.0, 1.0
    z2 = normal_quantile(level) ** 2
    centre = (value + z2 / (2 * trials)) / (1 + z2 / trials)
    half = math.sqrt(z2 * (variance + z2 / (4 * trials**2))) / (1 + z2 / trials)
    return max(0.0, min(centre - half, value)), min(1.0, max(centre + half, value))


def wilson_ends(value: Any, variance: Any, trials: Any, level: float) -> tuple[Any, Any]:
    """`wilson_from_variance` of one share or many at once, to the same bit; each of some trials.

    >>> wilson_ends(np.array([0.8]), np.array([0.016]), np.array([10]), 0.95)[0].tolist() == [wilson(0.8, 10, 0.95)[0]]
    True
    """
    z2 = normal_quantile(level) ** 2
    wider = 1 + z2 / trials
    centre = (value + z2 / (2 * trials)) / wider
    half = np.sqrt(z2 * (variance + z2 / (4 * np.square(trials, dtype=np.float64)))) / wider
    return (
        np.maximum(0.0, np.minimum(centre - half, value)),
        np.minimum(1.0, np.maximum(centre + half, value)),
    )


def from_spread(
    replicates: Array, value: float, level: float, low: float = 0.0, high: float = 1.0
) -> tuple[float, float]:
    """value +- z sd of bootstrap replicates, cut to [low, high]; a few dozen suffice for a spread. NaN are left out;
    with fewer than two the interval is (low, high).
    """
    good = replicates[np.isfinite(replicates)]
    if good.size < 2:
        return low, high
    half = normal_quantile(level) * float(good.std(ddof=1))
    return max(low, value - half), min(high, value + half)


def from_replicates(
    replicates: Array, value: float, level: float, low: float = 0.0, high: float = 1.0
) -> tuple[float, float]:
    """value + quantiles of bootstrap replicates about their own mean, cut to [low, high] and widened to hold the value.
    Unlike `from_spread` it may be lopsided; it wants hundreds of replicates. NaN are left out.
    """
    good = replicates[np.isfinite(replicates)]
    if good.size < 2:
        return low, high
    tail = (1 - level) / 2
    centred = good - good.mean()
    down, up = quantiles(centred, [tail, 1 - tail])
    return max(low, min(value + float(down), value)), min(high, max(value + float(up), value))
