"""Batches of sequences of about the same length, so that little is padded; order seeded by epoch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array, Ragged

__all__ = ["length_batches", "padded", "ragged", "sorted_batches"]

POOL = 50  # batches that are sorted by length together: more pads less and shuffles less


def ragged(rows: Sequence[Sequence[int]]) -> Ragged:
    """Lists of token ids as one `Ragged` of int32.

    >>> ragged([[1, 2], [3]]).offsets.tolist()
    [0, 2, 3]
    """
    lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    flat = np.fromiter((one for row in rows for one in row), dtype=np.int32, count=int(offsets[-1]))
    return Ragged(flat, offsets)


def length_batches(lengths: Array, size: int, seed: int, epoch: int) -> list[Array]:
    """Positions of all sequences once, in batches of at most ``size``; same seed and epoch, same batches.

    Sequences are shuffled, sorted by length within pools of 50 batches, cut into batches, and the batches shuffled.

    >>> batches = length_batches(np.array([5, 1, 4, 2]), 2, seed=0, epoch=0)
    >>> sorted(tuple(sorted(batch.tolist())) for batch in batches)
    [(0, 2), (1, 3)]
    """
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths))
    pool = np.arange(len(order)) // (size * POOL)
    order = order[np.lexsort((lengths[order], pool))]
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def sorted_batches(lengths: Array, size: int) -> list[Array]:
    """Positions of all sequences once, longest first, so that memory that does not suffice is found at once."""
    order = np.argsort(-lengths, kind="stable")
    return [order[start : start + size] for start in range(0, len(order), size)]


def padded(sequences: Ragged, index: Array, fill: int, *, least: int = 1) -> tuple[Array, Array]:
    """The sequences at ``index`` as a matrix (sample, position) padded with ``fill``, and the mask of what is real.

    ``least`` is the smallest width of the matrix.

    >>> ids, real = padded(ragged([[7, 8], [9]]), np.array([1, 0]), fill=0)
    >>> ids.tolist(), real.tolist()
    ([[9, 0], [7, 8]], [[True, False], [True, True]])
    """
    starts = sequences.offsets[:-1][index]
    lengths = sequences.offsets[1:][index] - starts
    at = np.arange(max(least, int(lengths.max(initial=0))))
    real = at < lengths[:, None]
    where = np.where(real, starts[:, None] + at, 0)
    values = sequences.values if len(sequences.values) else np.full(1, fill, dtype=np.int32)
    return np.where(real, values[where], fill).astype(np.int64), real
