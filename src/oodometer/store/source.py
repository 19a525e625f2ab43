"""Source: opens whatever holds predictions: paths, frames, records, tables and arrays in memory."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..classes import named_classes
from ..errors import InputError, UsageError
from ..fields import FIELDS
from ..options import checked
from ..predictions import Predictions
from .artifact_cache import content_of
from .base import BATCH_ROWS, Axes, Source
from .columns import Kind, Layout
from .files import KnownFiles, Stamp, check_file, known_files
from .memory import ChangedSource, RecordSource, realigned
from .places import is_remote, path_of
from .reader_source import ReaderSource
from .scan import Piece, Reader, TextReader
from .where import Condition, names_in, no_such_column, none_left, parse_where, refuse_columns


@dataclass(frozen=True)
class PickedRows:
    """Rows of a source as an Arrow table, in the order asked for, and what its columns mean."""

    table: Any
    layout: Layout

    def field_of(self, column: str) -> str | None:
        """The field of a record that a column feeds; None where it feeds none."""
        return next((name for name, feed in self.layout.feeds.items() if column in feed.columns), None)

    def named(self, name: str) -> str | None:
        """What the file calls a column that is known by this name after renaming; None where there is none."""
        column = self.layout.where.get(name)
        return column if column in self.table.column_names else None


def pick_rows(source: Source, rows: Array) -> PickedRows:
    """Rows of a source, counted from 0, with all columns of its file in their order; cells of CSV stay text. One pass
    over the pieces (row groups of Parquet) that hold any of them.
    """
    import pyarrow as pa

    while isinstance(source, ChangedSource):
        source = source.inner
    order = np.argsort(rows, kind="stable")
    wanted, picked, before = rows[order], [], 0
    if isinstance(source, ReaderSource):
        layout, first = source.layout, source.first
        kinds: dict[str, Kind] = dict.fromkeys(layout.columns, "text" if first.text else "any")
        if first.form == "npz":  # only the arrays that stand for columns
            kinds = layout.kinds(layout.feeds.values())
        pieces = source.ranges(BATCH_ROWS)
    else:
        from .arrow import MemoryReader
        from .record_table import table_of_record

        schema, batches = table_of_record(source.read(), text=False, lists=True)
        layout, kinds = Layout.parse(schema.names, file=source.path), dict.fromkeys(schema.names, "any")
        pieces = [Piece(MemoryReader(pa.Table.from_batches(batches, schema)))]
    for piece in pieces:
        before = before if piece.before is None else piece.before
        if piece.rows is not None and not ((wanted >= before) & (wanted < before + piece.rows)).any():
            continue
        for batch, _ in piece.tables(kinds, BATCH_ROWS):
            inside = wanted[(wanted >= before) & (wanted < before + batch.num_rows)] - before
            if len(inside):
                picked.append(pa.Table.from_batches([batch.select(list(kinds)).take(pa.array(inside))]))
            before += batch.num_rows
    table = pa.concat_tables(picked, promote_options="permissive")
    inverse = np.empty(len(rows), dtype=np.int64)
    inverse[order] = np.arange(len(rows))
    return PickedRows(table.take(pa.array(inverse)), layout)


_OPENERS = {
    "parquet": "parquet ParquetReader",
    "csv": "csv_file CsvReader",
    "jsonl": "jsonl JsonlReader",
    "arrow": "arrow ArrowReader",
    "npz": "npz NpzReader",
}


def open_all(
    path: Any, names: Collection[str], format: str | None = None, where: Sequence[Condition] = ()
) -> tuple[str | None, Sequence[Piece], tuple[str, ...]]:
    """What a file, the files of a folder, those that a pattern matches, or a list of them are called together, a piece
    for each, and the columns that all have; files whose folders say that ``where`` holds of no row are left out.
    """
    from .many_files import files_of, open_files, read_once

    if isinstance(path, (str, os.PathLike)):
        name = path_of(os.fspath(path))
        files = files_of(name)
    else:
        given = [path_of(os.fspath(file)) for file in path]
        files = read_once([file for one in given for file in files_of(one) or [one]])
        if not files:
            raise UsageError("expected at least one path, got an empty list")
        name = given[0] if len(given) == 1 else f"{given[0]} and {len(given) - 1} more"
    if files is None:
        reader, stamp = open_reader(name, names, format)
        return reader.file, [Piece(reader, stamp=stamp)], reader.columns
    known = known_files()  # here: threads that open files are in no run folder
    return open_files(files, name, lambda file: open_reader(file, names, format, known), names, where)


def open_reader(
    path: str | Path, names: Collection[str], format: str | None = None, known: KnownFiles | None = None
) -> tuple[Reader, Stamp]:
    """The reader of a file that exists, is of a known kind and whole, and what tells it from a later one in its place;
    ``names`` are columns that will be asked for: in JSONL a name may come first far down.
    """
    (form, stamp), file = check_file(path, format), str(path)
    module, name = _OPENERS[form].split()
    kind: Any = getattr(importlib.import_module(f"{__package__}.{module}"), name)
    if form not in ("csv", "jsonl"):
        return kind.open(file), stamp
    facts_of = known_files() if known is None else known

    def known_or(what: str, find: Callable[[], TextReader]) -> Any:
        """The reader by what is known of the file under this name, or else is found now."""
        facts = facts_of.get(file, stamp, what)
        if facts is not None:
            return kind.from_facts(file, facts)
        reader = find()
        facts_of.put(file, stamp, what, reader.facts())
        return reader

    reader = known_or("head", lambda: kind.open(file))
    if form == "jsonl":
        from .many_files import partition_of

        missing = sorted(set(names) - set(reader.columns) - set(partition_of(file)))
        return known_or(f"head with {missing}", lambda: reader.with_columns(missing)) if missing else reader, stamp
    return reader, stamp


def open_predictions(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
    extra_columns: Iterable[str] = (),
    axes: Axes | None = None,
    where: str | Sequence[str] | None = None,
    format: str | None = None,
) -> Source:
    """Open predictions: Parquet, CSV, JSONL, Arrow/Feather or NPZ, told by the ending or by ``format``.

    ``path`` is a file, a folder of files, a pattern such as ``lake/day=2026-11-*/*.parquet``, a URL of an object store
    (``s3://bucket/folder``), or a list of these. Files of a folder are read in the order of their names, and names of
    folders such as ``day=2026-11-24`` become columns.

    Nothing but the head or footer is read until rows are asked for. ``classes`` are class names in the order wanted:
    columns are matched to them by name, and they name the entries of lists that come without names. ``axes`` are those
    of another source to follow in this and in the names of models, views, judges and features (`Source.axes`).
    ``mapping`` renames columns, theirs -> ours; ``extra_columns`` are carried along in ``record.columns``, to slice by.
    ``where`` are conditions such as ``"day >= 2026-11-01"``; only rows for which all of them hold are read.

    Raises `InputError` naming file, row and column, `UsageError` for a column that is not there.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "p.csv"
    >>> _ = path.write_text("prob_cat,prob_dog,label\\n0.9,0.1,cat\\n0.4,0.6,cat\\n")
    >>> source = open_predictions(path)
    >>> source.classes, source.fields, source.read().accuracy
    (('cat', 'dog'), ('label', 'probabilities'), 0.5)
    """
    extra = tuple(extra_columns)
    conditions = parse_where(where) if where else ()
    early = names_in(conditions, mapping) if conditions else []
    try:
        data = open_all(path, {*(mapping or {}), *extra, *(condition.column for condition in early)}, format, early)
        return ReaderSource(data, _wanted(classes, axes), mapping, extra, conditions)
    except InputError:
        from .harness.join import refuse_logs

        refuse_logs(path)
        raise


@checked()
def read_predictions(data: Any, **options: Any) -> Predictions:
    """Everything in a file, a frame or whatever else `as_source` takes, as one record; options as there.

    >>> read_predictions({"confidence": [0.9, 0.8], "correct": [True, False]}).accuracy
    0.5
    """
    return as_source(data, **options).read()


@checked()
def as_source(
    data: Any,
    *,
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
    extra_columns: Iterable[str] = (),
    axes: Axes | None = None,
    where: str | Sequence[str] | None = None,
) -> Source:
    """A source from whatever holds predictions.

    Takes a path (a file, a folder, a pattern, a URL) or a list of paths, ``"-"`` (standard input: CSV or JSONL), a
    `Predictions` record, a `Source`, a frame (pandas, polars or another that narwhals knows), a pyarrow table, a
    Hugging Face data set, a frame of Spark or Ray (fetched batch by batch into a temporary file), or a mapping of
    arrays with the axes of an NPZ file. Parameters as in `open_predictions`.

    >>> as_source({"probabilities": [[0.9, 0.1], [0.2, 0.8]], "label": [0, 0]}).read().accuracy
    0.5
    """
    wanted = _wanted(classes, axes)
    conditions = parse_where(where) if where else ()
    if isinstance(data, Source):
        if conditions:
            raise UsageError("conditions on rows belong to where the source was opened: as_source(data, where=...)")
        return data.aligned(wanted)
    if isinstance(data, Predictions):
        record = _left(data, conditions) if conditions else data
        source = RecordSource(record if wanted is None else realigned(record, wanted), tuple(extra_columns))
        source.where = conditions
        return source
    if isinstance(data, str) and data == "-":
        from .frames import spooled_stdin

        data = spooled_stdin()
    paths = data if isinstance(data, (list, tuple)) and data else [data]
    if all(isinstance(path, (str, os.PathLike)) for path in paths):
        return open_predictions(data, mapping=mapping, extra_columns=extra_columns, axes=wanted, where=where)
    from . import frames

    if frames.is_cluster_frame(data):
        frame = frames.ClusterFrame(data)
        cluster = ReaderSource(open_all(frame.path, ()), wanted, mapping, extra_columns, conditions)
        cluster.kept_alive, cluster.name = frame, cluster.name.replace(frame.path, frame.name)
        return cluster
    if isinstance(data, Mapping):
        mapping = frames.with_lone(data, mapping)
    reader = frames.reader_of(data, mapping)
    return ReaderSource((reader.file, [Piece(reader)], reader.columns), wanted, mapping, extra_columns, conditions)


def _left(record: Predictions, where: Sequence[Condition]) -> Predictions:
    """The rows of a record for which conditions on its columns, or fields with one value a row, hold."""
    import pyarrow as pa

    from .predicates import matches

    source, left = RecordSource(record), np.ones(len(record), dtype=bool)
    for condition in where:
        name = condition.column
        if not source.holds(name):
            raise no_such_column(condition, source.columns, "")
        refuse_columns(condition, source.columns, "")
        field = FIELDS.get(name) if name in record.fields else None
        cells = next(source.raw([name])).column(0)
        if field is not None and field.cell == "class" and record.classes is not None:
            cells = pa.array(np.array([*record.classes, None], dtype=object)[getattr(record, name)])
        left &= matches(cells, replace(condition, kind="any" if field is None else field.kind))
    if not left.any():
        raise none_left(where, record.source)
    return record if left.all() else record.take(np.flatnonzero(left))


def _wanted(classes: Sequence[int | str] | None, axes: Axes | None) -> Axes | None:
    """The axes to follow: another source's, else classes that a user named."""
    return axes if classes is None or axes is not None else Axes.given(named_classes(classes))


class RawTable:
    """A file, or a table in memory, whose columns are read as they are."""

    def __init__(self, reader: Reader, stamp: Stamp | None) -> None:
        self._reader, self._stamp = reader, stamp
        self.name, self.file = reader.file or reader.form, reader.file
        self.columns, self.rows, self.text = reader.columns, reader.rows, reader.text

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
            yield batch.select(list(kinds))
        if self._stamp is not None and self.file is not None:
            self._stamp.verify(self.file)

    def missing(self, wanted: Iterable[str]) -> list[str]:
        """Which of some columns are not there."""
        return [name for name in wanted if name not in self.columns]


def open_table(data: Any, names: Iterable[str] = ()) -> RawTable:
    """Open a file, a frame, a Hugging Face data set or a mapping of columns, as it is; ``names`` will be asked for."""
    if not isinstance(data, (str, os.PathLike)):
        from .frames import reader_of, table_of_columns

        return RawTable(reader_of(table_of_columns(data) if isinstance(data, Mapping) else data, None), None)
    reader, stamp = open_reader(Path(data), set(names))
    if reader.form == "npz":
        raise InputError("a table", got="an NPZ file", remedy="name an array with --input", file=str(data))
    return RawTable(reader, stamp)
