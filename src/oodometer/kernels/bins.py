"""Bins and cells: log-odds bins, counts over them, and splits of cells."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..arrays import Array
from .threads import FLOATS, by_chunks, passes

_ROWS_AT_A_TIME = 1 << 15


def tally(
    bins: Array,
    width: int,
    *,
    kinds: Array | None = None,
    of: int = 1,
    verdicts: Array | None = None,
) -> Array:
    """Samples in each cell, int64, axes (kind, bin, verdict): ``of`` kinds, ``width`` bins. bins and kinds have shape
    (sample,); without ``kinds`` all are of kind 0. The last axis has one entry, or two with ``verdicts``: those whose
    verdict is not 1, and those whose verdict is. `ValueError` for a bin or kind that is none.
    """
    last = 1 if verdicts is None else 2
    out = np.zeros((of, width, last), dtype=np.int64)
    for name, values, limit in (("bins", bins, width), ("kinds", kinds, of)):
        if values is not None and len(values) and not (values.min() >= 0 and values.max() < limit):
            raise ValueError(f"{name}: expected numbers from 0 to {limit - 1}")
    flat = out.reshape(-1)
    # small enough for the cache, and not smaller than what is added up
    step = max(_ROWS_AT_A_TIME, flat.size)
    for start in range(0, len(bins), step):
        part = slice(start, start + step)
        code = bins[part]
        if kinds is not None:
            code = code + np.multiply(kinds[part], width, dtype=np.intp)
        if verdicts is not None:
            code = code * 2
            code += verdicts[part] == 1
        flat += np.bincount(code, minlength=flat.size)
    return out


def count_passed(scores: Array, kinds: Array | None, thresholds: Array) -> tuple[Array, Array]:
    """How many scores of each kind reach each of the kind's thresholds, and how many are exactly on it; int64. scores
    and kinds have shape (sample,), thresholds (few) and both results (threshold, kind); without ``kinds`` all are of
    the only one. `ValueError` for a kind that is none.
    """
    threshold_count, of = thresholds.shape
    if kinds is None:
        counted = [
            (np.count_nonzero(scores >= threshold), np.count_nonzero(scores == threshold))
            for threshold in thresholds[:, 0]
        ]
        both = np.array(counted, dtype=np.int64).reshape(threshold_count, 2, 1)
        return both[:, 0], both[:, 1]
    if len(kinds) and not (kinds.min() >= 0 and kinds.max() < of):
        raise ValueError(f"kinds: expected numbers from 0 to {of - 1}")
    # which thresholds a score reaches is one number, so that one count does for all of them
    code = np.left_shift(kinds, threshold_count, dtype=np.intp)
    tied = np.zeros((threshold_count, of), dtype=np.int64)
    for bit, line in enumerate(thresholds):
        cut = np.take(line, kinds)
        code += np.left_shift(scores >= cut, bit, dtype=np.intp)
        equal = scores == cut
        if equal.any():
            tied[bit] = np.bincount(kinds[equal], minlength=of)
    counts = np.bincount(code, minlength=of << threshold_count).reshape(of, *[2] * threshold_count)
    axes = range(threshold_count, 0, -1)  # the first threshold is the lowest bit, the last axis
    reached = [counts.take(1, axis).reshape(of, -1).sum(axis=1) for axis in axes]
    return np.array(reached, dtype=np.int64).reshape(threshold_count, of), tied


def cell_sums(codes: Array, rows: Array, gradient: Array, curvature: Array, bins: int) -> Array:
    """Sums over ``rows`` of gradient, curvature and 1 by (column, bin), shape (column, bin, 3). codes are int32 bin
    numbers, shape (sample, column), C-contiguous; rows int64 sample numbers; gradient and curvature float64, shape
    (sample,). Each cell is summed in the order of the rows. `ValueError` for numbers that are none of the bins or
    samples.
    """
    if passes is None:
        columns = codes.shape[1]
        row_codes = codes if len(rows) == len(codes) else codes[rows]
        if row_codes.size and not (row_codes.min() >= 0 and row_codes.max() < bins):
            raise ValueError(f"codes: expected numbers below {bins}")
        cell_of = np.add(row_codes, np.arange(columns) * bins, dtype=np.intp).ravel()
        size = columns * bins
        cells = np.empty((3, size))
        for cell, values in zip(cells, (gradient, curvature), strict=False):
            cell[:] = np.bincount(cell_of, np.repeat(values[rows], columns), size)
        cells[2] = np.bincount(cell_of, minlength=size)
        return np.moveaxis(cells.reshape(3, columns, bins), 0, -1)
    cells = np.zeros((codes.shape[1], bins, 3))
    passes.cell_sums(codes, rows, gradient, curvature, cells)
    return cells


def grow_tree(
    codes: Array,
    gradient: Array,
    curvature: Array,
    odds: Array,
    *,
    bins: int,
    depth: int,
    rule: tuple[float, float, float, float],
) -> tuple[Array, Array]:
    """Grow a regression tree by Newton steps, and add its values to the ``odds`` of the rows it is grown on.

    codes : bin numbers, int32, shape (sample, column), C-contiguous.
    gradient, curvature, odds : of each row, float64, shape (sample,).
    bins : how many bins a column has.
    depth : splits from the root to a leaf, at most.
    rule : fewest rows and least curvature of a side, what is added to every divisor, the learning rate.

    Returns column and bin of each node, int32, (node, 2), -1 for a leaf, and its value, (node,); the children of node i
    are 2 i + 1 and 2 i + 2, and rows whose bin is at most the node's go to the first. Sums are taken in the order of
    the rows, the larger child's by subtraction: splits that are equally good fall alike everywhere.
    """
    nodes = (2 << depth) - 1
    split, value = np.empty((nodes, 2), dtype=np.int32), np.empty(nodes)
    rows = np.arange(len(odds))
    cells = cell_sums(codes, rows, gradient, curvature, bins)
    total = float(cells[0, :, 0].sum()), float(cells[0, :, 1].sum())
    if passes is not None:
        numbers = np.array([*rule, *total])
        passes.grow_tree(codes, gradient, curvature, cells, numbers, split, value, odds)
        return split, value
    split[:], value[:] = -1, 0.0

    def grow(node: int, rows: Array, cells: Array | None, total: tuple[float, float]) -> None:
        best = None
        if cells is not None and len(rows) >= 2 * rule[0]:
            best = _best_split(cells, total, rule, is_root=node == 0)
        if best is None:
            value[node] = -rule[3] * (total[0] / (total[1] + rule[2]))
            odds[rows] += value[node]
            return
        column, cut, below = best
        split[node] = column, cut
        goes = codes[rows, column] <= cut
        sides: list[Array | None] = [None, None]
        if 4 * node + 6 < nodes:  # leaves need their totals alone
            by_size = [goes, ~goes] if 2 * goes.sum() < len(rows) else [~goes, goes]
            small = cell_sums(codes, rows[by_size[0]], gradient, curvature, bins)
            sides = [small, cells - small] if by_size[0] is goes else [cells - small, small]
        above = total[0] - below[0], total[1] - below[1]
        grow(2 * node + 1, rows[goes], sides[0], below)
        grow(2 * node + 2, rows[~goes], sides[1], above)

    grow(0, rows, cells if depth else None, total)
    return split, value


def _best_split(
    cells: Array,
    total: tuple[float, float],
    rule: tuple[float, float, float, float],
    *,
    is_root: bool,
) -> tuple[int, int, tuple[float, float]] | None:
    """Column and bin of the first best split, and gradient and curvature of its left side; None where none is allowed
    or brings anything. A split gains G_l^2 / H_l + G_r^2 / H_r - G^2 / H.

    cells : sums of gradient, curvature and rows as of `cell_sums`, shape (column, bin, 3).
    total : G and H of the node, the sums over all its rows.
    rule : fewest rows and least curvature of a side, what is added to every divisor, the learning rate.
    is_root : whether the node is the root, of whose gains - G^2 / H is left out: it is the same for all its splits.
    """
    (gradient, curvature), (least_rows, least_curvature, tiny, _) = total, rule
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
    at = np.unravel_index(int(gains.argmax()), gains.shape)
    if gains[at] <= 0:
        return None
    return int(at[0]), int(at[1]), (float(low_gradient[at]), float(low_curvature[at]))


# Bins of equal width in the binary exponent and the leading mantissa bits of min(p, 1 - p): about log-odds. Computed
# with integer shifts, so that binning ten million probabilities costs a few passes and no logarithm.
_MANTISSA_BITS = 4
_OCTAVES = 30
_HALF = _OCTAVES << _MANTISSA_BITS
LOG_ODDS_BINS = 2 * _HALF
_SHIFT = 23 - _MANTISSA_BITS
_TOP_CODE = int(np.float32(0.5).view(np.int32)) >> _SHIFT


def log_odds_bin(probability: Array) -> Array:
    """Bin number of each probability on an almost-log-odds grid of `LOG_ODDS_BINS` bins, increasing; intp. Sixteen bins
    an octave, down to 2**-30 and up to 1 - 2**-30 (float64) or the last float32 below 1.
    """
    flat = np.ascontiguousarray(probability).reshape(-1)
    out = np.empty(len(flat), dtype=np.intp)
    shaped: Array = out.reshape(probability.shape)
    if passes is not None and flat.dtype in FLOATS:
        by_chunks(lambda a, b: passes.log_odds_bin(flat[a:b], out[a:b]), len(flat), 1, lock=False)
        return shaped

    def work(start: int, stop: int) -> None:
        p = flat[start:stop]
        upper = p >= 0.5
        tail = np.where(upper, 1 - p, p).astype(np.float32, copy=False)
        code = tail.view(np.int32)
        code >>= _SHIFT
        code -= _TOP_CODE - _HALF
        np.maximum(code, 0, out=code)
        np.minimum(code, _HALF - 1, out=code)
        out[start:stop] = np.where(upper, LOG_ODDS_BINS - 1 - code, code)

    by_chunks(work, len(flat), 1)
    return shaped


def half_bin(probability: Array, offset: Array | int = 0) -> Array:
    """`log_odds_bin` of a ``probability`` of at most one half, plus an ``offset`` that may differ by entry: a shift of
    the bits, no logarithm; intp, of the shape of both.

    >>> p = np.array([0.01, 0.25])
    >>> bool((half_bin(p, 7) == log_odds_bin(p) + 7).all())
    True
    """
    single = np.ascontiguousarray(probability, dtype=np.float32)
    code = np.right_shift(single.view(np.int32), _SHIFT)
    np.maximum(code, _TOP_CODE - _HALF, out=code)
    np.minimum(code, _TOP_CODE - 1, out=code)
    return np.add(code, np.asarray(offset, dtype=np.intp) - (_TOP_CODE - _HALF), dtype=np.intp)


@cache
def log_odds_centres() -> Array:
    """A representative probability of each bin of `log_odds_bin`, shape (bin,), increasing; not to be written on."""
    codes = np.arange(_HALF) + (_TOP_CODE - _HALF)
    low = (codes << _SHIFT).astype(np.int32).view(np.float32).astype(np.float64)
    high = ((codes + 1) << _SHIFT).astype(np.int32).view(np.float32).astype(np.float64)
    tail = (low + high) / 2
    out = np.concatenate([tail, 1 - tail[::-1]])
    out.flags.writeable = False
    return out


def equal_bin(values: Array, bins: int) -> Array:
    """Which of ``bins`` equal bins over [0, 1] each of the ``values`` lies in; what lies outside belongs to an end.
    Both the values and the result, intp, have shape (sample,).

    >>> equal_bin(np.array([-1.0, 0.0, 0.3, 1.0]), 4).tolist()
    [0, 0, 1, 3]
    """
    scaled = values * bins
    # in the bounds before it is a whole number: of what is not finite none could be made
    return np.asarray(np.fmin(np.fmax(scaled, 0), bins - 1).astype(np.intp))


def pool_adjacent(
    rows: Array, hits: Array, piece: Array | None = None
) -> tuple[Array, Array, Array]:
    """First bin, rows and hits of each block of the isotonic regression of hits / rows, weighted by rows (PAVA).
    rows (above 0) and hits have shape (bin,); the results (block,), with hits / rows strictly rising. ``piece``: the
    number of each bin's piece, shape (bin,); bins of different pieces are never pooled. Counts are added up and
    compared as products, so that the blocks of whole numbers are exact.

    >>> [block.tolist() for block in pool_adjacent(np.array([2, 2, 4]), np.array([1, 0, 3]))]
    [[0, 2], [4.0, 4.0], [1.0, 3.0]]
    >>> pool_adjacent(np.array([2, 2, 4]), np.array([1, 0, 3]), np.array([0, 1, 1]))[0].tolist()
    [0, 1, 2]
    """
    bins = len(rows)
    piece = np.zeros(bins, dtype=np.int64) if piece is None else piece
    if passes is None:
        return _pooled(rows, hits, piece)
    first = np.empty(bins, dtype=np.int64)
    weights, right = np.empty(bins), np.empty(bins)
    counts = (np.ascontiguousarray(values, dtype=np.float64) for values in (rows, hits))
    numbers = np.ascontiguousarray(piece, dtype=np.int64)
    blocks = passes.pool_adjacent(*counts, numbers, first, weights, right)
    return first[:blocks], weights[:blocks], right[:blocks]


def _pooled(rows: Array, hits: Array, piece: Array) -> tuple[Array, Array, Array]:
    """`pool_adjacent` where nothing is compiled."""
    first: list[int] = []
    weights: list[float] = []
    right: list[float] = []
    pieces = piece.tolist()
    pairs = zip(rows.astype(float).tolist(), hits.astype(float).tolist(), strict=True)
    for start, (rows_here, hits_here) in enumerate(pairs):
        here = pieces[start]
        while (
            weights
            and pieces[first[-1]] == here
            and right[-1] * rows_here >= hits_here * weights[-1]
        ):
            rows_here += weights.pop()
            hits_here += right.pop()
            start = first.pop()
        first.append(start)
        weights.append(rows_here)
        right.append(hits_here)
    return np.array(first, dtype=np.int64), np.array(weights), np.array(right)


def off_diagonal_counts(
    probabilities: Array, predicted: Array, width: int, *, is_argmax: bool = True
) -> tuple[Array, Array]:
    """Counts by (class, log-odds bin) of the classes that were not predicted, and their summed probability.
    probabilities have axes (sample, class), predicted (sample,); ``width`` bins, `LOG_ODDS_BINS` or an 8th of them. The
    counts are int64, shape (class, bin); the sums float64, axes (predicted class, class), with a zero diagonal.
    ``is_argmax`` says that every other class has a probability of at most one half, so that a shift of its bits is its
    bin. `ValueError` for predicted classes that are none.
    """
    classes = probabilities.shape[1]
    if passes is None or probabilities.dtype not in FLOATS:
        return _plain(probabilities, predicted, width, is_argmax)
    counts = np.zeros((classes, width), dtype=np.int64)
    mass = np.zeros((classes, classes))
    passes.count_off_diagonal(
        np.ascontiguousarray(probabilities),
        np.ascontiguousarray(predicted, np.int32),
        counts,
        mass,
        is_argmax,
    )
    return counts, mass


def _plain(
    probabilities: Array, predicted: Array, width: int, is_argmax: bool
) -> tuple[Array, Array]:
    from scipy.sparse import csr_matrix

    rows, classes = probabilities.shape
    if rows and not (predicted.min() >= 0 and predicted.max() < classes):
        raise ValueError(f"predicted: expected numbers from 0 to {classes - 1}")
    coarse = LOG_ODDS_BINS // width
    offset = np.arange(classes) * LOG_ODDS_BINS
    counts = np.zeros(classes * width, dtype=np.int64)

    def count(values: Array, shift: Array) -> Array:
        index = half_bin(values, shift) if is_argmax else log_odds_bin(values) + shift
        if coarse > 1:
            index //= coarse
        return np.bincount(index.ravel(), minlength=classes * width)

    def work(start: int, stop: int) -> None:
        nonlocal counts
        counts += count(probabilities[start:stop], offset)

    by_chunks(work, rows, classes, threads=False)
    # the predicted classes were counted with the others and are taken off again: quicker than leaving them out
    counts -= count(probabilities[np.arange(rows), predicted], offset[predicted])
    chosen = csr_matrix(
        (np.ones(rows, dtype=probabilities.dtype), predicted, np.arange(rows + 1)), (rows, classes)
    )
    mass = np.asarray(chosen.T @ probabilities, dtype=np.float64)
    np.fill_diagonal(mass, 0.0)
    return counts.reshape(classes, width), mass
