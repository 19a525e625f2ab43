"""Picked rows: a few rows of a source with every column that its file has, as they are written there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError
from .base import BATCH_ROWS, Source
from .columns import Kind, Layout
from .memory import DecidedSource, LabelledSource
from .reader_source import ReaderSource


@dataclass(frozen=True)
class PickedRows:
    """Rows of a source as an Arrow table, in the order asked for, and what its columns mean.

    >>> from oodometer.store import as_source
    >>> found = pick_rows(as_source({"prediction": [0, 1, 1], "text": ["a", "b", "c"]}), np.array([2, 0]))
    >>> found.table.column("text").to_pylist(), found.field_of("prediction"), found.field_of("text")
    (['c', 'a'], 'prediction', None)
    """

    table: Any
    layout: Layout

    def field_of(self, column: str) -> str | None:
        """The field of a record that a column feeds; None where it feeds none."""
        return next((name for name, feed in self.layout.feeds.items() if column in feed.columns), None)

    def named(self, name: str) -> str | None:
        """What the file calls a column that is known by this name after renaming; None where there is none."""
        found = self.layout.where.get(name)
        return found if found in self.table.column_names else None


def pick_rows(source: Source, rows: Array) -> PickedRows:
    """Rows of a source, counted from 0, with all columns of its file in their order; cells of CSV stay text.

    One pass over the pieces (row groups of Parquet) that hold any of them; in memory are the rows that were asked for
    and a batch. Raises `InputError` as reading does.
    """
    import pyarrow as pa

    while isinstance(source, (DecidedSource, LabelledSource)):
        source = source.inner
    if isinstance(source, ReaderSource):
        layout, tables = source.layout, _of_reader(source, rows)
    else:
        tables = _of_record(source)
        first = next(tables)
        layout, tables = Layout.parse(first[1].schema.names, file=source.path), iter([first, *tables])
    order = np.argsort(rows, kind="stable")
    wanted = rows[order]
    found = []
    for before, batch in tables:
        inside = wanted[(wanted >= before) & (wanted < before + batch.num_rows)] - before
        if len(inside):
            found.append(pa.Table.from_batches([batch.take(pa.array(inside))]))
    table = pa.concat_tables(found, promote_options="permissive")
    places = np.empty(len(rows), dtype=np.int64)
    places[order] = np.arange(len(rows))
    return PickedRows(table.take(pa.array(places)), layout)


def _of_reader(source: ReaderSource, rows: Array) -> Iterator[tuple[int, Any]]:
    """Batches with the number of rows before each; pieces without a wanted row are not read."""
    reader = source.reader
    kinds = _kinds(reader.columns, source.layout, reader.text, reader.form == "npz")
    before = 0
    for piece, start, in_file, stamp in source.pieces(BATCH_ROWS):
        before = before if start is None else start
        if piece.rows is not None and not ((rows >= before) & (rows < before + piece.rows)).any():
            continue
        try:
            for batch in piece.tables(kinds, BATCH_ROWS):
                yield before, batch.select(list(kinds))
                before += batch.num_rows
        except InputError as error:
            raise error.at(file=piece.file, row_offset=in_file) from None
        if stamp is not None and piece.file is not None:
            stamp.verify(piece.file)
    if source.stamp is not None and source.path is not None:
        source.stamp.verify(source.path)


def _kinds(columns: Iterable[str], layout: Layout, text: bool, arrays: bool) -> dict[str, Kind]:
    """How each column is read: text as it is written; of arrays only those that stand for columns."""
    known = layout.kinds(layout.feeds.values())
    if arrays:
        return known
    return dict.fromkeys(columns, "text" if text else "any")


def _of_record(source: Source) -> Iterator[tuple[int, Any]]:
    from .write import table_of_record

    before = 0
    for batch in table_of_record(source.read(), text=False, lists=True)[1]:
        yield before, batch
        before += batch.num_rows
