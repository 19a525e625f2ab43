"""Opening: the reader of a file, told by its ending; a format's library is imported when a file of it is opened."""

from __future__ import annotations

import importlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from .files import Stamp, check_file
from .reader import Reader

__all__ = ["open_reader"]

_OPENERS = {
    "parquet": ("parquet", "ParquetReader.open"),
    "csv": ("csv_file", "CsvReader.open"),
    "jsonl": ("jsonl", "JsonlReader.open"),
    "arrow": ("arrow", "open_arrow"),
    "npz": ("npz", "NpzReader.open"),
}


def open_reader(path: Path, names: Collection[str], format: str | None = None) -> tuple[Reader, Stamp]:
    """The reader of a file, and what tells the file from a later one in its place.

    ``names`` are columns that will be asked for: in JSONL a name may come first far down. Raises `InputError` for a
    file that is missing, of an unknown kind or damaged.
    """
    form, stamp = check_file(path, format)
    module, name = _OPENERS[form]
    opener: Any = importlib.import_module(f"{__package__}.{module}")
    for part in name.split("."):
        opener = getattr(opener, part)
    reader: Reader = opener(str(path))
    missing = set(names) - set(reader.columns)
    if missing and form == "jsonl":
        from .jsonl import JsonlReader

        reader = reader.with_columns(missing) if isinstance(reader, JsonlReader) else reader
    return reader, stamp
