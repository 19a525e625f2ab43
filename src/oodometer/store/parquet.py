"""Parquet: reading in batches and in ranges of row groups, writing in row groups."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import IO, Any

import pyarrow as pa
import pyarrow.types as pt

from ..classes import ClassNames, one_form
from ..errors import OodometerError
from ..plain import Strings
from .base import rows_of_a_part
from .columns import Kind
from .files import Stamp, check_unpacked, translated
from .nested import odd_columns
from .places import is_remote, open_remote
from .predicates import matches
from .scan import Reader, runs_of
from .where import Condition

GROUP_ROWS = 131_072
META = b"oodometer.classes"
# Read column chunks in pieces instead of whole: a file of one giant row group then needs no more memory than others.
# No memory map: mapped pages count as memory, and a file that is cut off while mapped kills the process.
_BUFFER = 1 << 20
_TIMES = 100
_FEWEST = 1024  # rows of a batch, however wide


@dataclass(frozen=True)
class ParquetReader(Reader):
    """Row groups ``start`` to ``stop`` of a Parquet file."""

    file: str
    columns: Strings
    rows: int
    groups: tuple[int, ...]  # rows of each row group of this piece
    start: int = 0
    classes: ClassNames | None = None
    odd: Strings = ()
    form = "parquet"

    @staticmethod
    def open(path: str) -> ParquetReader:
        """Read the footer."""
        with _opened(path) as file:
            meta = file.metadata
            groups = tuple(meta.row_group(i).num_rows for i in range(meta.num_row_groups))
            schema = file.schema_arrow
            names, odd = tuple(schema.names), odd_columns(schema)
            return ParquetReader(path, names, meta.num_rows, groups, 0, stated_classes(schema), odd)

    def tables(self, kinds: Mapping[str, Kind], rows: int) -> Iterator[Any]:
        """Read the named columns of the row groups, one thread, so that workers do not fight for cores."""
        names = list(kinds)
        with _opened(self.file) as file:
            meta, size = file.metadata, Stamp.of(self.file).size
            numbers = list(range(self.start, self.start + len(self.groups)))
            lists = [
                i for i in range(meta.num_columns) if meta.schema.column(i).max_repetition_level
            ]
            for number in numbers:
                group = meta.row_group(number)
                # then some column is, perhaps one that is read
                swollen = group.total_byte_size > _TIMES * size
                for index in range(meta.num_columns) if swollen else lists:
                    # a group's may be no text
                    column, path = (group.column(index), meta.schema.column(index).path)
                    name = next((w for w in names if f"{path}.".startswith(f"{w}.")), None)
                    if name is not None:
                        cells = (
                            8
                            * column.num_values
                            * min(_FEWEST, group.num_rows)
                            // max(group.num_rows, 1)
                        )
                        # lists in one batch, and pages, which are unfolded whole
                        unpacked = max(
                            cells if index in lists else 0, column.total_uncompressed_size
                        )
                        check_unpacked(column.total_compressed_size, unpacked, self.file, name)
            batches = file.iter_batches(rows, row_groups=numbers, columns=names, use_threads=False)
            while True:
                with translated(self.file, self.form):
                    batch = next(batches, None)
                if batch is None:
                    return
                yield batch

    def split(self, target_rows: int, where: Sequence[Condition] = ()) -> list[tuple[Reader, int]]:
        """Ranges of row groups of about ``target_rows`` rows, without those that statistics rule out."""
        matching: Collection[int] | None = None
        if where:
            with _opened(self.file) as file:
                meta, schema = file.metadata, file.schema_arrow
                numbers = {meta.schema.column(i).path: i for i in range(meta.num_columns)}
                conditions = [
                    (numbers[c.column], schema.field(c.column).type, c)
                    for c in where
                    if c.column in numbers
                ]
                groups = [meta.row_group(self.start + n) for n in range(len(self.groups))]
                fits = [
                    all(_may_match(group.column(at), kind, c) for at, kind, c in conditions)
                    for group in groups
                ]
                matching = {n for n, may in enumerate(fits) if may}
        rows = self.groups
        return [
            (replace(self, rows=sum(rows[a:b]), groups=rows[a:b], start=self.start + a), before)
            for a, b, before in runs_of(rows, rows_of_a_part(target_rows, self.rows), matching)
        ]


@lru_cache(maxsize=16)
def _footer(path: str, _: Stamp) -> Any:
    """Read once a process, since that of a large file takes as long as a part; one that changed has another stamp."""
    import pyarrow.parquet as pq

    return pq.read_metadata(open_remote(path) if is_remote(path) else path)


def _opened(path: str) -> Any:
    import pyarrow.parquet as pq  # with its file systems: other formats need none of it

    with translated(path, "parquet"):
        footer = _footer(path, Stamp.of(path))
        if is_remote(path):  # few large requests in place of many small ones
            return pq.ParquetFile(open_remote(path), pre_buffer=True, metadata=footer)
        return pq.ParquetFile(
            path, memory_map=False, pre_buffer=False, buffer_size=_BUFFER, metadata=footer
        )


def _is_told(kind: Any, condition: Condition) -> bool:
    """Whether the smallest and largest cell of a column of this type tell anything of a condition."""
    if condition.kind == "truth":
        return False
    if condition.sign == "not_equal":
        # NaN, which is unequal, is in no statistics, and texts may be cut off there
        return bool(pt.is_integer(kind))
    if pt.is_string(kind) or pt.is_large_string(kind):
        # texts that are dates, true or false are not compared as they are kept
        return condition.kind != "time" and not any(
            v.time() is not None or v.text.lower() in ("true", "false") for v in condition.values
        )
    types = (pt.is_timestamp, pt.is_date, pt.is_integer, pt.is_float32, pt.is_float64)
    return any(is_type(kind) for is_type in types)


def _may_match(chunk: Any, kind: Any, condition: Condition) -> bool:
    """Whether by its smallest and largest cell a condition may hold of a cell in a column of a row group."""
    statistics = chunk.statistics
    if statistics is None or not statistics.has_min_max or not _is_told(kind, condition):
        return True
    try:
        ends = pa.array([statistics.min, statistics.max], kind)
        if not (statistics.min <= statistics.max):  # NaN, which some write there
            return True
        if condition.sign not in ("equal", "is_in"):
            return bool(matches(ends, condition).any())
        return any(
            matches(ends, replace(condition, values=(value,), sign="less_equal"))[0]
            and matches(ends, replace(condition, values=(value,), sign="greater_equal"))[1]
            for value in condition.values
        )
    except (OodometerError, pa.ArrowException, ValueError, TypeError, OverflowError):
        return True  # what is wrong with it is told when the cells are compared


def stated_classes(schema: Any) -> ClassNames | None:
    """The class names that `write_predictions` notes beside the columns."""
    try:
        names = json.loads((schema.metadata or {}).get(META, b"null"))
    except ValueError:
        return None
    right = isinstance(names, list) and all(
        isinstance(n, (int, str)) and not isinstance(n, bool) for n in names
    )
    names = [one_form(name) if isinstance(name, str) else name for name in names] if right else []
    return tuple(names) if right and len(set(names)) == len(names) else None


def write(file: IO[bytes], schema: Any, batches: Iterator[Any]) -> None:
    """Write record batches, two to a row group."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_table(pa.Table.from_batches([batch]), row_group_size=GROUP_ROWS)
