"""Tables: raw columns of any file or frame in batches, without asking what they mean."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from .artifact_cache import content_of
from .base import BATCH_ROWS
from .columns import Kind
from .files import Stamp
from .opening import open_reader
from .places import is_remote
from .reader import Reader


class RawTable:
    """A file, or a table in memory, whose columns are read as they are."""

    def __init__(self, reader: Reader, stamp: Stamp | None) -> None:
        self._reader, self._stamp = reader, stamp
        self.name = reader.file or reader.form
        self.file = reader.file
        self.columns = reader.columns
        self.rows = reader.rows
        self.text = reader.text

    @property
    def stamp(self) -> Any:
        """What tells this file from a later one in its place: name and content; None in memory."""
        if self._stamp is None or self.file is None:
            return None
        if is_remote(self.file):  # an object store gives each content a time of its own
            return [self.file, self._stamp.size, self._stamp.changed]
        return [os.path.realpath(self.file), content_of(self.file)]

    def batches(self, kinds: dict[str, Kind], rows: int = BATCH_ROWS) -> Iterator[Any]:
        """Arrow record batches of at most ``rows`` rows with the columns of ``kinds``; `InputError` names a bad row."""
        for batch in self._reader.tables(kinds, rows):
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows).select(list(kinds))
        if self._stamp is not None and self.file is not None:
            self._stamp.verify(self.file)

    def missing(self, wanted: Iterable[str]) -> list[str]:
        """Which of some columns are not there."""
        return [name for name in wanted if name not in self.columns]


def open_table(data: Any, names: Iterable[str] = ()) -> RawTable:
    """Open a file (Parquet, CSV, JSONL, Arrow), a frame, a Hugging Face data set or a mapping of columns.

    ``names`` are columns that will be asked for: in JSONL they may come first far down. Raises `InputError` naming file
    and place.

    >>> open_table({"text": ["a", "b"]}).columns
    ('text',)
    """
    if not isinstance(data, (str, os.PathLike)):
        from .frames import reader_of

        return RawTable(reader_of(_columns(data) if isinstance(data, Mapping) else data, None), None)
    reader, stamp = open_reader(Path(data), set(names))
    if reader.form == "npz":
        raise InputError("a table", got="an NPZ file", remedy="name an array with --input", file=str(data))
    return RawTable(reader, stamp)


def _columns(data: Mapping[str, Any]) -> Any:
    """A mapping of columns as a table, in its order."""
    import pyarrow as pa

    bare = [str(name) for name, values in data.items() if isinstance(values, str) or not hasattr(values, "__len__")]
    if bare or not data:
        raise InputError(
            "columns: lists or arrays",
            got=f"{bare[0]} without rows" if bare else "none",
            remedy="give each column one entry a row",
        )
    lengths = {name: len(values) for name, values in data.items()}
    if len(set(lengths.values())) != 1:
        raise InputError("columns of one length", got=str(lengths)[:80], remedy="align them by row")
    try:
        return pa.table({str(name): pa.array(list(values)) for name, values in data.items()})
    except (pa.ArrowException, TypeError) as error:
        raise InputError("columns whose cells are of one type", got=str(error)[:120], remedy="convert them") from error
