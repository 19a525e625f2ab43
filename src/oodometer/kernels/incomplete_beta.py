"""The incomplete beta function, without the library that would load for it.

`scipy.special.betaincinv` is the same. Measured again: to load it takes 0.34 s of a processor's time, where a whole
`oodometer estimate` with methods by name, which needs nothing else of scipy, takes 1.1 s. (With all methods, and in
`audit` and `evaluate`, scipy is there anyway.)
"""

from __future__ import annotations

import math
from functools import lru_cache

_TINY = 1e-300
_PRECISE = 1e-15
_MOST_TERMS = 100_000
_LARGE = 10.0  # from here on five terms of Stirling's series are exact in double precision
_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


@lru_cache(maxsize=1024)  # one reference's interval is asked for by every trial
def beta_quantile(a: float, b: float, share: float) -> float:
    """The x in [0, 1] with P(Beta(a, b) <= x) = share; a, b > 0. Newton's steps on `beta_cdf`, halving where a step
    leaves the bracket. `scipy.special.betaincinv` gives the same to 11 digits.
    """
    if share <= 0:
        return 0.0
    if share >= 1:
        return 1.0
    low, high, x = 0.0, 1.0, _first_guess(a, b, share)
    for _ in range(200):
        reached = beta_cdf(a, b, x)
        if reached < share:
            low = x
        else:
            high = x
        density = math.exp(_log_front(a, b, x)) / (x * (1 - x)) if 0 < x < 1 else 0.0
        step = (reached - share) / density if density > 0 else math.inf
        new = x - step
        if new == x:  # nothing smaller than the distance of neighbouring numbers
            return x
        if not low < new < high:
            # far from the quantile in a long tail halving the logarithm is the quicker way
            new = math.sqrt(low * high) if low > 0 and high / low > 4 else (low + high) / 2
            if low == 0.0 and high < 1e-3:
                new = high * 1e-3
        if abs(new - x) <= 1e-12 * min(x, 1 - x) or new in (low, high):
            return new
        x = new
    return x


def _first_guess(a: float, b: float, share: float) -> float:
    """Where the quantile would be if the logit of x were normal."""
    from statistics import NormalDist

    mean = min(max(a / (a + b), 1e-12), 1 - 1e-12)
    spread = math.sqrt(1 / a + 1 / b) if min(a, b) >= 1 else 1.0
    logit = math.log(mean / (1 - mean)) + NormalDist().inv_cdf(share) * spread
    guess = 1 / (1 + math.exp(-logit)) if abs(logit) < 700 else mean
    return min(max(guess, 1e-12), 1 - 1e-12)


def beta_cdf(a: float, b: float, x: float) -> float:
    """P(Beta(a, b) <= x) by the continued fraction of the incomplete beta function. Source: DLMF (2024), 8.17.22;
    Lentz's way of evaluating it.
    """
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = math.exp(_log_front(a, b, x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, 1 - x) / b


def _log_front(a: float, b: float, x: float) -> float:
    """log x^a (1-x)^b / B(a, b), without the loss of digits that the difference of large logarithms brings."""
    small, large = min(a, b), max(a, b)
    if small < _LARGE:
        power = a * math.log(x) + b * math.log1p(-x)
        if large < _LARGE:
            return power + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        ratio = (large - 0.5) * math.log1p(small / large) + small * (math.log(a + b) - 1)
        return power + ratio + _stirling(a + b) - _stirling(large) - math.lgamma(small)
    total = a + b
    mean = a / total
    power = a * _log_ratio(x, mean, x - mean) + b * _log_ratio(1 - x, 1 - mean, mean - x)
    return (
        power
        + 0.5 * math.log(a * (b / total) / (2 * math.pi))
        + _stirling(total)
        - _stirling(a)
        - _stirling(b)
    )


def _log_ratio(x: float, mean: float, moved: float) -> float:
    """log x/mean, to the last digit where the two are close."""
    return math.log1p(moved / mean) if abs(moved) < mean / 2 else math.log(x / mean)


def _stirling(x: float) -> float:
    """log Gamma(x) less Stirling's (x - 1/2) log x - x + log(2 pi)/2."""
    inverse = 1 / (x * x)
    total = 0.0
    for term in reversed(_SERIES):
        total = total * inverse + term
    return total / x


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of I_x(a, b), about sqrt(max(a, b)) terms."""
    c = 1.0
    d = 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    out = d
    for m in range(1, _MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + term * d
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = 1 + term / c
            c = c if abs(c) > _TINY else _TINY
            change = c * d
            out *= change
        if abs(change - 1) < _PRECISE:
            return out
    return out
