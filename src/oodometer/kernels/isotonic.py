"""Isotonic: neighbouring bins joined until the share of hits rises from block to block."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


def pool_adjacent(rows: Array, hits: Array) -> tuple[Array, Array, Array]:
    """First bin, rows and hits of each block of the isotonic regression of hits / rows, weighted by rows (PAVA).

    rows (above 0) and hits have shape (bin,); the results (block,), with hits / rows strictly rising. Counts are added
    up and compared as products, so that the blocks of whole numbers are exact.

    >>> [a.tolist() for a in pool_adjacent(np.array([4, 2, 2]), np.array([0, 2, 1]))]
    [[0, 1], [4.0, 4.0], [0.0, 3.0]]
    """
    first: list[int] = []
    many: list[float] = []
    right: list[float] = []
    pairs = zip(rows.astype(float).tolist(), hits.astype(float).tolist(), strict=True)
    for start, (rows_here, hits_here) in enumerate(pairs):
        while many and right[-1] * rows_here >= hits_here * many[-1]:
            rows_here += many.pop()
            hits_here += right.pop()
            start = first.pop()
        first.append(start)
        many.append(rows_here)
        right.append(hits_here)
    return np.array(first, dtype=np.int64), np.array(many), np.array(right)
