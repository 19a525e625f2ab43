"""Frames: a table of a result as a frame of pandas or polars, or as a table of pyarrow."""

from __future__ import annotations

import math
import sys
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingExtraError, UsageError
from ..plain import Json
from ..results.view import INTERVAL, Maker, Table, View, ends

if TYPE_CHECKING:
    import pyarrow as pa

LIBRARIES = ("pandas", "polars", "pyarrow")


def frame_of(
    result: Any, what: str | None = None, library: str | None = None, wide: bool = True
) -> Any:
    """One table of a result as a frame; see `Shown.to_frame`."""
    if library is not None and library not in LIBRARIES:
        raise UsageError(
            f"expected library to be one of {', '.join(LIBRARIES)} or None, got {library!r}"
        )
    # without a name the library that the program already uses, else the one that is installed; pandas before polars
    frames = LIBRARIES[:2]
    available = [*(name for name in frames if name in sys.modules), *filter(_there, frames)]
    name: Any = library or next(iter(available), None)
    if name is None or (name != "pyarrow" and not _there(name)):
        raise MissingExtraError("to_frame()", name or "pandas or polars", install=name or "pandas")
    cells = table_of(result, what)
    table = typed(cells if wide or not cells.main else cells._replace(columns=cells.main))
    if name == "pyarrow":
        return table
    import narwhals as nw

    frame: Any = nw.from_arrow(table, backend=name).to_native()
    # whose own booleans have no empty cell: `~frame["alarm"]` of objects would be -1 and -2
    if name == "pandas":
        truths = [field.name for field in table.schema if str(field.type) == "bool"]
        frame = frame.astype(dict.fromkeys(truths, "boolean"))
    return frame


def _there(name: str) -> bool:
    try:
        return name in sys.modules or find_spec(name) is not None
    except ValueError:  # a module put there by hand, without a spec
        return False


_TYPES: dict[str, str] = {
    "real": "value lower upper level truth truth_lower truth_upper reference fell_p p p_value p_best p_a_better power "
    "statistic severity error bias coverage width effective_labels x differ lowest expected highest distance psi",
    "whole": "runs run rows labels correct rank repeat cases right only_a only_b suggested support row stratum",
    "truth": "alarm undecided higher_is_better moved",
    "time": "start end",
}
_TYPE_OF = {name: kind for kind, names in _TYPES.items() for name in names.split()}


def table_of(result: Any, what: str | None = None) -> Table:
    """One table of a result, the row of its headline first; `UsageError` names the tables that there are."""
    table = bare_table(result, what)
    return with_headline(table, result.view()) if table.named else table


def bare_table(result: Any, what: str | None = None) -> Table:
    """One table of a result without the row of its headline; errors are those of `table_of`."""
    makers: dict[str, Maker] = result.frames() or _number_alone(result)
    name = next(iter(makers), "numbers") if what is None else what
    if name not in makers:
        raise UsageError(
            f"{type(result).__name__} has no table {name!r}; it has {', '.join(makers) or 'none'}"
        )
    return makers[name]()


HEADLINE = ("level", "kind", "assumes", "trust", "fell")
"""Columns that a table with the row ``headline`` has, whatever else it holds."""
_WHERE_SAID = ("truth", "says")  # further ones, where the headline has such a cell


def with_headline(table: Table, view: View) -> Table:
    """The table with the number of the view as its first row; as it is where the view has no number.

    >>> from ..results.values import Interval
    >>> view = View("Accuracy", "80.0 %", Interval(0.8, 0.7, 0.9, 0.95, "exact"), trust="high")
    >>> out = with_headline(Table(("method", "value"), [{"method": "atc", "value": 0.7}], named="method"), view)
    >>> out.columns, [row["method"] for row in out.rows], out.rows[0]["kind"]
    (('method', 'value', 'level', 'kind', 'assumes', 'trust', 'fell'), ['headline', 'atc'], 'exact')
    """
    if view.interval is None and not view.cells:
        return table
    row: Json = {**ends(view.interval), "assumes": view.assumes, "trust": view.trust}
    row |= {"fell": view.fell, **view.cells, table.named: "headline"}
    added = [*HEADLINE, *(name for name in _WHERE_SAID if row.get(name) is not None)]
    main = tuple(dict.fromkeys((table.named, *table.main, *added))) if table.main else ()
    columns = tuple(dict.fromkeys((*table.columns, *added)))
    first = {name: row.get(name) for name in columns}
    return Table(columns, [first, *table.rows], main, table.named)


def _number_alone(result: Any) -> dict[str, Maker]:
    """The table of a result that has a number and no other."""
    has_number = result.view().interval is not None
    return (
        {"headline": lambda: Table(("result", *INTERVAL), [], (), "result")} if has_number else {}
    )


def typed(table: Table) -> pa.Table:
    """The table with a type for each column, also where every cell of it is empty; NaN is an empty cell."""
    import pyarrow as pa

    return pa.table(
        {
            name: _typed_cells(name, [_bare(row.get(name)) for row in table.rows])
            for name in table.columns
        }
    )


def _bare(cell: Any) -> Any:
    """A cell of numpy as one of Python, and NaN as an empty one."""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def _typed_cells(name: str, cells: list[Any]) -> Any:
    """The cells of a column as Arrow's: of the type that columns of this name have, else of that of the cells."""
    import pyarrow as pa

    types = {"real": pa.float64(), "whole": pa.int64(), "truth": pa.bool_()}
    kind = _TYPE_OF.get(name, "")
    times = _times(cells) if kind == "time" else None
    if times is not None:
        in_seconds = all(time is None or time.microsecond == 0 for time in times)
        return pa.array(times, pa.timestamp("s" if in_seconds else "us"))
    if kind in types:
        return pa.array(cells, types[kind])
    if {type(cell) for cell in cells if cell is not None} in ({int}, {float}, {bool}):
        # names of slices and classes keep the type that they have in the data
        return pa.array(cells)
    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


def _times(cells: list[Any]) -> Any:
    """The cells as times; None where one of them is none, such as the number of a row."""
    if not all(cell is None or isinstance(cell, str) for cell in cells):
        return None
    try:
        return [
            None if cell is None else datetime.fromisoformat(cell).replace(tzinfo=None)
            for cell in cells
        ]
    except ValueError:
        return None
