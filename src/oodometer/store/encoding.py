"""Encoding: the user's own columns as `features`, by what was learnt on the reference; matched by their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow.types as pt

from ..arrays import Array
from ..errors import InputError
from ..results.columns import UserColumn
from .cells import first_true, plain, wrong_type
from .raw_cells import TRUTHS, as_number, category_name, distinct_cells, raw_numbers, text_figures

ValueKind = Literal["number", "truth", "integer", "name", "text"]
SLICE_PREFIX = "features."  # of the categories among the further columns of a record, which rows are sliced by
_MOST_SLICES = 20
_REMEDY = "use columns of the same types in every file, or leave it out of --features"


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
        """Features of the cells, float32, shape (sample, feature); `InputError` for cells of another type.

        >>> import pyarrow as pa
        >>> one = ColumnEncoding(UserColumn("colour", "category", 0, ("red", "blue")), "name")
        >>> one.features(pa.array(["red", "blue", "green", None]), True).tolist()
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        """
        user = self.user
        if user.kind == "category":
            codes = self.codes(array, text)
            out = np.zeros((len(codes), user.width + 1), dtype=np.float32)
            out[np.arange(len(codes)), codes] = 1
            return out[:, 1:]  # the most frequent value is where no other indicator is 1
        if user.kind == "text":
            figures, known = text_figures(array, user.name, text)
        else:
            numbers = raw_numbers(array, user.name, text, comma)
            figures, known = numbers[:, None], ~np.isnan(numbers)
        scaled = (figures - np.array(user.center)) / np.array(user.scale)
        scaled[~known] = 0
        return np.column_stack([scaled, ~known]).astype(np.float32)

    def codes(self, array: Any, text: bool) -> Array:
        """The category of each cell: place among the labels, behind these "other" and then "missing"."""
        name, labels = self.user.name, {label: i for i, label in enumerate(self.user.labels)}
        array = plain(array)
        if not text and self.values == "name":
            self._check_names(array)
        codes, values = distinct_cells(array, name)
        names = [category_name(value, text or self.values != "name") for value in values]
        table = np.full(len(values) + 1, len(labels) + 1)  # code -1, an empty cell, picks the last
        for place, own in enumerate(names):
            if own is not None:
                self._check_value(own, codes, place)
                table[place] = labels.get(self._known(own), len(labels))
        if text and self.values == "name":
            self._check_not_numbers(names, labels, codes)
        out: Array = table[codes]
        return out

    def _known(self, name: str) -> str:
        return TRUTHS[name == "1"] if self.values == "truth" and name in ("0", "1") else name

    def _check_names(self, array: Any) -> None:
        kind = array.type.value_type if pt.is_dictionary(array.type) else array.type
        if not (pt.is_string(kind) or pt.is_large_string(kind) or pt.is_null(kind)) and array.null_count < len(array):
            raise wrong_type(array, self.user.name, self._expected, _REMEDY)

    @property
    def _expected(self) -> str:
        if self.values == "truth":
            return "true or false, as in the reference"
        if self.values == "integer":
            return "a whole number, as in the reference"
        shown = ", ".join(map(repr, self.user.labels[:2]))
        return f"categories such as {shown}, as in the reference"

    def _check_value(self, name: str, codes: Array, place: int) -> None:
        """A cell where the reference had truth values or whole numbers must be one."""
        wrong = self.values == "truth" and name not in (*TRUTHS, "0", "1")
        wrong |= self.values == "integer" and as_number(name) is None
        if wrong:
            row = first_true(codes == place) + 1
            raise InputError(self._expected, got=repr(name[:60]), row=row, column=self.user.name, remedy=_REMEDY)

    def _check_not_numbers(self, names: list[str | None], labels: Mapping[str, int], codes: Array) -> None:
        """Numbers alone where the reference had names: another column under this name."""
        seen = [name for name in names if name is not None]
        if not seen or any(name in labels for name in seen) or any(as_number(label) is not None for label in labels):
            return
        if all(as_number(name) is not None for name in seen):
            raise InputError(
                self._expected, got=seen[0], row=first_true(codes >= 0) + 1, column=self.user.name, remedy=_REMEDY
            )


@dataclass(frozen=True)
class FeatureEncoding:
    """What was learnt of the columns that are the model's inputs; the same for every file that is read afterwards.

    columns : how each becomes features, in their order. left_out : why others were not taken, name -> reason.
    """

    columns: tuple[ColumnEncoding, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def users(self) -> tuple[UserColumn, ...]:
        """The columns and the places of their features."""
        return tuple(one.user for one in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each feature."""
        return tuple(name for one in self.columns for name in one.user.features())

    @property
    def width(self) -> int:
        """Number of features."""
        return sum(one.user.width for one in self.columns)

    def encode(self, arrays: Mapping[str, Any], text: bool, comma: bool = False) -> Array:
        """Features of a batch, float32, shape (sample, feature); ``arrays``: name -> Arrow column."""
        return np.hstack([one.features(arrays[one.user.name], text, comma) for one in self.columns])

    def slices(self, features: Array) -> dict[str, Array]:
        """Categories of few values as further columns of a record, which some methods slice by."""
        out = {}
        for one in self.columns:
            user = one.user
            if user.kind == "category" and len(user.labels) + 2 <= _MOST_SLICES:
                part = features[:, user.first : user.first + user.width]
                out[SLICE_PREFIX + user.name] = np.where(part.any(axis=1), part.argmax(axis=1) + 1, 0).astype(np.int32)
        return out

    def about(self) -> dict[str, Any]:
        """What was taken and what was not, as results tell it."""
        return {
            "taken": [{"name": one.user.name, "kind": one.user.kind} for one in self.columns],
            "left_out": dict(self.left_out),
        }

    def to_dict(self) -> dict[str, Any]:
        """The encoding as plain values, from which `from_dict` makes it again.

        >>> learnt = FeatureEncoding((ColumnEncoding(UserColumn("age", "number", 0, (), (40.0,), (9.0,)), "number"),))
        >>> FeatureEncoding.from_dict(learnt.to_dict()) == learnt
        True
        """
        return {
            "columns": [{**one.user.to_dict(), "values": one.values} for one in self.columns],
            "left_out": dict(self.left_out),
        }

    @staticmethod
    def from_dict(told: Mapping[str, Any]) -> FeatureEncoding:
        """The encoding that `to_dict` told."""
        columns = []
        for one in told["columns"]:
            given: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in one.items()}
            values: Any = given.pop("values")
            columns.append(ColumnEncoding(UserColumn(**given), values))
        return FeatureEncoding(tuple(columns), dict(told["left_out"]))

    def without(self, left_out: Mapping[str, str]) -> FeatureEncoding:
        """The same, with more to say of what was left out."""
        return replace(self, left_out={**self.left_out, **left_out})
