"""Shared rows: target rows that stand in the reference, too, told by their ids or by all that both files hold; and the
column by which files of the same rows tell them apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from typing import Any, cast

import numpy as np

from ..arrays import Array
from ..audits.joining import KEY
from ..errors import InputError
from ..store import Source
from ..store.base import no_rows
from ..store.cells import column_of, key_cells, numbers_of, plain
from ..store.columns import INDEX

_ROWS, _COLUMNS = 10_000, 50  # that are looked at of each file
_QUICK = 3  # columns that say whether the others need to be looked at
_FEWEST, _SHARE = 5, 0.01  # target rows that are worth a word
_BY_CHANCE = 10  # so many times as many as rows that stand in the target twice
_NUMBERED = re.compile(r"(\D*)(\d{1,15})")
_MOST_KEPT = 200_000  # rows whose cells are held against those of other files
_DECIMAL = re.compile(r"-?\d*[.,]\d+(e-?\d+)?")
_UNLIKE = ("label", "correct", "gold", KEY, "row", INDEX)  # what need not be alike in a row of both


def said_of_shared_rows(references: Sequence[Source], target: Source) -> list[str]:
    """A warning where target rows stand in a reference, too; none where none do, or the files tell no rows apart."""
    for reference in references:
        shares = {"id": _same_ids(reference, target), "cells": _same_rows(reference, target)}
        what = max(shares, key=lambda name: shares[name])
        if shares[what] >= _SHARE:
            text = f"rows of the target stand in the reference, too (the same {what})"
            return [f"{text}: they say nothing of new rows; leave them out of one of the two"]
    return []


def _same_ids(reference: Source, target: Source) -> float:
    """The share of target rows whose id is one of the reference's; 0 for ids that count rows."""
    if not (reference.holds(KEY) and target.holds(KEY)):
        return 0.0
    try:
        reference_cells, ids = (
            key_cells(_head(source, [KEY])[0], KEY) for source in (reference, target)
        )
    except InputError:
        return 0.0
    texts, target_texts = (
        [str(text) for text in cells.to_pylist()] for cells in (reference_cells, ids)
    )
    return (
        0.0
        if _count_rows(texts) or _count_rows(target_texts)
        else _share(np.isin(target_texts, texts))
    )


def _count_rows(ids: Sequence[str]) -> bool:
    """Whether ids are numbers behind one word that count rows: 0, 1, 2, ... or r1, r2, ..., in any order."""
    matches = [match for text in ids if (match := _NUMBERED.fullmatch(text))]
    if len(matches) < len(ids) or len({match[1] for match in matches}) > 1:
        return False
    numbers = [int(match[2]) for match in matches]
    return min(numbers) <= 1 and max(numbers) <= 2 * len(numbers)


def _same_rows(reference: Source, target: Source) -> float:
    """The share of target rows of which all cells stand in a row of the reference; 0 where that may be by chance."""
    truth = {*_UNLIKE, *(column for source in (reference, target) for column in _truth(source))}
    names = [name for name in reference.columns if name in target.columns and name not in truth][
        :_COLUMNS
    ]
    inputs = {*reference.own_columns}
    # outputs tell most rows apart, and few columns are read quickly
    names.sort(key=lambda name: name in inputs)
    try:
        alike, twice = _rows_alike(reference, target, names[:_QUICK]) if names else (0.0, 0.0)
        if alike >= _SHARE and len(names) > _QUICK:
            alike, twice = _rows_alike(reference, target, names)
    except InputError:  # of cells that are no single values
        return 0.0
    return alike if alike > _BY_CHANCE * twice else 0.0


def _rows_alike(reference: Source, target: Source, names: Sequence[str]) -> tuple[float, float]:
    """The share of target rows whose cells of these columns stand in a row of the reference, and in one before."""
    reference_hashes, target_hashes = _hashes(_head(reference, names), _head(target, names))
    return _share(np.isin(target_hashes, reference_hashes)), 1 - len(
        np.unique(target_hashes)
    ) / len(target_hashes)


def _truth(source: Source) -> tuple[str, ...]:
    """The file's own names of what is the truth of a row."""
    feeds = getattr(getattr(source, "layout", None), "feeds", {})
    return tuple(column for name in _UNLIKE if name in feeds for column in feeds[name].columns)


def _share(are_shared: Array) -> float:
    return float(are_shared.mean()) if are_shared.sum() >= _FEWEST else 0.0


def _head(source: Source, names: Sequence[str]) -> list[Any]:
    """The first rows of columns, as Arrow arrays: of one batch, so that a run that goes on reads no file again."""
    with closing(cast(Any, source.raw(list(names)))) as batches:
        batch = next(batches, None)
    if batch is None:
        raise no_rows(source.path)
    return [plain(batch.slice(0, _ROWS).column(i), coded=False) for i in range(len(names))]


def _hashes(first: Sequence[Any], second: Sequence[Any]) -> tuple[Array, Array]:
    """A number for each row of two tables of the same columns, which is the same for the same cells."""
    rng, rows = np.random.default_rng(0), len(first[0])
    out = np.zeros(rows + len(second[0]), dtype=np.uint64)
    for first_column, second_column in zip(first, second, strict=True):
        for codes in _codes(first_column, second_column):
            words = rng.integers(0, 2**63, int(codes.max()) + 1, dtype=np.uint64)
            out = out * np.uint64(0x9E3779B97F4A7C15) + words[codes]
    return out[:rows], out[rows:]


def _codes(first: Any, second: Any) -> list[Array]:
    """Numbers of the different cells of a column in two tables, from 0, an empty one last; of lists of one length one
    column for each entry, of others none.
    """
    import pyarrow as pa

    if pa.types.is_nested(first.type) or pa.types.is_nested(second.type):
        entries = _entries(first), _entries(second)
        alike = len(entries[0]) == len(entries[1])
        return (
            [codes for a, b in zip(*entries, strict=True) for codes in _codes(a, b)]
            if alike
            else []
        )
    if first.type != second.type:
        first, second = (cells.cast(pa.large_string()) for cells in (first, second))
    coded = pa.concat_arrays([first, second]).dictionary_encode()
    return [numbers_of(coded.indices, len(coded.dictionary))]


def _entries(cells: Any) -> list[Any]:
    """Columns of the entries of lists that are all of one length and hold no lists; none of anything else."""
    import pyarrow as pa

    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if (
        not any(is_list(cells.type) for is_list in lists)
        or cells.null_count
        or pa.types.is_nested(cells.type.value_type)
    ):
        return []
    flat = cells.flatten()
    width = len(flat) // max(len(cells), 1)
    lengths = (
        {len(flat)}
        if pa.types.is_fixed_size_list(cells.type)
        else {*cells.value_lengths().unique().to_pylist()}
    )
    if len(lengths) > 1 or len(flat) != width * len(cells):
        return []
    return [
        flat.take(column_of(np.arange(index, len(flat), width), "number", "place"))
        for index in range(width)
    ]


def telling_column(sources: Sequence[Source]) -> str | None:
    """The column of texts or whole numbers whose cells are the same in all files, each once in each; None without one.

    Numbers that count rows say where a row stands and not which one it is. Two columns that put the rows into
    different orders tell nothing.
    """
    shared = [c for c in sources[0].own_columns if all(source.holds(c) for source in sources)]
    orders: dict[str, Array] = {}
    for name in shared[:_COLUMNS]:
        cells = [_cells_of_rows(source, name) for source in sources]
        if [] in cells or _count_rows(cells[0]) or any(set(cells[0]) != {*more} for more in cells):
            continue
        place = {text: row for row, text in enumerate(cells[0])}
        orders[name] = np.array([[place[text] for text in column] for column in cells])
    first = next(iter(orders), None)
    return first if all(np.array_equal(o, orders[str(first)]) for o in orders.values()) else None


def _cells_of_rows(source: Source, name: str) -> list[str]:
    """The cells of a column as texts where every row has one of its own; none of decimals, lists and too many rows."""
    import pyarrow as pa

    head = _head(source, [name])[0]
    is_other = pa.types.is_nested(head.type) or pa.types.is_floating(head.type)
    if is_other or head.null_count or len(head.unique()) < len(head):
        return []
    try:
        texts = [str(text) for text in source.keys(name).to_pylist()]
    except InputError:
        return []
    is_told = len(texts) <= _MOST_KEPT and len({*texts}) == len(texts)
    return texts if is_told and not all(map(_DECIMAL.fullmatch, texts)) else []
