"""Write: a record to a predictions file that reads back the same."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import checked
from ..arrays import Array, Ragged
from ..classes import ClassNames
from ..errors import UsageError, WorkError
from ..predictions import FIELDS, Predictions
from .atomic import refuse_clashes, write_atomic, write_result
from .columns import AXES, offsets_of
from .files import ENDINGS

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
    """Write an Arrow table of any columns as Parquet, JSONL or Arrow, told by the ending; whole or not at all.

    JSONL leaves out columns of bytes. Raises `UsageError` for another ending, `WorkError` where it cannot be written.
    """
    form = ENDINGS.get(Path(path).suffix.lower())
    if form not in ("parquet", "jsonl", "arrow"):
        raise UsageError(f"cannot write {path}: end the name in .parquet, .jsonl, .arrow or .feather")
    import pyarrow as pa

    if form == "jsonl":
        from .spreadsheets import holds_bytes

        table = table.select([field.name for field in table.schema if not holds_bytes(field.type)])
    module = importlib.import_module(f"{__package__}.{_MODULES[form]}")
    try:
        return write_result(path, lambda file: module.write(file, table.schema, iter(table.to_batches())))
    except pa.ArrowException as error:
        raise WorkError(f"cannot write {path}: {error}") from error


def _written(record: Predictions, path: str | os.PathLike[str], write: Callable[..., Path]) -> Path:
    refuse_clashes({"the file to write": path}, [record.source])
    ending = Path(path).suffix.lower()
    form = ENDINGS.get(ending)
    if form is None or ending in (".tsv", ".json"):
        raise UsageError(f"cannot write {path}: end the name in .parquet, .csv, .jsonl, .arrow, .feather or .npz")
    if form == "npz":
        from . import npz

        arrays = _arrays(record)
        return write(path, lambda file: npz.write(file, arrays))
    import pyarrow as pa

    from .record_table import table_of_record

    module = importlib.import_module(f"{__package__}.{_MODULES[form]}")
    try:
        schema, batches = table_of_record(record, text=form in ("csv", "jsonl"), lists=form != "csv")
        return write(path, lambda file: module.write(file, schema, batches))
    except pa.ArrowException as error:
        raise WorkError(f"cannot write {path}: {error}") from error


def _arrays(record: Predictions) -> dict[str, Array]:
    """Arrays with the names and axes of a record's fields; names of classes and models beside them."""
    out: dict[str, Array] = {}
    for name, value in ((n, getattr(record, n)) for n in FIELDS):
        if value is None:
            continue
        if isinstance(value, Ragged):
            out[name], out[offsets_of(name)] = value.values, value.offsets
        elif FIELDS[name].cell == "class":
            out[name] = _named(value, record.classes)
        elif FIELDS[name].cell == "truth" and (value < 0).any():
            out[name] = np.where(value < 0, np.nan, value)
        else:
            out[name] = _unpickled(value)
    for name, values in record.columns.items():
        out.setdefault(name, _unpickled(values))
    if record.classes:
        out["classes"] = np.array(record.classes)
    out |= {f"names_{axis}": np.array(names) for axis, names in record.names.items() if axis in AXES.values()}
    return out


def _named(codes: Array, classes: ClassNames | None) -> Array:
    """Class names (or positions among candidates); unknown is the empty string among strings, NaN among integers."""
    unknown = codes < 0
    if classes is None:
        return np.where(unknown, np.nan, codes) if unknown.any() else codes
    names = np.array(classes) if classes else np.zeros(1, dtype=np.int64)
    if names.dtype.kind == "U":
        if unknown.any() and "" in classes:
            raise UsageError("NPZ cannot tell an unknown label from a class whose name is empty; write Parquet")
        out: Array = np.where(unknown, "", names[codes])
        return out
    return np.where(unknown, np.nan, names[codes]) if unknown.any() else names[codes]


def _unpickled(values: Array) -> Array:
    """Objects as strings where they are no numbers (null as the empty string); other arrays as they are."""
    if values.dtype.kind != "O":
        return values
    cells = values.tolist()
    plain = all(type(cell) is type(cells[0]) for cell in cells) and isinstance(cells[0], (int, float, bool))
    return np.array(cells) if plain else np.array(["" if cell is None else str(cell) for cell in cells])
