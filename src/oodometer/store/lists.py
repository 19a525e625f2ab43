"""Lists: list columns of one length as matrices, without copying where Arrow allows it, and ragged ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array, Ragged
from ..classes import ClassNames
from ..errors import InputError
from .cells import check_no_null, first_true, number_cells, numbers_of, plain, wrong_type

_HOW_LISTS = "give every row a list of the same length"


def flat_list(array: Any, column: str, width: int | None, per_row: int = 1) -> tuple[Any, int]:
    """The values of a list column, end to end, and the one length that its lists have."""
    if pt.is_list_view(array.type) or pt.is_large_list_view(array.type):
        array = array.cast(pa.large_list(array.type.value_type))
    lists = pt.is_list(array.type) or pt.is_large_list(array.type) or pt.is_fixed_size_list(array.type)
    if not lists and not pt.is_null(array.type):
        raise wrong_type(array, column, "a list a row", "write lists, or one wide column for each entry")
    check_no_null(array, column, "a list", per_row)
    if not len(array):
        return pa.array([], pa.float64()), width or 0
    # the values themselves, cut to the slice: `flatten` would load Arrow's compute functions first
    if pt.is_fixed_size_list(array.type):
        lengths = np.full(len(array), array.type.list_size)
        values = array.values.slice(array.offset * array.type.list_size, len(array) * array.type.list_size)
    else:
        offsets = numbers_of(array.offsets)
        lengths = np.diff(offsets)
        values = array.values.slice(offsets[0], offsets[-1] - offsets[0])
    size = int(lengths[0]) if width is None else width
    if (lengths != size).any():
        at = first_true(lengths != size)
        raise InputError(
            f"a list of {size} entries, as in the rows before" if at or per_row > 1 else f"a list of {size} entries",
            got=f"{lengths[at]} entries",
            remedy=_HOW_LISTS,
            row=at // per_row + 1,
            column=column,
        )
    return plain(values), size


def number_lists(array: Any, column: str, classes: Any, text: bool, width: int | None) -> Array:
    """Lists of numbers, shape (sample, entry)."""
    values, size = flat_list(array, column, width)
    return number_cells(values, column, per_row=max(size, 1)).reshape(len(array), size)


def nested_lists(array: Any, column: str, classes: ClassNames | None, text: bool, width: int | None) -> Array:
    """Lists of lists of numbers, shape (outer, sample, inner)."""
    inner, models = flat_list(array, column, width)
    values, size = flat_list(inner, column, None if classes is None else len(classes), per_row=max(models, 1))
    flat = number_cells(values, column, per_row=max(models * size, 1))
    return flat.reshape(len(array), models, size).transpose(1, 0, 2)


def ragged_lists(array: Any, column: str, *_: Any) -> Ragged:
    """Lists of any length."""
    if not (pt.is_list(array.type) or pt.is_large_list(array.type)):
        flat = number_lists(array, column, None, False, None)
        return Ragged(flat.ravel(), np.arange(len(array) + 1) * flat.shape[1])
    check_no_null(array, column, "a list")
    offsets = numbers_of(array.offsets).astype(np.int64)
    offsets = offsets - offsets[0] if len(offsets) else np.zeros(1, dtype=np.int64)
    first = int(array.offsets[0].as_py()) if len(array) else 0
    values = plain(array.values.slice(first, int(offsets[-1])))
    if values.null_count:
        at = first_true(values.is_null().to_numpy(zero_copy_only=False))
        raise InputError(
            "a number",
            got="null",
            remedy="drop the row",
            column=column,
            row=int(np.searchsorted(offsets, at, side="right")),
        )
    return Ragged(number_cells(values, column), offsets)
