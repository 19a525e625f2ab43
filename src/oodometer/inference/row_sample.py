"""Row samples and folds: seeded, by what rows hold, so that their order and batches change nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from ..arrays import Array, Ragged
from ..fields import FIELDS
from ..kernels import mix, row_hash
from ..predictions import CONTENT_KEYS, Predictions

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


def canonical_order(record: Predictions) -> Array:
    """Positions of the rows in an order that depends on what they hold, not on how they came; intp, (sample,). Rows
    that are as sure and as right are told apart by all that they hold; the rest is equal.
    """
    columns = _outputs(record)
    if record.can_be_judged:
        columns.append(record.verdicts)
    coarse = [np.round(c.astype(np.float64) * _GRID + 1 / 3) if c.dtype.kind == "f" else c for c in columns]
    # coarse numbers first, so that neither the numbering of classes nor a last digit moves many rows
    marks = row_hash(*coarse) if coarse else np.zeros(record.rows, dtype=np.uint64)
    order = np.argsort(marks, kind="stable")
    return _untied(record, order, marks[order])


_SORTED_ROWS = 1 << 16


def in_content_order(record: Predictions) -> Predictions:
    """The record with its rows in `canonical_order`, so that sums over them are the same to the last bit; one of more
    than 65,536 rows as it is: whoever draws from it draws by content.
    """
    return record if record.rows > _SORTED_ROWS else record.take(canonical_order(record))


def _untied(record: Predictions, order: Array, marks: Array) -> Array:
    """The positions ``order``, those with equal ``marks``, which stand side by side, in the order of all they hold."""
    same = marks[1:] == marks[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if not len(tied):
        return order
    rows, out = order[tied], order.copy()
    out[tied] = rows[np.lexsort((_row_content(record.take(rows)), marks[tied]))]
    return out


def _row_content(record: Predictions) -> Array:
    """A hash of all that is known of each row but its place and texts that are kept on request, uint64, (sample,)."""
    total = np.zeros(record.rows, dtype=np.uint64)
    values = [getattr(record, name) for name, about in FIELDS.items() if not about.on_request]
    axes = [about.sample for about in FIELDS.values() if not about.on_request]
    extra = list(record.columns.values())
    for value, axis in zip([*values, *extra], [*axes, *[0] * len(extra)], strict=True):
        if value is None:
            continue
        own = _ragged_hash(value) if isinstance(value, Ragged) else _cells_hash(np.moveaxis(value, axis, 0))
        total = mix(total ^ own)
    return total


def _cells_hash(values: Array) -> Array:
    if values.dtype.kind in "iufb":
        return row_hash(values)
    if values.dtype.kind in "mM":
        return row_hash(values.view(np.int64))
    names, place = np.unique(np.array([str(cell) for cell in values.tolist()]), return_inverse=True)
    digests = [blake2b(name.encode(), digest_size=8).digest() for name in names.tolist()]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)[place.ravel()]


def _ragged_hash(values: Ragged) -> Array:
    place = np.arange(len(values.values)) - np.repeat(values.offsets[:-1], values.lengths)
    with np.errstate(over="ignore"):
        each = mix(row_hash(values.values) ^ mix(place))
        total = np.append(np.zeros(1, dtype=np.uint64), np.cumsum(each, dtype=np.uint64))
        return mix(total[values.offsets[1:]] - total[values.offsets[:-1]] + values.lengths.astype(np.uint64))


def _outputs(record: Predictions) -> list[Array]:
    """A few columns that say how sure the model was, the same however classes are numbered."""
    if record.probabilities is not None or record.candidate_scores is not None:
        return [record.top.first, record.top.second]
    if record.confidence is not None:
        return [record.confidence]
    return []


_SOME = 8  # columns or models that are looked at besides


def content_keys(record: Predictions) -> Array:
    """A number for each row made of what the model said of it, uint64, (sample,): equal rows have the same one. Worked
    out once; calibrated rows keep theirs.
    """
    return record.derived(CONTENT_KEYS, lambda: _content_keys(record))


def _content_keys(record: Predictions) -> Array:
    words = [_bits(column) for column in _outputs(record)]
    if record.features is not None:
        words += [_bits(record.features[:, k]) for k in range(min(record.features.shape[1], _SOME))]
    if not words:
        several = [v for v in (record.members, record.votes, record.views) if v is not None]
        words = [_bits(values[k]) for values in several for k in range(min(len(values), _SOME))]
        words += [] if record.prediction is None else [_bits(record.prediction)]
        words += [] if record.token_logprobs is None else [_ragged_hash(record.token_logprobs)]
    total = np.zeros(record.rows, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for word in words:
            total *= _ODD
            total ^= total >> np.uint64(29)
            total += word
    return mix(total)


_ODD = np.uint64(0x9FB21C651E98DF25)


def _bits(column: Array) -> Array:
    """The bits of numbers, uint64."""
    plain = np.ascontiguousarray(column)
    if plain.dtype == np.float32:
        return plain.view(np.uint32).astype(np.uint64)
    return plain.astype(np.float64).view(np.uint64) if plain.dtype.kind == "f" else plain.astype(np.uint64)


def seeded_keys(keys: Array, seed: int = 0) -> Array:
    """Other keys for another seed, equal where the keys are."""
    return mix(keys ^ mix(np.array([seed % 2**64], dtype=np.uint64))) if seed else keys


_HELD = 4  # times the rows of a sample are held: rows that occur often still get their share of it
_PEAKS = 1 << 12  # cells of keys, by which contents are found that occur often
_OFTEN = 1 << 10  # a content with at least this part of the rows
_FEWEST = 8


def drawing_keys(keys: Array, own: Callable[[Array], Array]) -> Array:
    """Keys by which rows are drawn: those of their content, so that their order means nothing; of contents that fill a
    thousandth of the rows each row has its own, since all of them or none would be no fair sample. ``own`` numbers
    such rows, given their positions.
    """
    least = max(len(keys) // _OFTEN, _FEWEST)
    if len(keys) < _PEAKS:
        return keys
    cell = (keys >> np.uint64(52)).astype(np.intp)
    full = np.bincount(cell, minlength=_PEAKS) >= least
    if not full.any():
        return keys
    rows = np.flatnonzero(full[cell])
    _, place, counts = np.unique(keys[rows], return_inverse=True, return_counts=True)
    rows = rows[counts[place] >= least]
    out = keys.copy()
    out[rows] = mix(keys[rows] ^ mix(own(rows).astype(np.uint64)))
    return out


def content_sample(record: Predictions, count: int, seed: int = 0) -> Array:
    """Positions of a uniform sample of ``count`` rows, or of all where there are no more, drawn and ordered by content;
    intp.
    """
    keys = seeded_keys(content_keys(record), seed)

    def copies(rows: Array) -> Array:
        """Which of the rows with its key each row is, counted by content."""
        order = np.lexsort((_row_content(record.take(rows)), keys[rows]))
        ordered, number = keys[rows][order], np.empty(len(rows), dtype=np.intp)
        number[order] = np.arange(len(rows)) - np.searchsorted(ordered, ordered)
        return number

    rows = np.arange(record.rows)
    if record.rows > _HELD * count:
        draws, bound = drawing_keys(keys, copies), key_bound(_HELD * count, record.rows)
        rows = rows if bound is None else np.flatnonzero(draws < bound)
        rows = rows[draws[rows] < first_left_out(draws[rows], _HELD * count)]
    order = rows[np.argsort(keys[rows], kind="stable")]
    return _untied(record, order, keys[order])[evenly(len(rows), count)]


def evenly(total: int, count: int) -> Array:
    """``count`` places spread evenly over so many, or all of them; intp."""
    return np.arange(total) if count >= total else ((2 * np.arange(count) + 1) * total // (2 * count)).astype(np.intp)


LAST_KEY = np.uint64(2**64 - 1)


def first_left_out(draws: Array, limit: int, bound: Any = LAST_KEY) -> Any:
    """The lowest draw of which no row is kept: below ``bound``, and of equal draws all or none within the limit."""
    return bound if len(draws) <= limit else min(bound, np.partition(draws, limit)[limit])


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
    """A uniform sample without replacement of ``limit`` rows at most; adding two gives that of both, in any order.

    What is held is up to four times as many: rows whose draw is below ``bound``. ``limit`` of these, evenly spread over
    their contents, are the sample.

    draws, keys : `drawing_keys` and `content_keys` of the rows held, uint64, (row,). held : their fields, row first.
    seen : rows that were looked at. seed : of choice and order; samples of different seeds do not add. places : where
    the rows held stand in the record, where they are of one.
    """

    draws: Array
    keys: Array
    held: dict[str, Array]
    limit: int
    seen: int
    seed: int = 0
    bound: Any = LAST_KEY
    places: Array | None = None

    @classmethod
    def of(cls, batch: Predictions, fields: Sequence[str], limit: int, seed: int = 0) -> RowSample:
        """The sample of one batch, fields with the sample as first axis; worked out once, however many methods ask for
        it.
        """

        def make() -> RowSample:
            draws, keys, order, bound = batch.derived(f"drawn:{limit}:{seed}", lambda: _drawn(batch, limit, seed))
            axes = {name: FIELDS[name].sample if name in FIELDS else 0 for name in fields}
            whole = {name: np.moveaxis(getattr(batch, name), axis, 0) for name, axis in axes.items()}
            held = {name: values if len(order) == batch.rows else values[order] for name, values in whole.items()}
            return cls(draws, keys, held, limit, batch.rows, seed, bound, order)

        return batch.derived(f"sample:{','.join(fields)}:{limit}:{seed}", make)

    def __add__(self, other: RowSample) -> RowSample:
        if self.seed != other.seed:
            raise ValueError("samples of different seeds cannot be merged")
        joined: tuple[RowSample, RowSample] | None = self.__dict__.get("_joined")
        if joined is not None and joined[0] is other:
            return joined[1]  # another method keeps the same sample
        draws, keys = (np.concatenate(both) for both in ((self.draws, other.draws), (self.keys, other.keys)))
        held = {name: np.concatenate([value, other.held[name]]) for name, value in self.held.items()}
        bound = min(self.bound, other.bound)
        bound = first_left_out(draws[draws < bound], _HELD * self.limit, bound)
        if bound < LAST_KEY:
            kept = draws < bound
            draws, keys, held = draws[kept], keys[kept], {name: value[kept] for name, value in held.items()}
        out = RowSample(draws, keys, held, self.limit, self.seen + other.seen, self.seed, bound)
        self.__dict__["_joined"] = other, out
        return out

    def __reduce__(self) -> Any:
        return RowSample, (self.draws, self.keys, self.held, self.limit, self.seen, self.seed, self.bound, self.places)

    def __len__(self) -> int:
        return min(len(self.keys), self.limit)

    def __getitem__(self, name: str) -> Array:
        """A kept field, rows in an order that depends on their content alone, not on the batches."""
        return self.arrays[name][self.content_order]

    @cached_property
    def chosen(self) -> Array:
        """Which of the rows held are the sample, in an order that depends on their content alone."""
        order = np.lexsort((row_hash(*_numbers(self.held)), self.keys)) if self.held else np.argsort(self.keys)
        return order[evenly(len(order), self.limit)]

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """The fields of the sample, row first."""
        return {name: values[self.chosen] for name, values in self.held.items()}

    def only(self, names: Sequence[str]) -> RowSample:
        """The same rows with these fields alone."""
        out = replace(self, held={name: self.held[name] for name in names})
        out.__dict__["chosen"] = self.chosen
        return out

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
        return content_order(*_numbers(self.arrays), seed=self.seed)


def _numbers(arrays: dict[str, Array]) -> list[Array]:
    return [values for values in arrays.values() if values.dtype.kind in "iufb"]


def _drawn(batch: Predictions, limit: int, seed: int) -> tuple[Array, Array, Array, Any]:
    """Draws and keys of the rows of a batch that are held, their places in it, and the draw below which all are."""
    keys = seeded_keys(content_keys(batch), seed)
    draws = drawing_keys(keys, lambda rows: batch.first_row + rows)
    bound = None if batch.rows_in_all is None else key_bound(_HELD * limit, batch.rows_in_all)
    if bound is None and len(draws) <= _HELD * limit:
        return draws, keys, np.arange(batch.rows), LAST_KEY
    places = np.arange(batch.rows) if bound is None else np.flatnonzero(draws < bound)
    last = first_left_out(draws[places], _HELD * limit, LAST_KEY if bound is None else bound)
    places = places[draws[places] < last]
    return draws[places], keys[places], places, last


def key_bound(limit: int, rows: int) -> np.uint64 | None:
    """A key below which the ``limit`` smallest of so many rows lie; None where that leaves out next to nothing."""
    few = limit + 12 * math.sqrt(limit) + 100
    share = few / (1 << max(rows.bit_length() - 1, 0))
    return None if share > 0.75 else np.uint64(share * 2.0**64)
