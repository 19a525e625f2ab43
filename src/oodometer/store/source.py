"""Source: opens whatever holds predictions: paths, frames, records, tables and arrays in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arguments import checked
from ..classes import named_classes
from ..errors import InputError, UsageError
from ..fields import FIELDS
from ..predictions import Predictions
from .axes import Axes
from .base import Source
from .memory import RecordSource, realigned
from .opening import open_all
from .reader_source import ReaderSource
from .where import Condition, names_in, no_such_column, none_left, parse_where, refuse_columns

__all__ = ["ReaderSource", "as_source", "open_predictions", "read_predictions"]


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
    conditions = parse_where(where)
    early = names_in(conditions, mapping)
    try:
        reader, stamp = open_all(path, {*(mapping or {}), *extra, *(one.column for one in early)}, format, early)
        return ReaderSource.over(reader, _wanted(classes, axes), mapping, extra, stamp=stamp, where=conditions)
    except InputError:
        from .harness.open import refuse_logs  # only here: reading of logs is not loaded for every file

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
    conditions = parse_where(where)
    if isinstance(data, Source):
        if conditions:
            raise UsageError("conditions on rows belong to where the source was opened: as_source(data, where=...)")
        return data.aligned(wanted)
    if isinstance(data, Predictions):
        record = _left(data, conditions)
        source = RecordSource(record if wanted is None else realigned(record, wanted), tuple(extra_columns))
        source.where = conditions
        return source
    from . import frames

    if isinstance(data, str) and data == "-":
        data = frames.spooled_stdin()
    if frames.are_paths(data):
        return open_predictions(data, mapping=mapping, extra_columns=extra_columns, axes=wanted, where=where)
    if frames.is_cluster_frame(data):
        return _of_cluster(data, wanted, mapping, extra_columns, conditions)
    if isinstance(data, Mapping):
        mapping = frames.with_lone(data, mapping)
    return ReaderSource.over(frames.reader_of(data, mapping), wanted, mapping, extra_columns, where=conditions)


def _left(record: Predictions, where: Sequence[Condition]) -> Predictions:
    """The rows of a record for which conditions on its columns, or fields with one value a row, hold."""
    if not where:
        return record
    import pyarrow as pa

    from .held import cells_held

    source, held = RecordSource(record), np.ones(len(record), dtype=bool)
    for one in where:
        if not source.holds(one.column):
            raise no_such_column(one, source.columns, "")
        refuse_columns(one, source.columns, "")
        field = FIELDS.get(one.column) if one.column in record.fields else None
        (batch,) = source.raw([one.column])
        cells = batch.column(0)
        if field is not None and field.cell == "class" and record.classes is not None:
            cells = pa.array(np.array([*record.classes, None], dtype=object)[getattr(record, one.column)])
        held &= cells_held(cells, replace(one, kind="any" if field is None else field.kind))
    if not held.any():
        raise none_left(where, record.source)
    return record if held.all() else record.take(np.flatnonzero(held))


def _of_cluster(
    data: Any, wanted: Axes | None, mapping: Mapping[str, str] | None, extra: Iterable[str], where: Sequence[Condition]
) -> Source:
    from .cluster_frames import ClusterFrame

    held = ClusterFrame(data)
    source = ReaderSource.over(open_all(held.path, ())[0], wanted, mapping, extra, where=where)
    source._held, source.name = held, source.name.replace(held.path, held.name)
    return source


def _wanted(classes: Sequence[int | str] | None, axes: Axes | None) -> Axes | None:
    """The axes to follow: another source's, else classes that a user named."""
    return axes if classes is None or axes is not None else Axes.given(named_classes(classes))
