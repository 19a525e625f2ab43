"""Held: among the cells of a column, of whatever format, those of which a condition holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array
from ..errors import UsageError
from .cells import numbers_of, plain, time_cells
from .codes import dictionary, truth_cells
from .where import Condition, Value

__all__ = ["cells_held", "holds_of", "partition_holds", "scalar_of"]

_TRUTHS = {"true": True, "false": False}


def cells_held(array: Any, one: Condition, text: bool = False, written_as: Any = None, comma: bool = False) -> Array:
    """Where a condition holds, shape (sample,): nowhere where the cell is empty.

    ``text`` says that the format writes all cells as text, ``written_as`` what their column is then, and ``comma`` that
    its numbers have a decimal comma. Raises `UsageError` for a value of another type than the column.

    >>> from oodometer.store.where import parse_where
    >>> cells_held(pa.array([1, None, 3]), parse_where("x != 1")[0]).tolist()
    [False, False, True]
    """
    import pyarrow.compute as pc

    array = plain(array)
    cells = _comparable(array, one, text, written_as, comma)
    if pt.is_null(cells.type):
        return np.zeros(len(cells), dtype=bool)
    values = [scalar_of(value, cells.type, one) for value in one.values]
    if one.sign == "is_in":
        wanted = pa.array([value.as_py() for value in values], cells.type) if values else cells[:0]
        found = pc.and_kleene(pc.is_in(cells, value_set=wanted), cells.is_valid())
    else:
        found = getattr(pc, one.sign)(cells, values[0])
    return np.asarray(numbers_of(found.fill_null(False).cast(pa.uint8())) > 0)


def _comparable(array: Any, one: Condition, text: bool, written_as: Any, comma: bool) -> Any:
    """The cells as numbers, texts, truth values or times of UTC."""
    column, kind = one.column, one.kind
    if kind == "time":
        return pa.array(time_cells(array, column))
    if kind == "truth":
        verdicts = truth_cells(array, column)
        return pa.array(verdicts == 1, mask=np.isnan(verdicts))
    if kind == "class" and text:
        if one.ordered:
            raise UsageError(f"classes of a text file are compared by = and != and in, got {one.text!r}")
        coded = dictionary(array, column, text)
        names: Array = np.array([*(None if v is None else str(v) for v in coded.values), None], dtype=object)
        return pa.array(names[coded.codes], pa.string())
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if text and pt.is_string(array.type) and kind == "number":
        written_as = pa.float64()
    if text and pt.is_string(array.type) and written_as is not None and not pt.is_string(written_as):
        if comma:
            import pyarrow.compute as pc

            array = pc.replace_substring(array, ",", ".")
        array = array.cast(written_as)
    if pt.is_boolean(array.type) and kind == "number":
        array = array.cast(pa.uint8())
    if pt.is_timestamp(array.type) or pt.is_date(array.type):
        return pa.array(time_cells(array, column))
    if pt.is_decimal(array.type) or pt.is_float16(array.type):
        return array.cast(pa.float64())
    known = (pt.is_integer, pt.is_floating, pt.is_boolean, pt.is_string, pt.is_large_string, pt.is_null)
    if not any(is_type(array.type) for is_type in known):
        raise UsageError(f"the column {column} holds cells of type {array.type}, which {one.text!r} cannot be asked of")
    return array


def scalar_of(value: Value, kind: Any, one: Condition) -> Any:
    """A value as a scalar that cells of this type are compared with; `UsageError` where it is of another type."""
    number = value.number
    if pt.is_string(kind) or pt.is_large_string(kind):
        if number is not None and one.kind != "class":
            quoted = one.text.replace(value.text, f"'{value.text}'", 1) if value.text not in one.column else value.text
            raise _another(one, "texts", value, f"; put a text in quotes: {quoted}")
        return pa.scalar(value.text, kind)
    if pt.is_boolean(kind):
        truth = _TRUTHS.get(value.text.lower()) if number not in (0, 1) else bool(number)
        if truth is None or value.quoted:
            raise _another(one, "true and false", value)
        return pa.scalar(truth)
    if pt.is_temporal(kind):
        try:
            zoned = re.search(r":.*(Z|[+-]\d\d:?\d\d)$", value.text.strip()) is not None
            told = pa.array([value.text.strip()]).cast(pa.timestamp("us", tz="UTC" if zoned else None))
        except pa.ArrowInvalid:
            raise _another(one, "times", value, "; write them as ISO 8601, 2026-01-31T12:00:00") from None
        return told.cast(pa.timestamp("us"))[0]
    if number is None:
        raise _another(one, "numbers", value)
    if pt.is_floating(kind):
        return pa.scalar(float(number), kind)  # 0.7 of a column of 32 bits is its own 0.7
    try:
        return pa.scalar(number)
    except (pa.ArrowException, OverflowError):
        raise _another(one, "numbers of 64 bits", value) from None


def _another(one: Condition, holds: str, value: Value, remedy: str = "") -> UsageError:
    return UsageError(
        f"the column {one.column} holds {holds}, got {value.text!r} in the condition {one.text!r}{remedy}"
    )


def partition_holds(where: Iterable[Condition], values: Mapping[str, Any]) -> bool:
    """Whether rows in a folder that says these values may be left; what it does not say may always be.

    >>> from oodometer.store.where import parse_where
    >>> [partition_holds([one], {"day": "2026-11-01"}) for one in parse_where(["day > 2026-10", "day = x", "a = b"])]
    [True, False, True]
    """
    return all(holds_of(values[one.column], one) for one in where if one.column in values)


def holds_of(value: Any, one: Condition) -> bool:
    """Whether a condition holds of one value."""
    cell = pa.array([value], pa.int64() if isinstance(value, int) else pa.string())
    return bool(cells_held(cell, one)[0])
