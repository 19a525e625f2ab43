"""Tally: counts of samples by kind, by bin and by verdict, each in one pass."""

from __future__ import annotations

import numpy as np

from ..arrays import Array

_ROWS_AT_A_TIME = 1 << 15


def tally(bins: Array, width: int, *, kinds: Array | None = None, of: int = 1, verdicts: Array | None = None) -> Array:
    """Samples in each cell, int64, axes (kind, bin, verdict): ``of`` kinds, ``width`` bins.

    bins and kinds have shape (sample,); without ``kinds`` all are of kind 0. The last axis has one entry, or two with
    ``verdicts``: those whose verdict is not 1, and those whose verdict is. `ValueError` for a bin or kind that is none.

    >>> tally(np.array([0, 0, 1]), 2, verdicts=np.array([1, 0, 1], dtype=np.int8)).tolist()
    [[[1, 1], [0, 1]]]
    >>> tally(np.array([0, 0, 1]), 2, kinds=np.array([1, 1, 0]), of=2)[:, :, 0].tolist()
    [[0, 1], [2, 0]]
    """
    last = 1 if verdicts is None else 2
    out = np.zeros((of, width, last), dtype=np.int64)
    for name, values, most in (("bins", bins, width), ("kinds", kinds, of)):
        if values is not None and len(values) and not (values.min() >= 0 and values.max() < most):
            raise ValueError(f"{name}: expected numbers from 0 to {most - 1}")
    flat = out.reshape(-1)
    step = max(_ROWS_AT_A_TIME, flat.size)  # small enough for the cache, and not smaller than what is added up
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
    """How many scores of each kind reach each of the kind's thresholds, and how many are exactly on it; int64.

    scores and kinds have shape (sample,), thresholds (few) and both results (threshold, kind); without ``kinds`` all
    are of the only one. `ValueError` for a kind that is none.

    >>> thresholds = np.array([[0.2, 0.95], [0.4, 0.9]])
    >>> reached, tied = count_passed(np.array([0.2, 0.5, 0.9]), np.array([0, 0, 1]), thresholds)
    >>> reached.tolist(), tied.tolist()
    ([[2, 0], [1, 1]], [[1, 0], [0, 1]])
    """
    many, of = thresholds.shape
    if kinds is None:
        found = [
            (np.count_nonzero(scores >= threshold), np.count_nonzero(scores == threshold))
            for threshold in thresholds[:, 0]
        ]
        both = np.array(found, dtype=np.int64).reshape(many, 2, 1)
        return both[:, 0], both[:, 1]
    if len(kinds) and not (kinds.min() >= 0 and kinds.max() < of):
        raise ValueError(f"kinds: expected numbers from 0 to {of - 1}")
    # which thresholds a score reaches is one number, so that one count does for all of them
    code = np.left_shift(kinds, many, dtype=np.intp)
    tied = np.zeros((many, of), dtype=np.int64)
    for place, line in enumerate(thresholds):
        own = np.take(line, kinds)
        code += np.left_shift(scores >= own, place, dtype=np.intp)
        equal = scores == own
        if equal.any():
            tied[place] = np.bincount(kinds[equal], minlength=of)
    counts = np.bincount(code, minlength=of << many).reshape(of, *[2] * many)
    axes = range(many, 0, -1)  # the first threshold is the lowest bit, the last axis
    reached = [counts.take(1, axis).reshape(of, -1).sum(axis=1) for axis in axes]
    return np.array(reached, dtype=np.int64).reshape(many, of), tied
