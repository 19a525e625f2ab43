"""Gradient boosting of small trees on binned columns, for two classes: the domain classifier's other learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array

__all__ = ["fit_boosting"]

_TREES, _DEPTH, _BINS, _RATE = 50, 3, 64, 0.1
_LEAST_ROWS = 20  # of a leaf
_LEAST_CURVATURE = 1e-3
_TINY = 1e-15


@dataclass(frozen=True)
class _Split:
    """Rows whose bin in ``column`` is at most ``bin`` go to the left child; either child may be a leaf's value."""

    column: int
    bin: int
    left: _Split | float
    right: _Split | float


@dataclass(frozen=True)
class _Sums:
    """Gradients, curvatures and rows, each of shape (column, bin)."""

    gradient: Array
    curvature: Array
    rows: Array

    def without(self, other: _Sums) -> _Sums:
        """What is left for the other child."""
        return _Sums(self.gradient - other.gradient, self.curvature - other.curvature, self.rows - other.rows)


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
    places = np.ascontiguousarray(codes.T) + np.arange(x.shape[1]) * _BINS  # (sample, column), one number a cell
    share = y.mean()
    start = float(np.log(share / (1 - share)))
    odds = np.full(len(y), start)
    trees = []
    for _ in range(_TREES):
        chance = 1 / (1 + np.exp(-odds))
        # single precision as in the library: sums of halves and quarters would tie in another way
        gradient = (chance - y).astype(np.float32)
        curvature = (chance * (1 - chance)).astype(np.float32)
        trees.append(_Grower(codes, places, gradient, curvature, odds).tree())

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

    def __init__(self, codes: Array, places: Array, gradient: Array, curvature: Array, odds: Array) -> None:
        self._codes, self._places, self._odds = codes, places, odds
        self._gradient, self._curvature = gradient.astype(np.float64), curvature.astype(np.float64)

    def tree(self) -> _Split | float:
        """The tree; sums are taken in the library's order, so that splits which are equally good fall alike."""
        rows = np.arange(len(self._odds))
        sums = self._sums(rows)
        total = float(sums.gradient[0].sum()), float(sums.curvature[0].sum())
        return self._grow(rows, sums, total, _DEPTH)

    def _sums(self, rows: Array) -> _Sums:
        columns = len(self._codes)
        places = self._places[rows].ravel() if len(rows) < len(self._odds) else self._places.ravel()
        size, shape = columns * _BINS, (columns, _BINS)
        made = [
            np.bincount(places, np.repeat(values[rows], columns), size).reshape(shape)
            for values in (self._gradient, self._curvature)
        ]
        return _Sums(made[0], made[1], np.bincount(places, minlength=size).reshape(shape))

    def _grow(self, rows: Array, sums: _Sums | None, total: tuple[float, float], depth: int) -> _Split | float:
        found = None if sums is None or len(rows) < 2 * _LEAST_ROWS else _best(sums, *total, is_root=depth == _DEPTH)
        if found is None:
            value = -_RATE * (total[0] / (total[1] + _TINY))
            self._odds[rows] += value
            return value
        column, cut, below = found
        above = total[0] - below[0], total[1] - below[1]
        goes = self._codes[column][rows] <= cut
        left, right = rows[goes], rows[~goes]
        one: _Sums | None = None
        other: _Sums | None = None
        if depth > 1:  # leaves need their totals alone
            small_left = len(left) < len(right)
            small = self._sums(left if small_left else right)
            large = sums.without(small) if sums is not None else small
            one, other = (small, large) if small_left else (large, small)
        return _Split(column, cut, self._grow(left, one, below, depth - 1), self._grow(right, other, above, depth - 1))


def _best(sums: _Sums, gradient: float, curvature: float, is_root: bool) -> tuple[int, int, tuple[float, float]] | None:
    """Column and bin of the first best split, and the totals of its left side; None where none is allowed or brings
    anything.
    """
    low_gradient, low_curvature, low_rows = (
        np.cumsum(part, axis=1) for part in (sums.gradient, sums.curvature, sums.rows)
    )
    high_gradient, high_curvature = gradient - low_gradient, curvature - low_curvature
    allowed = (low_rows >= _LEAST_ROWS) & (low_rows[0, -1] - low_rows >= _LEAST_ROWS)
    allowed &= (low_curvature >= _LEAST_CURVATURE) & (high_curvature >= _LEAST_CURVATURE)
    # what the node loses undivided; the same for all its splits, and left out of the root's
    gain = 0.0 if is_root else gradient * (-gradient / (curvature + _TINY))
    # an empty side has no curvature to divide by; no such split is allowed
    left = low_gradient * (-low_gradient / np.where(allowed, low_curvature + _TINY, 1.0))
    right = high_gradient * (-high_gradient / np.where(allowed, high_curvature + _TINY, 1.0))
    gains = np.where(allowed, gain - left - right, 0.0)
    place = int(gains.argmax())
    if gains.flat[place] <= 0:
        return None
    return place // _BINS, place % _BINS, (float(low_gradient.flat[place]), float(low_curvature.flat[place]))
