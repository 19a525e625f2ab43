"""Reader source: a file or a table whose columns are understood, its classes settled once, read in checked batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..classes import ClassNames
from ..errors import InputError, OodometerError, UsageError
from ..fields import FIELDS, refuse_classes_beside_positions
from ..predictions import Predictions
from .artifact_cache import checksum
from .base import (
    BATCH_ROWS,
    PART_ROWS,
    Axes,
    Each,
    Order,
    Part,
    Source,
    check_kind,
    in_threads,
    listed_classes,
    no_column,
    no_rows,
    only_counts,
    order_along,
    order_of,
)
from .columns import AXES, INDEX, Kind, Layout
from .files import Stamp, known_files, translated
from .places import is_remote
from .reader import PLACE, Piece, Plan, Reader, WrappedReader, in_reader, seen_classes, two_classes
from .where import Condition, bound, none_left, said

if TYPE_CHECKING:
    from .encoding import FeatureEncoding


_ROWS = 65_536
_FEWEST = 1024


@dataclass(frozen=True)
class FilteredReader(WrappedReader):
    """Rows of ``inner`` for which all conditions of ``where`` hold; ``rows`` is their number once it was counted."""

    where: tuple[Condition, ...]
    rows: int | None = None

    def tables(self, kinds: Mapping[str, Kind], rows: int) -> Iterator[Any]:
        """Batches of the rows that are left, with their places in what ``inner`` reads as a further column; what cannot
        hold such rows is not read.
        """
        read = {**{one.column: one.kind or "any" for one in self.where}, **kinds}
        pieces = self.inner.narrowed(self.where, self.inner.rows or 1)
        for piece in [Piece(self.inner, 0, 0)] if pieces is None else pieces:
            done = piece.in_file
            # of a few rows that are asked for, the first may stand far down
            for batch in piece.reader.tables(read, max(rows, _FEWEST)):
                # the places in a batch of the rows that are left
                held = np.ones(batch.num_rows, dtype=bool)
                try:
                    with translated(self.file, self.form):
                        for one in self.where:
                            held &= self._held(batch, one)
                except InputError as error:
                    raise error.at(row_offset=done) from None
                except UsageError as error:
                    raise UsageError(f"{self.file}: {error}" if self.file else str(error)) from None
                places = np.flatnonzero(held)
                for at in range(0, len(places), rows):
                    yield _taken(batch, kinds, places[at : at + rows], done)
                done += batch.num_rows

    def _held(self, batch: Any, one: Condition) -> Any:
        from .predicates import matches

        loose = self.inner.text_file
        written_as = None if loose is None or not self.text or one.kind != "any" else loose.cell_type(one.column)
        return matches(batch.column(one.column), one, self.text, written_as, self.comma)

    def counted(self, each: Each, columns: Collection[str], stamp: Stamp | None) -> Reader:
        """The reader within, counted; the rows that are left are counted by `left_of`."""
        return replace(self, inner=self.inner.counted(each, columns, stamp))

    @property
    def cast(self) -> str:
        """The conditions, and the rows among which they are asked."""
        return repr((self.inner.cast, self.inner.rows, self.where))

    def split(self, target_rows: int) -> list[Piece]:
        """The pieces of the reader within; row groups that cannot hold such rows are left out."""
        found = self.inner.narrowed(self.where, target_rows)
        return self.of_pieces(self.inner.split(target_rows) if found is None else found)

    def files_whole(self) -> list[Piece]:
        """The whole of each file."""
        return self.of_pieces(self.inner.files_whole())


def _taken(batch: Any, kinds: Mapping[str, Kind], places: Any, done: int) -> Any:
    """The rows of a batch at these places, and the places among all."""
    import pyarrow as pa

    from .npz import column_of

    kept = [batch.column(name) for name in kinds]
    if len(places) < batch.num_rows:
        kept = [cells.take(column_of(places, "number", PLACE)) for cells in kept]
    return pa.record_batch([*kept, column_of(places + done, "number", PLACE)], names=[*kinds, PLACE])


def filtered(where: Sequence[Condition], reader: Reader) -> Reader | None:
    """The rows of a file for which all conditions hold; None where its folders say that there are none."""
    rest = reader.unsettled(where)
    return None if rest is None else FilteredReader(reader, tuple(rest)) if rest else reader


def left_of(pieces: Sequence[Piece], each: Each, stamp: Stamp | None) -> list[Piece]:
    """Pieces that know how many rows are left in them and before them; those without any are left out.

    ``each`` counts them; what is known of a piece of a file (`known_files`) is not counted again.
    """
    known = known_files()
    names = [f"left {checksum(str(one.in_file), one.reader.cast)}" for one in pieces]
    stamps = [one.stamp or stamp for one in pieces]
    files = [str(one.reader.file) for one in pieces]
    counts = [
        known.get(file, at, name) if isinstance(one.reader, FilteredReader) else one.reader.rows
        for one, name, at, file in zip(pieces, names, stamps, files, strict=True)
    ]
    lacking = [i for i, count in enumerate(counts) if count is None]
    for i, count in zip(lacking, each(_count, [pieces[i]._replace(stamp=stamps[i]) for i in lacking]), strict=True):
        counts[i] = count
        if pieces[i].reader.file is not None:
            known.put(files[i], stamps[i], names[i], count)
    out, before = [], 0
    for piece, count in zip(pieces, counts, strict=True):
        reader = replace(piece.reader, rows=count) if isinstance(piece.reader, FilteredReader) else piece.reader
        if count:
            out.append(piece._replace(reader=reader, before=before))
        before += count or 0
    return out


def _count(piece: Piece) -> int:
    """Rows of a piece that are left."""
    reader = piece.reader
    kinds: dict[str, Kind] = {} if isinstance(reader, FilteredReader) else {reader.columns[0]: "any"}
    try:
        return sum(batch.num_rows for batch in reader.tables(kinds, _ROWS))
    except InputError as error:
        if piece.stamp is not None and reader.file is not None:
            piece.stamp.verify(reader.file)  # a file that changed meanwhile is the better explanation
        raise error.at(file=reader.file, row_offset=piece.in_file) from None


@dataclass(frozen=True)
class ReaderPart(Part):
    """Consecutive rows of a file: the reader of a range, and how its columns become fields."""

    reader: Reader
    plan: Plan
    name: str | None
    first_row: int = 0
    stamp: Stamp | None = None
    in_file: int = 0  # rows of the same file before the first
    where: tuple[Condition, ...] = ()  # what holds of its rows, which are those that are left

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """Read, decode and check batch after batch; rows in errors count from the file's start."""
        layout, file, done = self.plan.layout, self.reader.file, 0
        plan = replace(self.plan, feeds=layout.select(fields), rows=max(1, rows))
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
                    raise error.at(file=file, row_offset=self.in_file) from None
                raise
            places = arrays.pop("places", None)
            try:
                record = Predictions.from_arrays(
                    classes=plan.classes,
                    names=plan.names,
                    source=file,
                    first_row=self.in_file + done,
                    positions=self.plan.positions,
                    **arrays,
                )
            except InputError as error:
                if places is not None and error.row is not None:
                    error.row = self.in_file + int(places[error.row - self.in_file - done - 1]) + 1
                raise layout.placed(error) from None
            if self.where:  # errors that come later count the rows that are left
                record = replace(record, source=f"{self.name or self.reader.form} where {said(self.where)}")
            elif file != self.name or self.in_file != self.first_row:  # of several files
                record = replace(record, source=self.name)
            if self.in_file != self.first_row:
                record = replace(record, first_row=self.first_row + done)
            done += record.rows
            yield record
        self._verify()
        if not plan.feeds:
            raise InputError(
                f"one of the fields {', '.join(fields or ())}",
                got=", ".join(layout.columns[:12]),
                file=file,
                remedy="add the column, or rename one with --map theirs=ours",
            )
        if not done and not self.first_row and file == self.name and not self.where:
            raise no_rows(file)
        if self.reader.rows is not None and plan.feeds and done != self.reader.rows:
            raise InputError(
                f"{self.reader.rows} rows, as they were counted before",
                got=f"{done}",
                file=file,
                remedy="check what wrote it, and report it to oodometer: the file is not read",
            )

    def identity(self) -> str | None:
        """The file as it is, the rows in it, and how its columns are understood."""
        if self.stamp is None or self.reader.file is None:
            return None
        file = self.reader.file if is_remote(self.reader.file) else os.path.abspath(self.reader.file)
        pieces = (self.reader.form, self.reader.rows, self.first_row, self.in_file, self.stamp.size, self.stamp.changed)
        content = known_files().mark(self.reader.file, self.stamp)
        return checksum(file, content, repr(pieces), repr(self.plan), self.reader.cast)

    def span(self) -> tuple[int, int] | None:
        """As the reader counts them."""
        return None if self.reader.rows is None else (self.first_row, self.first_row + self.reader.rows)

    def _verify(self) -> None:
        if self.stamp is not None and self.reader.file is not None:
            self.stamp.verify(self.reader.file)


@dataclass(frozen=True)
class ChainedParts(Part):
    """Parts of which only a pass tells how many rows they have, read one after another."""

    parts: tuple[ReaderPart, ...]
    name: str | None

    def identity(self) -> str | None:
        """All files as they are."""
        told = [part.identity() for part in self.parts]
        return None if None in told else checksum(*map(str, told))

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """Part after part; ``first_row`` counts through all."""
        return in_order(self.parts, self.name, fields, rows)


def in_order(
    parts: Sequence[ReaderPart],
    name: str | None,
    fields: Iterable[str] | None,
    rows: int,
    where: Sequence[Condition] = (),
) -> Iterator[Predictions]:
    """The batches of parts that follow one another, however long they are; `InputError` where they have no row."""
    done = 0
    wanted = None if fields is None else tuple(fields)
    for part in parts:
        for record in replace(part, first_row=done).batches(wanted, rows):
            done += record.rows
            yield record
    if not done:
        raise none_left(where, name) if where else no_rows(name)


class ReaderSource(Source):
    """A file or a table in memory, its columns understood; classes are settled when they are first needed."""

    def __init__(
        self,
        reader: Reader,
        layout: Layout,
        wanted: Axes | None,
        stamp: Stamp | None,
        encoding: FeatureEncoding | None = None,
        held: Any = None,
        where: tuple[Condition, ...] = (),
        whole: Reader | None = None,
    ) -> None:
        self.reader, self.stamp, self.encoding, self.where = reader, stamp, encoding, where
        self._held = held  # what must live as long as this: the temporary file of a frame
        self.raw_text, self.decimal_comma = reader.text, reader.comma
        self.path = reader.file
        self.name = (reader.file or reader.form) + (f" where {said(where)}" if where else "")
        self.columns = tuple(c or INDEX for c in layout.columns if c != "__index_level_0__")
        self.layout, self._wanted, self._rows = layout, wanted, reader.rows
        self._settled: Plan | None = None
        self._counted = whole

    @classmethod
    def over(
        cls,
        reader: Reader,
        wanted: Axes | None,
        mapping: Mapping[str, str] | None,
        extra: Iterable[str],
        stamp: Stamp | None = None,
        where: Sequence[Condition] = (),
    ) -> ReaderSource:
        """Understand the reader's columns; ``where`` says which of its rows are left."""
        layout = Layout.parse(reader.columns, mapping, tuple(extra), reader.file)
        try:
            reader = reader.bound(layout)
        except InputError as error:
            raise error.at(file=reader.file) from None
        if reader.rows == 0:
            raise no_rows(reader.file)
        asked = bound(where, layout, reader.file)
        left = _filtered(reader, asked) if asked else reader
        source = cls(left, layout, wanted, stamp, where=asked)
        if layout.wide_classes is not None:
            source._check_names()
        return source

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields that the columns give."""
        return self.layout.fields

    @property
    def classes(self) -> ClassNames | None:
        """Classes as given, else as columns name them, else as many as lists are long, else those that occur."""
        return self._plan.classes

    @property
    def lone_class(self) -> int | str | None:
        """The class that the one column of a binary model is about; None where every class has one, or none has."""
        return self.layout.lone_class

    @property
    def rows(self) -> int | None:
        """Rows, None for CSV and JSONL until a pass was made."""
        return self._rows

    def holds(self, column: str) -> bool:
        """Whether the file has the column, under this name or renamed to it."""
        return column in self.layout.where

    def keys(self, column: str) -> Any:
        """One pass over the column."""
        from .cells import joined, key_cells

        theirs = self.layout.where[column]
        found = list(self._each_batch({theirs: "key"}, lambda batch: key_cells(batch.column(theirs), theirs)))
        return joined(found)

    def _each_batch(self, kinds: Mapping[str, Kind], work: Callable[[Any], Any]) -> Iterator[Any]:
        """What ``work`` gives for each batch of one pass; its errors count rows from the first of the file."""
        total = 0
        for reader, _, in_file, stamp in self.reader.files_whole():
            done = 0
            try:
                for batch in reader.tables(kinds, BATCH_ROWS):
                    try:
                        found = work(batch)
                    except InputError as error:
                        raise in_reader(error, batch, done) from None
                    yield found
                    done += batch.num_rows
            except InputError as error:
                raise error.at(file=reader.file, row_offset=in_file) from None
            if stamp is not None and reader.file is not None:
                stamp.verify(reader.file)
            total += done
        self._rows = total

    @property
    def own_columns(self) -> tuple[str, ...]:
        """Columns of the file that feed no field, without an index that has no name."""
        fed = {column for feed in self.layout.feeds.values() for column in feed.columns}
        fed |= {self.layout.where.get(INDEX, INDEX)} - {INDEX}
        return tuple(c for c in self.layout.columns if c not in fed and self.reader.holds_cells(c))

    def raw(self, columns: Sequence[str]) -> Iterator[Any]:
        """One pass over the columns."""
        import pyarrow as pa

        theirs = [self._theirs(name) for name in columns]

        def renamed(batch: Any) -> Any:
            return pa.record_batch([batch.column(name) for name in theirs], names=list(columns))

        yield from self._each_batch(dict.fromkeys(theirs, "raw"), renamed)

    def _theirs(self, column: str) -> str:
        if column not in self.layout.where:
            raise no_column(column, self.columns, self.path)
        return self.layout.where[column]

    def encoded(self, encoding: FeatureEncoding) -> ReaderSource:
        """The same file, its features made of its own columns."""
        layout = self.layout.with_inputs([self._theirs(user.name) for user in encoding.users])
        return self._as(layout, self._wanted, encoding)

    def _as(self, layout: Layout, wanted: Axes | None, encoding: FeatureEncoding | None) -> ReaderSource:
        """The same rows, understood in another way."""
        return ReaderSource(self.reader, layout, wanted, self.stamp, encoding, self._held, self.where, self._counted)

    @property
    def axes(self) -> Axes:
        """Names along the axes as they are read; the order of lists where they, or a user, named their entries."""
        plan, layout = self._plan, self.layout
        sizes = {AXES[n]: len(f.columns) for n, f in layout.feeds.items() if n in AXES and f.wide}
        sizes |= {AXES[n]: width for n, width in plan.widths.items() if n in AXES}
        listed: dict[str, tuple[int | str, ...]] = {
            axis: own
            for axis, own in self.reader.stated_names.items()
            if not any(f.wide and AXES.get(n) == axis for n, f in layout.feeds.items())
        }
        if self.reader.classes is not None and layout.wide_classes is None:
            listed["class"] = self.reader.classes
        if self._wanted is not None:  # what a user said of lists holds for those that follow
            listed |= self._wanted.listed
        return Axes(plan.classes, plan.named, sizes, listed, plan.positions)

    def aligned(self, axes: Axes | None) -> Source:
        """The same file read with other class names or another order of them, or of models, judges and so on."""
        if axes is None or axes == self._wanted:
            return self
        if self._wanted is not None:  # lists that were given names keep them
            axes = replace(axes, listed={**axes.listed, **self._wanted.listed})
        return self._as(self.layout, axes, self.encoding)

    def counted(self, each: Each = in_threads) -> Reader:
        """The reader that knows the rows of its text files, and reads columns alike in all of them."""
        if self._counted is None:
            try:
                loose = [one.column for one in self.where if one.kind == "any"]
                columns = dict.fromkeys([*self.layout.extra.values(), *loose])
                self._counted = self.reader.counted(each, tuple(columns), self.stamp)
            except InputError as error:
                raise error.at(file=self.path) from None
        return self._counted

    def pieces(self, target_rows: int, each: Each = in_threads) -> list[Piece]:
        """Readers of consecutive rows, and how many rows are before each; `InputError` where no row is left."""
        pieces = self.counted(each).split(max(1, target_rows))
        if self.where:
            pieces = left_of(pieces, each, self.stamp)
            if not pieces:
                raise none_left(self.where, self.path)
            if not self.reader.text:  # as where all rows are read: text does not tell how many there are
                self._rows = sum(piece.reader.rows or 0 for piece in pieces)
        return pieces

    def parts(self, target_rows: int = PART_ROWS, each: Each = in_threads) -> list[Part]:
        """Ranges of row groups, record batches or rows, or of the bytes of text."""
        pieces = self.pieces(target_rows, each)
        parts = [self._part(piece) for piece in pieces]
        if any(piece.before is None for piece in pieces):
            return [ChainedParts(tuple(parts), self.path)]
        return list(parts)

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """One pass over everything."""
        done = 0
        reader = self.counted() if self.layout.extra or self.where else self.reader  # whose types must agree
        for record in in_order(list(map(self._part, reader.files_whole())), self.path, fields, rows, self.where):
            done += record.rows
            yield record
        self._rows = done

    def _part(self, piece: Piece) -> ReaderPart:
        stamp = self.stamp if piece.stamp is None else piece.stamp
        return ReaderPart(piece.reader, self._plan, self.path, piece.before or 0, stamp, piece.in_file, self.where)

    def _check_names(self) -> None:
        wanted = None if self._wanted is None else self._wanted.classes
        self.layout.aligned(wanted or self.layout.wide_classes or (), self.path)

    @property
    def _plan(self) -> Plan:
        if self._settled is None:
            try:
                self._settled = self._settle()
            except InputError as error:
                if self.stamp is not None and self.path is not None:
                    self.stamp.verify(self.path)
                raise self.reader.placed(error) from None
        return self._settled

    def _settle(self) -> Plan:
        layout, wanted = self.layout, self._wanted or Axes()
        widths = dict(self.reader.widths(layout)) | ({} if self.encoding is None else {"features": self.encoding.width})
        inner = widths.pop("classes", None)
        listed = [n for n, field in FIELDS.items() if field.of_classes and n in widths]
        width = next((widths[n] for n in listed if FIELDS[n].kind == "numbers"), inner)
        orders: dict[str, Order] = {}
        if self._has_positions(wanted):
            layout, named = self._settle_axes(layout, widths, orders)
            return Plan(layout, (), None, widths, orders, named, positions=True, encoding=self.encoding)
        own = self._own_classes(width)
        classes = wanted.classes
        if classes is None:
            classes = own if own is not None or width is None else tuple(range(width))
        if classes is None and layout.lone_class is not None:
            classes = two_classes(self.reader, layout, layout.lone_class)
        if classes is None:
            classes = seen_classes(self.reader, layout)
        elif width is not None:
            column = layout.feeds[listed[0]].columns[0]
            if width != len(classes):
                raise InputError(
                    f"lists of {len(classes)} entries, one a class",
                    got=f"{width}",
                    file=self.path,
                    row=1,
                    column=column,
                    remedy="use the same classes in the reference and the target",
                )
            if own is None or only_counts(own, classes):
                own = listed_classes(width, replace(wanted, classes=classes), self.path, column)
            order = order_of(own, classes, self.path)
            orders |= {} if order == tuple(range(width)) else {"class": order}
        if classes is not None:
            layout = layout.aligned(classes, self.path)
        layout, named = self._settle_axes(layout, widths, orders)
        return Plan(layout, (), classes, widths, orders, named, encoding=self.encoding, others=wanted.others)

    def _has_positions(self, wanted: Axes) -> bool:
        """Whether labels are positions among candidates, here or in the source to follow; then neither has classes."""
        layout, stated = self.layout, self.reader.classes if self.reader.binding else None
        if layout.positions is not None:
            column = layout.feeds[layout.positions].columns[0]
            check_kind(True, wanted, column, self.path)
            refuse_classes_beside_positions([layout.positions], stated, self.path)
        elif wanted.positions:
            of_classes = [f for n, f in layout.feeds.items() if FIELDS[n].of_classes]
            if of_classes or stated is not None:
                check_kind(False, wanted, of_classes[0].columns[0] if of_classes else "classes", self.path)
        return layout.positions is not None or wanted.positions

    def _own_classes(self, width: int | None) -> ClassNames | None:
        """The names that the data give their classes, in the order of their lists; `InputError` where two disagree."""
        stated, wide = self.reader.classes, self.layout.wide_classes
        if stated is None:
            return wide
        if wide is not None:
            if sorted(map(str, stated)) == sorted(map(str, wide)):
                return stated  # the names beside the columns know their types
            if not self.reader.binding:
                return wide
            raise InputError(
                f"classes that are those of the columns ({', '.join(map(str, wide[:6]))})",
                got=", ".join(map(str, stated[:6])),
                column="classes",
                remedy="name the classes once",
            )
        if width is not None and len(stated) != width:
            raise InputError(
                f"{width} class names, as many as lists have entries",
                got=f"{len(stated)}",
                column="classes",
                remedy="name every class once, in their order",
            )
        return stated

    def _settle_axes(
        self, layout: Layout, widths: Mapping[str, int], orders: dict[str, Order]
    ) -> tuple[Layout, dict[str, tuple[str, ...]]]:
        """Models, views, judges and features in the order wanted: the layout, their names; ``orders`` are added to."""
        feeds, named = dict(layout.feeds), {}
        for name, axis in AXES.items():
            feed = feeds.get(name)
            size = None if feed is None else len(feed.columns) if feed.wide else widths.get(name)
            if feed is None or size is None:
                continue
            own = feed.names if feed.wide else self.reader.stated_names.get(axis)
            if feed.kind == "raw" and self.encoding is not None:
                own = self.encoding.names
            if own is not None and (len(own) != size or len(set(own)) < size):
                raise InputError(
                    f"{size} distinct names, one for each {axis}",
                    got=f"{len(own)}",
                    column=f"names_{axis}",
                    remedy="name every entry once, in their order",
                )
            order, own = order_along(axis, own, size, feed.wide, self._wanted or Axes(), self.path)
            if order is not None:
                orders[axis] = order
                feeds[name] = feed.ordered(order) if feed.wide else feed
            if own is not None:
                named[axis] = own
        return replace(layout, feeds=feeds), named


def _filtered(reader: Reader, where: tuple[Condition, ...]) -> Reader:
    """The rows for which the conditions hold; `InputError` where the names of folders say that there are none."""
    left = reader.each_file(partial(filtered, where))
    if left is None:
        raise none_left(where, reader.file)
    return left
