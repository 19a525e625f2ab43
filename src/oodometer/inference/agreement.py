"""Agreement: how far several raters agree beyond chance (Krippendorff's alpha), and what their vote is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..intervals import clopper_pearson
from ..results import Interval
from .clusters import Clusters, clustered_share, student_quantile

Scale = Literal["nominal", "ordinal", "interval"]
_AT_A_TIME = 100  # leavings-out that are computed together
_MOST_LEFT_OUT = 2_000  # kinds of items up to which each is left out, else as many groups of items


@final
@dataclass(frozen=True, eq=False)
class Ratings:
    """Which values each item got: the items with several ratings, those alike gathered.

    values : the distinct ratings, ascending, shape (value,). counts : how many ratings of a kind of item have each
    value, shape (kind, value). items : how many items are of each kind, shape (kind,).
    """

    values: Array
    counts: Array
    items: Array

    @classmethod
    def of(cls, ratings: Array) -> Ratings:
        """Those of numbers by rater and item, shape (rater, item), NaN where a rater did not see an item.

        Raises `NotApplicable` where no item has two ratings, and where all are the same.
        """
        several = np.isfinite(ratings).sum(axis=0) > 1
        if not several.any():
            raise NotApplicable("no item was rated twice")
        part = ratings[:, several]
        values = np.unique(part[np.isfinite(part)])
        if len(values) < 2:
            raise NotApplicable("all ratings are the same, as they would be by chance")
        counts = np.stack([(part == value).sum(axis=0) for value in values], axis=1)
        kinds, items = np.unique(counts, axis=0, return_counts=True)
        return cls(values, kinds, items)


class Agreement(NamedTuple):
    """Krippendorff's alpha, and the share of ratings that agree with the vote of the other raters of the item."""

    alpha: Interval
    with_vote: Interval


def agreement(ratings: Ratings, scale: Scale = "nominal", level: float = 0.95) -> Agreement:
    """Krippendorff's alpha, 1 - D_o / D_e, and how often a rating agrees with the vote of the others.

    With n_uv ratings v of item u, m_u of it, n of all and n_v of the value v: D_o = sum_u sum_vw n_uv n_uw d(v, w) /
    (m_u - 1) / n and D_e = sum_vw n_v n_w d(v, w) / (n (n - 1)). The distance d is 0 or 1 (nominal), the squared
    difference (interval), or that of the middle ranks (ordinal). The interval of alpha is Student's on Fisher's scale,
    atanh(alpha) -+ t(U - 1) s / (1 - alpha^2), with s^2 that of the jackknife over the U items, which takes raters as
    given, and the square of what one item more would change on which all agree: few items have not met the rare
    values. Where no item is disagreed on, the lower end is what so many items allow. Of 600 draws, 94 to 99.7 %
    held the alpha of 100,000 items, from 10 items on (plain percentiles of a bootstrap: 77 to 96 %;
    ``benchmarks/results/agreement.md``).

    ratings : which values each item got. scale : what a difference of two ratings counts. level : nominal coverage.

    Source: Krippendorff (2004); Efron and Stein (1981) for the jackknife, Bonett and Price (2012) for items made up.

    >>> table = np.array([[1, 2, 3, 3, 2, 1], [1, 2, 3, 3, 2, 2], [np.nan, 3, 3, 3, 2, 3]])
    >>> found = agreement(Ratings.of(table))
    >>> round(found.alpha.value, 3), round(found.with_vote.value, 3)
    (0.556, 0.706)
    """
    total = int(ratings.items.sum())
    value = float(alphas(ratings.items[None], ratings, scale)[0])
    agreed = int(ratings.items[(ratings.counts > 0).sum(axis=1) == 1].sum())
    floor = 1.0
    if agreed == total:
        least = clopper_pearson(agreed, total, level)[0]
        floor = 1 - _of_one_apart(ratings, scale) * (1 - least)
    spread = math.hypot(jackknife(ratings, scale), _of_one_agreed(value, ratings, scale))
    alpha = _interval(value, spread, level, total, floor)
    return Agreement(alpha, _share_with_vote(ratings, level))


def _of_one_apart(ratings: Ratings, scale: Scale) -> float:
    """What an item takes from alpha, of which one rating is another than the rest: as much as chance, or by words."""
    if scale != "nominal":
        return 1.0
    by_value = ratings.items @ ratings.counts
    rated = ratings.items @ ratings.counts.sum(axis=1) / ratings.items.sum()
    return float(2 / rated / (1 - ((by_value / by_value.sum()) ** 2).sum()))


def _share_with_vote(ratings: Ratings, level: float) -> Interval:
    """How often a rating is what the vote of the others of the item is, ties in equal parts; items are clusters."""
    sums = np.repeat(_with_vote(ratings.counts), ratings.items, axis=1)
    rows = int(sums[0].sum())
    value = float(sums[1].sum() / rows)
    clusters = Clusters.of_sums(np.arange(sums.shape[1], dtype=np.uint64), sums)
    return Interval(value, *clustered_share(clusters, rows, value, level), level, "asymptotic")


def jackknife(ratings: Ratings, scale: Scale) -> float:
    """Standard deviation of Krippendorff's alpha, sqrt((U - 1) / U sum_u (alpha without item u - their mean)^2) of U
    items; alpha is 1 without the items but for which all ratings are the same, as nothing else is disagreed on.

    ratings, scale : as of `agreement`. Source: Efron and Stein (1981).

    >>> round(jackknife(Ratings.of(np.array([[0, 1, 0, 1, 1.0], [0, 1, 0, 1, 0.0]])), "nominal"), 3)
    0.373
    """
    total, weights = int(ratings.items.sum()), ratings.items.astype(float)
    if len(weights) <= _MOST_LEFT_OUT:
        left_out = np.eye(len(weights), dtype=np.int64)
    else:
        kind, group = np.repeat(np.arange(len(weights)), ratings.items), np.arange(total)
        group = np.random.default_rng(total).permutation(group) % _MOST_LEFT_OUT
        left_out = np.zeros((_MOST_LEFT_OUT, len(weights)), dtype=np.int64)
        np.add.at(left_out, (group, kind), 1)
        weights = np.ones(_MOST_LEFT_OUT)
    parts = [
        alphas(ratings.items - left_out[start : start + _AT_A_TIME], ratings, scale)
        for start in range(0, len(left_out), _AT_A_TIME)
    ]
    without = np.nan_to_num(np.concatenate(parts), nan=1.0)
    count = weights.sum()
    variance = np.square(without - np.average(without, weights=weights)) @ weights
    return float(math.sqrt((count - 1) / count * variance))


def _of_one_agreed(value: float, ratings: Ratings, scale: Scale) -> float:
    """By how much alpha would rise with an item more, of as many ratings as usual, all of the value that is farthest
    from what most items have: the lowest, the highest or the rarest one.
    """
    rated = ratings.counts.sum(axis=1)
    usual = max(round(float(ratings.items @ rated / ratings.items.sum())), 2)
    last = len(ratings.values) - 1
    rarest = int((ratings.items @ ratings.counts).argmin())
    more = np.zeros((3, last + 1), dtype=ratings.counts.dtype)
    more[range(3), [0, last, rarest]] = usual
    both = Ratings(
        ratings.values,
        np.concatenate([ratings.counts, more]),
        np.concatenate([ratings.items, np.zeros(3, dtype=ratings.items.dtype)]),
    )
    items = np.concatenate([np.tile(ratings.items, (3, 1)), np.eye(3, dtype=np.int64)], axis=1)
    return max(float(alphas(items, both, scale).max()) - value, 0.0)


def _interval(value: float, spread: float, level: float, items: int, least: float) -> Interval:
    """The value with Student's interval for so many items, on Fisher's scale; ``least`` stands for the lower end where
    all agree.
    """
    if value >= 1:
        return Interval(value, min(value, least), value, level, "asymptotic")
    middle = math.atanh(max(value, -1 + 1e-6))
    reach = student_quantile(level, items - 1) * spread / (1 - math.tanh(middle) ** 2)
    lower, upper = math.tanh(middle - reach), math.tanh(middle + reach)
    return Interval(value, min(lower, value), max(upper, value), level, "asymptotic")


def alphas(items: Array, ratings: Ratings, scale: Scale) -> Array:
    """Krippendorff's alpha of several draws of items.

    items : how many items of each kind a draw has, shape (draw, kind). ratings, scale : as of `agreement`. Returns
    alpha, shape (draw,), NaN where all ratings of a draw are the same.

    >>> alphas(np.array([[2, 2], [4, 0]]), Ratings.of(np.array([[0, 1, 0, 1], [0, 1, 0, 1.0]])), "nominal").tolist()
    [1.0, nan]
    """
    items, counts = items.astype(float), ratings.counts.astype(float)
    rated = counts.sum(axis=1)
    by_value = items @ counts  # (draw, value)
    n = by_value.sum(axis=1)
    if scale == "nominal":
        within = rated**2 - (counts**2).sum(axis=1)
        apart = items @ (within / (rated - 1))
        expected = (n**2 - (by_value**2).sum(axis=1)) / (n - 1)
    else:
        x = ratings.values[None] if scale == "interval" else _middle_ranks(by_value)
        first, second = x @ counts.T, (x**2) @ counts.T  # (draw, kind)
        within = 2 * (rated * second - first**2) / (rated - 1)
        apart = (items * within).sum(axis=1)
        sums, squares = (by_value * x).sum(axis=1), (by_value * x**2).sum(axis=1)
        expected = 2 * (n * squares - sums**2) / (n - 1)
    out: Array = 1 - np.divide(apart, expected, out=np.full_like(n, np.nan), where=expected > 0)
    return out


def _middle_ranks(by_value: Array) -> Array:
    """The middle rank of each value, by how often each comes, shape (draw, value)."""
    ranks: Array = np.cumsum(by_value, axis=1) - by_value / 2
    return ranks


def _with_vote(counts: Array) -> Array:
    """Ratings of an item, the sum and the sum of squares of their agreement with the vote of its others; (3, kind)."""
    sums = np.zeros((3, len(counts)))
    sums[0] = counts.sum(axis=1)
    for value in range(counts.shape[1]):
        others = counts.copy()
        others[:, value] -= 1
        best = others.max(axis=1)
        tied = (others == best[:, None]).sum(axis=1)
        wins = (others[:, value] == best) & (best > 0)
        agreement = np.where(wins, 1 / tied, 0)
        sums[1:] += counts[:, value] * np.stack([agreement, agreement**2])
    return sums


def vote(ratings: Array) -> tuple[Array, Array]:
    """The most frequent rating of each item, NaN where two are equally frequent, and its share of the ratings; both
    of shape (item,), of ratings of shape (rater, item) with NaN for none.

    >>> [part.tolist() for part in vote(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, np.nan]]))]
    [[1.0, nan], [0.6666666666666666, 0.5]]
    """
    values = np.unique(ratings[np.isfinite(ratings)])
    counts = np.stack([(ratings == value).sum(axis=0) for value in values])
    best, rated = counts.max(axis=0), counts.sum(axis=0)
    winner = values[counts.argmax(axis=0)]
    is_tied = ((counts == best).sum(axis=0) > 1) | (best == 0)
    share = np.divide(best, rated, out=np.full(len(best), np.nan), where=rated > 0)
    return np.where(is_tied, np.nan, winner), share
