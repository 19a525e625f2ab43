"""Labels alone: exact intervals of a finite target, the exact test of a claim, and what a width is worth in labels."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..intervals import clopper_pearson

SMALL_TARGET = 100  # target rows a label, up to which the target's own size is used


def hypergeometric(successes: int, trials: int, population: int, level: float) -> tuple[float, float]:
    """Exact interval for the share of a finite target, from labels drawn without replacement.

    {M/N : P(X >= k | M) > a/2 and P(X <= k | M) > a/2}, X hypergeometric, a = 1 - level. It is within Clopper and
    Pearson's, and is a point once every row is labelled. Source: Clopper and Pearson (1934), for a finite population.

    >>> hypergeometric(8, 10, 10, 0.95), tuple(round(x, 2) for x in hypergeometric(8, 10, 20, 0.95))
    ((0.8, 0.8), (0.55, 0.9))
    """
    from scipy.stats import hypergeom

    tail = (1 - level) / 2

    def first(low: int, high: int, holds: Callable[[int], bool]) -> int:
        """The smallest number of [low, high] that a monotone condition holds for; high if none."""
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle + 1, high)
        return low

    least, most = successes, population - (trials - successes)
    lower = first(least, most, lambda m: hypergeom.sf(successes - 1, population, m, trials) > tail)
    beyond = first(least, most + 1, lambda m: hypergeom.cdf(successes, population, m, trials) <= tail)
    return lower / population, max(beyond - 1, lower) / population


def exact_interval(successes: int, trials: int, population: int, level: float) -> tuple[float, float]:
    """The hypergeometric interval for a target of at most 100 rows a label, else Clopper and Pearson's.

    >>> exact_interval(9, 10, 5000, 0.9) == clopper_pearson(9, 10, 0.9)
    True
    """
    if population <= SMALL_TARGET * trials:
        return hypergeometric(successes, trials, population, level)
    return clopper_pearson(successes, trials, level)


def binomial_p_value(successes: int, trials: int, lower: float, upper: float) -> float:
    """Exact p-value of "the accuracy lies in [lower, upper]" from labels drawn at random.

    The largest, over the accuracies p inside, of min(1, 2 min(P(X <= k | p), P(X >= k | p))), X binomial; it is
    attained at the end nearest to k/n. Source: Clopper and Pearson (1934).

    >>> binomial_p_value(1, 10, 0.9, 1.0) < 1e-6, binomial_p_value(9, 10, 0.85, 0.95)
    (True, 1.0)
    """
    from scipy.special import bdtr, bdtrc

    share = successes / trials
    if lower <= share <= upper:
        return 1.0
    if share < lower:
        return float(min(1.0, 2 * bdtr(successes, trials, lower)))
    return float(min(1.0, 2 * bdtrc(successes - 1, trials, upper)))


def exact_p_value(successes: int, trials: int, population: int, lower: float, upper: float) -> float:
    """Exact p-value of "the accuracy of these rows lies in [lower, upper]": the test that goes with `exact_interval`.

    `binomial_p_value`; for a target of at most 100 rows a label the hypergeometric one, whose claim is rounded outwards
    to whole rows.

    >>> exact_p_value(1, 10, 20, 0.5, 1.0) < exact_p_value(1, 10, 5000, 0.5, 1.0) == binomial_p_value(1, 10, 0.5, 1.0)
    True
    """
    if population > SMALL_TARGET * trials:
        return binomial_p_value(successes, trials, lower, upper)
    from scipy.stats import hypergeom

    least, most = math.floor(lower * population + 1e-9), math.ceil(upper * population - 1e-9)
    share = successes / trials
    if lower <= share <= upper:
        return 1.0
    if share < lower:
        return float(min(1.0, 2 * hypergeom.cdf(successes, population, least, trials)))
    return float(min(1.0, 2 * hypergeom.sf(successes - 1, population, most, trials)))


def effective_labels(value: float, width: float, level: float, most: float) -> float:
    """How many labels drawn at random Clopper and Pearson would need for an interval of this width at this accuracy.

    The x with width(Clopper-Pearson of x value in x trials) = ``width``; at most ``most``, the rows of the target.
    For Clopper and Pearson's own interval of n labels it is n.

    >>> low, high = clopper_pearson(36, 40, 0.95)
    >>> round(effective_labels(0.9, high - low, 0.95, 10_000), 3)
    40.0
    """
    few, many = 0.0, float(most)
    for _ in range(80):
        middle = (few + many) / 2
        low, high = clopper_pearson(middle * value, middle, level)
        few, many = (middle, many) if high - low > width else (few, middle)
    return many
