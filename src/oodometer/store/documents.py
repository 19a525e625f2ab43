"""Documents: the rows of a JSON document that is no JSON Lines, wherever they stand in it, as a table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

from ..errors import InputError
from ..fields import FIELDS
from ..notes import file_name
from ..plain import Json, Strings
from .files import translated
from .harness.base import is_json_lines

_LEAST_ROWS = 5  # of a list in a document; shorter ones are settings or totals
_DEPTHS = (2, 6)  # names that lead to rows: further down only where nothing stands above
_SHOWN = 6


@final
class Document(NamedTuple):
    """A table (Arrow), and what is to be said of where in the document it stands."""

    table: Any
    notes: Strings = ()


@final
class _Rows(NamedTuple):
    """Rows of a document and where they stand: names with dots between them."""

    place: str
    rows: list[Json]


def read_document(path: str) -> Document | None:
    """The rows of a JSON array, or of the longest list of rows in a JSON object; None for JSON Lines and other files.

    Rows are a list of objects, a mapping of ids to objects or to lists of objects (``id`` names them), the names
    ``columns`` and the rows ``data`` beside each other, or by name lists of one length or numbered cells. Raises
    `InputError` where there are none, where two lists are as long as each other, and for an array that holds something
    else.
    """
    try:
        if is_json_lines(path):
            return None
        document = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):  # said where it is read as lines
        return None
    if isinstance(document, list) and document:
        return Document(table_of_rows(_objects(document, path), path))
    if not isinstance(document, dict):
        return None
    is_table = _rows_of_columns(document) or _rows_of_numbered(document)
    if FIELDS.keys() & document and not is_table:  # a row of JSON Lines
        return None
    found, notes = _longest(document, path)
    return Document(table_of_rows(found.rows, path), notes)


def _objects(rows: Sequence[Any], path: str) -> list[Json]:
    """Rows that are objects; `InputError` for the first that is none."""
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise InputError(
                "a JSON object",
                got=type(row).__name__,
                file=path,
                row=number,
                remedy="check what wrote the file",
            )
    return [*rows]


def table_of_rows(rows: Sequence[Json], path: str) -> Any:
    """Rows as an Arrow table; cells of a column that are of several kinds become texts."""
    import pyarrow as pa

    with translated(path, "JSON"):
        return pa.table({name: _column(rows, name) for name in dict.fromkeys(_names(rows))})


def _names(rows: Sequence[Json]) -> Iterator[str]:
    for row in rows:
        yield from row


def _column(rows: Sequence[Json], name: str) -> Any:
    """The cells of one name, null where a row lacks it."""
    import pyarrow as pa

    cells = [row.get(name) for row in rows]
    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        texts = (cell if isinstance(cell, str) else json.dumps(cell) for cell in cells)
        return pa.array([None if text == "null" else text for text in texts])


def _longest(document: Mapping[str, Any], path: str) -> tuple[_Rows, Strings]:
    """The longest rows of a document, with a sentence on where they stand, unless they are all of it."""
    for deepest in _DEPTHS:
        found = sorted(_rows_in(document, deepest), key=lambda rows: -len(rows.rows))
        if found:
            break
    else:
        raise _no_rows(document, path)
    first, *others = found
    if others and len(others[0].rows) == len(first.rows):
        got = f"`{first.place}` and `{others[0].place}`, both of {len(first.rows):,}"
        remedy = "write the one that holds the answers into a file of its own"
        raise InputError("one list of answers", got=got, remedy=remedy, file=path)
    named = ", ".join(f"`{rows.place}` ({len(rows.rows):,} rows)" for rows in others)
    left = f"; not read: {named}" if named else ""
    text = f"the rows are those of `{first.place}` in {file_name(path)}{left}"
    return first, (text,) if first.place else ()


def _rows_in(value: Mapping[str, Any], deepest: int, place: Strings = ()) -> Iterator[_Rows]:
    """Rows of a document, at most so many names deep."""
    own = _rows_of(value)
    if own:
        yield _Rows(".".join(place), own)
        return
    for name, inner in value.items():
        inner_place = (*place, name)
        if isinstance(inner, dict) and len(place) < deepest:
            yield from _rows_in(inner, deepest, inner_place)
        elif len(place) < deepest and _are_objects(inner):
            yield _Rows(".".join(inner_place), inner)


def _rows_of(value: Mapping[str, Any]) -> list[Json]:
    """The rows that a mapping is by itself; none where it is no table."""
    objects = [*value.values()]
    if numbered := _rows_of_numbered(value):
        return numbered
    if _are_objects(objects) and _are_alike(objects):
        return [{"id": name, **row} for name, row in value.items()]
    if len(objects) >= _LEAST_ROWS and all(map(_is_attempts, objects)):
        return [{"id": name, **row} for name, rows in value.items() for row in rows]
    return _rows_of_split(value) or _rows_of_columns(value)


def _is_attempts(rows: Any) -> bool:
    """Whether a value is a list of objects, as several answers to one question are."""
    return isinstance(rows, list) and bool(rows) and all(isinstance(row, dict) for row in rows)


def _rows_of_split(value: Mapping[str, Any]) -> list[Json]:
    """The rows of a table written as the names ``columns`` and the cells ``data``; none where it is none."""
    columns, data = value.get("columns"), value.get("data")
    if not isinstance(columns, list) or not isinstance(data, list):
        return []
    if not all(isinstance(row, list) and len(row) == len(columns) for row in data):
        return []
    return [dict(zip(map(str, columns), row, strict=True)) for row in data]


def _rows_of_numbered(value: Mapping[str, Any]) -> list[Json]:
    """The rows of columns whose cells are called by the number of the row, as pandas writes them (`DataFrame.to_json`);
    none where they are no such.
    """
    columns = [*value.values()]
    if not columns or not all(isinstance(cells, dict) for cells in columns):
        return []
    numbers = [*columns[0]]
    if len(numbers) < _LEAST_ROWS or not all(map(str.isdecimal, numbers)):
        return []
    if any(cells.keys() != columns[0].keys() for cells in columns):
        return []
    if any(isinstance(cell, dict) for cell in columns[0].values()):
        return []
    return [{name: cells[number] for name, cells in value.items()} for number in numbers]


def _rows_of_columns(value: Mapping[str, Any]) -> list[Json]:
    """The rows of lists of one length by name; none where they are no columns."""
    lengths = {len(cells) if isinstance(cells, list) else 0 for cells in value.values()}
    is_table = len(value) > 1 and len(lengths) == 1 and min(lengths) >= _LEAST_ROWS
    if not is_table or any(isinstance(cells[0], dict) for cells in value.values()):
        return []
    return [dict(zip(value, cells, strict=True)) for cells in zip(*value.values(), strict=True)]


def _are_objects(value: Any) -> bool:
    """Whether a value is a list of objects that is long enough to be rows."""
    return _is_attempts(value) and len(value) >= _LEAST_ROWS


def _are_alike(rows: Sequence[Json]) -> bool:
    """Whether objects have half of their names in common, as rows have and sections of a document have not."""
    shared = set(rows[0]).intersection(*rows)
    return 2 * len(shared) >= max(map(len, rows)) > 0


def _no_rows(document: Mapping[str, Any], path: str) -> InputError:
    """The error for a document without rows: totals, with the samples beside it, or what else stands there."""
    from .harness.join import read_command

    folder = Path(path).parent
    beside = sorted(map(str, (*folder.rglob("samples_*.jsonl"), *folder.rglob("details_*"))))
    remedy = "run the harness again with the samples logged, or name the file that holds a row for each answer"
    if beside:
        remedy = f"read the samples beside it: `{read_command(beside[0])}`"
    names = [f"`{name}` ({_said(value)})" for name, value in [*document.items()][:_SHOWN]]
    named = f"{', '.join(names)}{', ...' * (len(document) > _SHOWN)}"
    got = f"totals alone: {named}" if any(document.values()) else "totals alone"
    if any(_holds_objects(value) for value in document.values()):
        got = named
        remedy = f"write a list of at least {_LEAST_ROWS} objects, one for each answer"
    return InputError("answers, a row each", got=got, remedy=remedy, file=path)


def _holds_objects(value: Any) -> bool:
    """Whether objects with something in them stand in a value, which may be answers."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(entry, dict) and len(entry) > 1 for entry in inner)


def _said(value: Any) -> str:
    """What a value of a document is, in a few words."""
    if isinstance(value, dict):
        return f"{len(value):,} name{'s' * (len(value) != 1)}: {', '.join([*value][:3])}"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    return "a text" if isinstance(value, str) else json.dumps(value)[:20]
