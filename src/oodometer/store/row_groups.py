"""Row groups: those of a Parquet file whose statistics say that no row of them is left by conditions are not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as pt

from ..errors import UsageError
from .files import translated
from .held import scalar_of
from .places import is_remote, reached
from .reader import Piece
from .where import Condition

if TYPE_CHECKING:
    from .parquet import ParquetReader

__all__ = ["pieces_left"]


def pieces_left(reader: ParquetReader, where: Sequence[Condition], target_rows: int) -> list[Piece]:
    """Ranges of row groups that may hold rows for which the conditions hold, each of at least ``target_rows`` rows
    unless a group that is left out ends it.
    """
    left = _groups(reader, where)
    out: list[Piece] = []
    first, before = 0, 0  # of the range that is being gathered
    for at, rows in enumerate((*reader.groups, 0)):
        gathered = sum(reader.groups[first:at])
        ends = at == len(reader.groups) or reader.start + at not in left
        if gathered and (ends or gathered >= target_rows):
            groups = reader.groups[first:at]
            piece = replace(reader, rows=gathered, groups=groups, start=reader.start + first)
            out.append(Piece(piece, before, before))
            first, before = at, before + gathered
        if ends:
            first, before = at + 1, before + rows
    return out


def _groups(reader: ParquetReader, where: Sequence[Condition]) -> set[int]:
    """The numbers of the row groups that may hold such rows."""
    import pyarrow.dataset as ds
    import pyarrow.fs as pafs

    numbers = list(range(reader.start, reader.start + len(reader.groups)))
    with translated(reader.file, "parquet"):
        files, place = reached(reader.file) if is_remote(reader.file) else (pafs.LocalFileSystem(), reader.file)
        fragment = ds.ParquetFileFormat().make_fragment(place, filesystem=files, row_groups=numbers)
        schema = fragment.physical_schema
        asked = [told for one in where if (told := _expression(one, schema)) is not None]
        if not asked:
            return set(numbers)
        return {group.id for group in fragment.subset(filter=reduce(lambda a, b: a & b, asked)).row_groups}


def _expression(one: Condition, schema: Any) -> Any:
    """A condition that statistics can be held against; None where cells are not compared as they are stored."""
    import pyarrow.compute as pc

    place = schema.get_field_index(one.column)
    kind = None if place < 0 else schema.field(place).type
    if kind is None or not (pt.is_integer(kind) or pt.is_floating(kind) or pt.is_string(kind) or pt.is_timestamp(kind)):
        return None
    if (one.kind == "time") != pt.is_timestamp(kind) and one.kind != "any":
        return None  # times that are written as texts
    if one.kind == "truth" or pt.is_float16(kind):
        return None
    try:
        values = [scalar_of(value, kind, one) for value in one.values]
        if pt.is_timestamp(kind):
            values = [
                pa.scalar(value.cast(pa.int64()).as_py(), pa.int64()).cast(_micro(kind)).cast(kind) for value in values
            ]
    except (UsageError, pa.ArrowException):
        return None  # told when the cells are compared
    field = pc.field(one.column)
    if one.sign == "is_in":
        return field.isin(pa.array([value.as_py() for value in values], values[0].type))
    return getattr(pc, one.sign)(field, pc.scalar(values[0]))


def _micro(kind: Any) -> Any:
    """Microseconds, in the zone of a type of times."""
    return pa.timestamp("us", tz=kind.tz)
