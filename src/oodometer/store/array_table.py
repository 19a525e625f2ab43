"""Arrays to tables: numpy arrays with a record's axes as Arrow columns, so that one decoder serves every format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ..arrays import Array, Ragged, as_numpy
from ..errors import InputError
from .columns import Kind, Layout

_AXES: dict[Kind, tuple[int, int]] = {  # kind -> number of axes, which of them is the sample's
    "number": (1, 0),
    "numbers": (2, 0),
    "ragged": (1, 0),
    "nested": (3, 1),
    "class": (1, 0),
    "classes": (2, 1),
    "truth": (1, 0),
    "truths": (2, 1),
    "text": (1, 0),
    "time": (1, 0),
    "key": (1, 0),
    "any": (1, 0),
    "raw": (1, 0),
}


def ndim_of(kind: Kind) -> int:
    """Number of axes that an array of the kind has."""
    return _AXES[kind][0]


def sample_axis(kind: Kind) -> int:
    """Which axis of an array of the kind counts the samples."""
    return _AXES[kind][1]


def axes_remedy(kind: Kind, given: int) -> str:
    """What to do about an array that has not as many axes as its kind."""
    if kind == "numbers" and given == 1:
        return "give each row one number a class; the probability of one positive class alone belongs in prob_<class>"
    return "save it with the axes of the predictions file"


def column_of(values: Array, kind: Kind, column: str, blank_is_null: bool = True) -> Any:
    """An array as an Arrow column with one cell a sample; the empty string stands for an unknown class.

    >>> column_of(np.array([[0, 1, 1], [0, 0, 1]]), "classes", "members").to_pylist()
    [[0, 0], [1, 0], [1, 1]]
    """
    if values.ndim != ndim_of(kind):
        raise InputError(
            f"an array with {ndim_of(kind)} axes",
            got=f"shape {values.shape}",
            column=column,
            remedy=axes_remedy(kind, values.ndim),
        )
    values = as_numpy(values)
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8")
    values = np.moveaxis(values, sample_axis(kind), 0)
    flat = np.ascontiguousarray(values).reshape(-1)
    coded = blank_is_null and kind in ("class", "classes") and flat.dtype.kind == "U"
    blank = flat == "" if coded else None
    try:
        cells = _cells(flat, blank, nan_is_null=kind not in ("number", "numbers", "nested"))
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise _odd_cell(flat, column, str(error), max(flat.size // max(len(values), 1), 1)) from None
    for size in reversed(values.shape[1:]):
        if size == 0:
            return pa.array([[]] * len(values))
        cells = pa.FixedSizeListArray.from_arrays(cells, size)
    return cells


def _cells(flat: Array, blank: Array | None, nan_is_null: bool) -> Any:
    """The array as Arrow cells. Numbers that are all known lie as Arrow wants them already; `pa.array` would import
    pandas, where that is installed, to look at them.
    """
    if flat.dtype.kind in "iu" or (flat.dtype.kind == "f" and not nan_is_null):
        flat = flat.astype(flat.dtype.newbyteorder("="), copy=False)
        return pa.Array.from_buffers(pa.from_numpy_dtype(flat.dtype), len(flat), [None, pa.py_buffer(flat)])
    return pa.array(flat, mask=blank, from_pandas=nan_is_null)


def _odd_cell(flat: Array, column: str, reason: str, per_row: int) -> InputError:
    """Name the first cell whose type is not that of the cells before."""
    cells = flat.tolist()
    known = [i for i, cell in enumerate(cells) if cell is not None and cell == cell]
    odd = next((i for i in known if isinstance(cells[i], str) != isinstance(cells[known[0]], str)), None)
    if odd is None:
        return InputError("values of one type", got=reason[:120], remedy="convert the array", column=column)
    return InputError(
        "values of one type",
        got=f"{cells[known[0]]!r} and {cells[odd]!r}",
        column=column,
        remedy="make them one type",
        row=odd // per_row + 1,
    )


def _even(value: Any, column: str) -> Array:
    """The array, unless it is made of lists of different lengths."""
    if isinstance(value, (list, tuple)) and value and hasattr(value[0], "__len__") and not isinstance(value[0], str):
        first = len(value[0])
        for row, cell in enumerate(value, start=1):
            if not hasattr(cell, "__len__") or len(cell) != first:
                got = f"{len(cell)}" if hasattr(cell, "__len__") else repr(cell)
                raise InputError(
                    f"{first} entries in every list",
                    got=got,
                    row=row,
                    column=column,
                    remedy="give rows of the same length",
                )
    try:
        return as_numpy(value)
    except InputError as error:
        raise InputError(error.expected, got=error.got, remedy=error.remedy, column=column) from None
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise InputError(
            "an array", got=str(error)[:120], column=column, remedy="give rows of the same length"
        ) from None


def table_of(arrays: Mapping[str, Any], layout: Layout) -> Any:
    """The columns that a layout uses as one table."""
    columns: dict[str, Any] = {}
    rows: tuple[str, int] | None = None
    for name, kind in layout.kinds(layout.feeds.values()).items():
        value = arrays[name]
        if kind == "ragged":
            ragged = value if isinstance(value, Ragged) else Ragged.from_rows(value)
            columns[name] = pa.LargeListArray.from_arrays(ragged.offsets, ragged.values)
        else:
            columns[name] = column_of(_even(value, name), kind, name)
        rows = rows or (name, len(columns[name]))
        if len(columns[name]) != rows[1]:
            raise InputError(
                f"{rows[1]} entries, one a sample, as in {rows[0]}",
                got=f"{len(columns[name])}",
                remedy="align the arrays by sample",
                column=name,
            )
    return pa.table(columns)
