"""Folds and samples: which rows go where, decided by their content or number and a seed, never by chance alone."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..kernels import mix, row_hash
from ..predictions import Predictions

__all__ = ["FOLDS", "assign_folds", "content_hash", "scramble", "seeded_sample"]

FOLDS = 5


def content_hash(record: Predictions, seed: int = 0) -> Array:
    """A hash of each row's confidence and truth: folds that do not depend on row order."""
    columns = [record.verdicts]
    if record.probabilities is not None:
        columns += [record.top.first, record.top.second]
    elif record.confidence is not None:
        columns.append(record.confidence)
    elif record.members is not None:
        columns.append(np.ascontiguousarray(record.members.T))
    return row_hash(*columns, seed=seed)


def assign_folds(key: Array) -> Array:
    """Fold numbers 0..4 from content hashes: dealt out in the order of the hash, intp, shape (sample,).

    The order of rows does not matter, and equal rows are spread over all folds (a fold by the hash itself would put all
    rows of one rounded confidence into one fold, and cross-validation could learn nothing about it).

    >>> np.bincount(assign_folds(np.array([7, 7, 7, 7, 7, 9, 9, 9, 9, 9], dtype=np.uint64))).tolist()
    [2, 2, 2, 2, 2]
    """
    fold = np.empty(len(key), dtype=np.intp)
    fold[np.argsort(key)] = np.arange(len(key)) % FOLDS
    return fold


def scramble(rows: Array) -> Array:
    """Row numbers as 64-bit keys that look random, all different."""
    return mix(rows.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))


def seeded_sample(total: int, count: int) -> Array:
    """Positions of a uniform sample of ``count`` out of ``total`` rows, ascending and always the same; intp.

    (A hash of the content would not do: all rows of one rounded confidence would be in or out together.)

    >>> seeded_sample(10, 3).shape, seeded_sample(2, 3).tolist()
    ((3,), [0, 1])
    """
    if count >= total:
        return np.arange(total)
    rng = np.random.default_rng([total, count])
    return np.sort(rng.choice(total, count, replace=False, shuffle=False))
