"""Filtered: the rows of a file for which conditions hold, each known by the place that it has in its file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import InputError, UsageError
from .artifact_cache import checksum
from .base import Each
from .columns import Kind, Layout
from .files import Stamp, translated
from .held import cells_held
from .known_files import known_files
from .reader import PLACE, Piece, Reader, TableReader, TextReader
from .where import Condition

_ROWS = 65_536
_FEWEST = 1024


@dataclass(frozen=True)
class FilteredReader(TableReader):
    """Rows of ``inner`` for which all conditions of ``where`` hold; ``rows`` is their number once it was counted."""

    inner: Reader
    where: tuple[Condition, ...]
    rows: int | None = None

    def __post_init__(self) -> None:
        for name in ("form", "file", "columns", "text", "comma", "classes", "binding"):
            object.__setattr__(self, name, getattr(self.inner, name))
        object.__setattr__(self, "stated_names", dict(self.inner.stated_names))

    def tables(self, kinds: Mapping[str, Kind], rows: int) -> Iterator[Any]:
        """Batches of the rows that are left, with their places in what ``inner`` reads as a further column; what cannot
        hold such rows is not read.
        """
        read = {**{one.column: one.kind or "any" for one in self.where}, **kinds}
        pieces = self.inner.narrowed(self.where, self.inner.rows or 1)
        for piece in [Piece(self.inner, 0, 0)] if pieces is None else pieces:
            done = piece.in_file
            # of a few rows that are asked for, the first may stand far down
            for batch in piece.reader.tables(read, max(rows, _FEWEST)):
                places = self._places(batch, done)
                for at in range(0, len(places), rows):
                    yield _taken(batch, kinds, places[at : at + rows], done)
                done += batch.num_rows

    def _places(self, batch: Any, done: int) -> Any:
        """The places in a batch of the rows that are left."""
        held = np.ones(batch.num_rows, dtype=bool)
        try:
            with translated(self.file, self.form):
                for one in self.where:
                    held &= self._held(batch, one)
        except InputError as error:
            raise error.at(row_offset=done) from None
        except UsageError as error:
            raise UsageError(f"{self.file}: {error}" if self.file else str(error)) from None
        return np.flatnonzero(held)

    def _held(self, batch: Any, one: Condition) -> Any:
        loose = self.inner.text_file
        written_as = None if loose is None or not self.text or one.kind != "any" else loose.cell_type(one.column)
        return cells_held(batch.column(one.column), one, self.text, written_as, self.comma)

    def bound(self, layout: Layout) -> Reader:
        """The same of the reader within."""
        return replace(self, inner=self.inner.bound(layout))

    def holds_cells(self, column: str) -> bool:
        """Whether the column has one cell a row."""
        return self.inner.holds_cells(column)

    def counted(self, each: Each, columns: Collection[str], stamp: Stamp | None) -> Reader:
        """The reader within, counted; the rows that are left are counted by `left_of`."""
        return replace(self, inner=self.inner.counted(each, columns, stamp))

    @property
    def cast(self) -> str:
        """The conditions, and the rows among which they are asked."""
        return repr((self.inner.cast, self.inner.rows, self.where))

    @property
    def text_file(self) -> TextReader | None:
        """That of the reader within."""
        return self.inner.text_file

    def with_text_file(self, reader: TextReader) -> Reader:
        """The same of another text file."""
        return replace(self, inner=self.inner.with_text_file(reader))

    def split(self, target_rows: int) -> list[Piece]:
        """The pieces of the reader within; row groups that cannot hold such rows are left out."""
        found = self.inner.narrowed(self.where, target_rows)
        return self._wrapped(self.inner.split(target_rows) if found is None else found)

    def files_whole(self) -> list[Piece]:
        """The whole of each file."""
        return self._wrapped(self.inner.files_whole())

    def _wrapped(self, pieces: Sequence[Piece]) -> list[Piece]:
        return [one._replace(reader=replace(self, inner=one.reader)) for one in pieces]


def _taken(batch: Any, kinds: Mapping[str, Kind], places: Any, done: int) -> Any:
    """The rows of a batch at these places, and the places among all."""
    kept = [batch.column(name) for name in kinds]
    if len(places) < batch.num_rows:
        kept = [cells.take(pa.array(places)) for cells in kept]
    return pa.record_batch([*kept, pa.array(places + done)], names=[*kinds, PLACE])


def filtered(where: Sequence[Condition], reader: Reader) -> Reader | None:
    """The rows of a file for which all conditions hold; None where its folders say that there are none."""
    rest = reader.unsettled(where)
    return None if rest is None else FilteredReader(reader, tuple(rest)) if rest else reader


def left_of(pieces: Sequence[Piece], each: Each, stamp: Stamp | None) -> list[Piece]:
    """Pieces that know how many rows are left in them and before them; those without any are left out.

    ``each`` counts them; what is known of a piece of a file (`known_files`) is not counted again.
    """
    known = known_files()
    names = [f"left {checksum(str(one.in_file), one.reader.cast)}" for one in pieces]
    stamps = [one.stamp or stamp for one in pieces]
    files = [str(one.reader.file) for one in pieces]
    counts = [
        known.get(file, at, name) if isinstance(one.reader, FilteredReader) else one.reader.rows
        for one, name, at, file in zip(pieces, names, stamps, files, strict=True)
    ]
    lacking = [i for i, count in enumerate(counts) if count is None]
    for i, count in zip(lacking, each(_count, [pieces[i]._replace(stamp=stamps[i]) for i in lacking]), strict=True):
        counts[i] = count
        if pieces[i].reader.file is not None:
            known.put(files[i], stamps[i], names[i], count)
    out, before = [], 0
    for piece, count in zip(pieces, counts, strict=True):
        reader = replace(piece.reader, rows=count) if isinstance(piece.reader, FilteredReader) else piece.reader
        if count:
            out.append(piece._replace(reader=reader, before=before))
        before += count or 0
    return out


def _count(piece: Piece) -> int:
    """Rows of a piece that are left."""
    reader = piece.reader
    kinds: dict[str, Kind] = {} if isinstance(reader, FilteredReader) else {reader.columns[0]: "any"}
    try:
        return sum(batch.num_rows for batch in reader.tables(kinds, _ROWS))
    except InputError as error:
        if piece.stamp is not None and reader.file is not None:
            piece.stamp.verify(reader.file)  # a file that changed meanwhile is the better explanation
        raise error.at(file=reader.file, row_offset=piece.in_file) from None
