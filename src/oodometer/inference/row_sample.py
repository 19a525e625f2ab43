"""Row samples and folds: seeded, by what rows hold, so that their order and batches change nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    coarse = [
        np.round(c.astype(np.float64) * _GRID + 1 / 3) if c.dtype.kind == "f" else c
        for c in columns
    ]
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
    coarse = [
        np.round(c.astype(np.float64) * _GRID + 1 / 3) if c.dtype.kind == "f" else c
        for c in columns
    ]
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
    # an id or a slice is nothing that the model said
    tied_rows = replace(record.take(rows), columns={})
    out[tied] = rows[np.lexsort((_row_content(tied_rows), marks[tied]))]
    return out


def _row_content(record: Predictions, texts: bool = True) -> Array:
    """A hash of all that is known of each row but its place and what is kept on request, uint64, (sample,); without
    ``texts`` of numbers alone.
    """
    total = np.zeros(record.rows, dtype=np.uint64)
    values = [getattr(record, name) for name, about in FIELDS.items() if not about.on_request]
    axes = [about.sample for about in FIELDS.values() if not about.on_request]
    extra = list(record.columns.values()) if texts else []
    for value, axis in zip([*values, *extra], [*axes, *[0] * len(extra)], strict=True):
        if value is None or not (texts or isinstance(value, Ragged) or value.dtype.kind in "iufb"):
            continue
        hashes = (
            _ragged_hash(value)
            if isinstance(value, Ragged)
            else _cells_hash(np.moveaxis(value, axis, 0))
        )
        total = mix(total ^ hashes)
    return total


def _cells_hash(values: Array) -> Array:
    if values.dtype.kind in "iufb":
        return row_hash(values)
    if values.dtype.kind in "mM":
        return row_hash(values.view(np.int64))
    names, index = np.unique(np.array([str(cell) for cell in values.tolist()]), return_inverse=True)
    digests = [blake2b(name.encode(), digest_size=8).digest() for name in names.tolist()]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)[index.ravel()]


def _ragged_hash(values: Ragged) -> Array:
    position = np.arange(len(values.values)) - np.repeat(values.offsets[:-1], values.lengths)
    with np.errstate(over="ignore"):
        each = mix(row_hash(values.values) ^ mix(position))
        total = np.append(np.zeros(1, dtype=np.uint64), np.cumsum(each, dtype=np.uint64))
        return mix(
            total[values.offsets[1:]]
            - total[values.offsets[:-1]]
            + values.lengths.astype(np.uint64)
        )


def _outputs(record: Predictions) -> list[Array]:
    """A few columns that say how sure the model was, the same however classes are numbered."""
    if record.probabilities is not None or record.candidate_scores is not None:
        return [record.top.first, record.top.second]
    if record.confidence is not None:
        return [record.confidence]
    return []


_SOME = 8  # columns or models that are looked at besides
_WIDE = 16  # classes from which on some columns stand for all
_AT_A_TIME = 1 << 15  # rows, so that what is worked on stays in the processor's cache
_ODD = np.uint64(0x9FB21C651E98DF25)


def content_keys(record: Predictions) -> Array:
    """A number for each row made of what the model said of it, uint64, (sample,): equal rows have the same one. Worked
    out once; calibrated rows keep theirs.
    """
    return record.derived(CONTENT_KEYS, lambda: _content_keys(record))


def _columns_of_content(record: Predictions) -> list[Array]:
    """What the model said of each row, as columns: outputs and inputs, else its votes, views and classes."""
    columns: list[Array] = []
    if record.probabilities is not None and record.probabilities.shape[1] < _WIDE:
        columns = _words(record.probabilities)
    elif record.probabilities is not None or record.candidate_scores is not None:
        columns = [*_outputs(record), record.top.best]
    elif record.confidence is not None:
        columns = [record.confidence]
    if record.features is not None:
        columns += [record.features[:, k] for k in range(min(record.features.shape[1], _SOME))]
    if columns:
        return columns
    several = [v for v in (record.members, record.votes, record.views) if v is not None]
    columns = [values[k] for values in several for k in range(min(len(values), _SOME))]
    columns += [] if record.prediction is None else [record.prediction]
    return columns + (
        [] if record.token_logprobs is None else [_ragged_hash(record.token_logprobs)]
    )


def _content_keys(record: Predictions) -> Array:
    """`content_keys`, worked out."""
    columns = _columns_of_content(record)
    total = np.zeros(record.rows, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for start in range(0, record.rows, _AT_A_TIME):
            part = total[start : start + _AT_A_TIME]
            for column in columns:
                part ^= part >> np.uint64(32)
                part += _bits(column[start : start + _AT_A_TIME])
                part *= _ODD
            part ^= part >> np.uint64(32)
            part *= _ODD
            part ^= part >> np.uint64(29)
    return total


def _words(values: Array) -> list[Array]:
    """The columns of numbers, axes (sample, column), two of four bytes as one of eight where they come in pairs."""
    plain = np.ascontiguousarray(values)
    if plain.dtype == np.float32 and plain.shape[1] % 2 == 0:
        plain = plain.view(np.uint64)
    return list(plain.T)


def _bits(column: Array) -> Array:
    """The bits of numbers, as whole numbers that are not negative."""
    plain = np.ascontiguousarray(column)
    if plain.dtype.kind == "f":
        return (
            plain.view(np.uint32)
            if plain.dtype == np.float32
            else plain.astype(np.float64).view(np.uint64)
        )
    return plain.astype(np.uint64, copy=False)


def seeded_keys(keys: Array, seed: int = 0) -> Array:
    """Other keys for another seed, equal where the keys are."""
    return mix(keys ^ mix(np.array([seed % 2**64], dtype=np.uint64))) if seed else keys


_SLACK = 1.5  # how far the limit may be passed before rows are dropped
LAST_KEY = np.uint64(2**64 - 1)
_CELLS = 1 << 14  # in which rows are counted, twice
_OFTEN = 1024  # a content that fills this part of all rows, and has a row in the sample whatever its key, is drawn by
# its number of rows; of any other all rows are drawn or none


def _cells(keys: Array) -> tuple[Array, Array]:
    """Two cells of each key, by different bits of it, shape (row,)."""
    first, second = (
        (keys >> np.uint64(50)).astype(np.uint16),
        (keys >> np.uint64(36)).astype(np.uint16),
    )
    second &= np.uint16(_CELLS - 1)
    return first, second


def counted_keys(keys: Array, counts: Array | None = None) -> Array:
    """Rows in each cell, int64, axes (2, cell)."""
    total = np.zeros((2, _CELLS), dtype=np.int64)
    for start in range(0, len(keys), _AT_A_TIME):
        part = slice(start, start + _AT_A_TIME)
        weights = None if counts is None else counts[part].astype(np.float64)
        for rows, cell in zip(total, _cells(keys[part]), strict=True):
            rows += np.bincount(cell, weights, minlength=_CELLS).astype(np.int64, copy=False)
    return total


def often_keys(keys: Array, cells: Array, rows: int) -> Array:
    """Which keys may fill half of the part of so many rows from which on a content is drawn by its number; bool."""
    full = cells * (2 * _OFTEN) >= rows
    if not full[0].any() or not full[1].any():
        return np.zeros(len(keys), dtype=bool)
    first, second = _cells(keys)
    return np.asarray(full[0][first] & full[1][second])


def _distinct(keys: Array) -> Array:
    """Each key once, ascending."""
    keys = np.sort(keys)
    return keys if len(keys) < 2 else keys[np.append(True, keys[1:] != keys[:-1])]


def _most_rows(keys: Array, cells: Array) -> Array:
    """No fewer rows than there are of each key, seldom many more; int64."""
    first, second = _cells(keys)
    return np.asarray(np.minimum(cells[0][first], cells[1][second]))


@dataclass(frozen=True, eq=False)
class Draw:
    """Which rows a sample of ``limit`` rows holds: those of the ``limit`` contents with the smallest keys, and of
    contents that many rows have. What is drawn depends on how often each content occurs, and on nothing else.

    keys, contents : of the entries held, uint64, (entry,): `content_keys` under the seed, and all that the row holds.
    counts : rows that an entry stands for. bound : all contents with lower keys are held. cells : rows by cells of
    their keys, where not all contents are held; they add up whatever the order. seen : rows looked at.
    """

    keys: Array
    contents: Array
    counts: Array
    limit: int
    seen: int
    seed: int = 0
    bound: Any = LAST_KEY
    cells: Array | None = None

    @classmethod
    def of(
        cls, record: Predictions, limit: int, seed: int = 0, texts: bool = False
    ) -> tuple[Draw, Array]:
        """The draw from a record, and the places in it of the rows held; ``texts`` tell rows apart, too."""
        keys = seeded_keys(content_keys(record), seed)
        bound = None if record.rows_in_all is None else key_bound(limit, record.rows_in_all)
        if bound is None and record.rows <= limit:
            places, cells = np.arange(record.rows), None
        else:
            cells = record.derived(f"cells of keys:{seed}", lambda: counted_keys(keys))
            low = keys < (bound or key_bound(limit, record.rows) or LAST_KEY)
            # contents repeat: more rows are looked at
            if bound is None and len(_distinct(keys[low])) <= limit:
                low[:] = True
            places = np.flatnonzero(low | often_keys(keys, cells, record.rows))
        few = keys[places]
        contents = few if len(places) == 0 else _row_content(record.take(places), texts=texts)
        ones = np.ones(len(places), dtype=np.int64)
        full = cls(
            few,
            contents,
            ones,
            limit,
            record.rows,
            seed,
            LAST_KEY if bound is None else bound,
            cells,
        )
        draw, indices = full.cut()
        return draw, places[indices]

    def cut(self) -> tuple[Draw, Array]:
        """The draw with each content once, of no more contents than are to be held; and which entries these are."""
        first = np.arange(len(self.keys))
        if len(first) <= self.limit and self.bound == LAST_KEY:
            return self, first
        distinct, counts = _distinct(self.keys), self.counts
        if len(distinct) < len(first):
            _, first, group = np.unique(
                mix(self.keys ^ self.contents), return_index=True, return_inverse=True
            )
            counts = np.bincount(group, counts.astype(np.float64), minlength=len(first)).astype(
                np.int64
            )
        keys, contents = self.keys[first], self.contents[first]
        bound = min(distinct[self.limit], self.bound) if len(distinct) > self.limit else self.bound
        if bound == LAST_KEY:
            return replace(self, keys=keys, contents=contents, counts=counts), first
        cells = self.cells_of_all
        is_kept = (keys < bound) | often_keys(keys, cells, self.seen)
        reduced = replace(
            self,
            keys=keys[is_kept],
            contents=contents[is_kept],
            counts=counts[is_kept],
            bound=bound,
            cells=cells,
        )
        return reduced, first[is_kept]

    @property
    def cells_of_all(self) -> Array:
        """`cells`, of a draw that holds every content worked out from these."""
        return counted_keys(self.keys, self.counts) if self.cells is None else self.cells

    def joined(self, other: Draw) -> tuple[Draw, Array]:
        """The draw of both, and which of the entries of one after the other it holds; worked out once."""
        cached: tuple[Draw, tuple[Draw, Array]] | None = self.__dict__.get("_joined")
        if cached is not None and cached[0] is other:
            return cached[1]  # of another sample of the same rows
        if (self.seed, self.limit) != (other.seed, other.limit):
            raise ValueError("samples of different seeds or sizes cannot be merged")
        has_cells = self.cells is not None or other.cells is not None
        cells = self.cells_of_all + other.cells_of_all if has_cells else None
        out = replace(
            self,
            keys=np.concatenate([self.keys, other.keys]),
            contents=np.concatenate([self.contents, other.contents]),
            counts=np.concatenate([self.counts, other.counts]),
            seen=self.seen + other.seen,
            bound=min(self.bound, other.bound),
            cells=cells,
        )
        result = (
            out.cut() if len(out.keys) > _SLACK * self.limit else (out, np.arange(len(out.keys)))
        )
        self.__dict__["_joined"] = other, result
        return result

    @cached_property
    def chosen(self) -> Array:
        """The entries that are the sample, in an order that depends on content alone; one that stands for several rows
        may come several times. intp.
        """
        reduced, indices = self.cut()
        order = np.lexsort((reduced.contents, reduced.keys))
        keys, counts = reduced.keys[order], reduced.counts[order]
        if reduced.bound < LAST_KEY:
            share = float(reduced.bound) / 2.0**64
            often = np.maximum(_most_rows(keys, reduced.cells_of_all) - reduced.seen / _CELLS, 0.0)
            is_often = (often * _OFTEN >= reduced.seen) & (often * share >= 1)
            first = np.append(True, keys[1:] != keys[:-1])
            start = np.flatnonzero(first)
            in_all = np.add.reduceat(counts, start)[np.cumsum(first) - 1]
            before = np.cumsum(counts) - counts
            before = before - before[start][np.cumsum(first) - 1]
            # of the rows of a content as many as its share; its entries have theirs of these
            goal = np.floor(often * share + (mix(keys) >> np.uint64(11)) / 2.0**53)
            ends = [np.floor(goal * at / in_all + 0.5) for at in (before, before + counts)]
            counts = np.where(
                is_often, ends[1] - ends[0], np.where(keys < reduced.bound, counts, 0)
            ).astype(np.int64)
        entries = np.repeat(indices[order], counts)
        return entries[evenly(len(entries), self.limit)]


def content_sample(record: Predictions, count: int, seed: int = 0) -> Array:
    """Positions of a uniform sample of ``count`` rows, or of all where there are no more, drawn and ordered by content;
    intp.
    """
    draw, places = Draw.of(record, count, seed, texts=True)
    return places[draw.chosen]


def evenly(total: int, count: int) -> Array:
    """``count`` places spread evenly over so many, or all of them; intp."""
    return (
        np.arange(total)
        if count >= total
        else ((2 * np.arange(count) + 1) * total // (2 * count)).astype(np.intp)
    )


def scramble(rows: Array, seed: int = 0) -> Array:
    """Row numbers as 64-bit keys that look random, all different."""
    keys = mix(rows.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    return mix(keys ^ mix(np.array([seed % 2**64], dtype=np.uint64))) if seed else keys


_MOST_ROWS, _MOST_VALUES = 20_000, 4_000_000


def sample_limit(width: int, most_rows: int = _MOST_ROWS) -> int:
    """Rows to keep of so many numbers each: at most 20,000 rows and 4 million numbers."""
    return max(min(most_rows, _MOST_VALUES // max(width, 1)), 1)


@dataclass(frozen=True, eq=False)
class RowSample:
    """A uniform sample of at most so many rows, drawn by content; adding two gives that of both, in any order.

    draw : which rows it holds. held : their fields, row first. places : where they stand in the record, if they are of
    one.
    """

    draw: Draw
    held: dict[str, Array]
    places: Array | None = None

    @classmethod
    def of(cls, batch: Predictions, fields: Sequence[str], limit: int, seed: int = 0) -> RowSample:
        """The sample of one batch, fields with the sample as first axis; worked out once, however many methods ask for
        it.
        """

        def make() -> RowSample:
            draw, places = batch.derived(
                f"draw:{limit}:{seed}", lambda: Draw.of(batch, limit, seed)
            )
            axes = {name: FIELDS[name].sample if name in FIELDS else 0 for name in fields}
            arrays = {
                name: np.moveaxis(getattr(batch, name), axis, 0)[places]
                for name, axis in axes.items()
            }
            return cls(draw, arrays, places)

        return batch.derived(f"sample:{','.join(fields)}:{limit}:{seed}", make)

    def __add__(self, other: RowSample) -> RowSample:
        joined: tuple[RowSample, RowSample] | None = self.__dict__.get("_joined")
        if joined is not None and joined[0] is other:
            return joined[1]  # another method keeps the same sample
        draw, indices = self.draw.joined(other.draw)
        arrays = {
            name: np.concatenate([value, other.held[name]]) for name, value in self.held.items()
        }
        if len(indices) < len(self.draw.keys) + len(other.draw.keys):
            arrays = {name: value[indices] for name, value in arrays.items()}
        out = RowSample(draw, arrays)
        self.__dict__["_joined"] = other, out
        return out

    def __reduce__(self) -> Any:
        return RowSample, (self.draw, self.held, self.places)

    def __len__(self) -> int:
        return len(self.draw.chosen)

    def __getitem__(self, name: str) -> Array:
        """A kept field, rows in an order that depends on their content alone, not on the batches."""
        return self.arrays[name][self.content_order]

    @property
    def seed(self) -> int:
        """Of the choice and the order."""
        return self.draw.seed

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """The fields of the sample, row first."""
        return {name: values[self.draw.chosen] for name, values in self.held.items()}

    def only(self, names: Sequence[str]) -> RowSample:
        """The same rows with these fields alone."""
        return replace(self, held={name: self.held[name] for name in names})

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
        return content_order(
            *[v for v in self.arrays.values() if v.dtype.kind in "iufb"], seed=self.seed
        )


def key_bound(limit: int, rows: int) -> np.uint64 | None:
    """A key below which the ``limit`` smallest of so many rows lie; None where that leaves out next to nothing."""
    few = limit + 12 * math.sqrt(limit) + 100
    share = few / (1 << max(rows.bit_length() - 1, 0))
    return None if share > 0.75 else np.uint64(share * 2.0**64)
