"""Cells: sums of gradients by column and bin, and the split of them that gains most, for growing trees."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .compiled import is_compiled, passes


def cell_sums(codes: Array, rows: Array, gradient: Array, curvature: Array, bins: int) -> Array:
    """Sums over ``rows`` of gradient, curvature and 1 by (column, bin), shape (column, bin, 3).

    codes are int32 bin numbers, shape (sample, column), C-contiguous; rows int64 sample numbers; gradient and curvature
    float64, shape (sample,). Each cell is summed in the order of the rows. `ValueError` for numbers that are none of
    the bins or samples.

    >>> codes = np.array([[0], [1], [1]], dtype=np.int32)
    >>> cell_sums(codes, np.array([0, 1, 2]), np.array([1.0, 2.0, 3.0]), np.ones(3), 2).tolist()
    [[[1.0, 1.0, 1.0], [5.0, 2.0, 2.0]]]
    """
    if not is_compiled():
        return _plain_sums(codes, rows, gradient, curvature, bins)
    cells = np.zeros((codes.shape[1], bins, 3))
    passes.cell_sums(codes, rows, gradient, curvature, cells)
    return cells


def _plain_sums(codes: Array, rows: Array, gradient: Array, curvature: Array, bins: int) -> Array:
    columns = codes.shape[1]
    there = codes if len(rows) == len(codes) else codes[rows]
    if there.size and not (there.min() >= 0 and there.max() < bins):
        raise ValueError(f"codes: expected numbers below {bins}")
    places = np.add(there, np.arange(columns) * bins, dtype=np.intp).ravel()
    size = columns * bins
    cells = np.empty((3, size))
    for cell, values in zip(cells, (gradient, curvature), strict=False):
        cell[:] = np.bincount(places, np.repeat(values[rows], columns), size)
    cells[2] = np.bincount(places, minlength=size)
    return np.moveaxis(cells.reshape(3, columns, bins), 0, -1)


def best_split(
    cells: Array, total: tuple[float, float], limits: tuple[float, float, float], *, is_root: bool
) -> tuple[int, int, tuple[float, float]] | None:
    """Column and bin of the first best split, and gradient and curvature of its left side; None where none is allowed
    or brings anything.

    A split gains G_l^2 / H_l + G_r^2 / H_r - G^2 / H; ``total`` is (G, H) of the node. ``limits``: fewest rows and
    least curvature of a side, and what is added to every divisor.

    >>> cells = np.array([[[1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]]])
    >>> best_split(cells, (0.0, 2.0), (1, 0.001, 0.0), is_root=True)
    (0, 0, (1.0, 1.0))
    """
    bins = cells.shape[1]
    if is_compiled():
        low = np.empty(2)
        place = passes.best_split(cells, np.array(total), np.array(limits, dtype=np.float64), low, is_root)
        return None if place < 0 else (place // bins, place % bins, (float(low[0]), float(low[1])))
    return _plain_split(cells, total, limits, is_root)


def _plain_split(
    cells: Array, total: tuple[float, float], limits: tuple[float, float, float], is_root: bool
) -> tuple[int, int, tuple[float, float]] | None:
    (gradient, curvature), (least_rows, least_curvature, tiny) = total, limits
    low_gradient, low_curvature, low_rows = np.moveaxis(np.cumsum(cells, axis=1), -1, 0)
    high_gradient, high_curvature = gradient - low_gradient, curvature - low_curvature
    allowed = (low_rows >= least_rows) & (low_rows[0, -1] - low_rows >= least_rows)
    allowed &= (low_curvature >= least_curvature) & (high_curvature >= least_curvature)
    # what the node loses undivided; the same for all its splits, and left out of the root's
    gain = 0.0 if is_root else gradient * (-gradient / (curvature + tiny))
    # an empty side has no curvature to divide by; no such split is allowed
    left = low_gradient * (-low_gradient / np.where(allowed, low_curvature + tiny, 1.0))
    right = high_gradient * (-high_gradient / np.where(allowed, high_curvature + tiny, 1.0))
    gains = np.where(allowed, gain - left - right, 0.0)
    place = np.unravel_index(int(gains.argmax()), gains.shape)
    if gains[place] <= 0:
        return None
    return int(place[0]), int(place[1]), (float(low_gradient[place]), float(low_curvature[place]))
