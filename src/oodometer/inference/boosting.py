"""Gradient boosting of small trees on binned columns, for two classes: the domain classifier's other learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..kernels import best_split, cell_sums

_TREES, _DEPTH, _BINS, _RATE = 50, 3, 64, 0.1
_LEAST_ROWS = 20  # of a leaf
_TINY = 1e-15
_LIMITS = (_LEAST_ROWS, 1e-3, _TINY)  # of a side: rows, curvature; and what is added to every divisor


@dataclass(frozen=True)
class _Split:
    """Rows whose bin in ``column`` is at most ``bin`` go to the left child; either child may be a leaf's value."""

    column: int
    bin: int
    left: _Split | float
    right: _Split | float


def fit_boosting(x: Array, y: Array) -> Callable[[Array], Array]:
    """The function x -> log-odds of class 1: 50 trees of depth 3, each a Newton step of the log-loss times 0.1.

    x has axes (sample, column), y is 0 or 1, shape (sample,). Columns are cut into at most 64 bins with about as many
    rows each; a split maximises G_l^2 / H_l + G_r^2 / H_r - G^2 / H over columns and bins, G and H being sums of
    gradients and curvatures, leaves hold at least 20 rows and the value -0.1 G / H. Nothing in it is drawn at random.
    It gives the numbers of scikit-learn's ``HistGradientBoostingClassifier(max_iter=50, max_depth=3, max_bins=64,
    early_stopping=False)``, up to splits that are equally good.

    Source: Friedman (2001); bins and second order after Chen and Guestrin (2016) and Ke et al. (2017).

    >>> x = np.arange(100.0)[:, None]
    >>> odds = fit_boosting(x, (x[:, 0] >= 50).astype(int))
    >>> odds(np.array([[10.0], [90.0]])).round(1).tolist()
    [-5.7, 5.7]
    """
    cuts = [_cuts(column) for column in x.T]
    codes = _binned(x, cuts)
    by_row = np.ascontiguousarray(codes.T, dtype=np.int32)
    share = y.mean()
    start = float(np.log(share / (1 - share)))
    odds = np.full(len(y), start)
    trees = []
    for _ in range(_TREES):
        chance = 1 / (1 + np.exp(-odds))
        # single precision as in the library: sums of halves and quarters would tie in another way
        gradient = (chance - y).astype(np.float32)
        curvature = (chance * (1 - chance)).astype(np.float32)
        trees.append(_Grower(codes, by_row, gradient, curvature, odds).tree())

    def log_odds(other: Array) -> Array:
        out = np.full(len(other), start)
        found = _binned(other, cuts)
        for tree in trees:
            _add(tree, found, np.arange(len(other)), out)
        return out

    return log_odds


def _cuts(column: Array) -> Array:
    """Between all values where there are few of them, else quantiles, averaged where they fall between two rows."""
    ordered = np.sort(column)
    distinct = _distinct(ordered)
    if len(distinct) <= _BINS:
        return (distinct[:-1] + distinct[1:]) / 2
    place = np.linspace(0, 1, _BINS + 1)[1:-1] * len(ordered)
    whole = np.floor(place).astype(int)
    upper = ordered[np.minimum(whole, len(ordered) - 1)]
    return _distinct(np.where(place == whole, (ordered[whole - 1] + upper) / 2, upper))


def _distinct(ordered: Array) -> Array:
    out: Array = ordered[np.append(True, np.diff(ordered) > 0)]
    return out


def _binned(x: Array, cuts: list[Array]) -> Array:
    """The bin of each value, intp, axes (column, sample)."""
    return np.array([np.searchsorted(c, column) for c, column in zip(cuts, x.T, strict=True)], dtype=np.intp)


def _add(tree: _Split | float, codes: Array, rows: Array, out: Array) -> None:
    """Add the tree's value to those of the rows."""
    if isinstance(tree, float):
        out[rows] += tree
        return
    left = codes[tree.column][rows] <= tree.bin
    _add(tree.left, codes, rows[left], out)
    _add(tree.right, codes, rows[~left], out)


class _Grower:
    """Grows one tree, and adds its values to the log-odds of the rows it is grown on."""

    def __init__(self, codes: Array, by_row: Array, gradient: Array, curvature: Array, odds: Array) -> None:
        self._codes, self._by_row, self._odds = codes, by_row, odds
        self._gradient, self._curvature = gradient.astype(np.float64), curvature.astype(np.float64)

    def tree(self) -> _Split | float:
        """The tree; sums are taken in the library's order, so that splits which are equally good fall alike."""
        rows = np.arange(len(self._odds))
        sums = self._sums(rows)
        total = float(sums[0, :, 0].sum()), float(sums[0, :, 1].sum())
        return self._grow(rows, sums, total, _DEPTH)

    def _sums(self, rows: Array) -> Array:
        return cell_sums(self._by_row, rows, self._gradient, self._curvature, _BINS)

    def _grow(self, rows: Array, sums: Array | None, total: tuple[float, float], depth: int) -> _Split | float:
        found = None
        if sums is not None and len(rows) >= 2 * _LEAST_ROWS:
            found = best_split(sums, total, _LIMITS, is_root=depth == _DEPTH)
        if found is None:
            value = -_RATE * (total[0] / (total[1] + _TINY))
            self._odds[rows] += value
            return value
        column, cut, below = found
        above = total[0] - below[0], total[1] - below[1]
        goes = self._codes[column][rows] <= cut
        left, right = rows[goes], rows[~goes]
        one: Array | None = None
        other: Array | None = None
        if depth > 1:  # leaves need their totals alone
            small_left = len(left) < len(right)
            small = self._sums(left if small_left else right)
            large = sums - small if sums is not None else small
            one, other = (small, large) if small_left else (large, small)
        return _Split(column, cut, self._grow(left, one, below, depth - 1), self._grow(right, other, above, depth - 1))
