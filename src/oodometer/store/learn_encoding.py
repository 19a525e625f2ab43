"""Learning an encoding: which of the reference's columns can be inputs of the model, and how each becomes features."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array
from ..errors import InputError
from ..kernels import mix
from ..results.diagnosis import UserColumn
from .base import Source
from .cells import column_of, plain
from .encoding import (
    TEXT_FIGURES,
    TRUTHS,
    ColumnEncoding,
    FeatureEncoding,
    NotANumber,
    ValueKind,
    category_name,
    distinct_cells,
    raw_numbers,
    text_figures,
)

_MOST_ROWS = 50_000  # of the reference that the encoding is learnt on
_MOST_FEATURES = 50  # numbers that all categories together may take; more columns a domain classifier would reduce
_MOST_LABELS, _FEWEST_LABELS = 12, 3
_LEAST_SHARE = 0.005  # of the rows, for an indicator of its own
_FEW_NUMBERS = 10  # whole numbers of so few values are categories
_IDENTIFIER_ROWS = 20  # with fewer rows all may differ by chance
_ALL_DIFFERENT, _MANY = 0.9, 0.5  # shares of the rows whose value is another one
_SENTENCE, _LONG_SENTENCE = 3, 5  # words of a cell, on average, from which on it is text
_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?")


class _Unfit(Exception):
    """Why a column is no input by itself."""


def learn_encoding(sources: Sequence[Source], names: Iterable[str], every: bool) -> FeatureEncoding:
    """The encoding of the named columns of a reference; of ``every`` column that is there, those that can be inputs.

    Learnt on a seeded sample of at most 50,000 rows, in one pass. With ``every`` constants, identifiers (all values
    differ), times and lists are left out, with the reason; columns that were named are taken unless nothing can be made
    of them: then an `InputError` says why.
    """
    names = list(names)
    if not names:
        return FeatureEncoding(())
    sample, text, comma = _sampled(sources, names)
    columns: list[ColumnEncoding] = []
    left_out: dict[str, str] = {}
    for name in names:
        try:
            columns.append(_learnt(plain(sample.column(name)), name, text, comma, every))
        except _Unfit as unfit:
            if not every:
                raise InputError(
                    "a column of numbers, categories or text",
                    got=str(unfit),
                    file=sources[0].path,
                    column=name,
                    remedy="leave it out of --features",
                ) from None
            left_out[name] = str(unfit)
        except InputError as error:
            raise error.at(file=sources[0].path) from None
    fixed = sum(column.user.width for column in columns if column.user.kind != "category")
    categories = [column for column in columns if column.user.kind == "category"]
    limit = _MOST_LABELS
    while (
        limit > _FEWEST_LABELS
        and fixed + sum(min(len(c.user.labels), limit) + 1 for c in categories) > _MOST_FEATURES
    ):
        limit -= 1
    out, first = [], 0
    for column in columns:
        out.append(
            replace(
                column, user=replace(column.user, first=first, labels=column.user.labels[:limit])
            )
        )
        first += out[-1].user.width
    return FeatureEncoding(tuple(out), left_out)


def _sampled(sources: Sequence[Source], names: list[str]) -> tuple[Any, bool, bool]:
    """A uniform sample of the rows as an Arrow table; whether its cells are text, with decimal commas."""
    first = sources[0]
    sample: list[tuple[Array, Any]] = []
    for source in [
        s for s in sources if (s.raw_text, s.decimal_comma) == (first.raw_text, first.decimal_comma)
    ]:
        done = sum(len(keys) for keys, _ in sample)
        for batch in source.raw(names):
            keys = mix(
                np.arange(done, done + batch.num_rows, dtype=np.uint64)
                + np.uint64(0x9E3779B97F4A7C15)
            )
            done += batch.num_rows
            sample.append((keys, batch))
            if sum(len(k) for k, _ in sample) > 2 * _MOST_ROWS:
                sample = _lowest(sample)
    batches = [batch for _, batch in _lowest(sample)]
    columns = {}
    for name in names:
        try:
            columns[name] = pa.chunked_array(
                [plain(batch.column(name)) for batch in batches]
            ).combine_chunks()
        except (pa.ArrowException, TypeError):
            columns[name] = plain(batches[0].column(name))  # empty cells at first, or whole numbers
            for batch in batches[1:]:
                merged, cells = columns[name], plain(batch.column(name))
                for kind in (cells.type, merged.type, pa.float64()):
                    with suppress(pa.ArrowException):
                        columns[name] = pa.concat_arrays([merged.cast(kind), cells.cast(kind)])
                        break
                else:
                    raise InputError(
                        "cells of one type",
                        got=f"{merged.type} and {cells.type}",
                        file=first.path,
                        column=name,
                        remedy="make them one type",
                    )
    rows = min(len(column) for column in columns.values())
    table = pa.table({name: column.slice(0, rows) for name, column in columns.items()})
    return table, first.raw_text, first.decimal_comma


def _lowest(sample: list[tuple[Array, Any]]) -> list[tuple[Array, Any]]:
    """The rows with the smallest keys, as many as are kept."""
    keys = np.concatenate([k for k, _ in sample])
    if len(keys) <= _MOST_ROWS:
        return sample
    highest = np.partition(keys, _MOST_ROWS)[_MOST_ROWS]
    out = []
    for batch_keys, batch in sample:
        rows = np.flatnonzero(batch_keys < highest)
        if len(rows):
            out.append((batch_keys[rows], batch.take(column_of(rows, "number", "rows"))))
    return out


def _learnt(array: Any, name: str, text: bool, comma: bool, every: bool) -> ColumnEncoding:
    """How a column becomes features, by its cells; `_Unfit` says why it does not."""
    kind = array.type.value_type if pt.is_dictionary(array.type) else array.type
    if pt.is_temporal(kind):
        raise _Unfit("times")
    if pt.is_nested(kind) or any(test(kind) for test in _BYTES):
        raise _Unfit("lists or bytes")
    if not text and (pt.is_floating(kind) or pt.is_integer(kind) or pt.is_decimal(kind)):
        return _of_numbers(raw_numbers(array, name, False), name, every)
    if text:
        try:
            return _of_numbers(raw_numbers(array, name, True, comma), name, every)
        except NotANumber:
            pass
    return _of_words(array, name, text, every)


def _of_words(array: Any, name: str, text: bool, every: bool) -> ColumnEncoding:
    """How a column becomes features whose cells are no numbers: of truth values, of names or of sentences."""
    codes, values = distinct_cells(array, name)
    written = text or pt.is_boolean(getattr(array.type, "value_type", array.type))
    names = [category_name(value, written) for value in values]
    filled = [cell for cell in names if cell is not None]
    if not filled:
        raise _Unfit("empty")
    if text and all(_TIME.fullmatch(cell) for cell in filled[:100]):
        raise _Unfit("times")
    if {*filled} <= {*TRUTHS}:
        return _of_names(codes, names, name, "truth", every)
    rows = int((codes >= 0).sum())
    if _are_sentences(filled, rows):
        return _of_text(array, name, text)
    if len(filled) > _ALL_DIFFERENT * rows and rows >= _IDENTIFIER_ROWS:
        if every:
            raise _Unfit("an identifier (nearly all values differ)")
        return _of_text(array, name, text)
    return _of_names(codes, names, name, "name", every)


_BYTES = (pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary)


def _are_sentences(distinct: Sequence[str], rows: int) -> bool:
    """Whether texts are so long, and so many of them differ, that they are no names."""
    words = sum(text.count(" ") + 1 for text in distinct) / len(distinct)
    is_diverse = len(distinct) > _MANY * rows and words >= _SENTENCE
    return is_diverse or (words >= _LONG_SENTENCE and len(distinct) > _IDENTIFIER_ROWS)


def _of_numbers(numbers: Array, name: str, every: bool) -> ColumnEncoding:
    filled = numbers[~np.isnan(numbers)]
    if not len(filled):
        raise _Unfit("empty")
    distinct = np.unique(filled)
    if every and len(distinct) == 1 and len(filled) == len(numbers):
        raise _Unfit(f"constant ({distinct[0]:g})")
    are_integers = bool((distinct == np.floor(distinct)).all())
    if every and are_integers and len(distinct) == len(filled) >= _IDENTIFIER_ROWS:
        raise _Unfit("an identifier (all values differ)")
    if are_integers and len(distinct) <= _FEW_NUMBERS:
        counts = [int((numbers == value).sum()) for value in distinct]
        order = sorted(range(len(distinct)), key=lambda i: (-counts[i], i))
        return ColumnEncoding(
            UserColumn(name, "category", 0, tuple(str(int(distinct[i])) for i in order)), "integer"
        )
    spread = float(filled.std())
    return ColumnEncoding(
        UserColumn(
            name, "number", 0, (), (float(filled.mean()),), (spread if spread > 0 else 1.0,)
        ),
        "number",
    )


def _of_names(
    codes: Array, names: list[str | None], name: str, values: ValueKind, every: bool
) -> ColumnEncoding:
    counts: dict[str, int] = {}
    for label, count in zip(
        names, np.bincount(codes[codes >= 0], minlength=len(names)).tolist(), strict=True
    ):
        if label is not None:
            counts[label] = counts.get(label, 0) + count
    if every and len(counts) == 1 and sum(counts.values()) == len(codes):
        raise _Unfit(f"constant ({next(iter(counts))[:40]!r})")
    order = sorted(counts, key=lambda label: (-counts[label], label))
    minimum = _LEAST_SHARE * len(codes)
    labels = [
        label for i, label in enumerate(order[:_MOST_LABELS]) if i == 0 or counts[label] >= minimum
    ]
    return ColumnEncoding(UserColumn(name, "category", 0, tuple(labels)), values)


def _of_text(array: Any, name: str, text: bool) -> ColumnEncoding:
    figures, filled = text_figures(array, name, text)
    center, spread = figures[filled].mean(axis=0), figures[filled].std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    user = UserColumn(name, "text", 0, TEXT_FIGURES, tuple(center.tolist()), tuple(scale.tolist()))
    return ColumnEncoding(user, "text")
