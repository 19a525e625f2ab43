"""Base of tables: rows of plain cells under fixed columns, and what type each column has wherever it appears."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...results.view import INTERVAL as INTERVAL
from ...results.view import Maker as Maker
from ...results.view import Table as Table
from ...results.view import ends as ends

if TYPE_CHECKING:
    import pyarrow as pa


_TYPES: dict[str, str] = {
    "real": "value lower upper level truth truth_lower truth_upper reference fell_p p p_value p_best p_a_better power "
    "statistic severity error bias coverage width effective_labels x differ lowest expected highest distance psi",
    "whole": "rows labels correct rank repeat cases right only_a only_b suggested support row stratum",
    "truth": "alarm undecided higher_is_better moved",
    "time": "start end",
}
_TYPE_OF = {name: kind for kind, names in _TYPES.items() for name in names.split()}


def share_of(one: Any) -> float | None:
    """The value of a number that may come alone, with an interval, or as the mapping of one.

    >>> share_of(0.5), share_of({"value": 0.5}), share_of(None)
    (0.5, 0.5, None)
    """
    if isinstance(one, Mapping):
        one = one.get("value")
    found = getattr(one, "value", one)
    return None if found is None else float(found)


def typed(table: Table) -> pa.Table:
    """The table with a type for each column, also where every cell of it is empty; NaN is an empty cell.

    >>> typed(Table(("start", "value", "alarm"), [{"start": "2026-01-05", "value": 1, "alarm": None}])).schema.types
    [TimestampType(timestamp[s]), DataType(double), DataType(bool)]
    """
    import pyarrow as pa

    arrays = [_column(name, [_cell(row.get(name)) for row in table.rows]) for name in table.columns]
    return pa.table(dict(zip(table.columns, arrays, strict=True)))


def _cell(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and math.isnan(value) else value


def _column(name: str, cells: list[Any]) -> Any:
    import pyarrow as pa

    kind = _TYPE_OF.get(name)
    if kind == "real":
        return pa.array(cells, pa.float64())
    if kind == "whole":
        return pa.array(cells, pa.int64())
    if kind == "truth":
        return pa.array(cells, pa.bool_())
    if kind == "time":
        times = _times(cells)
        if times is None:
            return _as_they_are(cells)
        whole = all(time is None or time.microsecond == 0 for time in times)
        return pa.array(times, pa.timestamp("s" if whole else "us"))
    return _as_they_are(cells)


def _as_they_are(cells: list[Any]) -> Any:
    """Numbers where all are of one type, else texts."""
    import pyarrow as pa

    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) == 1 and kinds <= {int, float, bool}:
        return pa.array(cells)  # names of slices and classes keep the type that they have in the data
    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


def _times(cells: list[Any]) -> Any:
    """The cells as times; None where one of them is none, such as the number of a row."""
    if not all(cell is None or isinstance(cell, str) for cell in cells):
        return None
    try:
        return [None if cell is None else np.datetime64(str(cell), "us").item() for cell in cells]
    except ValueError:
        return None
