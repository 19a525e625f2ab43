"""Arrow: IPC files (Feather version 2), IPC streams, and tables in memory."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

import pyarrow as pa

from ..classes import ClassNames
from ..plain import Strings
from .base import rows_of_a_part
from .columns import Kind
from .files import check_unpacked, translated
from .nested import odd_columns
from .parquet import stated_classes
from .places import local_copy
from .scan import Reader, runs_of
from .where import Condition

_AS_IS = -1
_DICTIONARY, _BATCH = 2, 3


def check_messages(path: str) -> None:
    """No record batch or dictionary of an Arrow file takes more memory than `check_unpacked` allows. Messages follow
    one another: mark, length of the metadata (tables of Message.fbs), metadata, body. What is amiss is its reader's to
    say.
    """
    with open(path, "rb") as file:
        file_size = os.fstat(file.fileno()).st_size
        at = 8 if file.read(6) == b"ARROW1" else 0
        try:
            while True:
                file.seek(at)
                mark, size = struct.unpack("<iI", file.read(8))
                before = 8
                if mark != -1:  # files written before 2019 have no mark
                    size, before = mark, 4
                body = at + before + size
                if size <= 0 or body > file_size:  # the end, or a length that is damaged
                    return
                file.seek(at + before)
                meta = file.read(size)
                message = _number("<I", meta, 0)
                _check_body(file, path, meta, message, body)
                length = _field(meta, message, 3)
                at = body + (0 if length is None else max(_number("<q", meta, length), 0))
        except (struct.error, OverflowError, OSError):
            return


def _check_body(file: IO[bytes], path: str, meta: bytes, message: int, body: int) -> None:
    """Add up the buffers of one message; a packed one begins with its length when unpacked."""

    def target(at: int | None) -> int | None:
        """Where an offset at this place leads."""
        return None if at is None else at + _number("<I", meta, at)

    def inner(table: int | None, number: int) -> int | None:
        return None if table is None else _field(meta, table, number)

    kind, batch = inner(message, 1), target(inner(message, 2))
    if kind is None or _number("<B", meta, kind) not in (_DICTIONARY, _BATCH):
        return
    if _number("<B", meta, kind) == _DICTIONARY:
        batch = target(inner(batch, 1))
    buffers = target(inner(batch, 2))
    if buffers is None or inner(batch, 3) is None:
        return  # nothing is packed
    packed = unpacked = 0
    for i in range(_number("<I", meta, buffers)):
        offset, length = struct.unpack_from("<qq", meta, buffers + 4 + 16 * i)
        if length >= 8:
            file.seek(body + offset)
            size = _number("<q", file.read(8), 0)
            packed += length
            unpacked += length if size == _AS_IS else size
    check_unpacked(packed, unpacked, path)


def _number(form: str, data: bytes, at: int) -> int:
    number: int = struct.unpack_from(form, data, at)[0]
    return number


def _field(data: bytes, table: int, number: int) -> int | None:
    """Where a field of a table lies, None where it is absent."""
    fields = table - _number("<i", data, table)
    slot = 4 + 2 * number
    if slot >= _number("<H", data, fields):
        return None
    offset = _number("<H", data, fields + slot)
    return table + offset if offset else None


@dataclass(frozen=True)
class ArrowReader(Reader):
    """Record batches ``start`` to ``start + len(batch_rows)`` of an Arrow IPC file; all of an IPC stream, as data set
    caches are, which can only be read from front to back.
    """

    file: str
    columns: Strings
    rows: int | None = None
    batch_rows: tuple[int, ...] | None = None
    start: int = 0
    classes: ClassNames | None = None
    odd: Strings = ()
    form = "arrow"

    @staticmethod
    def open(path: str) -> ArrowReader:
        """Read the schema and, of a file (it starts with ARROW1), the length of each record batch."""
        check_messages(local_copy(path))
        with translated(path, "arrow"), pa.OSFile(local_copy(path)) as source:
            is_file = source.read(6) == b"ARROW1"
            source.seek(0)
            schema = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(source).schema
            reader = ArrowReader(
                path, tuple(schema.names), classes=stated_classes(schema), odd=odd_columns(schema)
            )
            if not is_file:
                return reader
            # The footer does not tell how long the batches are: read the smallest column.
            bits = [
                kind.bit_width if pa.types.is_primitive(kind) else 1 << 20 for kind in schema.types
            ]
            smallest = bits.index(min(bits, default=0)) if bits else 0
            file = pa.ipc.open_file(
                source, options=pa.ipc.IpcReadOptions(included_fields=[smallest])
            )
            rows = tuple(file.get_batch(i).num_rows for i in range(file.num_record_batches))
        return replace(reader, rows=sum(rows), batch_rows=rows)

    def tables(self, kinds: Mapping[str, Kind], rows: int) -> Iterator[Any]:
        """Read the named columns; every batch is validated, since the format itself checks nothing."""
        included = sorted(self.columns.index(name) for name in kinds)
        options = pa.ipc.IpcReadOptions(included_fields=included, use_threads=False)
        with translated(self.file, self.form):
            source = pa.OSFile(local_copy(self.file))
        with source:
            with translated(self.file, self.form):
                if self.batch_rows is None:
                    batches: Any = iter(pa.ipc.open_stream(source, options=options))
                else:
                    file = pa.ipc.open_file(source, options=options)
                    batches = map(
                        file.get_batch, range(self.start, self.start + len(self.batch_rows))
                    )
            while True:
                with translated(self.file, self.form):
                    batch = next(batches, None)
                    if batch is None:
                        return
                    batch.validate(full=True)
                for at in range(0, batch.num_rows, rows):
                    yield batch.slice(at, rows)

    def split(self, target_rows: int, where: Sequence[Condition] = ()) -> list[tuple[Reader, int]]:
        """Ranges of record batches with about ``target_rows`` rows."""
        if self.batch_rows is None:
            return [(self, 0)]
        rows, size = self.batch_rows, rows_of_a_part(target_rows, self.rows or 0)
        return [
            (replace(self, rows=sum(rows[a:b]), batch_rows=rows[a:b], start=self.start + a), before)
            for a, b, before in runs_of(rows, size)
        ]


class MemoryReader(Reader):
    """An Arrow table in memory; ``classes``, ``names`` of axes and the column of its ``index`` may come beside it."""

    form = "table"

    def __init__(
        self,
        table: Any,
        classes: ClassNames | None = None,
        names: Mapping[str, Strings] | None = None,
        index: str | None = None,
    ) -> None:
        self.table = table
        self.file = None
        self.columns = tuple(table.column_names)
        self.rows: int = table.num_rows
        self.odd = odd_columns(table.schema)
        self.binding = classes is not None
        self.classes = stated_classes(table.schema) if classes is None else classes
        self.stated_names = names or {}
        self.index_column = index

    def tables(self, kinds: Mapping[str, Kind], rows: int) -> Iterator[Any]:
        """Slices of the table, without copying."""
        positions = [self.columns.index(name) for name in kinds]
        yield from self.table.select(positions).to_batches(max_chunksize=rows)

    def split(self, target_rows: int, where: Sequence[Condition] = ()) -> list[tuple[Reader, int]]:
        """Slices of ``target_rows`` rows."""
        return [
            (MemoryReader(self.table.slice(at, target_rows)), at)
            for at in range(0, self.rows, target_rows)
        ]

    def __getstate__(self) -> bytes:
        # As an IPC stream, which holds the slice alone and not the whole table behind it.
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        state: bytes = sink.getvalue().to_pybytes()
        return state

    def __setstate__(self, state: bytes) -> None:
        self.__init__(pa.ipc.open_stream(state).read_all())  # type: ignore[misc]


def write(file: IO[bytes], schema: Any, batches: Iterator[Any]) -> None:
    """Write record batches as an Arrow IPC file."""
    with pa.ipc.new_file(
        file, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as writer:
        for batch in batches:
            writer.write_batch(batch)
