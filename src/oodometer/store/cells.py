"""Cells: columns of numbers, classes, texts and times as arrays, arrays as columns, and the checks they share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array, Coded, Ragged, as_numpy
from ..classes import (
    ClassNames,
    class_of_truth,
    encode,
    encode_positions,
    label_codes,
    one_form,
    truth_values,
)
from ..errors import InputError
from ..fields import FIELDS, both_classes
from ..plain import Json, Plain
from .columns import Feed, Kind, Layout

# How text files write "unknown"; in typed files only a null is unknown.
UNKNOWN = frozenset({"", "nan", "null"})
_WHOLE = re.compile(r"(-?\d+)\.0+")


def plain(array: Any, coded: bool = True) -> Any:
    """The array behind extension types, run-length encoding and string views; where not ``coded``, and dictionaries."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pt.is_run_end_encoded(array.type):
        import pyarrow.compute as pc

        array = pc.run_end_decode(array)
    if str(array.type) in ("string_view", "large_string_view"):
        array = array.cast(pa.large_string())
    return array if coded or not pt.is_dictionary(array.type) else array.dictionary_decode()


def first_true(mask: Array) -> int:
    """Position of the first true entry."""
    return int(np.argmax(mask))


def holds_truth(value: Any) -> bool:
    """Whether a cell is true or false, or a list with such an entry: no number, though Python counts them 1 and 0."""
    return isinstance(value, bool) or (isinstance(value, list) and any(map(holds_truth, value)))


def check_no_null(array: Any, column: str, expected: str, per_row: int = 1) -> None:
    """Every cell holds something; ``per_row`` cells make one row."""
    if array.null_count:
        row = first_true(numbers_of(array.is_null())) // per_row + 1
        raise InputError(
            expected,
            got="null (an empty cell)",
            remedy="fill in the value or drop the row",
            row=row,
            column=column,
        )


def wrong_type(array: Any, column: str, expected: str, remedy: str) -> InputError:
    """The error for a column of a type that cannot be meant."""
    cells = array.drop_null()
    # Python's times have no nanoseconds
    first = cells[:1].cast(pa.string()) if pt.is_timestamp(cells.type) else cells[:1]
    got = f"{first[0].as_py()!r} (type {array.type})" if len(first) else f"type {array.type}"
    row = first_true(numbers_of(array.is_valid())) + 1 if len(array) else None
    return InputError(expected, got=got[:120], remedy=remedy, row=row, column=column)


def number_cells(array: Any, column: str, per_row: int = 1, unknown: bool = False) -> Array:
    """Numbers as float32 or float64; ``unknown``: null stands for one, as NaN."""
    array = plain(array, coded=False)
    if len(array) and not unknown:
        check_no_null(array, column, "a number", per_row)
    if pt.is_decimal(array.type):
        array = array.cast(pa.float64())
    if pt.is_null(array.type):
        return np.full(len(array), np.nan)
    if not (pt.is_floating(array.type) or pt.is_integer(array.type)):
        raise wrong_type(array, column, "a number", "write the column as numbers, not as text")
    out = numbers_of(array, np.nan if unknown else None)
    return out.astype(np.float32 if out.dtype in (np.float16, np.float32) else float, copy=False)


def numbers_of(array: Any, null: Any = None) -> Array:
    """The numbers of an Arrow array as they lie in memory; ``null`` stands where one is. `to_numpy` loads pandas."""
    kind = array.type
    if pt.is_boolean(kind) and not array.null_count:
        return numbers_of(array.cast(pa.uint8())) > 0
    if not len(array) or pt.is_float16(kind) or (array.null_count and null is None):
        values: Array = array.to_numpy(zero_copy_only=False)
        return values
    size = kind.bit_width // 8
    letter = "f" if pt.is_floating(kind) else "i" if pt.is_signed_integer(kind) else "u"
    values = np.frombuffer(array.buffers()[1], f"{letter}{size}", len(array), array.offset * size)
    return (
        np.where(numbers_of(array.is_valid().cast(pa.uint8())) > 0, values, null)
        if array.null_count
        else values
    )


def coded_cells(array: Any) -> tuple[Array, Any]:
    """Codes, -1 where null, and the distinct cells of a column, in the order in which they come."""
    if not pt.is_dictionary(array.type):
        array = array.dictionary_encode()
    return numbers_of(array.indices.cast(pa.int64()), -1), array.dictionary


def arrow_of(values: Any, mask: Array | None = None) -> Any:
    """Numbers, truths or strings as Arrow's, null where ``mask`` says so and where a string is None; `pa.array` would
    load pandas to look at them.
    """
    is_present = None if mask is None else ~mask
    if not isinstance(values, np.ndarray):
        is_present = (
            np.array([cell is not None for cell in values], dtype=bool) if None in values else None
        )
        cells = values if is_present is None else ["" if cell is None else cell for cell in values]
        text = "".join(cells)
        ends = np.cumsum([0, *map(len, cells if text.isascii() else map(str.encode, cells))])
        if ends[-1] >= 1 << 31:  # more than the offsets of such strings count
            return pa.array(values, pa.large_string())
        kind, data = pa.string(), [pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(text.encode())]
    elif values.dtype.kind == "b":
        kind, data = pa.bool_(), [pa.py_buffer(np.packbits(values, bitorder="little"))]
    else:
        flat = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("="), copy=False))
        kind, data = pa.from_numpy_dtype(flat.dtype), [pa.py_buffer(flat)]
    valid = (
        None
        if is_present is None or is_present.all()
        else pa.py_buffer(np.packbits(is_present, bitorder="little"))
    )
    return pa.Array.from_buffers(kind, len(values), [valid, *data])


def lone_cell(value: int | str | None) -> Any:
    """A column of one cell."""
    return arrow_of(np.array([value], np.int64) if isinstance(value, int) else [value])


def object_cells(array: Any) -> Array:
    """Cells as Python's objects, None where they are null."""
    if pt.is_string(array.type) or pt.is_large_string(array.type):
        codes, distinct = coded_cells(array)
        if 2 * len(distinct) <= len(array):
            return np.array([*distinct.to_pylist(), None], dtype=object)[codes]
    out = np.empty(len(array), dtype=object)
    out[:] = array.to_pylist()
    return out


def flat_list(
    array: Any, column: str, width: int | None = None, per_row: int = 1
) -> tuple[Any, int]:
    """The values of a list column, end to end, and the one length that its lists have."""
    if pt.is_list_view(array.type) or pt.is_large_list_view(array.type):
        array = array.cast(pa.large_list(array.type.value_type))
    lists = (
        pt.is_list(array.type) or pt.is_large_list(array.type) or pt.is_fixed_size_list(array.type)
    )
    if not lists and not pt.is_null(array.type):
        raise wrong_type(
            array, column, "a list a row", "write lists, or one wide column for each entry"
        )
    check_no_null(array, column, "a list", per_row)
    if not len(array):
        return pa.array([], pa.float64()), width or 0
    # the values themselves, cut to the slice: `flatten` would load Arrow's compute functions first
    if pt.is_fixed_size_list(array.type):
        lengths = np.full(len(array), array.type.list_size)
        values = array.values.slice(
            array.offset * array.type.list_size, len(array) * array.type.list_size
        )
    else:
        offsets = numbers_of(array.offsets)
        lengths = np.diff(offsets)
        values = array.values.slice(offsets[0], offsets[-1] - offsets[0])
    size = int(lengths[0]) if width is None else width
    if (lengths != size).any():
        at = first_true(lengths != size)
        expected = f"a list of {size} entries" + (
            ", as in the rows before" if at or per_row > 1 else ""
        )
        raise InputError(
            expected,
            got=f"{lengths[at]} entries",
            remedy="give every row a list of the same length",
            row=at // per_row + 1,
            column=column,
        )
    return plain(values), size


def ragged_lists(array: Any, column: str) -> Ragged:
    """Lists of any length."""
    if not (pt.is_list(array.type) or pt.is_large_list(array.type)):
        values, size = flat_list(array, column)
        return Ragged(number_cells(values, column, max(size, 1)), np.arange(len(array) + 1) * size)
    check_no_null(array, column, "a list")
    offsets = numbers_of(array.offsets).astype(np.int64)
    offsets = offsets - offsets[0] if len(offsets) else np.zeros(1, dtype=np.int64)
    first = int(array.offsets[0].as_py()) if len(array) else 0
    values = plain(array.values.slice(first, int(offsets[-1])))
    if values.null_count:
        at = first_true(numbers_of(values.is_null()))
        row = int(np.searchsorted(offsets, at, side="right"))
        raise InputError("a number", got="null", remedy="drop the row", column=column, row=row)
    return Ragged(number_cells(values, column), offsets)


def dictionary(
    array: Any, column: str, text: bool, names: frozenset[str] = frozenset(), per_row: int = 1
) -> Coded:
    """A class column as codes and distinct values, -1 where unknown; ``names`` are the classes known by now."""
    if pt.is_null(array.type):
        return Coded(np.full(len(array), -1), [])
    if pt.is_nested(array.type) or pt.is_binary(array.type) or pt.is_temporal(array.type):
        raise wrong_type(
            array, column, "a class (an integer or a string)", "write one class a cell"
        )
    codes, distinct = coded_cells(array)
    values = [_class_of(value, text, names) for value in distinct.to_pylist()]
    unknown = [position for position, value in enumerate(values) if value is None]
    if unknown:
        codes = np.where(np.isin(codes, unknown), -1, codes)
    for position, value in enumerate(values):
        if isinstance(value, float) and (codes == position).any():
            expected = "a class (an integer or a string)"
            remedy = "give class numbers or names, not scores"
            row = first_true(codes == position) // per_row + 1
            raise InputError(expected, got=f"{value:g}", column=column, remedy=remedy, row=row)
    return Coded(codes, values)


def _class_of(value: Any, text: bool, names: frozenset[str]) -> Any:
    """What a distinct value of a class column stands for: an integer, a string, or None for unknown."""
    if isinstance(value, bool):
        return class_of_truth(value, names) if names else int(value)
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    if isinstance(value, str):
        value = one_form(value)
    if not text or not isinstance(value, str) or value in names:
        return value
    return _written_class(value.strip(), names)


def _written_class(bare: str, names: frozenset[str]) -> str | None:
    """The class that a text without blanks around it says, None for unknown."""
    if bare in names:
        return bare
    if bare.lower() in UNKNOWN:
        return None
    if bare.lower() in ("true", "false"):
        truth = class_of_truth(bare.lower() == "true", names)
        return truth if truth in names else bare
    match = _WHOLE.fullmatch(bare)
    return match[1] if match else bare


def truth_cells(array: Any, column: str, per_row: int = 1) -> Array:
    """Verdicts as 1, 0 and NaN for unknown, which is what `truth_values` takes."""
    if pt.is_null(array.type):
        return np.full(len(array), np.nan)
    if pt.is_nested(array.type):
        raise wrong_type(array, column, "true or false (or 1, 0, null)", "give one verdict a cell")
    codes, distinct = coded_cells(array)
    table = np.full(len(distinct) + 1, np.nan)  # the last entry is what code -1 picks
    for position, value in enumerate(distinct.to_pylist()):
        if (
            value is None
            or value != value
            or (isinstance(value, str) and value.strip().lower() in UNKNOWN)
        ):
            continue
        if (codes == position).any():
            try:
                bare = value.strip() if isinstance(value, str) else value
                table[position] = truth_values(np.array([bare]), column)[0]
            except InputError as error:
                error.row, error.got = first_true(codes == position) // per_row + 1, repr(value)
                raise error.at() from None
    out: Array = table[codes]
    return out


def field(
    batch: Any,
    feed: Feed,
    classes: ClassNames | None,
    text: bool,
    width: int | None = None,
    others: bool = False,
) -> Any:
    """One field's array; rows in errors count from the batch's start. ``others``: labels may be of unknown classes."""
    reading = _Reading(feed, classes, text, others)
    arrays = [plain(batch.column(name)) for name in feed.columns]
    if FIELDS[feed.field].truths:  # true counts as 1: black and white
        arrays = [_truths_as_numbers(array) for array in arrays]
    if feed.wide:
        return reading.wide(arrays)
    if feed.kind == "nested":
        return reading.nested(arrays[0], feed.columns[0], width)
    if feed.kind in ("numbers", "classes", "truths"):
        return reading.listed(arrays[0], feed.columns[0], width)
    return reading.flat(arrays[0], feed.columns[0])


class _Reading(NamedTuple):
    """How the flat cells of a field are read; ``others``: labels may be of unknown classes."""

    feed: Feed
    classes: ClassNames | None
    text: bool
    others: bool

    def wide(self, arrays: Sequence[Any]) -> Any:
        """The columns beside one another; of a lone one those of both classes."""
        feed = self.feed
        cells = [self.flat(*pair) for pair in zip(arrays, feed.columns, strict=True)]
        if feed.positive is not None:
            return both_classes(cells[0], feed.field, feed.columns[0], feed.positive)
        if feed.kind == "class":
            return Coded(np.stack([cell.codes for cell in cells]), self.classes or ())
        return np.stack(cells, axis=1 if feed.kind == "number" else 0)

    def nested(self, array: Any, column: str, width: int | None) -> Array:
        """Lists of lists of numbers, axes (model, sample, class)."""
        inner, models = flat_list(array, column, width)
        classes = None if self.classes is None else len(self.classes)
        values, size = flat_list(inner, column, classes, max(models, 1))
        cells = self.flat(values, column, max(models * size, 1))
        out: Array = cells.reshape(len(array), models, size).transpose(1, 0, 2)
        return out

    def listed(self, array: Any, column: str, width: int | None) -> Any:
        """Lists: of numbers with the sample axis first, else last."""
        values, size = flat_list(array, column, width)
        cells, shape = self.flat(values, column, max(size, 1)), (len(array), size)
        if isinstance(cells, Coded):
            return Coded(cells.codes.reshape(shape).T, cells.values)
        cells = cells.reshape(shape)
        return cells if self.feed.kind == "numbers" else cells.T

    def flat(self, array: Any, column: str, per_row: int = 1) -> Any:
        """The array of cells without lists, so many of which are of one row."""
        match self.feed.kind:
            case "number" | "numbers" | "nested":
                return number_cells(array, column, per_row, FIELDS[self.feed.field].unknown)
            case "class" | "classes":
                return self._classes_of(array, column, per_row)
            case "truth" | "truths":
                return truth_cells(array, column, per_row)
            case "ragged":
                return ragged_lists(array, column)
            case "text":
                return _texts(array)
        return array

    def _classes_of(self, array: Any, column: str, per_row: int) -> Coded:
        """Classes as positions among those that are known."""
        label = self.feed.field if self.feed.kind == "class" and not self.feed.wide else ""
        classes, further = self.classes or (), self.others and label == "label"
        noted: dict[str, int] = {}
        if pt.is_integer(array.type) and not array.null_count and not further:
            values: Any = numbers_of(array)
        else:
            values = dictionary(array, column, self.text, frozenset(map(str, classes)), per_row)
        if label == "label" and isinstance(values, Coded):
            values, noted = label_codes(values, classes, further)
        try:
            return Coded(encode(values, classes, column, label), classes, noted)
        except InputError as error:
            if error.row is not None:
                error.row = (error.row - 1) // per_row + 1
            raise error.at() from None


def _texts(array: Any) -> Array:
    """Strings as objects, null as None; numbers and truth values are written out."""
    array = plain(array, coded=False)
    is_number = pt.is_integer(array.type) or pt.is_floating(array.type)
    return object_cells(
        array.cast(pa.string()) if is_number or pt.is_boolean(array.type) else array
    )


def _truths_as_numbers(array: Any) -> Any:
    """Truth values, alone or in lists, as 1 and 0; anything else as it is."""
    if pt.is_boolean(array.type):
        return array.cast(pa.uint8())
    if pt.is_boolean(getattr(array.type, "value_type", array.type)):
        return array.cast(pa.large_list(pa.uint8()))
    return array


def seen(column: Any, feed: Feed, name: str, text: bool) -> Coded:
    """A class column's codes, shape (sample,) or (entry, sample), before the classes are known."""
    column = plain(column)
    if feed.kind == "class":
        return dictionary(column, name, text)
    values, size = flat_list(column, name)
    coded = dictionary(values, name, text, per_row=max(size, 1))
    return Coded(coded.codes.reshape(len(column), size).T, coded.values)


def positions(batch: Any, feed: Feed, text: bool) -> Coded:
    """A class column whose cells are positions among the candidates of their row."""
    out = []
    for name in feed.columns:
        column = plain(batch.column(name))
        if pt.is_boolean(getattr(column.type, "value_type", column.type)):
            remedy = "true and false are verdicts: call the column `correct`"
            raise wrong_type(column, name, "the position of a candidate (0, 1, ...)", remedy)
        out.append(encode_positions(seen(column, feed, name, text), name))
    cells = np.stack(out) if feed.wide else out[0]
    distinct, codes = np.unique(cells, return_inverse=True)
    unknown = int(np.count_nonzero(distinct < 0))  # -1, if any, comes first
    return Coded(codes.reshape(cells.shape) - unknown, distinct[unknown:].tolist())


_EXPECTED, _REMEDY = "an id (a string or an integer)", "write one id a row"


def key_cells(array: Any, column: str) -> Any:
    """A column of strings, integers, whole floats (as pandas keeps integers beside nulls) or times, as strings."""
    array = plain(array, coded=False)
    if pt.is_nested(array.type) or pt.is_boolean(array.type) or pt.is_binary(array.type):
        raise wrong_type(array, column, _EXPECTED, _REMEDY)
    if pt.is_floating(array.type):
        array = pa.array(array.to_numpy(zero_copy_only=False), from_pandas=True)
        try:
            array = array.cast(pa.int64())
        except pa.ArrowInvalid:
            cells = array.to_pylist()
            at = next(
                i
                for i, cell in enumerate(cells)
                if cell is not None and not float(cell).is_integer()
            )
            raise InputError(
                _EXPECTED, got=f"{cells[at]:g}", row=at + 1, column=column, remedy=_REMEDY
            ) from None
    return array.cast(pa.large_string())


def key_array(values: Array, column: str, file: str | None) -> Any:
    """The same of a record's column."""
    listed = values.tolist() if values.dtype.kind in "OU" else values
    if values.dtype.kind in "iu" or all(isinstance(cell, str) for cell in listed):
        return key_cells(arrow_of(listed), column)
    try:
        cells = pa.array(listed, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError):
        raise InputError(
            _EXPECTED,
            got="cells of several types",
            file=file,
            column=column,
            remedy="make them one type",
        ) from None
    return key_cells(cells, column)


# of an array of a kind; else 1
_AXES: dict[Kind, int] = {"numbers": 2, "classes": 2, "truths": 2, "nested": 3}


def sample_axis(kind: Kind) -> int:
    """Which axis of an array of this kind is the sample's."""
    return int(kind in ("classes", "truths", "nested"))


def check_axes(
    kind: Kind, ndim: int, shape: tuple[int, ...], column: str, file: str | None = None
) -> None:
    """An array has as many axes as its kind."""
    if ndim != (axes := _AXES.get(kind, 1)):
        remedy = "save it with the axes of the predictions file"
        if kind == "numbers" and ndim == 1:
            remedy = "give each row one number a class; the probability of one positive class alone belongs in "
            remedy += "prob_<class>"
        raise InputError(
            f"an array with {axes} axes",
            got=f"shape {shape}",
            file=file,
            column=column,
            remedy=remedy,
        )


def column_of(values: Array, kind: Kind, column: str, blank_is_null: bool = True) -> Any:
    """An array as an Arrow column with one cell a sample; the empty string stands for an unknown class."""
    check_axes(kind, values.ndim, values.shape, column)
    values = as_numpy(values)
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8")
    values = np.moveaxis(values, sample_axis(kind), 0)
    flat = np.ascontiguousarray(values).reshape(-1)
    nan_is_null = kind not in ("number", "numbers", "nested")
    try:
        if flat.dtype.kind in "iu" or (flat.dtype.kind == "f" and not nan_is_null):
            cells = arrow_of(flat)
        else:
            coded = blank_is_null and kind in ("class", "classes") and flat.dtype.kind == "U"
            cells = pa.array(flat, mask=flat == "" if coded else None, from_pandas=nan_is_null)
    except (pa.ArrowException, ValueError, TypeError) as error:
        full = [
            (i, cell) for i, cell in enumerate(flat.tolist()) if cell is not None and cell == cell
        ]
        odd = next(
            (pair for pair in full if isinstance(pair[1], str) != isinstance(full[0][1], str)), None
        )
        got, remedy, row = str(error)[:120], "convert the array", None
        if odd is not None:  # the first cell whose type is not that of the cells before
            got, remedy = f"{full[0][1]!r} and {odd[1]!r}", "make them one type"
            row = odd[0] // max(flat.size // max(len(values), 1), 1) + 1
        raise InputError(
            "values of one type", got=got, column=column, remedy=remedy, row=row
        ) from None
    for size in reversed(values.shape[1:]):
        if size == 0:
            return pa.array([[]] * len(values))
        cells = pa.FixedSizeListArray.from_arrays(cells, size)
    return cells


def table_of(arrays: Plain, layout: Layout) -> Any:
    """The columns that a layout uses as one table."""
    columns: Json = {}
    rows: tuple[str, int] | None = None
    for name, kind in layout.kinds(layout.feeds.values()).items():
        value = arrays[name]
        columns[name] = _column(value, kind, name)
        rows = rows or (name, len(columns[name]))
        if len(columns[name]) != rows[1]:
            raise InputError(
                f"{rows[1]} entries, one a sample, as in {rows[0]}",
                got=f"{len(columns[name])}",
                remedy="align the arrays by sample",
                column=name,
            )
    return pa.table(columns)


def _column(value: Any, kind: Kind, name: str) -> Any:
    """An array, or lists, as a column with one cell a sample."""
    if kind == "ragged":
        ragged = value if isinstance(value, Ragged) else Ragged.from_rows(value)
        return pa.LargeListArray.from_arrays(ragged.offsets, ragged.values)
    if isinstance(value, (list, tuple)):
        _refuse_uneven(value, name)
    try:
        return column_of(as_numpy(value), kind, name)
    except InputError as error:
        error.column = error.column or name
        raise error.at() from None
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise InputError("an array", got=str(error)[:120], column=name, remedy=_SAME) from None


_SAME = "give rows of the same length"


def _refuse_uneven(rows: Sequence[Any], column: str) -> None:
    """Raise `InputError` for the first row that has not as many entries as the first one."""
    if not rows or not hasattr(rows[0], "__len__") or isinstance(rows[0], str):
        return
    first = len(rows[0])
    for row, cell in enumerate(rows, start=1):
        if not hasattr(cell, "__len__") or len(cell) != first:
            raise InputError(
                f"{first} entries in every list",
                got=f"{len(cell)}" if hasattr(cell, "__len__") else repr(cell),
                row=row,
                column=column,
                remedy=_SAME,
            )
