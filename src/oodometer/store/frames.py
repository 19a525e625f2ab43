"""Frames: users' tables in memory (pandas, polars, pyarrow, data sets, mappings of arrays) and standard input."""

from __future__ import annotations

import atexit
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..arrays import Array, Ragged, as_cells, as_numpy, index_of
from ..classes import named_classes
from ..errors import InputError, OodometerError, UsageError
from ..fields import FIELDS
from ..vectors import are_records
from .arrow import MemoryReader
from .base import BATCH_ROWS
from .cells import table_of
from .columns import AXES, Layout, usual_field
from .parquet import write
from .scan import Reader


class ClusterFrame:
    """A cluster's frame in a temporary Parquet file, which goes when this object does; fetched batch by batch and
    partition by partition, so that this machine never holds all of it in memory.
    """

    def __init__(self, data: Any) -> None:
        folder = tempfile.mkdtemp(prefix="oodometer-frame-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = str(Path(folder) / "frame.parquet")
        self.name = (
            f"{type(data).__name__} of {'Spark' if 'pyspark' in type(data).__module__ else 'Ray'}"
        )
        if hasattr(data, "mapInArrow"):
            batches = _of_spark(data)
        else:
            tables = data.iter_batches(batch_size=BATCH_ROWS, batch_format="pyarrow")
            batches = (batch for table in tables for batch in table.combine_chunks().to_batches())
        try:
            first = next(batches, None)
            if first is None:
                raise InputError(
                    "at least one row", got="none", file=self.name, remedy="check the frame"
                )
            with open(self.path, "wb") as file:
                # a batch of nulls alone may come with other types than the first
                alike = (
                    batch if batch.schema.equals(first.schema) else batch.cast(first.schema)
                    for batch in batches
                )
                write(file, first.schema, chain([first], alike))
        except OodometerError:
            raise
        except Exception as error:  # errors of a cluster have no common root
            text = " ".join(str(error).split())[:200]
            raise InputError(
                "a frame whose rows can be fetched",
                got=f"{type(error).__name__}: {text}",
                file=self.name,
                remedy="run its job by itself, or write it to Parquet and name the folder",
            ) from error


def _of_spark(frame: Any) -> Iterator[Any]:
    """Arrow batches as bytes in the rows of another frame, of which Spark hands over one partition at a time."""

    def packed(batches: Any) -> Any:  # sent as it is: the workers need no oodometer
        import pyarrow

        for batch in batches:
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            column = pyarrow.array([sink.getvalue().to_pybytes()], pyarrow.large_binary()).cast(
                pyarrow.binary()
            )
            yield pyarrow.RecordBatch.from_arrays([column], ["batch"])

    for row in frame.mapInArrow(packed, "batch binary").toLocalIterator():
        for batch in pa.ipc.open_stream(bytes(row["batch"])):
            if batch.num_rows:
                yield batch


_SPOOL = "oodometer-stdin-"
_spooled: list[Path] = []

_TAKES = (
    "a path, '-', a Predictions record, a frame (pandas, polars, ...), a pyarrow table, a Hugging Face data set or a "
    'mapping of arrays such as {"probabilities": p, "label": y}'
)


def reader_of(data: Any, mapping: Mapping[str, str] | None) -> Reader:
    """A reader of a table in memory."""
    if isinstance(data, Mapping):
        if data and all(hasattr(split, "with_format") for split in data.values()):
            raise UsageError(f"give one split of the data set: {', '.join(map(str, data))}")
        if hasattr(data, "to_frame"):  # a result, which is a mapping too
            raise _holds_none(data)
        return _of_arrays(data, mapping)
    if are_records(data):
        names = dict.fromkeys(name for row in data for name in row)
        return _of_arrays({name: [row.get(name) for row in data] for name in names}, mapping)
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        return MemoryReader(data if isinstance(data, pa.Table) else pa.Table.from_batches([data]))
    if hasattr(data, "with_format") and hasattr(data, "features"):
        return MemoryReader(_of_data_set(data))
    if hasattr(data, "reindex"):
        data = _one_level(data)
    return MemoryReader(_of_frame(data), index=_index_column(getattr(data, "index", None)))


def _one_level(data: Any) -> Any:
    """A frame of pandas with one level of column names; a Series is one of labels, unless its name says more."""
    if hasattr(data, "to_frame"):
        named = data.name in FIELDS
        # fractions are no classes
        if named or data.dtype.kind != "f" or (data.dropna() % 1 == 0).all():
            data = data.to_frame(data.name if named else "label")
    if getattr(getattr(data, "columns", None), "nlevels", 1) > 1:
        remedy = (
            "give it one: frame.columns = ['_'.join(map(str, names)) for names in frame.columns]"
        )
        raise UsageError(f"the frame has several levels of column names; {remedy}")
    return data


def _of_data_set(data: Any) -> Any:
    """A Hugging Face data set as a table, its classes by their names where wide columns name them."""
    if not hasattr(data, "__getitem__"):
        raise UsageError(
            "a streamed data set can be read only once; write it to a Parquet file and name that"
        )
    table = data.with_format("arrow")[:]
    if not any(name.startswith(("prob_", "logit_")) for name in table.column_names):
        return table
    for name, feature in dict(data.features).items():
        names = getattr(feature, "names", None)
        if names and name in table.column_names:
            # Classes are stored as positions, with their names apart; -1 is unknown.
            codes = table.column(name).to_pylist()
            labels = [None if code is None or code < 0 else names[code] for code in codes]
            table = table.set_column(table.column_names.index(name), name, pa.array(labels))
    return table


def _index_column(index: Any) -> str | None:
    """The column of a frame's index that has one level and a name; None for any other."""
    return str(index.name) if getattr(index, "nlevels", 0) == 1 and index.name is not None else None


def is_cluster_frame(data: Any) -> bool:
    """Whether this is a frame of Spark or a data set of Ray; neither library is imported to tell."""
    of = {base.__module__.partition(".")[0] for base in type(data).__mro__}
    return ("pyspark" in of and hasattr(data, "mapInArrow")) or (
        "ray" in of and hasattr(data, "iter_batches")
    )


def _of_as_many_rows(nested: dict[str, Any], rows: int | None) -> dict[str, Any]:
    """The nested arrays, all of them with an entry for each row; `InputError` where one has others."""
    for name, cells in nested.items():
        rows = len(cells) if rows is None else rows
        if len(cells) != rows:
            raise InputError(
                f"{rows} entries, one a sample",
                got=f"{len(cells)}",
                column=name,
                remedy="align the arrays by sample",
            )
    return nested


def _of_arrays(data: Mapping[Any, Any], mapping: Mapping[str, str] | None) -> Reader:
    arrays = {str(name): value for name, value in data.items() if value is not None}
    classes = arrays.pop("classes", None)
    named = {
        axis: arrays.pop(f"names_{axis}") for axis in AXES.values() if f"names_{axis}" in arrays
    }
    nested = {name: pa.array(list(value)) for name, value in arrays.items() if _is_nested(value)}
    arrays = {name: value for name, value in arrays.items() if name not in nested}
    renamed = {theirs: ours for theirs, ours in (mapping or {}).items() if theirs in arrays}
    layout = Layout.parse(tuple(arrays), renamed)
    used = layout.kinds(layout.feeds.values())
    columns: dict[str, Any] = {}
    if used:
        table = table_of(arrays, layout)
        columns = dict(zip(table.column_names, table.columns, strict=True))
    further = {n: value for n, value in (index_of(arrays) | arrays).items() if n not in used}
    columns |= _further_columns(further, _rows_of(columns))
    columns |= _of_as_many_rows(nested, _rows_of(columns))
    if not columns:
        raise layout.nothing_known()
    table = pa.table(columns)
    names = {axis: tuple(map(str, as_numpy(entries).tolist())) for axis, entries in named.items()}
    index = next((value.index for value in arrays.values() if hasattr(value, "reindex")), None)
    return MemoryReader(
        table, None if classes is None else named_classes(classes), names, _index_column(index)
    )


def _rows_of(columns: Mapping[str, Any]) -> int | None:
    """The rows that columns of one length have; None where there is no column."""
    return next(map(len, columns.values()), None)


def _further_columns(arrays: Mapping[str, Any], rows: int | None) -> dict[str, Any]:
    """Arrays to slice by: those with one entry a row, of the first of them where nothing else tells the rows."""
    columns = {}
    for name, value in arrays.items():
        array = None if isinstance(value, Ragged) else as_numpy(value)
        if array is not None and array.ndim == 1 and rows in (None, len(array)):
            rows, columns[name] = len(array), _further_column(array, name)
    return columns


def _further_column(array: Array, name: str) -> Any:
    try:
        return pa.array(array if array.dtype.kind == "M" else array.tolist())
    except UnicodeEncodeError as error:  # half of a pair of surrogates
        raise InputError(
            "text that UTF-8 can hold", got=str(error)[:120], column=name, remedy="replace it"
        ) from None


def _is_nested(value: Any) -> bool:
    """Whether the first row holds an object, or a list of objects, as tools give their answers."""
    listed = (
        isinstance(value, (list, tuple))
        or getattr(getattr(value, "dtype", None), "kind", "") == "O"
    )
    first = next(iter(value), None) if listed else None
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    return isinstance(first, dict)


def table_of_columns(data: Mapping[str, Any]) -> Any:
    """A mapping of columns as a table, in its order."""
    bare = [
        str(name)
        for name, values in data.items()
        if isinstance(values, str) or not hasattr(values, "__len__")
    ]
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
        raise InputError(
            "columns whose cells are of one type", got=str(error)[:120], remedy="convert them"
        ) from error


def _holds_rows(values: Any) -> bool:
    """Whether the first cell is a list of numbers; a Series may have no cell that its index calls 0."""
    return isinstance(next(iter(values), None), (list, tuple))


def with_lone(arrays: Mapping[Any, Any], mapping: Mapping[str, str] | None) -> dict[str, str]:
    """The renamings, and those of arrays with one probability or logit a row, a binary model's of class 1, and of the
    one with a row of numbers a row under a usual name, such as `y_prob`.
    """
    out = dict(mapping or {})
    if hasattr(arrays, "to_frame"):
        return out  # a result, which is refused where it is read
    if not {"probabilities", "logits"} & {*arrays, *out.values()}:
        free = [c for c in arrays if c not in out and usual_field(str(c)) == "probabilities"]
        wide = [c for c in free if getattr(arrays[c], "ndim", None) == 2 or _holds_rows(arrays[c])]
        out |= dict.fromkeys(wide, "probabilities") if len(wide) == 1 else {}
    for name, value in arrays.items():
        field = FIELDS.get(out.get(name, name))
        if field is not None and field.of_classes and field.prefix and _is_one_a_row(value):
            out[name] = f"{field.prefix}1"
    return out


def _is_one_a_row(value: Any) -> bool:
    """Whether an array has a number for each row; what cannot be read is refused with its reason where it is read."""
    if value is None or isinstance(value, Ragged):
        return False
    try:
        array = as_cells(value)
    except (OodometerError, TypeError, ValueError, RuntimeError):
        return False
    return array.ndim == 1 and array.dtype.kind in "fiu"


def _holds_none(data: Any) -> UsageError:
    """The error for what is no table; of `read` and `predict` it names the record that they hold."""
    has_record = getattr(data, "record", None) is not None
    give = "its .record" if has_record else _TAKES
    return UsageError(f"{type(data).__name__} holds no predictions; give {give}")


def _of_frame(data: Any) -> Any:
    import narwhals as nw

    try:
        frame: Any = nw.from_native(data)
    except nw.exceptions.DuplicateError as error:
        raise InputError(
            "distinct column names", got=str(error)[:160], remedy="rename or drop one"
        ) from None
    except TypeError:
        raise _holds_none(data) from None
    try:
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        table = frame.to_arrow()
        if hasattr(data, "reindex") and not any(
            name in table.column_names for name in data.index.names
        ):
            # Arrow leaves out counts
            index = index_of({"": data}) or {"__index_level_0__": np.arange(len(data))}
            for name in set(index) - set(table.column_names):
                table = table.append_column(name, pa.array(index[name]))
        return table
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise _odd_frame(frame, str(error)) from None


def _odd_frame(frame: Any, reason: str) -> InputError:
    """The error for a frame that Arrow does not hold, for this reason: its first cell of another type."""
    named = re.search(r"failed for column (.+?) with type", reason)
    column = named[1] if named else None
    cells = frame[column].to_list() if column is not None and column in frame.columns else []
    full = [(row, cell) for row, cell in enumerate(cells, 1) if cell is not None and cell == cell]
    for row, cell in full:
        if type(cell) is not type(full[0][1]):
            return InputError(
                "cells of one type",
                got=f"{full[0][1]!r} and {cell!r}",
                row=row,
                column=column,
                remedy="make them one type",
            )
    return InputError(
        "a frame of numbers, strings and lists",
        got=reason[:160],
        column=column,
        remedy="convert the column",
    )


def without_spool_name(message: str) -> str:
    """The message with ``-`` in the place of the temporary file that holds standard input."""
    return re.sub(rf"\S*{_SPOOL}[^/\\s]*[/\\\\]standard_input\.(csv|jsonl)", "-", message)


def forget_spooled() -> None:
    """Remove what `spooled_stdin` left; where a program ends, and nothing is read any more."""
    while _spooled:
        shutil.rmtree(_spooled.pop(), ignore_errors=True)


@cache
def spooled_stdin() -> Path:
    """Standard input as a temporary file, since several passes are made; CSV or JSONL by its first character."""
    stream = sys.stdin.buffer
    head = b""
    while not head.strip(b"\xef\xbb\xbf \t\r\n"):
        more = stream.read(4096)
        if not more:
            raise InputError(
                "predictions on standard input (CSV or JSONL)",
                got="nothing",
                file="-",
                remedy="pipe a file into it",
            )
        head += more
    first = head.strip(b"\xef\xbb\xbf \t\r\n")[:1]
    if head.startswith((b"PAR1", b"ARROW1", b"PK", b"\x1f\x8b", b"\x80")) or b"\0" in head:
        raise InputError(
            "CSV or JSONL on standard input",
            got="binary data",
            file="-",
            remedy="write it to a file and name that",
        )
    atexit.register(forget_spooled)
    folder = Path(tempfile.mkdtemp(prefix=_SPOOL))
    _spooled.append(folder)
    path = folder / ("standard_input.jsonl" if first in (b"{", b"[") else "standard_input.csv")
    with path.open("wb") as file:
        file.write(head)
        shutil.copyfileobj(stream, file, 1 << 20)
    return path
