"""Judged pairs: the difference of two systems on the same rows, from verdicts on all and labels on rows of either."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
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
    """What corrects two systems: ``value`` with its standard error squared, ``variance``, of which rows that are made
    up are ``unseen``, Student's ``freedom``, and of shared labels the variance of what the verdicts leave of their
    difference, ``spread``; None where few tell.
    """

    value: float
    middle: float
    variance: float
    unseen: float
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
    matrix = np.array([[1 / both + a, -correlation / both], [-correlation / both, 1 / both + b]])
    w_a, w_b = np.linalg.solve(matrix, np.array([a, b]))
    return float(w_a), float(w_b)


@dataclass(frozen=True)
class _Labelled:
    """Two runs over the same rows, by who labelled what: verdicts and labels (run, row), labels 0 where there is none,
    the kind of each row (0 no label, 1 both, 2 the first alone, 3 the second alone), and the clusters of the rows.
    """

    verdicts: Array
    truth: Array
    kinds: Array
    keys: Array | None
    population: Population

    @classmethod
    def of(
        cls, first: Judged, second: Judged, population: Population, keys: Array | None
    ) -> _Labelled:
        """Those of two runs."""
        runs, truth = (first, second), np.zeros((2, first.rows))
        has = np.zeros((2, first.rows), dtype=bool)
        for run, labels, mask in zip(runs, truth, has, strict=True):
            labels[run.row], mask[run.row] = run.truth, True
        kinds = np.where(has.all(axis=0), 1, 2 * has[0] + 3 * has[1])
        verdicts = np.stack([run.scores.mean(axis=0) for run in runs])
        return cls(verdicts, truth, kinds, keys, population)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.kinds)

    @cached_property
    def counts(self) -> tuple[int, int, int]:
        """Rows that people labelled in both, in the first alone, in the second alone."""
        _, both, first, second = np.bincount(self.kinds, minlength=4).tolist()
        return both, first, second

    @cached_property
    def line(self) -> float:
        """The slope of all labels on their verdicts, least squares; 0 where verdicts do not vary."""
        masks = [(self.kinds == 1) | (self.kinds == 2 + run) for run in range(2)]
        verdict, truth = (
            np.concatenate([part[mask] for part, mask in zip(of, masks, strict=True)])
            for of in (self.verdicts, self.truth)
        )
        spread = float(np.var(verdict))
        return float(np.cov(verdict, truth, ddof=0)[0, 1]) / spread if spread > 1e-12 else 0.0

    def rest(self, slope: float) -> Array:
        """What verdicts leave of the labels, (run, row)."""
        return np.asarray(self.truth - slope * self.verdicts)

    @cached_property
    def weights(self) -> tuple[float, float]:
        """Of the labels of shared rows in the mean of either system, as `shared_weights` has them, by the correlation
        of what the line leaves of them, which few labels pull towards 0.
        """
        a, b = self.rest(self.line)[:, self.kinds == 1]
        correlation = 0.0
        if len(a) > 2 and a.var() > 1e-12 and b.var() > 1e-12:
            correlation = float(np.corrcoef(a, b)[0, 1]) * len(a) / (len(a) + _PRIOR)
        return shared_weights(*self.counts, max(correlation, 0.0))

    def shares(self, slope: float) -> Array:
        """What the labels of each row add to the difference, (row,)."""
        (first, second), (w_a, w_b), (both, alone_a, alone_b) = (
            self.rest(slope),
            self.weights,
            self.counts,
        )
        factors = np.array(
            [
                [0.0, w_a / max(both, 1), (1 - w_a) / max(alone_a, 1), 0.0],
                [0.0, w_b / max(both, 1), 0.0, (1 - w_b) / max(alone_b, 1)],
            ]
        )
        return np.asarray(factors[1][self.kinds] * second - factors[0][self.kinds] * first)

    def gap(self, slope: float) -> Array:
        """What the verdicts of each row say of the difference, (row,)."""
        return np.asarray(slope * (self.verdicts[1] - self.verdicts[0]))

    def variance(self, slope: float) -> float:
        """Of the difference, without what no label met."""
        shares, keys = self.shares(slope), self.keys
        if self.population == "system":
            return _variance(shares + self.gap(slope) / self.rows, self.kinds, keys)
        variance = _variance(shares, self.kinds, keys, labelled=True)
        independent = _variance(shares, self.kinds, None, labelled=True)
        spread = self.spread(slope)
        if spread is not None and independent > 0:
            variance *= max(1 - spread / self.rows / independent, 0.0)
        return variance

    def spread(self, slope: float) -> float | None:
        """The variance of what verdicts leave of a row's difference, from shared labels; None of few."""
        if self.counts[0] < _LEAST_SHARED:
            return None
        a, b = self.rest(slope)[:, self.kinds == 1]
        return float(np.var(b - a, ddof=1))

    def best_slope(self) -> float:
        """The slope with the least variance, which is a parabola of it, towards the line of all labels by as much as
        two rows with a difference of the verdicts would tell: verdicts that differ by luck, on answers that do not,
        are not believed.
        """
        labels = sum(self.counts)
        at_0, at_half, at_1 = (self.variance(slope) for slope in (0.0, 0.5, 1.0))
        square = 2 * (at_1 - 2 * at_half + at_0)
        prior = 2 * _SPAN**2 / (labels + 2) ** 2
        return (prior * self.line - (at_1 - at_0 - square) / 2) / (square + prior)

    def unseen(self) -> float:
        """The variance of rows that are made up."""
        both, *alone = self.counts
        left = self.rows if self.population == "rows" else math.inf  # labelled rows are seen
        out = 0.0
        if both:
            out = 2 * (_SPAN * max(self.weights) / (both + 2)) ** 2 * (1 - both / left)
        for weight, count in zip(self.weights, alone, strict=True):
            if count:
                out += 2 * (_HALF * (1 - weight) / (count + 2)) ** 2 * (1 - count / left)
        return out


def paired_rates(
    first: Judged,
    second: Judged,
    population: Population,
    keys: Array | None = None,
    *,
    leaning: bool = True,
) -> PairedRates:
    """The mean label of the ``second`` system minus that of the ``first``, whose verdicts are of the same rows.

    mean_N lam (f_b - f_a) + r_b - r_a, with r the mean of Y - lam f over a system's labelled rows, those that both
    systems share weighed as `shared_weights` has it, and lam the slope with the least variance (0 where not
    ``leaning``): each system corrects its own rates, and rows on which the two are alike cancel. The variance is that
    of the rows' shares in it, over rows (or clusters, ``keys`` of all rows) with the same kind of label; "rows" takes
    off what a finite population leaves, "system" adds the spread of the rows themselves. Two shared rows are made up,
    with the largest differences (Bonett and Price 2012), and half a label's for rows of one system: rare changes that
    no label met are not taken for impossible. Source: Angelopoulos, Duchi and Zrnic (2023), Looney and Jones (2003).
    """
    labelled = _Labelled.of(first, second, population, keys)
    slope = labelled.best_slope() if leaning else 0.0
    gap, shares, kinds = float(labelled.gap(slope).mean()), labelled.shares(slope), labelled.kinds
    both, spread = labelled.counts[0], labelled.spread(slope)
    total = float(shares.sum())
    # the rows that are made up pull the middle of the interval towards what the verdicts say
    pulled = float(shares[kinds == 1].sum()) * 2 / (both + 2)
    groups = np.flatnonzero(kinds) if keys is None else np.unique(keys[kinds > 0])
    return PairedRates(
        value=gap + total,
        middle=gap + total - pulled,
        variance=labelled.variance(slope) + (unseen := labelled.unseen()),
        unseen=unseen,
        freedom=max(len(groups) - 2, 1),
        spread=None if spread is None else spread + 2 * _SPAN**2 / both,
    )


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
    counted = kinds > 0 if labelled else kinds >= 0
    sums = np.bincount(np.unique(keys[counted], return_inverse=True)[1], rest[counted])
    return float(sums @ sums) * len(sums) / max(len(sums) - 1, 1)
