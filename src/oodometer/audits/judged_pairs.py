"""Judged pairs: the difference of two systems on the same rows, from verdicts on all and labels on rows of either."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..arrays import Array
from ..inference.clusters import student_quantile
from .judges import Judged

Population = Literal["system", "rows"]
_SPAN = 1.0  # of a difference of two labels that was not met among the labelled rows
_HALF = 0.5  # of a label beside the mean of its system
_PRIOR = 5  # shared labels that no correlation counts for
_LEAST_SHARED = 10  # labels, from which on their spread says what more of them would bring


@dataclass(frozen=True)
class PairedRates:
    """What corrects two systems: ``value`` with its standard error squared, ``variance``, Student's ``freedom``, and of
    shared labels the variance of what the verdicts leave of their difference, ``spread``; None where few tell.
    """

    value: float
    middle: float
    variance: float
    freedom: float
    spread: float | None = None

    def interval(self, level: float) -> tuple[float, float, float]:
        """Value and ends, within [-1, 1]."""
        half = student_quantile(level, self.freedom) * math.sqrt(self.variance)
        value = min(max(self.value, -1.0), 1.0)
        return (
            value,
            max(min(self.middle - half, value), -1.0),
            min(max(self.middle + half, value), 1.0),
        )


def shared_weights(both: int, first: int, second: int, correlation: float) -> tuple[float, float]:
    """How much the labels of rows that both share count in the mean of either system, against those of rows that it
    alone has: the weights with the least variance of the difference, both of one variance. With a correlation near 1
    shared rows count alone, as what they have in common cancels; with none labels count alike.

    >>> shared_weights(10, 30, 30, 0.0), [round(w, 2) for w in shared_weights(10, 30, 30, 1.0)]
    ((0.25, 0.25), [1.0, 1.0])
    """
    if not both:
        return 0.0, 0.0
    if not first and not second:
        return 1.0, 1.0
    a, b = (1 / count if count else 1e12 for count in (first, second))
    matrix = np.array(
        [[1 / both + a, -correlation / both], [-correlation / both, 1 / both + b]]
    )
    w_a, w_b = np.linalg.solve(matrix, np.array([a, b]))
    return float(w_a), float(w_b)


def paired_rates(
    first: Judged,
    second: Judged,
    population: Population,
    keys: Array | None = None,
    *,
    leaning: bool = True,
) -> PairedRates:
    """The mean label of the ``second`` system minus that of the ``first``, whose verdicts are of the same rows.

    mean_N (g(f_b) - g(f_a)) + r_b - r_a, with g(f) = lam f the one line of labels on verdicts (0 where not ``leaning``)
    and r the mean of Y - g(f) over a system's labelled rows, those that both systems share weighed as `shared_weights`
    has it: each system corrects its own rates, and rows on which the two are alike cancel. The variance is that of the
    rows' shares in it, over rows (or clusters, ``keys`` of all rows) that share their kind of label; "rows" takes what
    is left of the finite population, "system" adds the spread of the rows themselves. Two shared rows are made up, one
    with each largest difference (Bonett and Price 2012), and half a label's for rows of one system: rare changes that no
    label met are not taken for impossible. Source: Angelopoulos, Duchi and Zrnic (2023), Looney and Jones (2003).
    """
    rows = first.rows
    has = [np.isin(np.arange(rows), run.row) for run in (first, second)]
    both, alone = has[0] & has[1], (has[0] & ~has[1], has[1] & ~has[0])
    slope = _slope(first, second) if leaning else 0.0
    means = [run.scores.mean(axis=0) for run in (first, second)]
    rest = [_rest(run, mean, slope) for run, mean in zip((first, second), means, strict=True)]
    count, counts = int(both.sum()), [int(mask.sum()) for mask in alone]
    correlation = _correlation(rest[0][both], rest[1][both])
    weights = shared_weights(count, counts[0], counts[1], correlation)
    gap = slope * (means[1] - means[0])
    share, worth, unseen = np.zeros(rows), 0.0, 0.0
    left = rows if population == "rows" else math.inf  # of the unseen, labelled rows are none
    if count:
        share[both] = (weights[1] * rest[1][both] - weights[0] * rest[0][both]) / count
        worth += float(share[both].sum()) * count / (count + 2)
        unseen += 2 * (_SPAN * max(weights) / (count + 2)) ** 2 * (1 - count / left)
    for sign, weight, mask, number, truth in zip(
        (-1, 1), weights, alone, counts, rest, strict=True
    ):
        if number:
            share[mask] = sign * (1 - weight) * truth[mask] / number
            worth += float(share[mask].sum())
            unseen += 2 * (_HALF * (1 - weight) / (number + 2)) ** 2 * (1 - number / left)
    kinds = both * 1 + alone[0] * 2 + alone[1] * 3
    difference = spread = None
    if count >= _LEAST_SHARED:
        difference = float(np.var(rest[1][both] - rest[0][both], ddof=1))
        spread = difference + 2 * _SPAN**2 / count
    if population == "system":
        variance = _variance(share + gap / rows, kinds, keys)
    else:
        variance = _variance(share, kinds, keys, labelled=True)
        independent = _variance(share, kinds, None, labelled=True)
        if difference and independent > 0:
            variance *= max(1 - difference / rows / independent, 0.0)
    groups = np.flatnonzero(kinds) if keys is None else np.unique(keys[kinds > 0])
    return PairedRates(
        value=float(gap.mean() + share.sum()),
        middle=float(gap.mean()) + worth,
        variance=variance + unseen,
        freedom=max(len(groups) - 2, 1),
        spread=spread,
    )


def _slope(first: Judged, second: Judged) -> float:
    """Of the labels of both on the mean verdict, least squares; 0 where verdicts do not vary."""
    verdict = np.concatenate([run.scores.mean(axis=0)[run.row] for run in (first, second)])
    truth = np.concatenate([first.truth, second.truth])
    spread = float(np.var(verdict))
    return float(np.cov(verdict, truth, ddof=0)[0, 1]) / spread if spread > 1e-12 else 0.0


def _rest(run: Judged, mean: Array, slope: float) -> Array:
    """What the verdicts leave of each label, of all rows; 0 without a label."""
    out = np.zeros(run.rows)
    out[run.row] = run.truth - slope * mean[run.row]
    return out


def _correlation(a: Array, b: Array) -> float:
    """Of what is left of shared labels, towards 0 where they are few."""
    if len(a) < 3 or a.var() < 1e-12 or b.var() < 1e-12:
        return 0.0
    return float(np.clip(np.corrcoef(a, b)[0, 1], 0, 1)) * len(a) / (len(a) + _PRIOR)


def _variance(share: Array, kinds: Array, keys: Array | None, labelled: bool = False) -> float:
    """Of a sum of the rows' shares: squares around the mean of their kind, of rows or of whole clusters."""
    rest = share.copy()
    total = 0.0
    for kind in np.unique(kinds[kinds > 0] if labelled else kinds):
        mask = kinds == kind
        count = int(mask.sum())
        rest[mask] -= rest[mask].mean()
        if keys is None:
            total += float(rest[mask] @ rest[mask]) * count / max(count - 1, 1)
    if keys is None:
        return total
    if labelled:
        rest[kinds == 0] = 0.0
    sums = np.bincount(np.unique(keys, return_inverse=True)[1], rest)
    groups = np.count_nonzero(sums)
    return float(sums @ sums) * groups / max(groups - 1, 1)
