"""Encoding: the user's own columns as `features`, by what was learnt on the reference; matched by their names."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array
from ..errors import InputError
from ..plain import Json, Plain, Strings
from ..results.diagnosis import UserColumn
from .cells import UNKNOWN, coded_cells, first_true, numbers_of, plain, wrong_type

TRUTHS = ("false", "true")
TEXT_FIGURES = ("characters", "words", "digits", "capitals", "other alphabets")
_NUMBER = "a number, as in the reference"
_REMEDY = "use columns of the same types in every file, or leave it out of --features"
_ABSENT = UNKNOWN | {"na", "n/a", "none", "-nan"}  # how text files write that a cell is empty


class NotANumber(InputError):
    """A written cell is no number."""


def category_name(value: Any, text: bool) -> str | None:
    """The name of a category: 7, 7.0 and "7" are one, True and "true" too; None where the cell is empty."""
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
        match = re.fullmatch(r"(-?\d+)\.0+", bare)
        return match[1] if match else bare
    number = float(value)
    return None if math.isnan(number) else str(int(number)) if number.is_integer() else repr(number)


def as_number(name: str) -> float | None:
    """The number that a name is, or None."""
    try:
        return float(name)
    except ValueError:
        return None


def distinct_cells(array: Any, column: str) -> tuple[Array, list[Any]]:
    """Codes, -1 where null, and the distinct values of a column of strings, numbers or truth values."""
    array = plain(array)
    if pt.is_null(array.type):
        return np.full(len(array), -1), []
    kind = array.type.value_type if pt.is_dictionary(array.type) else array.type
    if pt.is_nested(kind) or pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_temporal(kind):
        raise wrong_type(array, column, "numbers, categories or text", "leave it out of --features")
    codes, distinct = coded_cells(array)
    return codes, distinct.to_pylist()


def raw_numbers(array: Any, column: str, text: bool, comma: bool = False) -> Array:
    """Numbers as float64, NaN where the cell is empty; ``text``: cells are written ones, with a decimal ``comma``."""
    array = plain(array, coded=False)
    if pt.is_null(array.type):
        return np.full(len(array), np.nan)
    kind, texts = array.type, pt.is_string(array.type) or pt.is_large_string(array.type)
    numeric = pt.is_floating(kind) or pt.is_integer(kind) or pt.is_decimal(kind)
    if not (texts or numeric) or (texts and not text and array.null_count < len(array)):
        raise wrong_type(array, column, _NUMBER, _REMEDY)
    out: Array | None = None
    if not (texts and comma):
        with suppress(pa.ArrowInvalid):
            out = numbers_of(array.cast(pa.float64(), safe=False), np.nan)
    if out is None:  # written in another way, or some cell is no number
        out = _written_numbers(array, column, comma)
    if np.isinf(out).any():
        row, remedy = first_true(np.isinf(out)), "leave the cell empty where unknown"
        raise InputError(
            "a finite number", got=f"{out[row]}", row=row + 1, column=column, remedy=remedy
        )
    return out


def _written_numbers(array: Any, column: str, comma: bool) -> Array:
    """Texts as numbers, NaN where they say that there is none; `NotANumber` for another one."""
    codes, values = distinct_cells(array, column)
    table = np.full(len(values) + 1, np.nan)
    for code, value in enumerate(values):
        bare = value.strip()
        if bare.lower() in _ABSENT:
            continue
        number = as_number(bare.replace(",", ".") if comma else bare)
        if number is None:
            row = first_true(codes == code) + 1
            raise NotANumber(_NUMBER, got=repr(value[:60]), row=row, column=column, remedy=_REMEDY)
        table[code] = number
    out: Array = table[codes]
    return out


def text_figures(array: Any, column: str, text: bool) -> tuple[Array, Array]:
    """Figures of each text, shape (sample, figure), and whether it is there: log(1 + characters), log(1 + words),
    shares of digits, of capitals and of characters beyond ASCII.
    """
    import pyarrow.compute as pc

    array = plain(array, coded=False)
    if pt.is_null(array.type):
        return np.zeros((len(array), len(TEXT_FIGURES))), np.zeros(len(array), dtype=bool)
    if not (pt.is_string(array.type) or pt.is_large_string(array.type)):
        raise wrong_type(array, column, "text, as in the reference", _REMEDY)
    characters = numbers_of(pc.utf8_length(array), 0).astype(np.float64)
    words, *shares = (
        numbers_of(pc.count_substring_regex(array, pattern), 0)
        for pattern in (r"\S+", "[0-9]", "[A-Z]")
    )
    shares.append(numbers_of(pc.binary_length(array), 0) - characters)
    part = [np.minimum(share / np.maximum(characters, 1), 1) for share in shares]
    valid = numbers_of(array.is_valid().cast(pa.uint8())) > 0
    return np.column_stack([np.log1p(characters), np.log1p(words), *part]), valid


ValueKind = Literal["number", "truth", "integer", "name", "text"]
# of the categories among the further columns of a record, which rows are sliced by
SLICE_PREFIX = "features."
_MOST_SLICES = 20


@dataclass(frozen=True)
class ColumnEncoding:
    """How one column becomes features.

    A number becomes (x - center) / scale, an empty cell 0; a category an indicator of each frequent value but the most
    frequent one, and of "other" values (rare in the reference, or never there); a text a few figures of its length and
    signs. Each has an indicator of empty cells. ``values`` says what the cells of the reference were.
    """

    user: UserColumn
    values: ValueKind

    def features(self, array: Any, text: bool, comma: bool = False) -> Array:
        """Features of the cells, float32, shape (sample, feature); `InputError` for cells of another type."""
        user = self.user
        if user.kind == "category":
            codes = self.codes(array, text)
            out = np.zeros((len(codes), user.width + 1), dtype=np.float32)
            out[np.arange(len(codes)), codes] = 1
            return out[:, 1:]  # the most frequent value is where no other indicator is 1
        if user.kind == "text":
            figures, valid = text_figures(array, user.name, text)
        else:
            numbers = raw_numbers(array, user.name, text, comma)
            figures, valid = numbers[:, None], ~np.isnan(numbers)
        scaled = (figures - np.array(user.center)) / np.array(user.scale)
        scaled[~valid] = 0
        return np.column_stack([scaled, ~valid]).astype(np.float32)

    @property
    def _expected(self) -> str:
        if self.values == "truth":
            return "true or false, as in the reference"
        if self.values == "integer":
            return "a whole number, as in the reference"
        examples = ", ".join(map(repr, self.user.labels[:2]))
        return f"categories such as {examples}, as in the reference"

    def _refuses(self, name: str) -> bool:
        """Whether a cell is no truth value, or no number, where all cells of the reference were."""
        if self.values == "truth":
            return name not in (*TRUTHS, "0", "1")
        return self.values == "integer" and as_number(name) is None

    def _fault(self, got: str, at: int) -> InputError:
        return InputError(
            self._expected, got=got, row=at + 1, column=self.user.name, remedy=_REMEDY
        )

    def codes(self, array: Any, text: bool) -> Array:
        """The category of each cell: place among the labels, behind these "other" and then "missing"."""
        user, array = self.user, plain(array)
        labels = {label: i for i, label in enumerate(user.labels)}
        if not text and self.values == "name" and not _holds_texts(array):
            raise wrong_type(array, user.name, self._expected, _REMEDY)
        codes, values = distinct_cells(array, user.name)
        names = [category_name(value, text or self.values != "name") for value in values]
        table = np.full(len(values) + 1, len(labels) + 1)  # code -1, an empty cell, picks the last
        for code, name in enumerate(names):
            if name is None:
                continue
            if self._refuses(name):
                raise self._fault(repr(name[:60]), first_true(codes == code))
            is_digit = self.values == "truth" and name in ("0", "1")
            table[code] = labels.get(TRUTHS[name == "1"] if is_digit else name, len(labels))
        seen = [name for name in names if name is not None]
        if text and self.values == "name" and seen and _are_numbers(seen, labels):
            raise self._fault(seen[0], first_true(codes >= 0))
        out: Array = table[codes]
        return out


def _holds_texts(array: Any) -> bool:
    """Whether a column is one of texts, or empty."""
    kind = array.type.value_type if pt.is_dictionary(array.type) else array.type
    is_text: bool = pt.is_string(kind) or pt.is_large_string(kind) or pt.is_null(kind)
    return is_text or bool(array.null_count == len(array))


def _are_numbers(names: Sequence[str], labels: Collection[str]) -> bool:
    """Whether cells are numbers alone where the reference had names: another column under its name."""
    return all(name not in labels and as_number(name) is not None for name in names) and not any(
        as_number(label) is not None for label in labels
    )


def _user_facts(column: Plain) -> Json:
    """What `FeatureEncoding.to_dict` says of a user's column, its lists as tuples again."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in column.items()
        if name != "values"
    }


@dataclass(frozen=True)
class FeatureEncoding:
    """What was learnt of the columns that are the model's inputs, in their order; ``left_out``: why others were not
    taken.
    """

    columns: tuple[ColumnEncoding, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def users(self) -> tuple[UserColumn, ...]:
        """The columns and the places of their features."""
        return tuple(column.user for column in self.columns)

    @property
    def names(self) -> Strings:
        """A name for each feature."""
        return tuple(name for column in self.columns for name in column.user.features())

    @property
    def width(self) -> int:
        """Number of features."""
        return sum(column.user.width for column in self.columns)

    def encode(self, arrays: Plain, text: bool, comma: bool = False) -> Array:
        """Features of a batch, float32, shape (sample, feature); ``arrays``: name -> Arrow column."""
        return np.hstack(
            [column.features(arrays[column.user.name], text, comma) for column in self.columns]
        )

    def slices(self, features: Array) -> dict[str, Array]:
        """Categories of few values as further columns of a record, which some methods slice by."""
        out = {}
        for column in self.columns:
            user = column.user
            if user.kind == "category" and len(user.labels) + 2 <= _MOST_SLICES:
                part = features[:, user.first : user.first + user.width]
                out[SLICE_PREFIX + user.name] = np.where(
                    part.any(axis=1), part.argmax(axis=1) + 1, 0
                ).astype(np.int32)
        return out

    def about(self) -> Json:
        """What was taken and what was not, as results tell it."""
        taken = [{"name": user.name, "kind": user.kind} for user in self.users]
        return {"taken": taken, "left_out": dict(self.left_out)}

    def to_dict(self) -> Json:
        """The encoding as plain values, from which `from_dict` makes it again."""
        columns = [{**column.user.to_dict(), "values": column.values} for column in self.columns]
        return {"columns": columns, "left_out": dict(self.left_out)}

    @staticmethod
    def from_dict(data: Plain) -> FeatureEncoding:
        """The encoding that `to_dict` gave."""
        columns = [
            ColumnEncoding(UserColumn(**_user_facts(column)), column["values"])
            for column in data["columns"]
        ]
        return FeatureEncoding(tuple(columns), dict(data["left_out"]))

    def without(self, left_out: Mapping[str, str]) -> FeatureEncoding:
        """The same, with more to say of what was left out."""
        return replace(self, left_out={**self.left_out, **left_out})
