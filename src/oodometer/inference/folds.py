"""Folds and samples: which rows go where, decided by their content or number and a seed, never by chance alone."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..kernels import mix, row_hash
from ..predictions import Predictions

FOLDS = 5
_DECIMALS = 6


def content_order(*columns: Array) -> Array:
    """Places of the rows in an order that looks random and depends on what they hold, not on how they come.

    Arrays have the sample axis first. Numbers count to six decimals, and in full among rows that are equal so far: a
    change in the last digits of a double, as another processor makes it, moves no row.

    >>> rows = np.array([[0.1], [0.7], [0.4]])
    >>> content_order(rows).tolist() == content_order(rows + 1e-14).tolist()
    True
    """
    coarse = [np.round(c.astype(np.float64), _DECIMALS) + 0.0 if c.dtype.kind == "f" else c for c in columns]
    out: Array = np.lexsort((row_hash(*columns), row_hash(*coarse)))
    return out


def content_folds(record: Predictions) -> Array:
    """Fold numbers 0..4 by each row's confidence and truth, dealt out in `content_order`; intp, shape (sample,).

    The order of rows does not matter, and equal rows are spread over all folds (a fold by the hash itself would put all
    rows of one rounded confidence into one fold, and cross-validation could learn nothing about it).

    >>> np.bincount(content_folds(Predictions.from_confidence([0.5] * 10, correct=[1] * 10))).tolist()
    [2, 2, 2, 2, 2]
    """
    columns = [record.verdicts]
    if record.probabilities is not None:
        columns += [record.top.first, record.top.second]
    elif record.confidence is not None:
        columns.append(record.confidence)
    elif record.members is not None:
        columns.append(np.ascontiguousarray(record.members.T))
    fold = np.empty(len(record), dtype=np.intp)
    fold[content_order(*columns)] = np.arange(len(record)) % FOLDS
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
