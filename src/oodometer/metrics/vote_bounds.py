"""Vote bounds: lower and upper accuracy under k-of-n voting, whether they held, and how k and n move them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..intervals import wilson_from_variance
from ..results import Interval
from .vote_counts import VoteCounts, absolute, paired_gap, share
from .vote_rules import agreements


def bounds_of(at_least: Array, agree: int, level: float) -> dict[str, Any]:
    """The bounds of k-of-n voting from the rows with at least so many votes, shape (count,), index 0 all rows.

    lower = share with at least k votes for Correct, upper = share with at least n - k + 1, mean their middle, width
    upper - lower. Shares of rows have exact intervals; that they bound the accuracy is no promise of theirs. Source:
    Yao and Koller (2024) for k = n.

    >>> found = bounds_of(np.array([10, 8, 7, 5]), 3, 0.95)
    >>> [round(found[name].value, 3) for name in ("lower", "upper", "mean", "width")]
    [0.5, 0.8, 0.65, 0.3]
    """
    rows, judges = int(at_least[0]), len(at_least) - 1
    every, some = int(at_least[agree]), int(at_least[judges - agree + 1])
    return {
        "agree": agree,
        "lower": share(every, rows, level),
        "upper": share(some, rows, level),
        "mean": mean_of((every + some) / 2, every + (some - every) / 4, rows, level),
        "width": share(some - every, rows, level),
    }


def mean_of(total: float, squares: float, rows: int, level: float) -> Interval:
    """Mean of numbers in [0, 1] from their sum and sum of squares, in Wilson's form; asymptotic.

    The variance has one squared unit more, as in `paired_gap`.

    >>> mean_of(5.0, 4.0, 10, 0.95).value
    0.5
    """
    value = total / rows
    variance = (max(squares - rows * value * value, 0.0) + 1) / (rows + 1) / rows
    low, high = wilson_from_variance(value, variance, rows, level)
    return Interval(value, min(low, value), max(high, value), level, "asymptotic")


def bounds_by_agreement(counts: VoteCounts, level: float) -> list[dict[str, Any]]:
    """The bounds for every k, widest first, beside the truth: ``inside``, and how far the truth is from either.

    above_lower = accuracy - lower and below_upper = upper - accuracy are signed differences on the same rows (paired,
    asymptotic): the truth is inside where neither is negative. error = |accuracy - mean|.

    >>> from ..predictions import Predictions
    >>> p = Predictions.from_arrays(votes=[[1, 1, 0, 0], [1, 0, 0, 0]], correct=[1, 1, 0, 0])
    >>> found = bounds_by_agreement(VoteCounts.of(p), 0.95)[0]
    >>> found["agree"], found["inside"], found["above_lower"].value, found["below_upper"].value, found["error"].value
    (2, True, 0.25, 0.0, 0.125)
    """
    out = []
    for agree in agreements(counts.judges):
        one = bounds_of(counts.at_least.sum(axis=0), agree, level)
        out.append(one | against_truth(counts, agree, level))
    return out


def against_truth(counts: VoteCounts, agree: int, level: float) -> dict[str, Any]:
    """Whether the truth lies inside the bounds of k-of-n voting, its distances from them, and the error of the mean."""
    rows, right = counts.rows, int(counts.of_verdict[1])
    every, some = (counts.at_least[:, k].tolist() for k in (agree, counts.judges - agree + 1))
    below, above = _gap(right - every[1], every[0]), _gap(some[0], right - some[1])
    votes = np.arange(counts.judges + 1)
    said = np.add(votes >= agree, votes >= counts.judges - agree + 1, dtype=np.float64) / 2
    off = np.array([[0.0], [1.0]]) - said
    error = _sums(counts.by_count, off)
    inside = sum(every) <= right <= sum(some)
    return {
        "inside": inside,
        "above_lower": paired_gap(*below, rows, level),
        "below_upper": paired_gap(*above, rows, level),
        "error": absolute(paired_gap(*error, rows, level)),
    }


def _gap(plus: int, minus: int) -> tuple[float, float]:
    """Sum and sum of squares of a difference that is 1 in some rows, -1 in others and else 0."""
    return float(plus - minus), float(plus + minus)


def _sums(rows: Array, values: Array) -> tuple[float, float]:
    return float((rows * values).sum()), float((rows * np.square(values)).sum())


def bounds_by_judges(by_count: Sequence[int] | Array, level: float) -> list[dict[str, Any]]:
    """The bounds to expect of fewer judges: the mean over every choice of m of the n judges, m = 1 ... n, all agreeing.

    Of a row with v votes for Correct among n, m judges drawn at random all say so with chance C(v, m)/C(n, m), and none
    does with chance C(n - v, m)/C(n, m); lower and upper are the means of the one and of 1 minus the other. With one
    judge they are the mean share that a single judge accepts. by_count has shape (count,), rows by number of votes.

    >>> [round(b["upper"].value - b["lower"].value, 3) for b in bounds_by_judges([3, 2, 1, 4], 0.95)]
    [0.0, 0.2, 0.3]
    """
    counts = np.asarray(by_count, dtype=np.float64)
    judges, rows = len(counts) - 1, int(counts.sum())
    out = []
    for some in range(1, judges + 1):
        chance = np.array([math.comb(v, some) / math.comb(judges, some) for v in range(judges + 1)])
        lower, upper = (mean_of(*_sums(counts, p), rows, level) for p in (chance, 1 - chance[::-1]))
        out.append({"judges": some, "lower": lower, "upper": upper})
    return out
