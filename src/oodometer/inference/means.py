"""Means of scores on a scale: intervals that hold at every number of rows, of rows in clusters, of several tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..intervals import clopper_pearson
from ..kernels.top import mix
from ..results import Kind
from .betting import betting_mean
from .clusters import Clusters, student_quantile

MOST_ROUNDS = 2048  # of bets; of more rows or clusters groups are made, by chance
_MANY = 32  # rows of a group beyond which bets are too small to be as narrow as Student's interval
_NORMAL = 400  # squared standard errors in the scale from which on that is as good as exact (Berry and Esseen)


class Mean(NamedTuple):
    """A mean with its interval, Student's beside it, the design effect, and how many clusters there are (or
    rows); None where they are too many to be told apart.
    """

    value: float
    lower: float
    upper: float
    kind: Kind
    t: tuple[float, float]
    effect: float
    clusters: int | None


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """Sums of scores by cluster, or by row where ``alone``: rows that depend on nothing. States merge; of more than
    `MOST_ROUNDS` clusters those whose keys end alike are one group. ``seen`` is the lowest and the highest score.
    """

    groups: Clusters
    count: int  # clusters, as far as they are told apart
    seen: tuple[float, float]
    alone: bool

    @classmethod
    def of(cls, values: Array, keys: Array | None = None, first_row: int = 0) -> ScoreSums:
        """State of scores (sample,) with the keys of their clusters (sample,); without, each row is one."""
        x = np.asarray(values, dtype=np.float64)
        row_keys = (
            mix(np.arange(first_row, first_row + len(x), dtype=np.uint64)) if keys is None else keys
        )
        count = len(x) if keys is None else len(np.unique(row_keys))
        row_keys = row_keys if count <= MOST_ROUNDS else _grouped(row_keys)
        ends = (float(x.min()), float(x.max())) if len(x) else (math.inf, -math.inf)
        return cls(Clusters.of(row_keys, x), count, ends, keys is None)

    def __add__(self, other: ScoreSums) -> ScoreSums:
        a, b, alone = self.groups, other.groups, self.alone and other.alone
        count = self.count + other.count if alone else len(np.union1d(a.keys, b.keys))
        if max(count, self.count, other.count) > MOST_ROUNDS:
            a, b = (Clusters.of_sums(_grouped(side.keys), side.sums) for side in (a, b))
            count = max(count, self.count, other.count, MOST_ROUNDS + 1)
        seen = min(self.seen[0], other.seen[0]), max(self.seen[1], other.seen[1])
        return ScoreSums(a + b, count, seen, alone)

    @property
    def rows(self) -> int:
        """Rows of known score."""
        return self.groups.rows

    def mean(self, level: float, scale: Sequence[float] = (0.0, 1.0), seed: int = 0) -> Mean:
        """The mean, as `bounded_mean` has it."""
        (low, high), groups, rows = scale, self.groups, self.rows
        value, total = groups.value, groups.sums[1:].sum(axis=1)
        spread = max(float(total[1]) / rows - value**2, 0.0) * rows / max(rows - 1, 1)
        independent = spread / rows if rows > 1 else math.inf
        variance, degrees = (
            (independent, rows - 1.0) if self.alone else (groups.variance, groups.worth - 1)
        )
        half = (
            student_quantile(level, degrees) * math.sqrt(variance)
            if variance < math.inf
            else high - low
        )
        t = max(value - half, low), min(value + half, high)
        effect = variance / independent if spread and variance < math.inf else 1.0
        kind: Kind = "exact"
        # whether every row, or every cluster of equal ones, is at an end of the scale: a count of hits
        if self.alone:
            count, between = rows, (low + high) * total[0] - total[1] - rows * low * high
        else:
            means, sizes = groups.sums[1] / groups.sums[0], groups.sums[0]
            count, between = (
                groups.count,
                float(((means - low) * (high - means)).sum() + np.ptp(sizes)),
            )
        if between <= 1e-9 * rows * (high - low) ** 2:
            ends = clopper_pearson((value - low) / (high - low) * count, count, level)
            lower, upper = (low + end * (high - low) for end in ends)
        elif (
            self.alone
            and rows > _MANY * MOST_ROUNDS
            and rows * spread > _NORMAL * (high - low) ** 2
        ):
            (lower, upper), kind = t, "asymptotic"  # no bet on means of so many rows is bold enough
        else:
            lower, upper = betting_mean(
                groups.sums[1], level, low=low, high=high, sizes=groups.sums[0], seed=seed
            )
        cluster_count = self.count if self.alone or self.count <= MOST_ROUNDS else None
        return Mean(value, min(lower, value), max(upper, value), kind, t, effect, cluster_count)


def _grouped(keys: Array) -> Array:
    return np.asarray(keys & np.uint64(MOST_ROUNDS - 1))


def bounded_mean(
    values: Array,
    level: float = 0.95,
    *,
    low: float = 0.0,
    high: float = 1.0,
    keys: Array | None = None,
    seed: int = 0,
) -> Mean:
    """The mean of ``values`` (sample,) in [low, high] with an interval that holds at every number of rows.

    Of scores at the two ends of the scale alone it is Clopper and Pearson's; of clusters where those of equal size are
    so as a whole. Of others it holds the means m that no bet refutes: prod_t (1 + b_t (x_t - m)) is the capital of a
    gambler whose game is fair where m is the mean, so that it comes to 2 / (1 - level) in at most (1 - level) / 2 of
    samples, for more and for less (`betting_mean`). Of rows with equal ``keys`` (sample,), which depend on each other,
    the sums S_g over clusters of N_g rows take the place of rows, with x_t - m = S_g - m N_g. Clusters are drawn at
    random, and their size tells nothing of their mean.

    ``t`` is value ± t se with Student's quantile and se^2 = (G - 1) / G sum_g (mean without g - mean)^2, with
    (sum N)^2 / sum N^2 - 1 degrees of freedom; it undercovers where nearly all scores are at one end. ``effect``, the
    design effect, is se^2 over that of independent rows.

    Sources: Clopper and Pearson (1934); Waudby-Smith and Ramdas (2024); Voracek and Orabona (2025) for the bets.

    >>> mean = bounded_mean(np.array([0.2, 1.0, 0.5, 0.9, 1.0, 0.7] * 4))
    >>> round(mean.value, 3), round(mean.lower, 2), round(mean.upper, 2), [round(end, 2) for end in mean.t]
    (0.717, 0.55, 0.84, [0.59, 0.84])
    >>> round(bounded_mean(np.array([1.0, 0.0] * 10)).lower, 3)
    0.272
    """
    return ScoreSums.of(np.asarray(values, dtype=np.float64), keys).mean(level, (low, high), seed)


def share_mean(values: Array, level: float = 0.95, keys: Array | None = None) -> Mean:
    """The mean of ``values`` (sample,) in [0, 1] with Student's interval of two rows more, one at each end of the
    scale: a kind of rows that was not met is not taken for impossible. Of 0 and 1 alone in single rows it is Clopper
    and Pearson's. It is as narrow as Student's where values vary, and does not hang on a lot as that of bets does
    (`bounded_mean`), which holds at every number of rows.

    With the made-up rows, each worth u, the mean is m = (sum x + u) / (n + 2 u), and se^2 = (sum_g (S_g - m N_g)^2 +
    u^2 (m^2 + (1 - m)^2)) / (n + 2 u)^2 over sums S_g and rows N_g of clusters with equal ``keys`` (sample,), times
    G / (G - 1) for G of them; u is the design effect, 1 of single rows. The quantile has Kish's number of clusters less
    one as degrees. Source: Bonett and Price (2012), who do so for 0 and 1; Agresti and Caffo (2000).

    >>> mean = share_mean(np.array([0.2, 1.0, 0.5, 0.9, 1.0, 0.7] * 4))
    >>> round(mean.value, 3), round(mean.lower, 3), round(mean.upper, 3), mean.kind
    (0.717, 0.571, 0.829, 'asymptotic')
    """
    x = np.asarray(values, dtype=np.float64)
    rows, value = len(x), float(x.mean())
    if keys is None and ((x == 0) | (x == 1)).all():
        lower, upper = clopper_pearson(value * rows, rows, level)
        return Mean(value, min(lower, value), max(upper, value), "exact", (lower, upper), 1.0, rows)
    codes = np.arange(rows) if keys is None else np.unique(keys, return_inverse=True)[1]
    sums, sizes = np.bincount(codes, x), np.bincount(codes).astype(np.float64)
    count, worth = len(sums), rows**2 / float(np.square(sizes).sum())
    more = count / max(count - 1, 1) if keys is not None else 1.0
    alone, together = (
        float(np.square(x - value).sum()),
        float(np.square(sums - value * sizes).sum()),
    )
    effect = min(max(more * together / alone, 1.0), rows / worth) if alone > 0 else rows / worth
    unit = effect if keys is not None else 1.0
    middle = (float(x.sum()) + unit) / (rows + 2 * unit)
    spread = more * float(np.square(sums - middle * sizes).sum())
    spread += unit**2 * (middle**2 + (1 - middle) ** 2)
    half = student_quantile(level, worth - 1) * math.sqrt(spread) / (rows + 2 * unit)
    t = max(middle - half, 0.0), min(middle + half, 1.0)
    return Mean(value, min(t[0], value), max(t[1], value), "asymptotic", t, effect, count)


def mean_of_means(means: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """The unweighted mean of independent numbers (value, lower, upper), whose own intervals tell their errors: its ends
    are mean -+ sqrt(sum (value - end)^2) / count. Source: Zou and Donner (2008).

    >>> [round(x, 3) for x in mean_of_means([(0.5, 0.4, 0.6), (0.9, 0.8, 0.95)])]
    [0.7, 0.629, 0.756]
    """
    value, lower, upper = np.array(means, dtype=np.float64).T
    mean, count = float(value.mean()), len(value)
    below, above = (
        math.sqrt(float(np.square(value - end).sum())) / count for end in (lower, upper)
    )
    return mean, mean - below, mean + above
