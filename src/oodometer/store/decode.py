"""Decode: cells of Arrow columns to the arrays of a record, without a Python loop over rows."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from .. import checks
from ..arrays import Array, Coded, Ragged
from ..checks import ClassNames
from ..errors import InputError
from .columns import Feed, Kind

__all__ = ["extra", "field", "plain", "seen", "widths"]

# How text files write "unknown"; in typed files only a null is unknown.
UNKNOWN = frozenset({"", "nan", "null"})
_WHOLE = re.compile(r"(-?\d+)\.0+")
_HOW_LISTS = "give every row a list of the same length"


def field(batch: Any, feed: Feed, classes: ClassNames | None, text: bool, width: int | None = None) -> Any:
    """One field's array from a record batch; rows in errors count from the batch's start."""
    columns = [plain(batch.column(name)) for name in feed.columns]
    if not feed.wide:
        return _CELLS[feed.kind](columns[0], feed.columns[0], classes, text, width)
    cells = [_CELLS[feed.kind](a, c, classes, text, None) for a, c in zip(columns, feed.columns, strict=True)]
    if feed.kind == "class":
        return Coded(np.stack([cell.codes for cell in cells]), classes or ())
    return np.stack(cells, axis=1 if feed.kind == "number" else 0)


def widths(column: Any, feed: Feed) -> dict[str, int]:
    """Lengths of the lists in a list column's one row; for member probabilities also that of the inner lists."""
    values, size = _flat(column, feed.columns[0], None)
    out = {feed.field: size}
    if feed.kind == "nested":
        out["classes"] = _flat(values, feed.columns[0], None)[1] if size else 0
    return out


def seen(column: Any, feed: Feed, name: str, text: bool) -> Coded:
    """A class column's codes, shape (sample,) or (entry, sample), before the classes are known."""
    column = plain(column)
    if feed.kind == "class":
        return dictionary(column, name, text)
    values, size = _flat(column, name, None)
    coded = dictionary(values, name, text, per_row=max(size, 1))
    return Coded(coded.codes.reshape(len(column), size).T, coded.values)


def extra(batch: Any, column: str) -> Array:
    """A further column as it is: numbers, times or objects."""
    return _any(plain(batch.column(column)), column, None, False, None)


def plain(array: Any) -> Any:
    """The array behind extension types, run-length encoding and string views."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pt.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    if str(array.type) in ("string_view", "large_string_view"):
        array = array.cast(pa.large_string())
    return array


def _first(mask: Array) -> int:
    return int(np.argmax(mask))


def _no_null(array: Any, column: str, expected: str, per_row: int = 1) -> None:
    if array.null_count:
        row = _first(array.is_null().to_numpy(zero_copy_only=False)) // per_row + 1
        raise InputError(expected, got="null (an empty cell)", remedy="fill in the value or drop the row", row=row,
                         column=column)  # fmt: skip


def _wrong_type(array: Any, column: str, expected: str, remedy: str) -> InputError:
    known = array.drop_null()
    got = f"{known[0].as_py()!r} (type {array.type})" if len(known) else f"type {array.type}"
    row = _first(array.is_valid().to_numpy(zero_copy_only=False)) + 1 if len(array) else None
    return InputError(expected, got=got[:120], remedy=remedy, row=row, column=column)


def _number(array: Any, column: str, *_: Any, per_row: int = 1) -> Array:
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if len(array):
        _no_null(array, column, "a number", per_row)
    if pt.is_decimal(array.type):
        array = array.cast(pa.float64())
    if pt.is_null(array.type):
        return np.empty(len(array))
    if not (pt.is_floating(array.type) or pt.is_integer(array.type)):
        raise _wrong_type(array, column, "a number", "write the column as numbers, not as text")
    out: Array = array.to_numpy(zero_copy_only=False)
    return (
        out
        if out.dtype in (np.float32, np.float64)
        else out.astype(np.float32 if out.dtype == np.float16 else float)
    )


def _flat(array: Any, column: str, width: int | None, per_row: int = 1) -> tuple[Any, int]:
    """The values of a list column, end to end, and the one length that its lists have."""
    if pt.is_list_view(array.type) or pt.is_large_list_view(array.type):
        array = array.cast(pa.large_list(array.type.value_type))
    lists = pt.is_list(array.type) or pt.is_large_list(array.type) or pt.is_fixed_size_list(array.type)
    if not lists and not pt.is_null(array.type):
        raise _wrong_type(array, column, "a list a row", "write lists, or one wide column for each entry")
    _no_null(array, column, "a list", per_row)
    if not len(array):
        return pa.array([], pa.float64()), width or 0
    if pt.is_fixed_size_list(array.type):
        lengths = np.full(len(array), array.type.list_size)
    else:
        lengths = np.diff(array.offsets.to_numpy())
    size = int(lengths[0]) if width is None else width
    if (lengths != size).any():
        at = _first(lengths != size)
        raise InputError(f"a list of {size} entries, as in the rows before" if at or per_row > 1 else
                         f"a list of {size} entries", got=f"{lengths[at]} entries", remedy=_HOW_LISTS,
                         row=at // per_row + 1, column=column)  # fmt: skip
    return plain(array.flatten()), size


def _numbers(array: Any, column: str, classes: Any, text: bool, width: int | None) -> Array:
    values, size = _flat(array, column, width)
    return _number(values, column, per_row=max(size, 1)).reshape(len(array), size)


def _nested(array: Any, column: str, classes: ClassNames | None, text: bool, width: int | None) -> Array:
    inner, models = _flat(array, column, width)
    values, size = _flat(inner, column, None if classes is None else len(classes), per_row=max(models, 1))
    flat = _number(values, column, per_row=max(models * size, 1))
    return flat.reshape(len(array), models, size).transpose(1, 0, 2)


def _ragged(array: Any, column: str, *_: Any) -> Ragged:
    if not (pt.is_list(array.type) or pt.is_large_list(array.type)):
        flat = _numbers(array, column, None, False, None)
        return Ragged(flat.ravel(), np.arange(len(array) + 1) * flat.shape[1])
    _no_null(array, column, "a list")
    offsets = array.offsets.to_numpy().astype(np.int64)
    offsets = offsets - offsets[0] if len(offsets) else np.zeros(1, dtype=np.int64)
    values = plain(array.flatten())
    if values.null_count:
        at = _first(values.is_null().to_numpy(zero_copy_only=False))
        raise InputError("a number", got="null", remedy="drop the row", column=column,
                         row=int(np.searchsorted(offsets, at, side="right")))  # fmt: skip
    return Ragged(_number(values, column), offsets)


def dictionary(
    array: Any, column: str, text: bool, names: frozenset[str] = frozenset(), per_row: int = 1
) -> Coded:
    """A class column as codes and distinct values, -1 where unknown; ``names`` are the classes known by now."""
    if pt.is_null(array.type):
        return Coded(np.full(len(array), -1), [])
    if not pt.is_dictionary(array.type):
        if pt.is_nested(array.type) or pt.is_binary(array.type) or pt.is_temporal(array.type):
            raise _wrong_type(array, column, "a class (an integer or a string)", "write one class a cell")
        array = array.dictionary_encode()
    codes = array.indices.cast(pa.int64()).fill_null(-1).to_numpy()
    found = array.dictionary.to_pylist()
    values = [_class_of(value, text, names) for value in found]
    unknown = [position for position, value in enumerate(values) if value is None]
    if unknown:
        codes = np.where(np.isin(codes, unknown), -1, codes)
    for position, value in enumerate(values):
        if isinstance(value, float) and (codes == position).any():
            raise InputError("a class (an integer or a string)", got=f"{value:g}", column=column,
                             remedy="give class numbers or names, not scores",
                             row=_first(codes == position) // per_row + 1)  # fmt: skip
    return Coded(codes, values)


def _class_of(value: Any, text: bool, names: frozenset[str]) -> Any:
    """What a distinct value of a class column stands for: an integer, a string, or None for unknown."""
    if isinstance(value, bool):
        return value if str(value) in names else int(value)
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    if not text or not isinstance(value, str) or value in names:
        return value
    bare = value.strip()
    if bare not in names and bare.lower() in UNKNOWN:
        return None
    whole = _WHOLE.fullmatch(bare)
    return whole[1] if whole and bare not in names else bare


def _class(
    array: Any, column: str, classes: ClassNames | None, text: bool, width: int | None, per_row: int = 1
) -> Coded:
    names = classes or ()
    if pt.is_integer(array.type) and not array.null_count:
        values: Any = array.to_numpy(zero_copy_only=False)
    else:
        values = dictionary(array, column, text, frozenset(map(str, names)), per_row)
    try:
        return Coded(checks.encode(values, names, column), names)
    except InputError as error:
        if error.row is not None:
            error.row = (error.row - 1) // per_row + 1
        raise error.at() from None


def _classes(array: Any, column: str, classes: ClassNames | None, text: bool, width: int | None) -> Coded:
    values, size = _flat(array, column, width)
    coded = _class(values, column, classes, text, None, max(size, 1))
    return Coded(coded.codes.reshape(len(array), size).T, coded.values)


def _truth(
    array: Any, column: str, classes: Any = None, text: bool = False, width: Any = None, per_row: int = 1
) -> Array:
    """Verdicts as 1, 0 and NaN for unknown, which is what `checks.truth_values` takes."""
    if pt.is_null(array.type):
        return np.full(len(array), np.nan)
    if not pt.is_dictionary(array.type):
        if pt.is_nested(array.type):
            raise _wrong_type(array, column, "true or false (or 1, 0, null)", "give one verdict a cell")
        array = array.dictionary_encode()
    codes = array.indices.cast(pa.int64()).fill_null(-1).to_numpy()
    table = np.full(len(array.dictionary) + 1, np.nan)  # the last entry is what code -1 picks
    for position, value in enumerate(array.dictionary.to_pylist()):
        if value is None or value != value or (isinstance(value, str) and value.strip().lower() in UNKNOWN):
            continue
        if (codes == position).any():
            try:
                held = value.strip() if isinstance(value, str) else value
                table[position] = checks.truth_values(np.array([held]), column)[0]
            except InputError as error:
                error.row, error.got = _first(codes == position) // per_row + 1, repr(value)
                raise error.at() from None
    out: Array = table[codes]
    return out


def _truths(array: Any, column: str, classes: Any, text: bool, width: int | None) -> Array:
    values, size = _flat(array, column, width)
    return _truth(values, column, per_row=max(size, 1)).reshape(len(array), size).T


def _text(array: Any, column: str, *_: Any) -> Array:
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


def _any(array: Any, column: str, *_: Any) -> Array:
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pt.is_timestamp(array.type) or pt.is_date(array.type):
        return _time(array, column)
    simple = pt.is_integer(array.type) or pt.is_boolean(array.type) or pt.is_floating(array.type)
    if simple and not array.null_count:
        numbers: Array = array.to_numpy(zero_copy_only=False)
        return numbers
    return _objects(array)


def _time(array: Any, column: str, *_: Any) -> Array:
    """Times as datetime64[us]; one with a zone becomes UTC."""
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pt.is_string(array.type) or pt.is_large_string(array.type):
        array = _parsed(array, column)
    if pt.is_null(array.type):
        return np.full(len(array), "NaT", dtype="datetime64[us]")
    if not (pt.is_timestamp(array.type) or pt.is_date(array.type)):
        raise _wrong_type(array, column, "timestamps", "write them as ISO 8601, 2026-01-31T12:00:00")
    out: Array = array.cast(pa.timestamp("us"), safe=False).to_numpy(zero_copy_only=False)
    return out


def _parsed(array: Any, column: str) -> Any:
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
                "a timestamp" + (" with a zone, as in the first row" if zoned else ""), got=repr(cell.as_py()), row=row,
                remedy="write them as ISO 8601, 2026-01-31T12:00:00", column=column,
            ) from None  # fmt: skip
    return array  # not reached: some cell did not parse


_CELLS: dict[Kind, Any] = {
    "number": _number, "numbers": _numbers, "ragged": _ragged, "nested": _nested, "class": _class,
    "classes": _classes, "truth": _truth, "truths": _truths, "text": _text, "time": _time, "any": _any,
}  # fmt: skip
