"""Row samples and folds: seeded, by what rows hold, so that their order and batches change nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from ..arrays import Array
from ..fields import FIELDS
from ..kernels import mix, row_hash
from ..predictions import Predictions

FOLDS = 5
_GRID = 942_477.796  # numbers of few decimals do not lie halfway between two of its points


def content_order(*columns: Array, seed: int = 0) -> Array:
    """Rows in a random order that depends on what they hold (to six decimals) and the seed, not on how they come."""
    coarse = [np.round(c.astype(np.float64) * _GRID + 1 / 3) if c.dtype.kind == "f" else c for c in columns]
    marks = row_hash(*coarse)
    order = np.lexsort((row_hash(*columns), marks))
    # the sum, so that two data sets with the same values are not shuffled alike
    return order[np.random.default_rng([seed, int(marks.sum())]).permutation(len(order))]


def content_folds(record: Predictions, seed: int = 0) -> Array:
    """Fold numbers 0..4 by each row's confidence and truth, dealt out in `content_order`, intp, (sample,)."""
    columns = [record.verdicts]
    if record.probabilities is not None:
        columns += [record.top.first, record.top.second]
    elif record.confidence is not None:
        columns.append(record.confidence)
    elif record.members is not None:
        columns.append(np.ascontiguousarray(record.members.T))
    fold = np.empty(record.rows, dtype=np.intp)
    fold[content_order(*columns, seed=seed)] = np.arange(record.rows) % FOLDS
    return fold


def scramble(rows: Array, seed: int = 0) -> Array:
    """Row numbers as 64-bit keys that look random, all different."""
    keys = mix(rows.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    return mix(keys ^ mix(np.array([seed % 2**64], dtype=np.uint64))) if seed else keys


def seeded_sample(total: int, count: int, seed: int = 0) -> Array:
    """Positions of a uniform sample of ``count`` out of ``total`` rows, ascending, for a seed always the same; intp."""
    if count >= total:
        return np.arange(total)
    rng = np.random.default_rng([total, count, *([seed] if seed else [])])
    return np.sort(rng.choice(total, count, replace=False, shuffle=False))


_MOST_ROWS, _MOST_VALUES = 20_000, 4_000_000


def sample_limit(width: int, most_rows: int = _MOST_ROWS) -> int:
    """Rows to keep of so many numbers each: at most 20,000 rows and 4 million numbers."""
    return max(min(most_rows, _MOST_VALUES // max(width, 1)), 1)


@dataclass(frozen=True, eq=False)
class RowSample:
    """A uniform sample without replacement of at most ``limit`` rows; adding two gives that of both, in any order.

    keys : scrambled row numbers, uint64, ascending, (row,); the smallest are kept. arrays : the fields, row first.
    seen : rows that were looked at. seed : of choice and order; samples of different seeds do not add.
    """

    keys: Array
    arrays: dict[str, Array]
    limit: int
    seen: int
    seed: int = 0

    @classmethod
    def of(cls, batch: Predictions, fields: Sequence[str], limit: int, seed: int = 0) -> RowSample:
        """The sample of one batch, fields with the sample as first axis; worked out once, however many methods ask for
        it.
        """

        def make() -> RowSample:
            keys, order = batch.derived(f"sample order:{limit}:{seed}", lambda: _lowest(batch, limit, seed))
            axes = {name: FIELDS[name].sample if name in FIELDS else 0 for name in fields}
            arrays = {name: np.moveaxis(getattr(batch, name), axis, 0)[order] for name, axis in axes.items()}
            return cls(keys, arrays, limit, batch.rows, seed)

        return batch.derived(f"sample:{','.join(fields)}:{limit}:{seed}", make)

    def __add__(self, other: RowSample) -> RowSample:
        if self.seed != other.seed:
            raise ValueError("samples of different seeds cannot be merged")
        joined: tuple[RowSample, RowSample] | None = self.__dict__.get("_joined")
        if joined is not None and joined[0] is other:
            return joined[1]  # another method keeps the same sample
        keys = np.concatenate([self.keys, other.keys])
        order = np.argsort(keys, kind="stable")[: self.limit]
        arrays = {name: np.concatenate([value, other.arrays[name]])[order] for name, value in self.arrays.items()}
        out = RowSample(keys[order], arrays, self.limit, self.seen + other.seen, self.seed)
        self.__dict__["_joined"] = other, out
        return out

    def __reduce__(self) -> Any:
        return RowSample, (self.keys, self.arrays, self.limit, self.seen, self.seed)

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, name: str) -> Array:
        """A kept field, rows in an order that depends on their content alone, not on the batches."""
        return self.arrays[name][self.content_order]

    def digest(self) -> bytes:
        """A hash of the rows' content, alike for equal samples."""
        hasher = blake2b(digest_size=16)
        for name, value in self.arrays.items():
            hasher.update(f"{name} {value.dtype} {value.shape}".encode())
            hasher.update(value.tobytes())
        return hasher.digest()

    @cached_property
    def content_order(self) -> Array:
        """Places of the rows in the order in which they are handed out."""
        return content_order(*[v for v in self.arrays.values() if v.dtype.kind in "iufb"], seed=self.seed)


def _lowest(batch: Predictions, limit: int, seed: int) -> tuple[Array, Array]:
    """The smallest ``limit`` scrambled row numbers of a batch, ascending, and their places in it."""
    keys = scramble(np.arange(batch.first_row, batch.first_row + batch.rows), seed)
    bound = None if batch.rows_in_all is None else key_bound(limit, batch.rows_in_all)
    if bound is not None:
        order = np.flatnonzero(keys < bound)
    else:
        order = np.arange(len(keys)) if limit >= len(keys) else np.argpartition(keys, limit)[:limit]
    order = order[np.argsort(keys[order])][:limit]
    return keys[order], order


def key_bound(limit: int, rows: int) -> np.uint64 | None:
    """A key below which the ``limit`` smallest of so many rows lie; None where that leaves out next to nothing."""
    few = limit + 12 * math.sqrt(limit) + 100
    share = few / (1 << max(rows.bit_length() - 1, 0))
    return None if share > 0.75 else np.uint64(share * 2.0**64)
