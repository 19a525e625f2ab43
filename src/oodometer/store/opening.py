"""Opening: the reader of a file, told by its ending; a format's library is imported when a file of it is opened."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .files import Stamp, check_file
from .known_files import KnownFiles, known_files
from .listing import files_of, partition_of, read_once
from .places import path_of
from .reader import Reader
from .where import Condition

_OPENERS = {
    "parquet": ("parquet", "ParquetReader.open"),
    "csv": ("csv_file", "CsvReader.open"),
    "jsonl": ("jsonl", "JsonlReader.open"),
    "arrow": ("arrow", "open_arrow"),
    "npz": ("npz", "NpzReader.open"),
}


def open_all(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    names: Collection[str],
    format: str | None = None,
    where: Sequence[Condition] = (),
) -> tuple[Reader, Stamp | None]:
    """The reader of a file, of the files of a folder, of those that a pattern matches, or of a list of them.

    As `open_reader`; files whose folders say that ``where`` holds of no row in them are left out. Raises `InputError`
    as `files_of` and `open_files` do.
    """
    if isinstance(path, (str, os.PathLike)):
        name = path_of(os.fspath(path))
        files = files_of(name)
    else:
        given = [path_of(os.fspath(one)) for one in path]
        files = read_once([file for one in given for file in files_of(one) or [one]])
        if not files:
            raise UsageError("expected at least one path, got an empty list")
        name = given[0] if len(given) == 1 else f"{given[0]} and {len(given) - 1} more"
    if files is None:
        return open_reader(name, names, format)
    from .many_files import open_files

    known = known_files()  # here: threads that open files are in no run folder
    return open_files(files, name, lambda one: open_reader(one, names, format, known), names, where), None


def open_reader(
    path: str | Path, names: Collection[str], format: str | None = None, known: KnownFiles | None = None
) -> tuple[Reader, Stamp]:
    """The reader of a file, and what tells the file from a later one in its place.

    ``names`` are columns that will be asked for: in JSONL a name may come first far down. Raises `InputError` for a
    file that is missing, of an unknown kind or damaged.
    """
    form, stamp = check_file(path, format)
    module, name = _OPENERS[form]
    opener: Any = importlib.import_module(f"{__package__}.{module}")
    for part in name.split("."):
        kind, opener = opener, getattr(opener, part)
    if form not in ("csv", "jsonl"):
        return opener(str(path)), stamp
    kept = known_files() if known is None else known

    def recalled(what: str, find: Callable[[], Any]) -> Any:
        """What is known of the file by this name, or else is found now."""
        told = kept.get(str(path), stamp, what)
        if told is not None:
            return kind.recalled(str(path), told)
        found = find()
        kept.put(str(path), stamp, what, found.told())
        return found

    reader = recalled("head", lambda: opener(str(path)))
    missing = sorted(set(names) - set(reader.columns) - set(partition_of(str(path))))
    if missing and form == "jsonl":
        reader = recalled(f"head with {missing}", lambda: reader.with_columns(missing))
    return reader, stamp
