"""Cells: columns of numbers, texts and times as arrays, and the checks that every kind of column shares."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array
from ..errors import InputError


def plain(array: Any) -> Any:
    """The array behind extension types, run-length encoding and string views."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pt.is_run_end_encoded(array.type):
        import pyarrow.compute as pc

        array = pc.run_end_decode(array)
    if str(array.type) in ("string_view", "large_string_view"):
        array = array.cast(pa.large_string())
    return array


def first_true(mask: Array) -> int:
    """Position of the first true entry."""
    return int(np.argmax(mask))


def holds_truth(value: Any) -> bool:
    """Whether a cell is true or false, or a list with such an entry: no number, though Python counts them 1 and 0."""
    return isinstance(value, bool) or (isinstance(value, list) and any(map(holds_truth, value)))


def check_no_null(array: Any, column: str, expected: str, per_row: int = 1) -> None:
    """Every cell holds something; ``per_row`` cells make one row."""
    if array.null_count:
        row = first_true(array.is_null().to_numpy(zero_copy_only=False)) // per_row + 1
        raise InputError(
            expected, got="null (an empty cell)", remedy="fill in the value or drop the row", row=row, column=column
        )


def wrong_type(array: Any, column: str, expected: str, remedy: str) -> InputError:
    """The error for a column of a type that cannot be meant."""
    known = array.drop_null()
    got = f"{known[0].as_py()!r} (type {array.type})" if len(known) else f"type {array.type}"
    row = first_true(array.is_valid().to_numpy(zero_copy_only=False)) + 1 if len(array) else None
    return InputError(expected, got=got[:120], remedy=remedy, row=row, column=column)


def number_cells(array: Any, column: str, *_: Any, per_row: int = 1) -> Array:
    """Numbers as float32 or float64."""
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if len(array):
        check_no_null(array, column, "a number", per_row)
    if pt.is_decimal(array.type):
        array = array.cast(pa.float64())
    if pt.is_null(array.type):
        return np.empty(len(array))
    if not (pt.is_floating(array.type) or pt.is_integer(array.type)):
        raise wrong_type(array, column, "a number", "write the column as numbers, not as text")
    out = numbers_of(array)
    return (
        out if out.dtype in (np.float32, np.float64) else out.astype(np.float32 if out.dtype == np.float16 else float)
    )


def numbers_of(array: Any) -> Array:
    """The numbers of an Arrow array as they lie in memory, without copying where none is null.

    Arrow's own `to_numpy` does the same, and loads pandas where that is installed, which takes longer than reading a
    file.
    """
    kind = array.type
    if array.null_count or not len(array) or pt.is_boolean(kind) or pt.is_float16(kind):
        values: Array = array.to_numpy(zero_copy_only=False)
        return values
    size = kind.bit_width // 8
    letter = "f" if pt.is_floating(kind) else "i" if pt.is_signed_integer(kind) else "u"
    return np.frombuffer(array.buffers()[1], f"{letter}{size}", len(array), array.offset * size)


def text_cells(array: Any, column: str, *_: Any) -> Array:
    """Strings as objects, null as None."""
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pt.is_integer(array.type) or pt.is_floating(array.type) or pt.is_boolean(array.type):
        array = array.cast(pa.string())
    return _objects(array)


def _objects(array: Any) -> Array:
    if pt.is_string(array.type) or pt.is_large_string(array.type):
        strings: Array = array.to_numpy(zero_copy_only=False)
        return strings
    out = np.empty(len(array), dtype=object)
    out[:] = array.to_pylist()
    return out


def any_cells(array: Any, column: str, *_: Any) -> Array:
    """Cells of a column of any type: numbers, times or objects."""
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pt.is_timestamp(array.type) or pt.is_date(array.type):
        return time_cells(array, column)
    simple = pt.is_integer(array.type) or pt.is_boolean(array.type) or pt.is_floating(array.type)
    if simple and not array.null_count:
        return numbers_of(array)
    return _objects(array)


def time_cells(array: Any, column: str, *_: Any) -> Array:
    """Times as datetime64[us]; one with a zone becomes UTC."""
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pt.is_string(array.type) or pt.is_large_string(array.type):
        array = _parsed(array, column)
    if pt.is_null(array.type):
        return np.full(len(array), "NaT", dtype="datetime64[us]")
    if not (pt.is_timestamp(array.type) or pt.is_date(array.type)):
        raise wrong_type(array, column, "timestamps", "write them as ISO 8601, 2026-01-31T12:00:00")
    array = array.cast(pa.timestamp("us"), safe=False)
    if not array.null_count:  # as `numbers_of`: Arrow's own way loads pandas where that is installed
        return numbers_of(array.cast(pa.int64())).view("datetime64[us]")
    out: Array = array.to_numpy(zero_copy_only=False)
    return out


def _parsed(array: Any, column: str) -> Any:
    import pyarrow.compute as pc

    array = pc.utf8_trim_whitespace(array)
    for kind in (pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        try:
            return array.cast(kind)
        except pa.ArrowInvalid:
            continue
    zoned = bool(re.search(r"(Z|[+-]\d\d:?\d\d)$", array.drop_null()[0].as_py()))
    kind = pa.timestamp("us", tz="UTC") if zoned else pa.timestamp("us")
    for row, cell in enumerate(array, start=1):
        try:
            cell.cast(kind)
        except pa.ArrowInvalid:
            raise InputError(
                "a timestamp" + (" with a zone, as in the first row" if zoned else ""),
                got=repr(cell.as_py()),
                row=row,
                remedy="write them as ISO 8601, 2026-01-31T12:00:00",
                column=column,
            ) from None
    return array  # not reached: some cell did not parse
