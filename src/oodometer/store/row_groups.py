"""Row groups: those of a Parquet file whose statistics say that no row of them is left by conditions are not read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as pt

from ..errors import OodometerError
from .held import cells_held
from .reader import Piece
from .where import Condition

if TYPE_CHECKING:
    from .parquet import ParquetReader

__all__ = ["pieces_left"]


def pieces_left(
    reader: ParquetReader, meta: Any, schema: Any, where: Sequence[Condition], target_rows: int
) -> list[Piece]:
    """Ranges of row groups that may hold rows for which the conditions hold, each of at least ``target_rows`` rows
    unless a group that is left out ends it; ``meta`` and ``schema`` are those of the file.
    """
    numbers = range(reader.start, reader.start + len(reader.groups))
    places = {meta.schema.column(i).path: i for i in range(meta.num_columns)}
    asked = [(one, places[one.column], schema.field(one.column).type) for one in where if _may_ask(one, places, schema)]
    left = {n for n in numbers if all(_may_hold(meta.row_group(n).column(at), kind, one) for one, at, kind in asked)}
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


def _may_ask(one: Condition, places: Mapping[str, int], schema: Any) -> bool:
    """Whether the smallest and the largest cell of a group tell of a condition: cells are compared as they are kept."""
    if one.column not in places or one.kind == "truth":
        return False
    kind = schema.field(one.column).type
    if one.sign == "not_equal":
        return bool(pt.is_integer(kind))  # NaN, which is unequal, is in no statistics, and texts may be cut off there
    times = pt.is_timestamp(kind) or pt.is_date(kind)
    texts = (pt.is_string(kind) or pt.is_large_string(kind)) and one.kind != "time"
    return bool(times or texts or pt.is_integer(kind) or pt.is_float32(kind) or pt.is_float64(kind))


def _may_hold(chunk: Any, kind: Any, one: Condition) -> bool:
    """Whether a condition may hold of a cell in a column of a row group."""
    known = chunk.statistics
    if known is None or not known.has_min_max:
        return True
    try:
        ends = pa.array([known.min, known.max], kind)
        if not (known.min <= known.max):  # NaN, which some write there
            return True
        if one.sign in ("equal", "is_in"):
            return any(
                _held(ends, one, "less_equal", v)[0] and _held(ends, one, "greater_equal", v)[1] for v in one.values
            )
        return bool(_held(ends, one, one.sign, one.values[0]).any())
    except (OodometerError, pa.ArrowException, ValueError, TypeError, OverflowError):
        return True  # what is wrong with it is told when the cells are compared


def _held(ends: Any, one: Condition, sign: str, value: Any) -> Any:
    return cells_held(ends, replace(one, sign=sign, values=(value,)))
