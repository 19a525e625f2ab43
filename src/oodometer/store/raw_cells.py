"""Raw cells: a user's column, whatever its type, as numbers with NaN or as names of categories."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array
from ..errors import InputError
from .cells import first_true, numbers_of, plain, wrong_type
from .codes import UNKNOWN

TRUTHS = ("false", "true")
TEXT_FIGURES = ("characters", "words", "digits", "capitals", "other alphabets")
_NUMBER = "a number, as in the reference"
_REMEDY = "use columns of the same types in every file, or leave it out of --features"
_ABSENT = UNKNOWN | {"na", "n/a", "none", "-nan"}  # how text files write that a cell is empty


class NotANumber(InputError):
    """A written cell is no number."""


def category_name(value: Any, text: bool) -> str | None:
    """The name of a category: 7, 7.0 and "7" are one, True and "true" too; None where the cell is empty.

    >>> [category_name(v, True) for v in (7.0, "7.0", True, "TRUE", " a ", "NaN", None)]
    ['7', '7', 'true', 'true', 'a', None, None]
    """
    if value is None or isinstance(value, bool):
        return None if value is None else TRUTHS[value]
    if isinstance(value, str):
        if not text:
            return value
        bare = value.strip()
        if bare.lower() in _ABSENT:
            return None
        if bare.lower() in TRUTHS:
            return bare.lower()
        whole = re.fullmatch(r"(-?\d+)\.0+", bare)
        return whole[1] if whole else bare
    number = float(value)
    if math.isnan(number):
        return None
    return str(int(number)) if number.is_integer() else repr(number)


def as_number(name: str) -> float | None:
    """The number that a name is, or None."""
    try:
        return float(name)
    except ValueError:
        return None


def distinct_cells(array: Any, column: str) -> tuple[Array, list[Any]]:
    """Codes, -1 where null, and the distinct values of a column of strings, numbers or truth values.

    >>> distinct_cells(pa.array(["a", None, "a"]), "x")
    (array([ 0, -1,  0]), ['a'])
    """
    array = plain(array)
    if pt.is_null(array.type):
        return np.full(len(array), -1), []
    kind = array.type.value_type if pt.is_dictionary(array.type) else array.type
    if pt.is_nested(kind) or pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_temporal(kind):
        raise wrong_type(array, column, "numbers, categories or text", "leave it out of --features")
    if not pt.is_dictionary(array.type):
        array = array.dictionary_encode()
    return _with_nulls(array.indices.cast(pa.int64()), -1), array.dictionary.to_pylist()


def _with_nulls(array: Any, null: Any) -> Array:
    """Numbers of an Arrow array, ``null`` where it has none; without Arrow's filling, which may import pandas."""
    if not array.null_count:
        return numbers_of(array)
    size = array.type.bit_width // 8
    letter = "f" if pt.is_floating(array.type) else "i" if pt.is_signed_integer(array.type) else "u"
    values = np.frombuffer(array.buffers()[1], f"{letter}{size}", len(array), array.offset * size)
    known = numbers_of(array.is_valid().cast(pa.uint8())) > 0
    out: Array = np.where(known, values, null)
    return out


def raw_numbers(array: Any, column: str, text: bool, comma: bool = False) -> Array:
    """Numbers as float64, NaN where the cell is empty; ``text``: cells are written ones, with a decimal ``comma``.

    >>> raw_numbers(pa.array(["1.5", None, "NA"]), "x", True).tolist()
    [1.5, nan, nan]
    """
    array = plain(array)
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pt.is_null(array.type):
        return np.full(len(array), np.nan)
    if pt.is_string(array.type) or pt.is_large_string(array.type):
        if not text and array.null_count < len(array):
            raise wrong_type(array, column, _NUMBER, _REMEDY)
        out = _parsed(array, column, comma)
    else:
        if pt.is_decimal(array.type) or pt.is_float16(array.type):
            array = array.cast(pa.float64())
        if not (pt.is_floating(array.type) or pt.is_integer(array.type)):
            raise wrong_type(array, column, _NUMBER, _REMEDY)
        out = _with_nulls(array.cast(pa.float64(), safe=False), np.nan)
    endless = np.isinf(out)
    if endless.any():
        row = first_true(endless)
        raise InputError(
            "a finite number",
            got=f"{out[row]}",
            row=row + 1,
            column=column,
            remedy="leave the cell empty where unknown",
        )
    return out


def _parsed(array: Any, column: str, comma: bool) -> Array:
    """Written numbers; a cell that is none is looked for by Python."""
    if not comma:
        try:
            return _with_nulls(array.cast(pa.float64()), np.nan)
        except pa.ArrowInvalid:
            pass
    codes, values = distinct_cells(array, column)
    table = np.full(len(values) + 1, np.nan)
    for place, value in enumerate(values):
        bare = value.strip()
        if bare.lower() in _ABSENT:
            continue
        number = as_number(bare.replace(",", ".") if comma else bare)
        if number is None:
            row = first_true(codes == place) + 1
            raise NotANumber(_NUMBER, got=repr(value[:60]), row=row, column=column, remedy=_REMEDY)
        table[place] = number
    out: Array = table[codes]
    return out


def text_figures(array: Any, column: str, text: bool) -> tuple[Array, Array]:
    """Figures of each text, shape (sample, figure), and whether it is there: log(1 + characters), log(1 + words), and
    the shares of digits, of capitals and of characters beyond ASCII.

    >>> figures, known = text_figures(pa.array(["Ab 1", None]), "x", True)
    >>> figures[0].round(2).tolist(), known.tolist()
    ([1.61, 1.1, 0.25, 0.25, 0.0], [True, False])
    """
    import pyarrow.compute as pc

    array = plain(array)
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pt.is_null(array.type):
        return np.zeros((len(array), len(TEXT_FIGURES))), np.zeros(len(array), dtype=bool)
    if not (pt.is_string(array.type) or pt.is_large_string(array.type)):
        raise wrong_type(array, column, "text, as in the reference", _REMEDY)
    characters = _with_nulls(pc.utf8_length(array), 0).astype(np.float64)
    words = _with_nulls(pc.count_substring_regex(array, r"\S+"), 0).astype(np.float64)
    shares: Sequence[Any] = (
        pc.count_substring_regex(array, "[0-9]"),
        pc.count_substring_regex(array, "[A-Z]"),
        pc.subtract(pc.binary_length(array), pc.utf8_length(array)),
    )
    part = [np.minimum(_with_nulls(one, 0) / np.maximum(characters, 1), 1) for one in shares]
    known = numbers_of(array.is_valid().cast(pa.uint8())) > 0
    return np.column_stack([np.log1p(characters), np.log1p(words), *part]), known
