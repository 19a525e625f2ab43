"""Batches of sequences of about the same length, so that little is padded; order seeded by epoch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Array, Ragged

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


def length_batches(lengths: Array, size: int, seed: int, epoch: int, *, tokens: int | None = None) -> list[Array]:
    """Positions of all sequences once, in batches of at most ``size``; same seed and epoch, same batches.

    Sequences are shuffled, sorted by length within pools of 50 batches, cut into batches, and the batches shuffled.
    With ``tokens`` a batch holds at most so many padded tokens instead (see `token_batches`). ``lengths`` has the shape
    (sample,) or (sample, part); sequences of several parts are sorted by the sum.

    >>> batches = length_batches(np.array([5, 1, 4, 2]), 2, seed=0, epoch=0)
    >>> sorted(tuple(sorted(batch.tolist())) for batch in batches)
    [(0, 2), (1, 3)]
    """
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths))
    whole = lengths if lengths.ndim == 1 else lengths.sum(1)
    if tokens is not None:
        size = max(1, int(tokens // max(1.0, float(whole.mean()))))
    pool = np.arange(len(order)) // (size * POOL)
    order = order[np.lexsort((whole[order], pool))]
    if tokens is None:
        batches = [order[start : start + size] for start in range(0, len(order), size)]
    else:
        batches = token_batches(lengths, order, tokens)
    return [batches[i] for i in rng.permutation(len(batches))]


def token_batches(lengths: Array, order: Array, tokens: int) -> list[Array]:
    """The positions in ``order``, cut into batches of at most ``tokens`` padded tokens; a longer sequence stands alone.

    The padded tokens of a batch are its rows times the greatest length in it; of sequences of several parts, lengths of
    shape (sample, part), rows times the sum over the parts of the greatest length.

    >>> token_batches(np.array([2, 2, 3, 9]), np.arange(4), 6)
    [array([0, 1]), array([2]), array([3])]
    """
    parts = (lengths[:, None] if lengths.ndim == 1 else lengths)[order]
    batches, start = [], 0
    while start < len(order):
        most = max(1, tokens // max(1, int(parts[start].sum())))
        widest = np.maximum.accumulate(parts[start : start + most], axis=0).sum(1)
        padded_tokens = widest * np.arange(1, len(widest) + 1)
        rows = max(1, int(np.searchsorted(padded_tokens, tokens, side="right")))
        batches.append(order[start : start + rows])
        start += rows
    return batches


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
