"""Reader source: a data set whose columns are understood, its classes settled once, read in checked batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..classes import ClassNames
from ..errors import InputError, OodometerError
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
from .files import known_files
from .places import is_remote
from .scan import DataSet, Piece, Plan, counted_pieces, row_at, seen_classes, two_classes
from .where import Condition, bound, none_left, said

if TYPE_CHECKING:
    from .encoding import FeatureEncoding


@dataclass(frozen=True)
class PiecePart(Part):
    """A piece of a data set, and how its columns become fields; ``where`` is what holds of its rows."""

    piece: Piece
    plan: Plan
    name: str | None
    where: tuple[Condition, ...] = ()

    @property
    def first_row(self) -> int:
        """The first row from the data set's start."""
        return self.piece.before or 0

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """Read, decode and check batch after batch; rows in errors count from the file's start."""
        piece, layout, file, done = self.piece, self.plan.layout, self.piece.file, 0
        plan = replace(self.plan, feeds=layout.select(fields), rows=max(1, rows))
        piece.verify()
        if not plan.feeds:
            expected = f"one of the fields {', '.join(fields or ())}"
            remedy = "add the column, or rename one with --map theirs=ours"
            raise InputError(expected, got=", ".join(layout.columns[:12]), file=file, remedy=remedy)
        chunks = piece.chunks(plan)
        while True:
            try:
                chunk = next(chunks, None)
            except OodometerError:
                piece.verify()  # a file that changed meanwhile is the better explanation
                raise
            if chunk is None:
                break
            arrays, places = chunk
            before = piece.in_file + done  # only the first rows of a file tell logits from probabilities
            try:
                record = Predictions.from_arrays(
                    classes=plan.classes,
                    names=plan.names,
                    source=file,
                    first_row=before,
                    positions=plan.positions,
                    **arrays,
                )
            except InputError as error:
                if error.row is not None:
                    error.row = row_at(places, error.row - before - 1) + 1
                raise layout.placed(error) from None
            if self.where:  # errors that come later count the rows that are left
                record = replace(record, source=f"{self.name or piece.reader.form} where {said(self.where)}")
            elif file != self.name or piece.in_file != self.first_row:  # of several files
                record = replace(record, source=self.name)
            record = replace(record, first_row=self.first_row + done)
            done += record.rows
            yield record
        if not done and not self.first_row and file == self.name and not self.where:
            raise no_rows(file)
        if piece.rows is not None and done != piece.rows:
            remedy = "check what wrote it, and report it to oodometer: the file is not read"
            raise InputError(f"{piece.rows} rows, as they were counted before", got=f"{done}", file=file, remedy=remedy)

    def identity(self) -> str | None:
        """The file as it is, the rows in it, and how its columns are understood."""
        piece = self.piece
        if piece.stamp is None or piece.file is None:
            return None
        file = piece.file if is_remote(piece.file) else os.path.abspath(piece.file)
        rows = (piece.reader.form, piece.rows, self.first_row, piece.in_file, piece.stamp.size, piece.stamp.changed)
        content = known_files().mark(piece.file, piece.stamp)
        return checksum(file, content, repr(rows), repr(self.plan), piece.cast)

    def span(self) -> tuple[int, int] | None:
        """As its rows were counted."""
        return None if self.piece.rows is None else (self.first_row, self.first_row + self.piece.rows)


@dataclass(frozen=True)
class ChainedParts(Part):
    """Parts of which only a pass tells how many rows they have, read one after another."""

    parts: tuple[PiecePart, ...]
    name: str | None
    where: tuple[Condition, ...] = ()

    def identity(self) -> str | None:
        """All files as they are."""
        own = [part.identity() for part in self.parts]
        return None if None in own else checksum(*map(str, own))

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """Part after part; ``first_row`` counts through all. `InputError` where they have no row."""
        done = 0
        wanted = None if fields is None else tuple(fields)
        for part in self.parts:
            for record in replace(part, piece=replace(part.piece, before=done)).batches(wanted, rows):
                done += record.rows
                yield record
        if not done:
            raise none_left(self.where, self.name) if self.where else no_rows(self.name)


class ReaderSource(Source):
    """A data set, its columns understood; classes are settled when they are first needed."""

    def __init__(
        self,
        data: DataSet,
        layout: Layout,
        wanted: Axes | None,
        encoding: FeatureEncoding | None = None,
        held: Any = None,
        where: tuple[Condition, ...] = (),
        counted: DataSet | None = None,
    ) -> None:
        self.data, self.encoding, self.where = data, encoding, where
        self._held = held  # what must live as long as this: the temporary file of a frame
        self.raw_text, self.decimal_comma = data.first.text, data.first.comma
        self.path = data.path
        self.name = data.name + (f" where {said(where)}" if where else "")
        self.columns = tuple(c or INDEX for c in layout.columns if c != "__index_level_0__")
        self.layout, self._wanted, self._rows = layout, wanted, data.rows
        self._settled: Plan | None = None
        self._counted = counted

    @classmethod
    def over(
        cls,
        data: DataSet,
        wanted: Axes | None,
        mapping: Mapping[str, str] | None,
        extra: Iterable[str],
        where: Sequence[Condition] = (),
    ) -> ReaderSource:
        """Understand the columns of a data set; ``where`` says which of its rows are left."""
        layout = Layout.parse(data.columns, mapping, tuple(extra), data.path)
        try:
            data = data.bound(layout)
        except InputError as error:
            raise error.at(file=data.path) from None
        if data.rows == 0:
            raise no_rows(data.path)
        conditions = bound(where, layout, data.path)
        source = cls(data.filtered(conditions), layout, wanted, where=conditions)
        if layout.wide_classes is not None:
            layout.aligned((wanted.classes if wanted is not None else None) or layout.wide_classes, data.path)
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
        import pyarrow as pa

        from .cells import key_cells

        theirs = self.layout.where[column]
        ids = list(self._each_batch({theirs: "key"}, lambda batch: key_cells(batch.column(theirs), theirs)))
        return pa.concat_arrays(ids) if ids else pa.array([], pa.large_string())

    def _each_batch(self, kinds: Mapping[str, Kind], work: Callable[[Any], Any]) -> Iterator[Any]:
        """What ``work`` gives for each batch of one pass; its errors name the file and the row in it."""
        total = 0
        for piece in self.data.pieces:
            for batch, places in piece.tables(kinds, BATCH_ROWS):
                with piece.located(places):
                    result = work(batch)
                yield result
                total += batch.num_rows
        self._rows = total

    @property
    def own_columns(self) -> tuple[str, ...]:
        """Columns of the file that feed no field, without an index that has no name."""
        fed = {column for feed in self.layout.feeds.values() for column in feed.columns}
        fed |= {self.layout.where.get(INDEX, INDEX)} - {INDEX}
        return tuple(c for c in self.layout.columns if c not in fed and self.data.holds_cells(c))

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
        return ReaderSource(self.data, layout, wanted, encoding, self._held, self.where, self._counted)

    @property
    def axes(self) -> Axes:
        """Names along the axes as they are read; the order of lists where they, or a user, named their entries."""
        plan, layout = self._plan, self.layout
        sizes = {AXES[n]: len(f.columns) for n, f in layout.feeds.items() if n in AXES and f.wide}
        sizes |= {AXES[n]: width for n, width in plan.widths.items() if n in AXES}
        listed: dict[str, tuple[int | str, ...]] = {
            axis: own
            for axis, own in self.data.first.stated_names.items()
            if not any(f.wide and AXES.get(n) == axis for n, f in layout.feeds.items())
        }
        if self.data.first.classes is not None and layout.wide_classes is None:
            listed["class"] = self.data.first.classes
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

    def counted(self, each: Each = in_threads) -> DataSet:
        """The data set that knows the rows of its text files, and reads columns alike in all of them."""
        if self._counted is None:
            try:
                loose = [condition.column for condition in self.where if condition.kind == "any"]
                self._counted = self.data.counted(each, dict.fromkeys([*self.layout.extra.values(), *loose]))
            except InputError as error:
                raise error.at(file=self.path) from None
        return self._counted

    def pieces(self, target_rows: int, each: Each = in_threads) -> list[Piece]:
        """Consecutive rows, and how many rows are before each; `InputError` where no row is left."""
        pieces = self.counted(each).split(max(1, target_rows))
        if self.where:
            pieces = counted_pieces(pieces, each)
            if not pieces:
                raise none_left(self.where, self.path)
            if not self.raw_text:  # as where all rows are read: text does not tell how many there are
                self._rows = sum(piece.rows or 0 for piece in pieces)
        return pieces

    def parts(self, target_rows: int = PART_ROWS, each: Each = in_threads) -> list[Part]:
        """Ranges of row groups, record batches or rows, or of the bytes of text."""
        pieces = self.pieces(target_rows, each)
        parts = list(map(self._part, pieces))
        if any(piece.before is None for piece in pieces):
            return [ChainedParts(tuple(parts), self.path)]
        return list(parts)

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """One pass over everything."""
        done = 0
        data = self.counted() if self.layout.extra or self.where else self.data  # whose types must agree
        parts = ChainedParts(tuple(map(self._part, data.split())), self.path, self.where)
        for record in parts.batches(fields, rows):
            done += record.rows
            yield record
        self._rows = done

    def _part(self, piece: Piece) -> PiecePart:
        return PiecePart(piece, self._plan, self.path, self.where)

    @property
    def _plan(self) -> Plan:
        if self._settled is None:
            try:
                self._settled = self._settle()
            except InputError as error:
                for piece in self.data.pieces:
                    piece.verify()
                raise error.at(file=self.path) from None
        return self._settled

    def _settle(self) -> Plan:
        layout, wanted = self.layout, self._wanted or Axes()
        widths = self.data.widths(layout) | ({} if self.encoding is None else {"features": self.encoding.width})
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
            classes = two_classes(self.data, layout, layout.lone_class)
        if classes is None:
            classes = seen_classes(self.data, layout)
        elif width is not None:
            column = layout.feeds[listed[0]].columns[0]
            if width != len(classes):
                expected = f"lists of {len(classes)} entries, one a class"
                remedy = "use the same classes in the reference and the target"
                raise InputError(expected, got=f"{width}", file=self.path, row=1, column=column, remedy=remedy)
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
        layout, stated = self.layout, self.data.first.classes if self.data.first.binding else None
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
        stated, wide = self.data.first.classes, self.layout.wide_classes
        if stated is None:
            return wide
        if wide is not None:
            if sorted(map(str, stated)) == sorted(map(str, wide)):
                return stated  # the names beside the columns know their types
            if not self.data.first.binding:
                return wide
            expected = f"classes that are those of the columns ({', '.join(map(str, wide[:6]))})"
            got = ", ".join(map(str, stated[:6]))
            raise InputError(expected, got=got, column="classes", remedy="name the classes once")
        if width is not None and len(stated) != width:
            expected = f"{width} class names, as many as lists have entries"
            got = f"{len(stated)}"
            raise InputError(expected, got=got, column="classes", remedy="name every class once, in their order")
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
            own = feed.names if feed.wide else self.data.first.stated_names.get(axis)
            if feed.kind == "raw" and self.encoding is not None:
                own = self.encoding.names
            if own is not None and (len(own) != size or len(set(own)) < size):
                expected = f"{size} distinct names, one for each {axis}"
                remedy = "name every entry once, in their order"
                raise InputError(expected, got=f"{len(own)}", column=f"names_{axis}", remedy=remedy)
            order, own = order_along(axis, own, size, feed.wide, self._wanted or Axes(), self.path)
            if order is not None:
                orders[axis] = order
                feeds[name] = feed.ordered(order) if feed.wide else feed
            if own is not None:
                named[axis] = own
        return replace(layout, feeds=feeds), named
