"""Decode: cells of Arrow columns to the arrays of a record, without a Python loop over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array, Coded
from ..binary import both_classes
from ..classes import ClassNames, encode_positions
from ..fields import FIELDS
from .cells import any_cells, number_cells, plain, text_cells, time_cells, wrong_type
from .codes import class_cells, class_lists, dictionary, truth_cells, truth_lists
from .columns import Feed, Kind
from .lists import flat_list, nested_lists, number_lists, ragged_lists

__all__ = ["extra", "field", "plain", "positions", "seen", "widths"]

_CELLS: dict[Kind, Any] = {
    "number": number_cells,
    "numbers": number_lists,
    "ragged": ragged_lists,
    "nested": nested_lists,
    "class": class_cells,
    "classes": class_lists,
    "truth": truth_cells,
    "truths": truth_lists,
    "text": text_cells,
    "time": time_cells,
    "any": any_cells,
}


def field(
    batch: Any, feed: Feed, classes: ClassNames | None, text: bool, width: int | None = None, others: bool = False
) -> Any:
    """One field's array from a record batch; rows in errors count from the batch's start. ``others``: labels may be of
    classes that are none of the known ones.
    """
    columns = [plain(batch.column(name)) for name in feed.columns]
    if FIELDS[feed.field].truths:
        columns = [_without_truth(array) for array in columns]
    if feed.kind == "class" and not feed.wide:
        name, others = feed.columns[0], others and feed.field == "label"
        return class_cells(columns[0], name, classes, text, width, field=feed.field, others=others)
    if not feed.wide:
        return _CELLS[feed.kind](columns[0], feed.columns[0], classes, text, width)
    cells = [_CELLS[feed.kind](a, c, classes, text, None) for a, c in zip(columns, feed.columns, strict=True)]
    if feed.positive is not None:
        return both_classes(cells[0], feed.field, feed.columns[0], feed.positive)
    if feed.kind == "class":
        return Coded(np.stack([cell.codes for cell in cells]), classes or ())
    return np.stack(cells, axis=1 if feed.kind == "number" else 0)


def _without_truth(array: Any) -> Any:
    """Features may be of 1 bit, such as black and white or an indicator: true counts as 1."""
    inner = getattr(array.type, "value_type", array.type)
    if not pt.is_boolean(inner):
        return array
    return array.cast(pa.uint8() if pt.is_boolean(array.type) else pa.large_list(pa.uint8()))


def widths(column: Any, feed: Feed) -> dict[str, int]:
    """Lengths of the lists in a list column's one row; for member probabilities also that of the inner lists."""
    values, size = flat_list(column, feed.columns[0], None)
    out = {feed.field: size}
    if feed.kind == "nested":
        out["classes"] = flat_list(values, feed.columns[0], None)[1] if size else 0
    return out


def seen(column: Any, feed: Feed, name: str, text: bool) -> Coded:
    """A class column's codes, shape (sample,) or (entry, sample), before the classes are known."""
    column = plain(column)
    if feed.kind == "class":
        return dictionary(column, name, text)
    values, size = flat_list(column, name, None)
    coded = dictionary(values, name, text, per_row=max(size, 1))
    return Coded(coded.codes.reshape(len(column), size).T, coded.values)


def positions(batch: Any, feed: Feed, text: bool) -> Coded:
    """A class column whose cells are positions among the candidates of their row."""
    out = []
    for name in feed.columns:
        column = batch.column(name)
        inner = getattr(column.type, "value_type", column.type)
        if pt.is_boolean(inner):
            raise wrong_type(
                plain(column),
                name,
                "the position of a candidate (0, 1, ...)",
                "true and false are verdicts: call the column `correct`",
            )
        out.append(encode_positions(seen(column, feed, name, text), name))
    places = np.stack(out) if feed.wide else out[0]
    distinct, codes = np.unique(places, return_inverse=True)
    unknown = int(np.count_nonzero(distinct < 0))  # -1, if any, comes first
    return Coded(codes.reshape(places.shape) - unknown, distinct[unknown:].tolist())


def extra(batch: Any, column: str) -> Array:
    """A further column as it is: numbers, times or objects."""
    return any_cells(plain(batch.column(column)), column, None, False, None)
