"""Record to table: a record's arrays as Arrow record batches with the columns of a predictions file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa

from ..arrays import Array, Ragged
from ..classes import ClassNames
from ..fields import FIELDS
from ..predictions import Predictions
from .cells import arrow_of
from .parquet import META

_ROWS = 65_536


# A column to write: name, type, and its cells for a range of rows.
Column = tuple[str, Any, Callable[[int, int], Any]]


def table_of_record(record: Predictions, text: bool, lists: bool) -> tuple[Any, Iterator[Any]]:
    """The schema and the record batches; ``text`` writes every digit (float64), ``lists`` allows lists."""
    columns: list[Column] = []
    for field in FIELDS:
        value = getattr(record, field)
        if value is not None:
            columns += _columns(record, field, value, text, lists)
    taken = {name for name, _, _ in columns}
    columns += [
        _plain(name, values) for name, values in record.columns.items() if name not in taken
    ]
    schema = pa.schema([(name, kind) for name, kind, _ in columns])
    if record.classes is not None:
        schema = schema.with_metadata({META: json.dumps(record.classes).encode()})

    def batches() -> Iterator[Any]:
        for start in range(0, record.rows, _ROWS):
            stop = min(start + _ROWS, record.rows)
            yield pa.record_batch([cells(start, stop) for _, _, cells in columns], schema=schema)

    return schema, batches()


def as_table(record: Predictions) -> pa.Table:
    """A record with the columns that its file would have."""
    schema, batches = table_of_record(record, text=False, lists=True)
    return pa.Table.from_batches(batches, schema)


def _columns(record: Predictions, name: str, value: Any, text: bool, lists: bool) -> list[Column]:
    """The columns that one field becomes."""
    field, classes = FIELDS[name], record.classes or ()
    if field.ragged:
        return [_listed_or_json(_ragged(name, value, text), lists)]
    if field.kind == "nested":
        return [_listed_or_json(_numbers(name, value.transpose(1, 0, 2), text), lists)]
    if field.prefix and field.of_classes:
        if lists and classes == tuple(range(len(classes))):
            return [_numbers(name, value, text)]
        return [
            _numbers(f"{field.prefix}{label}", value[:, i], text) for i, label in enumerate(classes)
        ]
    if field.axis is not None:
        names = record.names.get(field.axis)
        moved = np.moveaxis(value, 1 - field.sample, 0)
        if lists and names is None:
            return [_matrix(name, moved, record.classes, text)]
        names = names or tuple(map(str, range(len(moved))))
        return [
            _cells(name, f"{field.prefix}{label}", row, record.classes, text)
            for label, row in zip(names, moved, strict=True)
        ]
    if field.cell in ("class", "truth", "number"):
        return [_cells(name, name, value, record.classes, text)]
    return [_plain(name, value)]


def _listed_or_json(column: Column, lists: bool) -> Column:
    """A column of lists, as JSON where the format has none."""
    name, _, cells = column
    as_json = lambda a, b: arrow_of([*map(json.dumps, cells(a, b).to_pylist())])  # noqa: E731
    return column if lists else (name, pa.string(), as_json)


def _wide(values: Array, text: bool) -> Array:
    return values.astype(np.float64, copy=False) if text else values


def _listed(cells: Any, size: int, rows: int) -> Any:
    """Consecutive cells as lists of one size."""
    return pa.ListArray.from_arrays(arrow_of(np.arange(rows + 1, dtype=np.int32) * size), cells)


def _numbers(name: str, values: Array, text: bool) -> Column:
    """Numbers, the sample axis first; each further axis makes lists."""
    kind = pa.float64() if text else pa.from_numpy_dtype(values.dtype)
    for _ in values.shape[1:]:
        kind = pa.list_(kind)

    def cells(a: int, b: int) -> Any:
        block = np.ascontiguousarray(_wide(values[a:b], text))
        out = arrow_of(block.ravel())
        for axis in range(block.ndim - 1, 0, -1):
            out = _listed(out, block.shape[axis], prod(block.shape[:axis]))
        return out if out.type == kind else out.cast(kind)  # a cast loads more of Arrow

    return name, kind, cells


def _ragged(name: str, value: Ragged, text: bool) -> Column:
    kind = pa.list_(pa.float64() if text else pa.from_numpy_dtype(value.values.dtype))

    def cells(a: int, b: int) -> Any:
        first, last = int(value.offsets[a]), int(value.offsets[b])
        offsets = (value.offsets[a : b + 1] - first).astype(np.int32)
        return pa.ListArray.from_arrays(
            arrow_of(offsets), arrow_of(_wide(value.values[first:last], text))
        )

    return name, kind, cells


def _coder(field: str, classes: ClassNames | None) -> tuple[Any, Callable[[Array], Any]]:
    """The type of class names, positions or verdicts, and codes turned into them; -1 is null."""
    if FIELDS[field].cell == "truth":
        return pa.bool_(), lambda codes: arrow_of(codes == 1, codes < 0)
    if classes is None:  # positions among candidates
        return pa.int64(), lambda codes: arrow_of(codes.astype(np.int64), codes < 0)
    are_integers = all(isinstance(name, int) for name in classes)
    names: Any = arrow_of(np.array(classes, np.int64) if are_integers else [*map(str, classes)])
    return names.type, lambda codes: names.take(arrow_of(codes, codes < 0))


def _cells(field: str, name: str, values: Array, classes: ClassNames | None, text: bool) -> Column:
    if FIELDS[field].cell == "number":
        return _numbers(name, values, text)
    kind, coded = _coder(field, classes)
    return name, kind, lambda a, b: coded(values[a:b])


def _matrix(field: str, moved: Array, classes: ClassNames | None, text: bool) -> Column:
    """Models, views, judges or features as one list a row; the sample axis is the second of ``moved``."""
    if FIELDS[field].cell == "number":
        return _numbers(field, moved.T, text)
    kind, coded = _coder(field, classes)

    def cells(a: int, b: int) -> Any:
        return _listed(
            coded(np.ascontiguousarray(moved[:, a:b].T).ravel()), len(moved), b - a
        ).cast(pa.list_(kind))

    return field, pa.list_(kind), cells


def _plain(name: str, values: Array) -> Column:
    """Times, texts, groups and further columns; cells of several types become strings."""
    cells = values.tolist() if values.dtype.kind in "OU" else values
    is_text = values.dtype.kind == "U" or (
        values.dtype.kind == "O" and {str} <= {*map(type, cells)} <= {str, type(None)}
    )
    if is_text or values.dtype.kind in "biuf":
        column = arrow_of(cells)
    else:
        try:
            column = pa.array(cells, from_pandas=values.dtype.kind == "O")
        except (pa.ArrowException, OverflowError):
            column = arrow_of([None if cell is None else str(cell) for cell in cells])
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    return name, column.type, lambda a, b: column[a:b]
