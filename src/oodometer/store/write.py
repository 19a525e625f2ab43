"""Write: a record to a predictions file that reads back the same."""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..arrays import Array, Ragged
from ..classes import ClassNames
from ..errors import UsageError, WorkError
from ..fields import FIELDS
from ..options import checked
from ..predictions import Predictions
from .atomic import refuse_clashes, write_atomic, write_result
from .columns import AXES, offsets_of
from .files import ENDINGS

_FORMULA = re.compile(r"[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s?%?")
_SHOWN = 1e-5  # 1234567890123456789 is shown, and saved, as 1.23457E+18
_DIGITS = 1e-14  # and as a plain number with 15 digits


def guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula: an apostrophe goes before =, +, - and @, but not before numbers.
    Source: OWASP, CSV injection.
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unguarded(text: str) -> str:
    """The text before `guarded`."""
    return text[1:] if text.startswith("'") and guarded(text[1:]) == text else text


def same_cell(written: str | None, back: str | None) -> bool:
    """Whether a cell that comes back is the one that was written, as spreadsheets change it: leading zeros go, numbers
    of more than 15 digits are rounded, TRUE stands for true, blanks at the ends go.
    """
    if written is None or back is None:
        return written is back
    expected, actual = written.strip(), unguarded(back).strip()
    if expected == actual or expected.casefold() == actual.casefold() in ("true", "false"):
        return True
    if not (_NUMBER.fullmatch(expected) and _NUMBER.fullmatch(actual)) or "%" in expected + actual:
        return False
    tolerance = _SHOWN if "e" in actual.lower() else _DIGITS
    return math.isclose(
        float(expected.replace(",", ".")), float(actual.replace(",", ".")), rel_tol=tolerance
    )


def write_sheet(file: IO[bytes], table: Any) -> None:
    """Write an Arrow table as CSV for people: cells are `guarded`, lists are JSON, columns of bytes are left out. Where
    a letter is not ASCII the file begins with the mark of UTF-8, without which Excel reads other letters.
    """
    names = [field.name for field in table.schema if not holds_bytes(field.type)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(guarded, names))
    columns = [table.column(name).to_pylist() for name in names]
    writer.writerows([_cell(value) for value in row] for row in zip(*columns, strict=True))
    content = text.getvalue()
    file.write(content.encode("utf-8" if content.isascii() else "utf-8-sig", "replace"))


def holds_bytes(kind: Any) -> bool:
    """Whether cells of an Arrow type are bytes, or hold some, as pictures do."""
    import pyarrow.types as pt

    if pt.is_nested(kind):
        return any(holds_bytes(kind.field(i).type) for i in range(kind.num_fields))
    return bool(pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, dict)):
        return guarded(json.dumps(value, ensure_ascii=False, default=str))
    if isinstance(value, (int, float)):
        return repr(value)
    return guarded(str(value))


_MODULES = {"parquet": "parquet", "csv": "csv_file", "jsonl": "jsonl", "arrow": "arrow"}


@checked()
def write_predictions(record: Predictions, path: str | os.PathLike[str]) -> Path:
    """Write a record as Parquet, CSV, JSONL, Arrow/Feather or NPZ, told by the ending; whole or not at all.

    Classes are written by name. The class axis becomes wide columns ``prob_<class>`` in CSV and wherever classes are
    not just 0 to K-1, so that names survive; else a list. Unknown labels are null (in NPZ: NaN or the empty string).
    The file that the record was read from is never written over.

    >>> import tempfile
    >>> from oodometer.store import open_predictions
    >>> p = Predictions.from_probabilities([[0.9, 0.1]], label=["cat"], classes=["cat", "dog"])
    >>> path = write_predictions(p, Path(tempfile.mkdtemp()) / "p.parquet")
    >>> open_predictions(path).columns
    ('label', 'prob_cat', 'prob_dog')
    """
    return _written(record, path, write_result)


def write_part(record: Predictions, path: Path) -> Path:
    """`write_predictions` of a part that is kept on the way to a result: at once, also inside `together`."""
    return _written(record, path, write_atomic)


def write_table(table: Any, path: str | os.PathLike[str]) -> Path:
    """Write an Arrow table of any columns, whole or not at all.

    table : a pyarrow table.
    path : of the file, whose ending says the form: .parquet, .jsonl (without columns of bytes), .arrow or .feather.

    Returns the path. Raises `UsageError` for another ending, `WorkError` where it cannot be written.
    """
    form = ENDINGS.get(Path(path).suffix.lower())
    if form not in ("parquet", "jsonl", "arrow"):
        raise UsageError(
            f"cannot write {path}: end the name in .parquet, .jsonl, .arrow or .feather"
        )
    import pyarrow as pa

    if form == "jsonl":
        table = table.select([field.name for field in table.schema if not holds_bytes(field.type)])
    module = importlib.import_module(f"{__package__}.{_MODULES[form]}")
    try:
        return write_result(
            path, lambda file: module.write(file, table.schema, iter(table.to_batches()))
        )
    except pa.ArrowException as error:
        raise WorkError(f"cannot write {path}: {error}") from error


def _written(record: Predictions, path: str | os.PathLike[str], write: Callable[..., Path]) -> Path:
    refuse_clashes({"the file to write": path}, [record.source])
    ending = Path(path).suffix.lower()
    form = ENDINGS.get(ending)
    if form is None or ending in (".tsv", ".json"):
        raise UsageError(
            f"cannot write {path}: end the name in .parquet, .csv, .jsonl, .arrow, .feather or .npz"
        )
    if form == "npz":
        from . import npz

        # arrays with the names and axes of a record's fields; names of classes and models beside them
        arrays: dict[str, Array] = {}
        for name, value in ((n, getattr(record, n)) for n in FIELDS):
            if value is None:
                continue
            if isinstance(value, Ragged):
                arrays[name], arrays[offsets_of(name)] = value.values, value.offsets
            elif FIELDS[name].cell == "class":
                arrays[name] = _named(value, record.classes)
            elif FIELDS[name].cell == "truth" and (value < 0).any():
                arrays[name] = np.where(value < 0, np.nan, value)
            else:
                arrays[name] = _unpickled(value)
        for name, values in record.columns.items():
            arrays.setdefault(name, _unpickled(values))
        if record.classes:
            arrays["classes"] = np.array(record.classes)
        arrays |= {
            f"names_{axis}": np.array(names)
            for axis, names in record.names.items()
            if axis in AXES.values()
        }
        return write(path, lambda file: npz.write(file, arrays))

    module = importlib.import_module(f"{__package__}.{_MODULES[form]}")
    import pyarrow as pa

    from .record_table import table_of_record

    try:
        schema, batches = table_of_record(
            record, text=form in ("csv", "jsonl"), lists=form != "csv"
        )
        return write(path, lambda file: module.write(file, schema, batches))
    except pa.ArrowException as error:
        raise WorkError(f"cannot write {path}: {error}") from error


def _named(codes: Array, classes: ClassNames | None) -> Array:
    """Class names (or positions among candidates); unknown is the empty string among strings, NaN among integers."""
    unknown = codes < 0
    if classes is None:
        return np.where(unknown, np.nan, codes) if unknown.any() else codes
    names = np.array(classes) if classes else np.zeros(1, dtype=np.int64)
    if names.dtype.kind == "U":
        if unknown.any() and "" in classes:
            raise UsageError(
                "NPZ cannot tell an unknown label from a class whose name is empty; write Parquet"
            )
        out: Array = np.where(unknown, "", names[codes])
        return out
    return np.where(unknown, np.nan, names[codes]) if unknown.any() else names[codes]


def _unpickled(values: Array) -> Array:
    """Objects as strings where they are no numbers (null as the empty string); other arrays as they are."""
    if values.dtype.kind != "O":
        return values
    cells = values.tolist()
    plain = all(type(cell) is type(cells[0]) for cell in cells) and isinstance(
        cells[0], (int, float, bool)
    )
    return (
        np.array(cells)
        if plain
        else np.array(["" if cell is None else str(cell) for cell in cells])
    )
