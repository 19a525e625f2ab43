"""Folds and samples: which rows go where, decided by their content or number and a seed, never by chance alone."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..kernels import mix, row_hash
from ..predictions import Predictions

FOLDS = 5
_GRID = 942_477.796  # numbers of few decimals do not lie halfway between two of its points


def content_order(*columns: Array, seed: int = 0) -> Array:
    """Places of the rows in a random order that depends on what they hold and the seed, not on how they come.

    Arrays have the sample axis first. Numbers count to about six decimals, and in full among rows that are equal so
    far: a change in the last digits of a double, as another processor makes it, moves no row. Then the rows are
    shuffled: left side by side, equal ones would be dealt out evenly, and folds be more alike than other data are.

    >>> rows = np.array([[0.1], [0.7], [0.4]])
    >>> content_order(rows).tolist() == content_order(rows + 1e-14).tolist()
    True
    """
    coarse = [np.round(c.astype(np.float64) * _GRID + 1 / 3) if c.dtype.kind == "f" else c for c in columns]
    marks = row_hash(*coarse)
    order = np.lexsort((row_hash(*columns), marks))
    # the sum, so that two data sets with the same values are not shuffled alike
    out: Array = order[np.random.default_rng([seed, int(marks.sum())]).permutation(len(order))]
    return out


def content_folds(record: Predictions, seed: int = 0) -> Array:
    """Fold numbers 0..4 by each row's confidence and truth, dealt out in `content_order`; intp, shape (sample,).

    The order of rows does not matter, and equal rows are spread over all folds at random (a fold by the hash itself
    would put all rows of one rounded confidence into one fold).

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
    fold[content_order(*columns, seed=seed)] = np.arange(len(record)) % FOLDS
    return fold


def scramble(rows: Array, seed: int = 0) -> Array:
    """Row numbers as 64-bit keys that look random, all different."""
    return _salted(mix(rows.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)), seed)


def _salted(keys: Array, seed: int) -> Array:
    """64-bit keys as another seed has them: those of seed 0 are as they come."""
    return mix(keys ^ mix(np.array([seed % 2**64], dtype=np.uint64))) if seed else keys


def seeded_sample(total: int, count: int, seed: int = 0) -> Array:
    """Positions of a uniform sample of ``count`` out of ``total`` rows, ascending, for a seed always the same; intp.

    (A hash of the content would not do: all rows of one rounded confidence would be in or out together.)

    >>> seeded_sample(10, 3).shape, seeded_sample(2, 3).tolist()
    ((3,), [0, 1])
    """
    if count >= total:
        return np.arange(total)
    rng = np.random.default_rng([total, count, *([seed] if seed else [])])
    return np.sort(rng.choice(total, count, replace=False, shuffle=False))
