"""Scan: readers of one file or table, their rows that conditions hold of, batch by batch, as checked records."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from ..arrays import Array, Coded
from ..classes import ClassNames
from ..errors import InputError, OodometerError, UsageError
from ..fields import FIELDS
from ..plain import Json, Plain, Strings
from ..predictions import Predictions
from .artifact_cache import checksum
from .base import BATCH_ROWS, Order, Part, no_rows, rows_of_a_part
from .columns import AXES, IN_UTC, Feed, Kind, Layout, TimeFormat
from .files import Stamp, explained, known_files, translated
from .places import is_remote
from .where import Condition, none_left, said

if TYPE_CHECKING:
    from .encoding import FeatureEncoding
    from .nested import Unfolded

TYPE = "type of "  # what a fact of a column is called
MOST_CELLS = 8_000_000  # numbers in a batch, however many classes a row has
# how cells that are unfolded are read, where not as they are written
_NUMBERS: dict[str, Kind] = {"hundredths": "number", "list of hundredths": "numbers"}
_FEWEST = 1024  # rows of a batch that conditions are asked of: of a few that are wanted the first may stand far down


Places = range | Array  # of each row of a batch in its file, counted from 0


# rows; (byte at which a row begins, rows before it), to cut there
TextIndex = tuple[int, tuple[tuple[int, int], ...]]


class Reader(ABC):
    """One file (or table in memory) of one format; can be pickled. Rows in its errors count from its first row."""

    form: str
    file: str | None
    columns: Strings
    rows: int | None
    text = False  # whether cells are text whose type has to be found out
    comma = False  # whether its numbers have a decimal comma
    classes: ClassNames | None  # class names that the file states apart from its columns
    binding = False  # whether they stand beside the arrays; else a note that other tools may have left behind
    stated_names: Mapping[str, Strings] = MappingProxyType({})  # likewise of the axes in AXES
    index_column: str | None = None  # that was the index of a frame, where it has a name
    cast = ""  # what else decides how cells are read, besides the plan and the file itself
    # columns whose first cells may be nested answers, or percents (`nested`)
    odd: tuple[str, ...] = ()

    @abstractmethod
    def tables(self, kinds: Mapping[str, Kind], rows: int) -> Iterator[Any]:
        """Record batches of at most ``rows`` rows that hold the columns of ``kinds`` (perhaps more)."""

    def bound(self, layout: Layout) -> Reader:
        """The reader once the meaning of its columns is known."""
        return self

    def first_rows(self, kinds: Mapping[str, Kind], rows: int) -> Any:
        """A record batch of the first rows, some of these many; None where there is none."""
        return next(iter(self.tables(kinds, rows)), None)

    def holds_cells(self, column: str) -> bool:
        """Whether the column has one cell a row."""
        return True

    def cell_type(self, column: str) -> Any:
        """The type that the cells of a column are written as, where all are written as text; None else."""
        return None

    def split(self, target_rows: int, where: Sequence[Condition] = ()) -> list[tuple[Reader, int]]:
        """Readers of consecutive rows, with the rows before each, but where the file says that no row meets the
        conditions.
        """
        return [(self, 0)]


def runs_of(
    groups: Sequence[int], size: int, selected: Collection[int] | None = None
) -> Iterator[tuple[int, int, int]]:
    """Neighbouring groups with ``size`` rows together: first, behind the last, rows before; those not ``selected`` are
    in none.
    """
    first = before = rows = 0
    for at, count in enumerate((*groups, 0)):
        ends = at == len(groups) or (selected is not None and at not in selected)
        if rows and (ends or rows >= size):
            yield first, at, before
            first, before, rows = at, before + rows, 0
        if ends:
            first, before = at + 1, before + count
        else:
            rows += count


@dataclass(frozen=True, kw_only=True)
class TextReader(Reader):
    """A format of text: bytes ``start`` to ``end`` (None: the last) of a file, ``before`` which there are so many rows.
    ``rows`` and ``marks`` are known once the file was counted; only a whole file has marks.
    """

    file: str
    columns: Strings
    start: int = 0
    end: int | None = None
    before: int = 0
    rows: int | None = None
    marks: tuple[tuple[int, int], ...] = ()
    finds_types: ClassVar[bool] = False
    opening: ClassVar[Strings]  # attributes that opening the file finds
    classes = None

    def facts(self) -> Json:
        """What opening the file found, as plain values."""
        state = {name: getattr(self, name) for name in self.opening}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in state.items()
        }

    @classmethod
    def from_facts(cls, path: str, facts: Plain) -> Self:
        """The reader that opening the file would give."""
        lists = {name: tuple(value) for name, value in facts.items() if isinstance(value, list)}
        return cls(file=path, **{**facts, **lists})

    @abstractmethod
    def index(self) -> TextIndex:
        """How many rows the whole file has, by one pass, and where it may be cut."""

    @abstractmethod
    def type_of(self, column: str) -> str:
        """The type of a column that no name gives; a pass finds it where ``finds_types`` says so."""

    @classmethod
    @abstractmethod
    def agreeing(cls, readers: Sequence[Self], types: Mapping[str, Sequence[str]]) -> list[Self]:
        """Readers that read columns, whose types in each of them are given, alike."""

    def split(self, target_rows: int, where: Sequence[Condition] = ()) -> list[tuple[Reader, int]]:
        """Ranges of at least ``target_rows`` rows, where the file may be cut; else the whole."""
        if self.rows is None or not self.marks:
            return [(self, 0)]
        size, cuts = rows_of_a_part(target_rows, self.rows), [(0, 0)]
        for at, before in self.marks:
            if before - cuts[-1][1] >= size and before < self.rows:
                cuts.append((at, before))
        ends = [*cuts[1:], (None, self.rows)]
        return [
            (
                replace(self, start=start, end=end, before=before, rows=after - before, marks=()),
                before,
            )
            for (start, before), (end, after) in zip(cuts, ends, strict=True)
        ]


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of one file, or of a table in memory, that all conditions of ``where`` hold of; ``values`` are
    what the names of folders say, ``unfolded`` the columns of nested answers. ``in_file`` rows of the file are before
    these, ``before`` of those that are left in all files (None: only a pass can tell), and ``left`` are here, once they
    were counted.
    """

    reader: Reader
    values: Plain = field(default_factory=dict)
    where: tuple[Condition, ...] = ()
    stamp: Stamp | None = None
    in_file: int = 0
    before: int | None = 0
    left: int | None = None
    unfolded: tuple[Unfolded, ...] = ()

    @property
    def file(self) -> str | None:
        """The path of the file."""
        return self.reader.file

    @property
    def rows(self) -> int | None:
        """Rows that are left, as far as is known."""
        return self.left if self.where else self.reader.rows

    @property
    def cast(self) -> str:
        """What else decides how cells are read and which rows are left, besides the plan and the file itself."""
        cast = f"{self.reader.cast}{self.unfolded or ''}"
        return repr((cast, self.reader.rows, self.where)) if self.where else cast

    def verify(self) -> None:
        """Raise `InputError` if the file is not what it was."""
        if self.stamp is not None and self.file is not None:
            self.stamp.verify(self.file)

    def tables(self, kinds: Mapping[str, Kind], rows: int) -> Iterator[tuple[Any, Places]]:
        """Record batches of at most ``rows`` rows that hold the columns of ``kinds`` (perhaps more), and where in the
        file each row is. Where no condition can hold nothing is read. Errors name the file and the row in it.
        """
        where, values, reader = self.where, self.values, self.reader
        read = {**{condition.column: condition.kind or "any" for condition in where}, **kinds}
        file_kinds = self._raw_kinds(
            {name: kind for name, kind in read.items() if name not in values}
        )
        for part, before in reader.split(reader.rows or 1, where) if where else [(reader, 0)]:
            at = self.in_file + before
            done = 0
            try:
                for raw in part.tables(file_kinds, max(rows, _FEWEST * bool(where))):
                    batch = self._completed(raw, read, done)
                    if where:
                        for places in self._matching(batch, done, rows):
                            yield _picked(batch, kinds, places), places + (at + done)
                    else:
                        yield batch, range(at + done, at + done + raw.num_rows)
                    done += raw.num_rows
            except InputError as error:
                raise error.at(file=self.file, row_offset=at) from None
        self.verify()

    def _completed(self, batch: Any, read: Collection[str], done: int) -> Any:
        """A batch with the columns that nested answers give, and those that the names of folders say."""
        if self.unfolded:
            batch = self._unfolded(batch, [name for name in read if name not in self.values], done)
        if not self.values:
            return batch
        import pyarrow as pa

        from .cells import lone_cell

        columns = [
            pa.repeat(lone_cell(self.values[name])[0], batch.num_rows)
            if name in self.values
            else batch.column(name)
            for name in read
        ]
        return pa.record_batch(columns, names=list(read))

    def _raw_kinds(self, kinds: Mapping[str, Kind]) -> dict[str, Kind]:
        """The columns that the file itself has, for those that are asked for."""
        reader, out = self.reader, dict(kinds)
        for nested in self.unfolded:
            requested = [name for name in nested.gives if out.pop(name, None) is not None]
            read = filter(None, (nested.column, nested.named_by) if requested else ())
            kind: Kind = "text" if reader.text else "raw"
            kind = _NUMBERS.get(nested.form, kind)
            out |= dict.fromkeys(read, kind)
        return out or {reader.columns[0]: "any"}

    def _unfolded(self, batch: Any, names: Sequence[str], done: int) -> Any:
        """The batch with the columns that nested answers give."""
        from .nested import unfolded_batch

        try:
            return unfolded_batch(batch, names, self.unfolded) if names else batch
        except InputError as error:
            raise error.at(row_offset=done) from None

    def _matching(self, batch: Any, done: int, rows: int) -> list[Array]:
        """The places in a batch of the rows that all conditions hold of, at most ``rows`` together."""
        from .predicates import matches

        reader, out = self.reader, np.ones(batch.num_rows, dtype=bool)
        try:
            with translated(self.file, reader.form):
                for condition in self.where:
                    written_as = (
                        reader.cell_type(condition.column)
                        if reader.text and condition.kind == "any"
                        else None
                    )
                    out &= matches(
                        batch.column(condition.column),
                        condition,
                        reader.text,
                        written_as,
                        reader.comma,
                    )
        except InputError as error:
            raise error.at(row_offset=done) from None
        except UsageError as error:
            raise UsageError(f"{self.file}: {error}" if self.file else str(error)) from None
        places = np.flatnonzero(out)
        return [places[start : start + rows] for start in range(0, len(places), rows)]

    @contextmanager
    def located(self, places: Places) -> Iterator[None]:
        """Errors about a batch of these rows name the file and the row in it, damage that only decoding shows too."""
        try:
            yield
        except Exception as error:
            fault = explained(error, self.file, self.reader.form)
            at = 0 if fault.row is None else min(fault.row, len(places)) - 1
            offset = 0 if fault.row is None else int(places[at]) - at
            raise fault.at(file=self.file, row_offset=offset) from None

    def fact(self, name: str) -> Any:
        """What a pass finds: the type of a column or the index of a text file, else the rows that are left."""
        reader: Any = self.reader
        if name == "index" or name.startswith(TYPE):
            return (
                list(reader.index()) if name == "index" else reader.type_of(name.removeprefix(TYPE))
            )
        kinds: dict[str, Kind] = {} if self.where else {reader.columns[0]: "any"}
        return sum(len(places) for _, places in self.tables(kinds, BATCH_ROWS))


def _picked(batch: Any, names: Iterable[str], places: Array) -> Any:
    """Rows of a batch, with these columns."""
    import pyarrow as pa

    from .cells import column_of

    columns = [batch.column(name) for name in names]
    if len(places) < batch.num_rows:
        rows = column_of(places, "number", "rows")
        columns = [cells.take(rows) for cells in columns]
    return pa.record_batch(columns, names=list(names))


class Decoded(NamedTuple):
    """Fields and further columns, as `Predictions.from_arrays` takes them."""

    fields: Json
    columns: Json


@dataclass(frozen=True)
class Plan:
    """How columns become fields: the layout, the classes to encode by, the widths of lists; ``orders`` bring list
    columns into line, axis by axis, which are then ``named``. ``positions``: labels are positions among candidates;
    ``encoding`` makes features of the user's columns; ``others``: labels may be of none of these classes; ``times``:
    how those of the field `time` are written.
    """

    layout: Layout
    classes: ClassNames | None
    widths: Mapping[str, int] = field(default_factory=dict)
    orders: Mapping[str, Order] = field(default_factory=dict)
    named: Mapping[str, Strings] = field(default_factory=dict)
    positions: bool = False
    encoding: FeatureEncoding | None = None
    others: bool = False
    times: TimeFormat = IN_UTC

    def decoded(self, batch: Any, feeds: Iterable[Feed], reader: Reader) -> Decoded:
        """The fields and further columns of a batch."""
        from . import cells as decode
        from .times import any_cells, time_cells

        arrays: Json = {}
        columns: Json = {}
        for feed in feeds:
            name = feed.columns[0]
            if feed.kind == "raw" and self.encoding is not None:
                pairs = zip(self.encoding.users, feed.columns, strict=True)
                cells = {user.name: batch.column(column) for user, column in pairs}
                arrays[feed.field] = self.encoding.encode(cells, reader.text, reader.comma)
                columns = self.encoding.slices(arrays[feed.field])
            elif feed.kind == "time":
                arrays[feed.field] = time_cells(batch.column(name), name, self.times)
            elif feed.kind == "any":
                arrays[feed.field] = any_cells(batch.column(name), name, self.times.zone)
            elif self.positions and FIELDS[feed.field].cell == "class":
                arrays[feed.field] = self._in_order(
                    decode.positions(batch, feed, reader.text), feed
                )
            else:
                width = self.widths.get(feed.field)
                cells = decode.field(batch, feed, self.classes, reader.text, width, self.others)
                arrays[feed.field] = self._in_order(cells, feed)
        for name, column in self.layout.extra.items():
            columns[name] = any_cells(batch.column(column), column, self.times.zone)
        return Decoded(arrays, columns)

    def _in_order(self, values: Any, feed: Feed) -> Any:
        """A field's array with its axes in the orders of the plan."""
        for at, axis in enumerate(() if feed.wide else FIELDS[feed.field].axes):
            if axis in self.orders and isinstance(values, Coded):
                values = Coded(np.take(values.codes, self.orders[axis], axis=at), values.values)
            elif axis in self.orders:
                values = np.take(values, self.orders[axis], axis=at)
        return values


@dataclass(frozen=True)
class FilePart(Part):
    """Pieces one after another, and how their columns become fields; ``where`` is what holds of all their rows."""

    pieces: tuple[Piece, ...]
    plan: Plan
    name: str | None
    where: tuple[Condition, ...] = ()

    @property
    def first_row(self) -> int:
        """The first row from the start of all files."""
        return self.pieces[0].before or 0

    def batches(
        self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Predictions]:
        """Read, decode and check batch after batch; rows in errors count from the file's start."""
        feeds = self._feeds(None if fields is None else tuple(fields))
        widths = (
            len(feed.columns) if feed.wide else self.plan.widths.get(feed.field, 1)
            for feed in feeds
        )
        rows = max(1, min(rows, max(1024, MOST_CELLS // max(sum(widths), 1))))
        done = self.first_row
        for piece in self.pieces:
            first, source = done, self.name
            if self.where:  # errors that come later count the rows that are left
                source = f"{self.name or piece.reader.form} where {said(self.where)}"
            piece.verify()
            try:
                for record in self._records(piece, feeds, rows):
                    yield replace(record, source=source, first_row=done)
                    done += record.rows
            except OodometerError:
                piece.verify()  # a file that changed meanwhile is the better explanation
                raise
            if piece.rows not in (None, done - first):
                expected = f"{piece.rows} rows, as they were counted before"
                remedy = "check what wrote it, and report it to oodometer: the file is not read"
                raise InputError(expected, got=f"{done - first}", file=piece.file, remedy=remedy)
        if not done:
            raise none_left(self.where, self.name) if self.where else no_rows(self.name)

    def _feeds(self, fields: Strings | None) -> tuple[Feed, ...]:
        """The feeds of the fields that are wanted; `InputError` where there is none."""
        layout = self.plan.layout
        feeds = layout.select(fields)
        if not feeds:
            expected = f"one of the fields {', '.join(fields or ())}"
            remedy = "add the column, or rename one with --map theirs=ours"
            file = self.pieces[0].file
            raise InputError(expected, got=", ".join(layout.columns[:12]), file=file, remedy=remedy)
        return feeds

    def _records(self, piece: Piece, feeds: Sequence[Feed], rows: int) -> Iterator[Predictions]:
        """The rows of a piece as checked records, whose rows count from the file's start."""
        plan = self.plan
        kinds, axes = plan.layout.kinds(feeds), {AXES.get(feed.field) for feed in feeds}
        names = {axis: entries for axis, entries in plan.named.items() if axis in axes}
        before = piece.in_file  # the first rows of a file tell logits from probabilities
        for batch, places in piece.tables(kinds, rows):
            if not batch.num_rows:
                continue
            with piece.located(places):
                decoded = plan.decoded(batch, feeds, piece.reader)
            try:
                record = Predictions.from_arrays(
                    classes=plan.classes,
                    names=names,
                    columns=decoded.columns,
                    source=piece.file,
                    first_row=before,
                    positions=plan.positions,
                    **decoded.fields,
                )
            except InputError as error:
                if error.row is not None:
                    error.row = int(places[error.row - before - 1]) + 1
                raise plan.layout.placed(error) from None
            yield record
            before += record.rows

    def identity(self) -> str | None:
        """The files as they are, the rows in them, and how their columns are understood."""
        checksums = []
        for piece in self.pieces:
            if piece.stamp is None or piece.file is None:
                return None
            file = piece.file if is_remote(piece.file) else os.path.abspath(piece.file)
            rows = (
                piece.reader.form,
                piece.rows,
                piece.before,
                piece.in_file,
                piece.stamp.size,
                piece.stamp.changed,
            )
            content = known_files().mark(piece.file, piece.stamp)
            checksums.append(checksum(file, content, repr(rows), repr(self.plan), piece.cast))
        return checksums[0] if len(checksums) == 1 else checksum(*checksums)

    def span(self) -> tuple[int, int] | None:
        """As its rows were counted."""
        rows = self.pieces[0].rows if len(self.pieces) == 1 else None
        return None if rows is None else (self.first_row, self.first_row + rows)
