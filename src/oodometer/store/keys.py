"""Keys: columns that tell rows apart, as strings, so that files of any format can be joined by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array
from ..errors import InputError
from .cells import plain, wrong_type

_EXPECTED, _REMEDY = "an id (a string or an integer)", "write one id a row"


def key_cells(array: Any, column: str) -> Any:
    """A column of strings, integers, whole floats (as pandas keeps integers beside nulls) or times, as strings.

    >>> key_cells(pa.array([7.0, None]), "id").to_pylist()
    ['7', None]
    """
    array = plain(array)
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pt.is_nested(array.type) or pt.is_boolean(array.type) or pt.is_binary(array.type):
        raise wrong_type(array, column, _EXPECTED, _REMEDY)
    if pt.is_floating(array.type):
        array = pa.array(array.to_numpy(zero_copy_only=False), from_pandas=True)
        try:
            array = array.cast(pa.int64())
        except pa.ArrowInvalid:
            cells = array.to_pylist()
            at = next(i for i, cell in enumerate(cells) if cell is not None and not float(cell).is_integer())
            raise InputError(_EXPECTED, got=f"{cells[at]:g}", row=at + 1, column=column, remedy=_REMEDY) from None
    return array.cast(pa.large_string())


def key_array(values: Array, column: str, file: str | None) -> Any:
    """The same of a record's column."""
    try:
        cells = pa.array(values.tolist() if values.dtype.kind in "OU" else values, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError):
        raise InputError(
            _EXPECTED, got="cells of several types", file=file, column=column, remedy="make them one type"
        ) from None
    return key_cells(cells, column)


def joined(parts: Sequence[Any]) -> Any:
    """Batches of keys as one array."""
    return pa.concat_arrays(parts) if parts else pa.array([], pa.large_string())
