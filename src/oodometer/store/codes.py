"""Codes: columns of classes and verdicts, dictionary-encoded, so that only distinct values meet Python."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array, Coded
from ..classes import ClassNames, class_of_truth, encode, label_codes, truth_values
from ..errors import InputError
from .cells import first_true, numbers_of, wrong_type
from .lists import flat_list

# How text files write "unknown"; in typed files only a null is unknown.
UNKNOWN = frozenset({"", "nan", "null"})
_WHOLE = re.compile(r"(-?\d+)\.0+")


def dictionary(array: Any, column: str, text: bool, names: frozenset[str] = frozenset(), per_row: int = 1) -> Coded:
    """A class column as codes and distinct values, -1 where unknown; ``names`` are the classes known by now."""
    if pt.is_null(array.type):
        return Coded(np.full(len(array), -1), [])
    if not pt.is_dictionary(array.type):
        if pt.is_nested(array.type) or pt.is_binary(array.type) or pt.is_temporal(array.type):
            raise wrong_type(array, column, "a class (an integer or a string)", "write one class a cell")
        array = array.dictionary_encode()
    places = array.indices.cast(pa.int64())
    if places.null_count:  # filling looks at a Python number, for which pyarrow imports pandas
        places = places.fill_null(-1)
    codes = numbers_of(places)
    found = array.dictionary.to_pylist()
    values = [_class_of(value, text, names) for value in found]
    unknown = [position for position, value in enumerate(values) if value is None]
    if unknown:
        codes = np.where(np.isin(codes, unknown), -1, codes)
    for position, value in enumerate(values):
        if isinstance(value, float) and (codes == position).any():
            raise InputError(
                "a class (an integer or a string)",
                got=f"{value:g}",
                column=column,
                remedy="give class numbers or names, not scores",
                row=first_true(codes == position) // per_row + 1,
            )
    return Coded(codes, values)


def _class_of(value: Any, text: bool, names: frozenset[str]) -> Any:
    """What a distinct value of a class column stands for: an integer, a string, or None for unknown."""
    if isinstance(value, bool):
        return class_of_truth(value, names) if names else int(value)
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    if not text or not isinstance(value, str) or value in names:
        return value
    bare = value.strip()
    if bare not in names and bare.lower() in UNKNOWN:
        return None
    if bare not in names and bare.lower() in ("true", "false"):
        truth = class_of_truth(bare.lower() == "true", names)
        return truth if truth in names else bare
    whole = _WHOLE.fullmatch(bare)
    return whole[1] if whole and bare not in names else bare


def class_cells(
    array: Any,
    column: str,
    classes: ClassNames | None,
    text: bool,
    width: int | None,
    per_row: int = 1,
    field: str = "",
    others: bool = False,
) -> Coded:
    """Classes as positions among those known, those of a ``field``; with ``others`` labels may be of further ones."""
    names: ClassNames = classes or ()
    noted: dict[str, int] = {}
    if pt.is_integer(array.type) and not array.null_count and not others:
        values: Any = numbers_of(array)
    else:
        values = dictionary(array, column, text, frozenset(map(str, names)), per_row)
    if field == "label" and isinstance(values, Coded):
        values, noted = label_codes(values, names, others)
    try:
        return Coded(encode(values, names, column, field), names, noted)
    except InputError as error:
        if error.row is not None:
            error.row = (error.row - 1) // per_row + 1
        raise error.at() from None


def class_lists(array: Any, column: str, classes: ClassNames | None, text: bool, width: int | None) -> Coded:
    """Lists of classes, shape (entry, sample)."""
    values, size = flat_list(array, column, width)
    coded = class_cells(values, column, classes, text, None, max(size, 1))
    return Coded(coded.codes.reshape(len(array), size).T, coded.values)


def truth_cells(
    array: Any, column: str, classes: Any = None, text: bool = False, width: Any = None, per_row: int = 1
) -> Array:
    """Verdicts as 1, 0 and NaN for unknown, which is what `truth_values` takes."""
    if pt.is_null(array.type):
        return np.full(len(array), np.nan)
    if not pt.is_dictionary(array.type):
        if pt.is_nested(array.type):
            raise wrong_type(array, column, "true or false (or 1, 0, null)", "give one verdict a cell")
        array = array.dictionary_encode()
    places = array.indices.cast(pa.int64())
    if places.null_count:  # filling looks at a Python number, for which pyarrow imports pandas
        places = places.fill_null(-1)
    codes = numbers_of(places)
    table = np.full(len(array.dictionary) + 1, np.nan)  # the last entry is what code -1 picks
    for position, value in enumerate(array.dictionary.to_pylist()):
        if value is None or value != value or (isinstance(value, str) and value.strip().lower() in UNKNOWN):
            continue
        if (codes == position).any():
            try:
                held = value.strip() if isinstance(value, str) else value
                table[position] = truth_values(np.array([held]), column)[0]
            except InputError as error:
                error.row, error.got = first_true(codes == position) // per_row + 1, repr(value)
                raise error.at() from None
    out: Array = table[codes]
    return out


def truth_lists(array: Any, column: str, classes: Any, text: bool, width: int | None) -> Array:
    """Lists of verdicts, shape (entry, sample)."""
    values, size = flat_list(array, column, width)
    return truth_cells(values, column, per_row=max(size, 1)).reshape(len(array), size).T
