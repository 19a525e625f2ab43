"""Source: opens whatever holds predictions, settles its classes once, and reads it in checked batches."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..arguments import checked
from ..classes import ClassNames
from ..errors import InputError, OodometerError
from ..predictions import Predictions
from .base import BATCH_ROWS, PART_ROWS, Part, Source, no_rows
from .columns import CLASS_AXIS, Layout
from .files import Stamp, check_file
from .memory import RecordSource, is_positional, order_of, realigned
from .reader import Plan, Reader, seen_classes

__all__ = ["ReaderPart", "ReaderSource", "as_source", "open_predictions", "read_predictions"]

# Where each format opens its files; a format's library is imported when a file of it is opened.
_OPENERS = {
    "parquet": ("parquet", "ParquetReader.open"),
    "csv": ("csv_file", "CsvReader.open"),
    "jsonl": ("jsonl", "JsonlReader.open"),
    "arrow": ("arrow", "open_arrow"),
    "npz": ("npz", "NpzReader.open"),
}


def open_predictions(
    path: str | os.PathLike[str],
    *,
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
    extra_columns: Iterable[str] = (),
    format: str | None = None,
) -> Source:
    """Open a predictions file: Parquet, CSV, JSONL, Arrow/Feather or NPZ, told by its ending or by ``format``.

    Nothing but the head or footer is read until rows are asked for. ``classes`` are class names in the order wanted,
    such as the reference's: columns are matched to them by name. ``mapping`` renames columns, theirs -> ours;
    ``extra_columns`` are carried along in ``record.columns``, to slice by.

    Raises `InputError` naming file, row and column, `UsageError` for a column that is not there.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "p.csv"
    >>> _ = path.write_text("prob_cat,prob_dog,label\\n0.9,0.1,cat\\n0.4,0.6,cat\\n")
    >>> source = open_predictions(path)
    >>> source.classes, source.fields, source.read().accuracy
    (('cat', 'dog'), ('label', 'probabilities'), 0.5)
    """
    form, stamp = check_file(Path(path), format)
    module, name = _OPENERS[form]
    opener: Any = importlib.import_module(f"{__package__}.{module}")
    for part in name.split("."):
        opener = getattr(opener, part)
    reader: Reader = opener(str(path))
    return ReaderSource.over(reader, classes, mapping, extra_columns, stamp=stamp)


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
) -> Source:
    """A source from whatever holds predictions.

    Takes a path, ``"-"`` (standard input: CSV or JSONL), a `Predictions` record, a `Source`, a frame (pandas, polars
    or another that narwhals knows), a pyarrow table, a Hugging Face data set, or a mapping of arrays with the axes of
    an NPZ file. Parameters as in `open_predictions`.

    >>> as_source({"probabilities": [[0.9, 0.1], [0.2, 0.8]], "label": [0, 0]}).read().accuracy
    0.5
    """
    names = None if classes is None else tuple(classes)
    if isinstance(data, Source):
        return data if names is None else data.aligned(names)
    if isinstance(data, Predictions):
        return RecordSource(data if names is None else realigned(data, names), tuple(extra_columns))
    from . import frames

    if isinstance(data, str) and data == "-":
        data = frames.spooled_stdin()
    if isinstance(data, (str, os.PathLike)):
        return open_predictions(data, classes=names, mapping=mapping, extra_columns=extra_columns)
    reader, stated = frames.reader_of(data, mapping)
    return ReaderSource.over(reader, names or stated, mapping, extra_columns)


@dataclass(frozen=True)
class ReaderPart(Part):
    """Consecutive rows of a file: the reader of a range, and how its columns become fields."""

    reader: Reader
    plan: Plan
    name: str | None
    first_row: int = 0
    stamp: Stamp | None = None

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """Read, decode and check batch after batch; rows in errors count from the file's start."""
        layout, file, done = self.plan.layout, self.name, 0
        plan = replace(self.plan, feeds=layout.select(fields), rows=max(1, rows))
        names = {**self.reader.stated_names, **plan.names}
        self._verify()
        chunks = self.reader.chunks(plan) if plan.feeds else iter(())
        while True:
            try:
                arrays = next(chunks, None)
                if arrays is None:
                    break
            except OodometerError as error:
                self._verify()  # a file that changed meanwhile is the better explanation
                if isinstance(error, InputError):
                    raise error.at(file=file, row_offset=self.first_row) from None
                raise
            try:
                record = Predictions.from_arrays(
                    classes=plan.classes, names=names, source=file, first_row=self.first_row + done, **arrays
                )
            except InputError as error:
                raise layout.placed(error) from None
            done += record.rows
            yield record
        self._verify()
        if not plan.feeds:
            raise InputError(
                f"one of the fields {', '.join(fields or ())}", got=", ".join(layout.columns[:12]), file=file,
                remedy="add the column, or rename one with --map theirs=ours",
            )  # fmt: skip
        if not done and not self.first_row:
            raise no_rows(file)

    def _verify(self) -> None:
        if self.stamp is not None and self.reader.file is not None:
            self.stamp.verify(self.reader.file)


class ReaderSource(Source):
    """A file or a table in memory, its columns understood; classes are settled when they are first needed."""

    def __init__(self, reader: Reader, layout: Layout, given: ClassNames | None, stamp: Stamp | None) -> None:
        self.reader, self.stamp = reader, stamp
        self.path = reader.file
        self.name = reader.file or reader.form
        self.columns = layout.columns
        self._layout, self._given, self._rows = layout, given, reader.rows
        self._settled: Plan | None = None

    @classmethod
    def over(
        cls,
        reader: Reader,
        classes: Sequence[int | str] | None,
        mapping: Mapping[str, str] | None,
        extra: Iterable[str],
        stamp: Stamp | None = None,
    ) -> ReaderSource:
        """Understand the reader's columns."""
        layout = Layout.parse(reader.columns, mapping, tuple(extra), reader.file)
        try:
            reader = reader.bound(layout)
        except InputError as error:
            raise error.at(file=reader.file) from None
        if reader.rows == 0:
            raise no_rows(reader.file)
        source = cls(reader, layout, None if classes is None else tuple(classes), stamp)
        if layout.wide_classes is not None:
            source._check_names()
        return source

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields that the columns give."""
        return self._layout.fields

    @property
    def classes(self) -> ClassNames | None:
        """Classes as given, else as columns name them, else as many as lists are long, else those that occur."""
        return self._plan.classes

    @property
    def rows(self) -> int | None:
        """Rows, None for CSV and JSONL until a pass was made."""
        return self._rows

    def aligned(self, classes: ClassNames | None) -> Source:
        """The same file read with other class names or another order of them."""
        if classes is None or classes == self._given:
            return self
        return ReaderSource(self.reader, self._layout, classes, self.stamp)

    def parts(self, target_rows: int = PART_ROWS) -> list[Part]:
        """Ranges of row groups, record batches or rows; CSV and JSONL are one part."""
        pieces = self.reader.split(max(1, target_rows))
        return [self._part(reader, before) for reader, before in pieces]

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """One pass over everything."""
        done = 0
        for record in self._part(self.reader, 0).batches(fields, rows):
            done += record.rows
            yield record
        self._rows = done

    def _part(self, reader: Reader, before: int) -> ReaderPart:
        return ReaderPart(reader, self._plan, self.path, before, self.stamp)

    def _check_names(self) -> None:
        wanted = self._given or self._layout.wide_classes or ()
        self._layout.aligned(wanted, self.path)

    @property
    def _plan(self) -> Plan:
        if self._settled is None:
            try:
                self._settled = self._settle()
            except InputError as error:
                if self.stamp is not None and self.path is not None:
                    self.stamp.verify(self.path)
                raise error.at(file=self.path) from None
        return self._settled

    def _settle(self) -> Plan:
        layout, stated = self._layout, self.reader.classes
        if layout.wide_classes is not None and len(layout.wide_classes) == 1:
            raise InputError(
                "a column for each of at least two classes",
                got="one",
                remedy="for the probability of one positive class add the other's column, 1 - p",
                column=next(
                    f.columns[0]
                    for n, f in layout.feeds.items()
                    if n in CLASS_AXIS and f.suffixes is not None
                ),
            )
        widths = dict(self.reader.widths(layout))
        inner = widths.pop("classes", None)
        width = next((widths[n] for n in ("probabilities", "logits") if n in widths), inner)
        wide = layout.wide_classes
        if stated is not None and wide is not None:
            # The names beside the columns know their types; the columns know which classes are there.
            stated = stated if sorted(map(str, stated)) == sorted(map(str, wide)) else None
        if stated is not None and width is not None and len(stated) != width:
            stated = None
        own = stated or wide
        if own is None and width is None:
            classes = self._given if self._given is not None else seen_classes(self.reader, layout)
        else:
            classes = self._given if self._given is not None else own or tuple(range(width or 0))
        order: tuple[int, ...] | None = None
        if classes is not None:
            layout = layout.aligned(classes, self.path)
            if width is not None and own is not None and own != classes and not is_positional(own, classes):
                order = tuple(order_of(own, classes, self.path))
            if width is not None and width != len(classes):
                name = next(n for n in CLASS_AXIS if n in widths)
                raise InputError(
                    f"lists of {len(classes)} entries, one a class", got=f"{width}", file=self.path, row=1,
                    column=layout.feeds[name].columns[0], remedy="use the same classes in the reference and the target",
                )  # fmt: skip
        return Plan(layout, (), classes, widths, order)
