"""Target prior: the class shares of the target that explain the cells that are seen, and how well they explain them."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from statistics import NormalDist, median
from typing import Any

import numpy as np

from ..arrays import Array
from .label_counts import LabelCounts, count_labels

__all__ = [
    "Conditionals",
    "LabelCounts",
    "LabelShiftFit",
    "ShiftTest",
    "conditionals",
    "count_labels",
    "fit_prior",
    "g_statistic",
    "label_shift_test",
    "no_shift_test",
    "recall_of",
    "redraw_reference",
]

_PSEUDO_ROWS = 1.0  # what smoothing adds to each class
_DENSE = 4_000  # pairs of (cell, class) up to which a dense table is faster than a sparse one
_FEW_COLUMNS = 32
_FEWEST_COLUMNS = 4  # column by column is quickest
POOLED_BELOW = 5  # reference rows: P(cell | class) is no more than smoothing below
_IN_CACHE = 16_000  # numbers, draws times cells, that stay in the cache as they are
_TINY = 1e-300
_LEVEL = 0.05
_BAD_RATIO = 2.0
_BAD_DEVIATION = 5.0  # standard deviations of the null distribution


class Conditionals:
    """P(cell | class) for one or several draws of the reference, dense or sparse, with its two products.

    Parameters
    ----------
    table : dense, shape (cell, class), shared by all draws, or (draw, cell, class); or a sparse block-diagonal matrix
        of shape (draw * cell, draw * class).
    base : where given, shape (cell,), a part that all classes share.
    lift : weight of ``base`` in each class, shape (draw, class).
    scale : factor of each class's column, shape (draw, class).
    """

    def __init__(
        self, table: Any, *, base: Array | None = None, lift: Array | None = None, scale: Array | None = None
    ) -> None:
        self.table, self.base, self.lift, self.scale = table, base, lift, scale
        self._turned = table.T.tocsr() if hasattr(table, "tocsr") else None
        few = self._turned is None and table.ndim == 2 and table.shape[1] <= _FEWEST_COLUMNS
        self._columns: Array | None = np.ascontiguousarray(table.T) if few else None

    def by_draw(self) -> list[Conditionals]:
        """One for each draw where all share a large table, so that a draw's cells stay in the cache; else itself."""
        if self._columns is None or self.scale is None or self.base is not None:
            return [self]
        out = []
        for scale in self.scale if len(self.scale) * len(self.table) > _IN_CACHE else ():
            one = copy(self)
            one.scale = scale[None]
            out.append(one)
        return out or [self]

    def mix(self, prior: Array) -> Array:
        """P(cell) under class priors of shape (draw, class); shape (draw, cell)."""
        scaled = prior if self.scale is None else prior * self.scale
        if self._turned is not None:
            out = (self.table @ scaled.ravel()).reshape(len(prior), -1)
        elif self._columns is not None:
            out = scaled[:, :1] * self._columns[0]
            for k in range(1, len(self._columns)):
                out += scaled[:, k : k + 1] * self._columns[k]
        elif self.table.ndim == 2:
            out = _product("dk,ck->dc", scaled, self.table)
        else:
            out = np.matmul(self.table, scaled[:, :, None])[:, :, 0]
        if self.base is not None and self.lift is not None:
            out = out + np.sum(prior * self.lift, axis=1, keepdims=True) * self.base
        made: Array = out
        return made

    def pull(self, ratio: Array) -> Array:
        """sum_cell ratio P(cell | class): (draw, cell) to (draw, class)."""
        if self._turned is not None:
            out = (self._turned @ ratio.ravel()).reshape(len(ratio), -1)
        elif self._columns is not None:
            out = np.einsum("dc,kc->dk", ratio, self._columns)
        elif self.table.ndim == 2:
            out = _product("dc,ck->dk", ratio, self.table)
        else:
            out = np.matmul(ratio[:, None, :], self.table)[:, 0, :]
        if self.scale is not None:
            out = out * self.scale
        if self.base is not None and self.lift is not None:
            out = out + self.lift * (ratio @ self.base)[:, None]
        made: Array = out
        return made


def _product(form: str, left: Array, right: Array) -> Array:
    """A matrix product; with few columns without BLAS, whose threads cost more than they bring there."""
    out: Array = np.einsum(form, left, right, optimize=right.shape[1] > _FEW_COLUMNS)
    return out


def conditionals(label_counts: LabelCounts, pair_rows: Array | None = None) -> Conditionals:
    """P_S(cell | class), smoothed by one pseudo-row a class.

    A share acc_S of the pseudo-row of class y goes to the cells of predicted class y, the rest to all cells, each in
    proportion to the reference's rows, so that no cell is impossible and a class of two rows is not taken at its word.
    ``pair_rows``, shape (draw, pair), gives redrawn counts in place of the reference's own.
    """
    rows = label_counts.pair_rows[None].astype(np.float64) if pair_rows is None else pair_rows
    draws, size, classes = len(rows), len(label_counts), label_counts.classes
    by_label = np.stack([np.bincount(label_counts.pair_label, r, classes) for r in rows])
    weight = 1 / (by_label + _PSEUDO_ROWS)
    base = (label_counts.rows + 0.5) / (label_counts.total + 0.5 * size)
    own = label_counts.owner >= 0
    accuracy = min(label_counts.hits.sum() / label_counts.total, 1 - 0.5 / label_counts.total)
    within = base[own] / label_counts.by_prediction(base)[label_counts.owner[own]]
    own_cell, own_label = np.flatnonzero(own), label_counts.owner[own]
    lift = _PSEUDO_ROWS * (1 - accuracy) * weight
    if size * classes <= _DENSE:
        table = np.zeros((draws, size, classes))
        table[:, label_counts.pair_cell, label_counts.pair_label] = rows
        table[:, own_cell, own_label] += _PSEUDO_ROWS * accuracy * within
        table += _PSEUDO_ROWS * (1 - accuracy) * base[:, None]
        return Conditionals(table * weight[:, None, :])
    from scipy.sparse import csr_array

    cell = np.concatenate([label_counts.pair_cell, own_cell])
    label = np.concatenate([label_counts.pair_label, own_label])
    pseudo = np.broadcast_to(_PSEUDO_ROWS * accuracy * within, (draws, len(own_cell)))
    value = np.concatenate([rows, pseudo], axis=1) * weight[:, label]
    at = np.arange(draws)[:, None]
    blocks = csr_array(
        (value.ravel(), ((cell + at * size).ravel(), (label + at * classes).ravel())),
        shape=(draws * size, draws * classes),
    )
    return Conditionals(blocks, base=base, lift=lift)


def fit_prior(
    given: Conditionals, counts: Array, start: Array, *, tolerance: float = 1e-9, most_cycles: int = 500
) -> Array:
    """Maximum-likelihood class prior q of multinomial counts with P(cell) = sum_y q_y P(cell | y).

    EM, q_y <- q_y sum_b (n_b / n) P(b | y) / P_q(b), extrapolated by SQUAREM (Varadhan and Roland 2008); the likelihood
    is concave and never falls. For each draw of ``given``: ``counts`` (or weights), shape (draw, cell), and a
    ``start``, shape (draw, class), positive where a class is possible; a class that starts at 0 stays there. Returns
    priors, shape (draw, class).

    Source: Saerens et al. (2002) for the EM; with binned outputs Lipton et al. (2018), Alexandari et al. (2020).

    >>> table = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> fit_prior(Conditionals(table), np.array([[55, 45]]), np.array([[0.5, 0.5]])).round(3).tolist()
    [[0.5, 0.5]]
    """
    share = counts / counts.sum(axis=1, keepdims=True)
    parts = given.by_draw()
    shares = [share] if len(parts) == 1 else [one[None] for one in share]

    def step(prior: Array, judge: bool = True) -> tuple[Array, Array]:
        priors = [prior] if len(parts) == 1 else [one[None] for one in prior]
        made = [_em_step(*one, judge) for one in zip(parts, shares, priors, strict=True)]
        return np.concatenate([new for new, _ in made]), np.concatenate([fit for _, fit in made])

    prior: Array = start / start.sum(axis=1, keepdims=True)
    for _ in range(most_cycles):
        one, _ = step(prior, judge=False)
        two, fit_one = step(one)
        first, second = one - prior, two - 2 * one + prior
        if np.abs(two - one).sum(axis=1).max() < tolerance:
            return two
        norm = np.linalg.norm(second, axis=1)
        stride = np.maximum(np.linalg.norm(first, axis=1) / np.maximum(norm, _TINY), 1.0)[:, None]
        far = prior + 2 * stride * first + np.minimum(stride, 1e8) ** 2 * second
        far = np.maximum(far, 0.01 * two)  # stays inside, and may come near 0 by a factor of 100 a cycle
        three, fit_far = step(far / far.sum(axis=1, keepdims=True))
        prior = np.where((np.isfinite(fit_far) & (fit_far >= fit_one))[:, None], three, two)
    return prior


def _em_step(given: Conditionals, share: Array, prior: Array, judge: bool) -> tuple[Array, Array]:
    """The next prior of each draw, shape (draw, class); to be judged, the mean log-likelihood of this one, (draw,)."""
    mixed = given.mix(prior)
    np.maximum(mixed, _TINY, out=mixed)
    new = prior * given.pull(share / mixed)
    fit = np.einsum("dc,dc->d", share, np.log(mixed, out=mixed)) if judge else np.empty(0)
    return new / new.sum(axis=1, keepdims=True), fit


@dataclass(frozen=True, eq=False)
class ShiftTest:
    """A likelihood-ratio statistic G beside its null distribution from a seeded parametric bootstrap.

    >>> test = ShiftTest(12.0, np.array([3.0, 4.0, 5.0]))
    >>> test.ratio, test.p_value
    (3.0, 0.25)
    """

    statistic: float
    null: Array

    @property
    def null_median(self) -> float:
        """Median of the statistic where the hypothesis holds."""
        return float(median(self.null.tolist()))  # that of numpy would import masked arrays

    @property
    def ratio(self) -> float:
        """Statistic over its null median: near 1 where the hypothesis explains what is seen."""
        return self.statistic / max(self.null_median, 1e-9)

    @property
    def p_value(self) -> float:
        """(1 + number of null draws at least as large) / (1 + draws)."""
        return (1 + int(np.count_nonzero(self.null >= self.statistic))) / (1 + len(self.null))

    @property
    def is_misfit(self) -> bool:
        """Whether the hypothesis is refuted: p below 0.05, and twice the null median or five standard deviations above
        the null mean (of many cells, a ratio near 1 may be far beyond chance, and a small excess means little).
        """
        beyond = (self.statistic - float(self.null.mean())) / max(float(self.null.std()), 1e-9)
        return (self.ratio > _BAD_RATIO or beyond > _BAD_DEVIATION) and self.p_value < _LEVEL

    @property
    def tail_p_value(self) -> float:
        """p-value from the gamma distribution with the null's mean and variance, for where draws are too few.

        A bootstrap of 100 draws never says less than 0.01, which no correction for many looks survives. By the cube
        root transformation of Wilson and Hilferty (1931).

        >>> draws = np.random.default_rng(0).gamma(5, 2, 100)
        >>> [round(ShiftTest(g, draws).tail_p_value, 1) for g in (10.0, 40.0)]
        [0.4, 0.0]
        """
        mean, variance = float(self.null.mean()), float(self.null.var(ddof=1))
        if mean <= 0 or variance <= 0:
            return float(self.statistic <= mean)
        shape = mean * mean / variance
        z = ((max(self.statistic, 0.0) / mean) ** (1 / 3) - 1 + 1 / (9 * shape)) * 3 * shape**0.5
        return NormalDist().cdf(-z)

    def to_dict(self) -> dict[str, float]:
        """Plain figures, for the details of an estimate."""
        return {
            "statistic": self.statistic,
            "null_median": self.null_median,
            "ratio": self.ratio,
            "p_value": self.p_value,
        }


@dataclass(frozen=True, eq=False)
class LabelShiftFit(ShiftTest):
    """`label_shift_test`: also the fitted prior, shape (class,), and what both became in each draw.

    ``priors`` and ``recalls``, shape (draw, class), are the refitted priors and P(correct | class) of the redrawn
    references; ``recall``, shape (class,), that of the reference itself.
    """

    prior: Array
    recall: Array
    priors: Array
    recalls: Array

    @property
    def accuracy(self) -> float:
        """sum_y q_y P_S(correct | y)."""
        return float(self.prior @ self.recall)

    @property
    def accuracies(self) -> Array:
        """The same in each draw, shape (draw,)."""
        out: Array = np.sum(self.priors * self.recalls, axis=1)
        return out


def g_statistic(counts: Array, expected: Array) -> Array:
    """2 sum n log(n / e) along the last axis; cells without samples count 0.

    >>> float(g_statistic(np.array([3.0, 0.0]), np.array([3.0, 1.0])))
    0.0
    """
    ratio = np.where(counts > 0, counts, 1.0) / np.where(counts > 0, np.maximum(expected, _TINY), 1.0)
    out: Array = 2 * np.sum(counts * np.log(ratio), axis=-1)
    least: Array = np.asarray(np.maximum(out, 0.0))
    return least


def label_shift_test(
    label_counts: LabelCounts, counts: Array, *, seed: int = 0, draws: int | None = None
) -> LabelShiftFit:
    """Can a change of the class prior alone explain the target's cell counts? Fit, G test and bootstrap.

    q = `fit_prior` on P_S(cell | class); G = 2 sum_b n_b log(n_b / (n P_q(b))), cells of fewer than 5 reference rows
    taken together. The null distribution redraws both
    samples: the reference's counts from themselves, the target's from P_q, and refits q each time; so it knows that P_S
    is an estimate. The draws of q serve for intervals, too.

    ``label_counts`` are the reference's (`count_labels`), ``counts`` the target's in its cells, shape (cell,);
    ``draws`` is 100 by default, and 30 where there are many cells and classes.

    >>> from oodometer import Predictions
    >>> label_counts = count_labels(Predictions.from_classes([0] * 90 + [1] * 110, label=[0] * 80 + [1] * 120))
    >>> fit = label_shift_test(label_counts, np.array([45, 55, 0]))
    >>> fit.prior.round(1).tolist(), fit.p_value > 0.05
    ([0.4, 0.6], True)
    """
    rng = np.random.default_rng([seed, 41])
    if draws is None:
        draws = 100 if len(label_counts) * label_counts.classes <= _DENSE else 30
    total = int(counts.sum())
    start = label_counts.prior[None]
    given = conditionals(label_counts)
    prior = fit_prior(given, counts[None], start)
    mixed = given.mix(prior)[0]
    pools = np.where(label_counts.rows >= POOLED_BELOW, np.arange(len(label_counts)), -1)
    pools = np.unique(pools, return_inverse=True)[1]
    statistic = float(pooled_statistic(counts[None], total * mixed[None], pools)[0])

    redrawn, recalls = redraw_reference(label_counts, draws, rng)
    target = rng.multinomial(total, mixed / mixed.sum(), size=draws)
    again = conditionals(label_counts, redrawn)
    begin = np.repeat(0.9 * prior + 0.1 * start, draws, axis=0)
    priors = fit_prior(again, target, begin, tolerance=1e-5, most_cycles=60)
    null = pooled_statistic(target, total * again.mix(priors), pools)
    return LabelShiftFit(statistic, null, prior[0], recall_of(label_counts), priors, recalls)


def pooled_statistic(counts: Array, expected: Array, pools: Array) -> Array:
    """`g_statistic` of counts and expectations, shape (draw, cell), added up by pool."""
    size = int(pools.max()) + 1
    both = [np.stack([np.bincount(pools, row, size) for row in rows]) for rows in (counts, expected)]
    return g_statistic(both[0], both[1])


def recall_of(label_counts: LabelCounts) -> Array:
    """P_S(correct | class), shape (class,); the reference's accuracy for a class without rows.

    >>> from oodometer import Predictions
    >>> recall_of(count_labels(Predictions.from_classes([0, 0, 1], label=[0, 1, 1]))).tolist()
    [1.0, 0.5]
    """
    rows = label_counts.rows_by_label
    overall = label_counts.hits.sum() / label_counts.total
    out: Array = np.where(rows > 0, label_counts.hits_by_label / np.maximum(rows, 1), overall)
    return out


def redraw_reference(label_counts: LabelCounts, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Bootstrap of the reference: redrawn pair counts, shape (draw, pair), and their recalls, shape (draw, class).

    Counts are Poisson about the reference's own. Recalls are add-half smoothed: a class without errors on the reference
    is not certain to have none.
    """
    hits = rng.poisson(label_counts.pair_hits, size=(draws, len(label_counts.pair_hits)))
    misses = rng.poisson(label_counts.pair_rows - label_counts.pair_hits, size=hits.shape)
    classes, label = label_counts.classes, label_counts.pair_label
    rows_of = np.stack([np.bincount(label, r, classes) for r in hits + misses])
    lost = rows_of[:, label] == 0  # a class of one or two rows that no draw may lose
    hits, misses = (
        np.where(lost, label_counts.pair_hits, hits),
        np.where(lost, label_counts.pair_rows - label_counts.pair_hits, misses),
    )
    rows_of = np.stack([np.bincount(label, r, classes) for r in hits + misses])
    hits_of = np.stack([np.bincount(label, r, classes) for r in hits])
    recall = (hits_of + 0.5 * (rows_of > 0)) / np.maximum(rows_of + 1 * (rows_of > 0), 1)
    return (hits + misses).astype(np.float64), np.where(rows_of > 0, recall, recall_of(label_counts))


def no_shift_test(reference: Array, target: Array, *, seed: int = 0, draws: int = 100) -> ShiftTest:
    """Do reference and target fall into the cells alike? G test of homogeneity with bootstrap null.

    G = 2 sum over both samples and all cells of n log(n / e), e from the pooled shares; the null draws both samples
    from these. ``reference`` and ``target`` are counts, shape (cell,).

    >>> alike = no_shift_test(np.array([500, 300, 200]), np.array([251, 148, 101]))
    >>> moved = no_shift_test(np.array([500, 300, 200]), np.array([100, 150, 250]))
    >>> alike.p_value > 0.5, moved.p_value < 0.02, moved.ratio > 50
    (True, True, True)
    """
    rng = np.random.default_rng([seed, 43])

    def statistic(a: Array, b: Array) -> Array:
        pooled = (a + b) / (a + b).sum(axis=-1, keepdims=True)
        return g_statistic(a, a.sum(axis=-1, keepdims=True) * pooled) + g_statistic(
            b, b.sum(axis=-1, keepdims=True) * pooled
        )

    first, second = reference[None].astype(np.float64), target[None].astype(np.float64)
    pooled = (first + second)[0] / (first + second).sum()
    null = statistic(
        rng.multinomial(int(first.sum()), pooled, size=draws).astype(np.float64),
        rng.multinomial(int(second.sum()), pooled, size=draws).astype(np.float64),
    )
    return ShiftTest(float(statistic(first, second)[0]), null)
