"""Top: the two highest entries of each row and other row-wise figures, in one pass; and a hash of each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from .threads import FEW_CLASSES, FLOATS, THREADED_VALUES, by_chunks, passes

__all__ = [
    "FEW_CLASSES",
    "RowStatistics",
    "Top",
    "look_over",
    "row_statistics",
    "row_sums",
    "top_two",
]


def mix(bits: Array) -> Array:
    """A bijective scramble of 64-bit integers (the splitmix64 finalizer), so that low bits look random."""
    with np.errstate(over="ignore"):
        x = bits.astype(np.uint64)
        x ^= x >> np.uint64(30)
        x *= np.uint64(0xBF58476D1CE4E5B9)
        x ^= x >> np.uint64(27)
        x *= np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return x


def row_hash(*columns: Array, seed: int = 0) -> Array:
    """A 64-bit hash of each sample's content, so that folds and samples do not depend on the order of rows; uint64.

    columns : arrays of one length, the sample axis first; rows that are equal in all of them get equal hashes.
    seed : another one gives other hashes.

    >>> hashes = row_hash(np.array([1.0, 2.0, 1.0]), np.array([0, 0, 0]))
    >>> bool(hashes[0] == hashes[2]), bool(hashes[0] == hashes[1])
    (True, False)
    """
    total = np.full(len(columns[0]), seed, dtype=np.uint64)
    salt = np.random.default_rng(20)
    with np.errstate(over="ignore"):
        for column in columns:
            flat = np.ascontiguousarray(column).reshape(len(column), -1)
            if flat.dtype.kind == "f":
                flat = flat.astype(np.float64, copy=False).view(np.uint64)
            else:
                flat = flat.astype(np.int64, copy=False).view(np.uint64)
            for k in range(flat.shape[1]):
                odd = np.uint64(salt.integers(1, 2**63, dtype=np.uint64) | np.uint64(1))
                total = total + (flat[:, k] ^ (flat[:, k] >> np.uint64(29))) * odd
            total = mix(total)
    return total


def entropy_sums(probabilities: Array) -> Array:
    """sum_k p_k log p_k of probabilities with axes (sample, class); shape (sample,), of the same type, never above 0.
    The logarithm of a subnormal number is taken to be that of the smallest normal one, so that 0 log 0 = 0.
    """
    out = np.empty(len(probabilities), dtype=probabilities.dtype)
    if passes is not None and probabilities.dtype in FLOATS and probabilities.shape[1]:

        def run(start: int, stop: int) -> None:
            passes.negative_entropy(
                np.ascontiguousarray(probabilities[start:stop]), out[start:stop]
            )

        by_chunks(run, *probabilities.shape, lock=False)
        return out
    tiny = np.finfo(probabilities.dtype).tiny

    def work(start: int, stop: int) -> None:
        p = probabilities[start:stop]
        logs = np.maximum(p, tiny)
        np.log(logs, out=logs)
        np.minimum(np.einsum("nk,nk->n", p, logs), 0, out=out[start:stop])

    by_chunks(work, *probabilities.shape)
    return out


class Top(NamedTuple):
    """Best class, its value and the second best value, each of shape (sample,)."""

    best: Array
    first: Array
    second: Array


class RowStatistics(NamedTuple):
    """What one pass over (sample, class) sees: smallest value, largest distance of a row sum from 1, and the top."""

    lowest: float
    gap: float
    top: Top


def row_sums(values: Array) -> Array:
    """Sum of each row of ``values``, (sample, class), by einsum: without the threads that a linear-algebra library
    starts for a product.
    """
    return np.asarray(np.einsum("nk->n", values))


def top_two(values: Array) -> Top:
    """The best class (lowest index among ties), its value and the runner-up's, of ``values``, (sample, class). With few
    classes a sweep over transposed columns is 5-10x faster than a reduction along short rows.

    >>> [part.tolist() for part in top_two(np.array([[0.25, 0.75], [0.5, 0.5]]))]
    [[1, 0], [0.75, 0.5], [0.25, 0.5]]
    """
    return row_statistics(values).top


def top_into(out: Top) -> Callable[[Array], Any]:
    """What writes the top of an array of few classes into ``out``: for loops that ask for many of one shape."""
    if passes is None:
        return lambda values: _sweep_columns(values, out)
    return lambda values: passes.row_statistics(np.ascontiguousarray(values), *out)


def row_statistics(values: Array) -> RowStatistics:
    """`top_two` of ``values``, their smallest and the largest distance of a row sum from 1, in one pass over short
    rows. They have shape (sample, class), at least two classes. One that is not finite makes ``gap`` NaN or infinite.
    """
    rows, classes = values.shape
    top = Top(
        np.empty(rows, dtype=np.int32),
        np.empty(rows, dtype=values.dtype),
        np.empty(rows, dtype=values.dtype),
    )
    lows: list[float] = []
    gaps: list[float] = []
    if passes is not None and values.dtype in FLOATS:
        if values.size < THREADED_VALUES:
            low, gap = passes.row_statistics(np.ascontiguousarray(values), *top)
            return RowStatistics(low, gap, top)

        def run(start: int, stop: int) -> None:
            low, gap = passes.row_statistics(
                np.ascontiguousarray(values[start:stop]), *(column[start:stop] for column in top)
            )
            lows.append(low)
            gaps.append(gap)

        by_chunks(run, rows, classes, lock=False)
        return _joined(lows, gaps, top)

    def work(start: int, stop: int) -> None:
        part = values[start:stop]
        look = _sweep_columns if classes <= FEW_CLASSES else _look_along_rows
        with np.errstate(invalid="ignore", over="ignore"):
            low, gap = look(part, Top(*(column[start:stop] for column in top)))
        lows.append(low)
        gaps.append(gap)

    by_chunks(work, rows, classes)
    return _joined(lows, gaps, top)


def look_over(values: Array) -> tuple[float, float, Top | None]:
    """The first two entries of `row_statistics` of ``values``, (sample, class), and the top where the same pass gives
    it for nothing (else None).
    """
    if values.shape[1] <= FEW_CLASSES or (passes is not None and values.dtype in FLOATS):
        return row_statistics(values)
    lows: list[float] = []
    gaps: list[float] = []

    def look(start: int, stop: int) -> None:
        part = values[start:stop]
        with np.errstate(invalid="ignore", over="ignore"):
            gaps.append(np.abs(row_sums(part) - 1).max())  # NaN where a row is not finite
        lows.append(part.min())

    by_chunks(look, *values.shape, threads=False)  # bound by memory: one core does as well as two
    return *_joined(lows, gaps, None)[:2], None


def _joined(lows: list[float], gaps: list[float], top: Any) -> RowStatistics:
    if len(lows) == 1:
        return RowStatistics(float(lows[0]), float(gaps[0]), top)
    return RowStatistics(float(np.min(lows, initial=np.inf)), float(np.max(gaps, initial=0.0)), top)


def _sweep_columns(values: Array, out: Top) -> tuple[float, float]:
    rows, classes = values.shape
    columns = np.ascontiguousarray(values.T)
    first, second = out.first, out.second
    best = np.zeros(rows, dtype=np.int8)
    better = np.empty(rows, dtype=bool)
    is_better = better.view(np.int8)
    low = np.empty_like(columns[0])
    first[:] = columns[0]
    second[:] = -np.inf
    for k in range(1, classes):
        column = columns[k]
        np.greater(column, first, out=better)
        np.minimum(column, first, out=low)
        np.maximum(second, low, out=second)
        np.maximum(first, column, out=first)
        # k rises, so that the larger of (best so far, k where better) is the best: no masked copy needed
        np.multiply(is_better, np.int8(k), out=is_better)
        np.maximum(best, is_better, out=best)
    out.best[:] = best
    np.add.reduce(columns, axis=0, out=low)
    low -= 1
    return columns.min(), np.abs(low, out=low).max()


def _look_along_rows(values: Array, out: Top) -> tuple[float, float]:
    classes = values.shape[1]
    out.best[:] = values.argmax(axis=1)
    out.first[:] = values[np.arange(len(values)), out.best]
    out.second[:] = np.partition(values, classes - 2, axis=1)[:, classes - 2]
    return values.min(), np.abs(row_sums(values) - 1).max()
