"""Scan: the rows of files, or of a table in memory, that conditions hold of, batch by batch with their places."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, Coded
from ..classes import NO_ANSWER, ClassNames, is_missing_word
from ..errors import InputError, OodometerError, UsageError
from ..fields import FIELDS
from .artifact_cache import checksum
from .base import Each, Order, no_rows
from .columns import AXES, Feed, Kind, Layout, class_names
from .files import Stamp, known_files, translated
from .reader import Reader, TextReader, counted
from .where import Condition, none_left

if TYPE_CHECKING:
    from .encoding import FeatureEncoding

# A batch holds at most about so many numbers, however many classes a row has.
MOST_CELLS = 8_000_000
_ROWS = 65_536
_FEWEST = 1024  # rows of a batch that conditions are asked of: of a few that are wanted the first may stand far down
Places = int | Array
"""Rows of a batch in its file, counted from 0: the first one where they follow one another, else each."""


@dataclass(frozen=True)
class Plan:
    """What to read and how: the feeds, the classes to encode by, the widths of lists, rows in a batch.

    ``orders`` bring list columns into line, axis by axis; ``named`` are the names of the axes model, view, judge and
    feature once they are. ``positions`` says that labels and predictions are positions among candidates; ``encoding``
    makes features of the user's own columns; ``others`` says that labels may be of classes that are none of these.
    """

    layout: Layout
    feeds: tuple[Feed, ...]
    classes: ClassNames | None
    widths: Mapping[str, int] = field(default_factory=dict)
    orders: Mapping[str, Order] = field(default_factory=dict)
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rows: int = _ROWS
    positions: bool = False
    encoding: FeatureEncoding | None = None
    others: bool = False

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Names of the axes of the fields that are read."""
        axes = {AXES[f.field] for f in self.feeds if f.field in AXES}
        return {axis: names for axis, names in self.named.items() if axis in axes}


def row_at(places: Places, at: int) -> int:
    """The row, from 0, of an entry of a batch."""
    return places + at if isinstance(places, int) else int(places[at])


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of one file, or of a table in memory: those that all conditions of ``where`` hold of.

    values : what the names of folders say, as further columns. stamp : the file as it was. in_file : rows of the file
    before these. before : rows that are left before these in all files; None where only a pass can tell. left : rows
    that are left here, once they were counted.
    """

    reader: Reader
    values: Mapping[str, Any] = field(default_factory=dict)
    where: tuple[Condition, ...] = ()
    stamp: Stamp | None = None
    in_file: int = 0
    before: int | None = 0
    left: int | None = None

    @property
    def file(self) -> str | None:
        """The path of the file."""
        return self.reader.file

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the file, and those that its folders name."""
        return (*self.reader.columns, *self.values)

    @property
    def rows(self) -> int | None:
        """Rows that are left, as far as is known."""
        return self.left if self.where else self.reader.rows

    @property
    def cast(self) -> str:
        """What else decides how cells are read and which rows are left, besides the plan and the file itself."""
        return repr((self.reader.cast, self.reader.rows, self.where)) if self.where else self.reader.cast

    def verify(self) -> None:
        """Raise `InputError` if the file is not what it was."""
        if self.stamp is not None and self.file is not None:
            self.stamp.verify(self.file)

    def tables(self, kinds: Mapping[str, Kind], rows: int) -> Iterator[tuple[Any, Places]]:
        """Record batches of at most ``rows`` rows that hold the columns of ``kinds`` (perhaps more), and their places.

        What cannot hold rows that the conditions hold of is not read. Errors name the file and the row in it.
        """
        import pyarrow as pa

        from .cells import lone_cell
        from .npz import column_of

        read = {**{condition.column: condition.kind or "any" for condition in self.where}, **kinds}
        own = {name: kind for name, kind in read.items() if name not in self.values}
        ranges = self.reader.split(self.reader.rows or 1, self.where) if self.where else [(self.reader, 0)]
        for reader, before in ranges:
            first, done = self.in_file + before, 0
            try:
                for batch in reader.tables(own or {reader.columns[0]: "any"}, max(rows, _FEWEST * bool(self.where))):
                    if self.values:
                        columns = [
                            pa.repeat(lone_cell(self.values[name])[0], batch.num_rows)
                            if name in self.values
                            else batch.column(name)
                            for name in read
                        ]
                        batch = pa.record_batch(columns, names=list(read))
                    if not self.where:
                        yield batch, first + done
                    else:
                        places = self._matching(batch, done)
                        for at in range(0, len(places), rows):
                            some = places[at : at + rows]
                            columns = [batch.column(name) for name in kinds]
                            if len(some) < batch.num_rows:
                                columns = [cells.take(column_of(some, "number", "rows")) for cells in columns]
                            yield pa.record_batch(columns, names=list(kinds)), some + (first + done)
                    done += batch.num_rows
            except InputError as error:
                raise error.at(file=self.file, row_offset=first) from None
        self.verify()

    def _matching(self, batch: Any, done: int) -> Array:
        """The places in a batch of the rows that all conditions hold of."""
        from .predicates import matches

        reader, out = self.reader, np.ones(batch.num_rows, dtype=bool)
        try:
            with translated(self.file, reader.form):
                for condition in self.where:
                    written_as = reader.cell_type(condition.column) if reader.text and condition.kind == "any" else None
                    out &= matches(batch.column(condition.column), condition, reader.text, written_as, reader.comma)
        except InputError as error:
            raise error.at(row_offset=done) from None
        except UsageError as error:
            raise UsageError(f"{self.file}: {error}" if self.file else str(error)) from None
        return np.flatnonzero(out)

    def chunks(self, plan: Plan) -> Iterator[tuple[dict[str, Any], Places]]:
        """Arguments of `Predictions.from_arrays` for batch after batch, and their places."""
        cells = sum(len(feed.columns) if feed.wide else plan.widths.get(feed.field, 1) for feed in plan.feeds)
        rows = max(1, min(plan.rows, max(1024, MOST_CELLS // max(cells, 1))))
        for batch, places in self.tables(plan.layout.kinds(plan.feeds), rows):
            if batch.num_rows:
                with self.located(places):
                    arrays = self._decoded(batch, plan)
                yield arrays, places

    def _decoded(self, batch: Any, plan: Plan) -> dict[str, Any]:
        from . import cells as decode

        arrays: dict[str, Any] = {}
        slices: dict[str, Any] = {}
        for feed in plan.feeds:
            if feed.kind == "raw" and plan.encoding is not None:
                given = zip(plan.encoding.users, feed.columns, strict=True)
                cells = {user.name: batch.column(column) for user, column in given}
                arrays[feed.field] = plan.encoding.encode(cells, self.reader.text, self.reader.comma)
                slices = plan.encoding.slices(arrays[feed.field])
                continue
            width = plan.widths.get(feed.field)
            if plan.positions and FIELDS[feed.field].cell == "class":
                values: Any = decode.positions(batch, feed, self.reader.text)
            else:
                values = decode.field(batch, feed, plan.classes, self.reader.text, width, plan.others)
            for at, axis in enumerate(FIELDS[feed.field].axes if plan.orders and not feed.wide else ()):
                if axis in plan.orders and isinstance(values, Coded):
                    values = Coded(np.take(values.codes, plan.orders[axis], axis=at), values.values)
                elif axis in plan.orders:
                    values = np.take(values, plan.orders[axis], axis=at)
            arrays[feed.field] = values
        extra = {name: decode.extra(batch, column) for name, column in plan.layout.extra.items()}
        arrays["columns"] = {**slices, **extra}
        return arrays

    def widths(self, layout: Layout) -> dict[str, int]:
        """Lengths of the lists in list columns, as the first row has them; nothing where there is no row."""
        from . import cells as decode

        lists = ("numbers", "nested", "classes", "truths")
        feeds = [feed for feed in layout.feeds.values() if not feed.wide and feed.kind in lists]
        for batch, places in self.tables(layout.kinds(feeds, extra=False), 1) if feeds else ():
            if batch.num_rows:
                out: dict[str, int] = {}
                with self.located(places):
                    for feed in feeds:
                        out |= decode.widths(decode.plain(batch.column(feed.columns[0])).slice(0, 1), feed)
                return out
        return {}

    def coded(self, plan: Plan) -> Iterator[tuple[str, Places, Coded]]:
        """Class columns alone, batch after batch, to find out which classes occur: column, places, codes and values."""
        from . import cells as decode

        for batch, places in self.tables(plan.layout.kinds(plan.feeds, extra=False), plan.rows):
            for feed in plan.feeds:
                for name in feed.columns:
                    with self.located(places):
                        codes = decode.seen(batch.column(name), feed, name, self.reader.text)
                    yield name, places, codes

    @contextmanager
    def located(self, places: Places) -> Iterator[None]:
        """Errors about a batch with these places name the file and the row in it; damage that only decoding shows is
        one of them.
        """
        try:
            with translated(self.file, self.reader.form):
                yield
        except InputError as error:
            offset = 0 if error.row is None else row_at(places, error.row - 1) + 1 - error.row
            raise error.at(file=self.file, row_offset=offset) from None


@dataclass(frozen=True)
class DataSet:
    """Files of the same columns, one after another, or a table in memory; ``path`` is what they are called together."""

    path: str | None
    pieces: tuple[Piece, ...]
    columns: tuple[str, ...]  # those that all files have

    @property
    def first(self) -> Reader:
        """What is the same in all files stands in the reader of the first."""
        return self.pieces[0].reader

    @property
    def name(self) -> str:
        """The path, or what kind of table it is."""
        return self.path or self.first.form

    @property
    def rows(self) -> int | None:
        """Rows that are left, as far as is known."""
        rows = [piece.rows for piece in self.pieces]
        return None if None in rows else sum(n for n in rows if n is not None)

    def of(self, pieces: Iterable[Piece]) -> DataSet:
        """The same of other pieces."""
        return replace(self, pieces=tuple(pieces))

    def bound(self, layout: Layout) -> DataSet:
        """The same, the meaning of its columns known."""
        return self.of(replace(piece, reader=piece.reader.bound(layout)) for piece in self.pieces)

    def filtered(self, where: Sequence[Condition]) -> DataSet:
        """The rows that all conditions hold of; `InputError` where folders say that there are none."""
        if not where:
            return self
        from .predicates import may_match

        pieces = [
            replace(piece, where=tuple(condition for condition in where if condition.column not in piece.values))
            for piece in self.pieces
            if may_match(where, piece.values)
        ]
        if not pieces:
            raise none_left(where, self.path)
        return self.of(pieces)

    def holds_cells(self, column: str) -> bool:
        """Whether the column has one cell a row."""
        return column in self.pieces[0].values or self.first.holds_cells(column)

    def counted(self, each: Each, columns: Collection[str]) -> DataSet:
        """Text files counted where parts need it, all at a time, and the types of ``columns`` alike in all of them;
        of several files those without rows are left out. ``each`` looks at the files.
        """
        readers = [piece.reader for piece in self.pieces if isinstance(piece.reader, TextReader)]
        if len(readers) < len(self.pieces):
            return self
        stamps = [piece.stamp for piece in self.pieces]
        alone = self.path == self.first.file
        size = (0 if stamps[0] is None else stamps[0].size) if alone else None
        pairs = zip(self.pieces, counted(readers, stamps, columns, each, size), strict=True)
        pieces = [replace(piece, reader=reader) for piece, reader in pairs if reader.rows or alone]
        if not pieces:
            raise no_rows(self.path)
        return self.of(pieces)

    def split(self, target_rows: int | None = None) -> list[Piece]:
        """Pieces of about so many rows, none of which holds rows of two files; without ``target_rows`` each file."""
        out: list[Piece] = []
        before = 0 if self.rows is not None or len(self.pieces) == 1 else None
        for piece in self.pieces:
            whole = [(piece.reader, 0)]
            for reader, done in whole if target_rows is None else piece.reader.split(target_rows, piece.where):
                begin = None if before is None else before + done
                out.append(replace(piece, reader=reader, in_file=done, before=begin))
            before = None if before is None else before + (piece.rows or 0)
        return out

    def widths(self, layout: Layout) -> dict[str, int]:
        """Lengths of the lists in list columns, as the first row has them."""
        return next((widths for piece in self.pieces if (widths := piece.widths(layout))), {})


def counted_pieces(pieces: Sequence[Piece], each: Each) -> list[Piece]:
    """Pieces that know how many rows are left in them and before them; those without any are left out.

    ``each`` counts them; what is known of a piece of a file (`known_files`) is not counted again.
    """
    facts = known_files()
    names = [f"left {checksum(str(piece.in_file), piece.cast)}" for piece in pieces]
    counts = [
        facts.get(str(piece.file), piece.stamp, name) if piece.where else piece.rows
        for piece, name in zip(pieces, names, strict=True)
    ]
    lacking = [i for i, count in enumerate(counts) if count is None]
    for i, count in zip(lacking, each(_count, [pieces[i] for i in lacking]), strict=True):
        counts[i] = count
        if pieces[i].file is not None:
            facts.put(str(pieces[i].file), pieces[i].stamp, names[i], count)
    out, before = [], 0
    for piece, count in zip(pieces, counts, strict=True):
        if count:
            out.append(replace(piece, left=count, before=before))
        before += count or 0
    return out


def _count(piece: Piece) -> int:
    """Rows of a piece that are left."""
    kinds: dict[str, Kind] = {} if piece.where else {piece.reader.columns[0]: "any"}
    try:
        return sum(
            batch.num_rows if isinstance(places, int) else len(places) for batch, places in piece.tables(kinds, _ROWS)
        )
    except OodometerError:
        piece.verify()  # a file that changed meanwhile is the better explanation
        raise


def seen_classes(data: DataSet, layout: Layout) -> ClassNames | None:
    """The sorted distinct classes of the class columns, by one pass; all integers or all strings."""
    feeds = tuple(f for f in layout.feeds.values() if f.kind in ("class", "classes"))
    if not feeds:
        return None
    plan = Plan(layout, feeds, None)
    of = {column: feed.field for feed in feeds for column in feed.columns}
    classes: dict[Any, None] = {}
    labels: dict[Any, None] = {}
    answered = True
    for column, _, coded in (batch for piece in data.pieces for batch in piece.coded(plan)):
        (labels if of[column] == "label" else classes).update(dict.fromkeys(coded.values))
        answered &= of[column] != "prediction" or not bool((coded.codes < 0).any())
    classes |= {value: None for value in labels if value in classes or not is_missing_word(value)}
    classes.pop(None, None)
    if not answered:
        return (*sorted(map(str, classes)), NO_ANSWER)
    text = data.first.text
    numbers = {
        value: not isinstance(value, str) or (text and isinstance(class_names([value])[0], int)) for value in classes
    }
    if len(set(numbers.values())) < 2:
        return tuple(sorted(int(value) for value in classes)) if all(numbers.values()) else tuple(sorted(classes))
    first = next(iter(numbers))
    other = next(value for value, number in numbers.items() if number != numbers[first])
    error = InputError(
        "classes of one type, all integers or all strings", got=f"{first!r} and {other!r}", remedy="make them one type"
    )
    for piece in data.pieces:
        for column, places, coded in piece.coded(plan):
            hits = coded.codes == (coded.values.index(other) if other in coded.values else -2)
            if hits.any():
                error.column = column
                error.row = row_at(places, int(np.unravel_index(np.argmax(hits), hits.shape)[-1])) + 1
                raise error.at(file=piece.file)
    raise error


def two_classes(data: DataSet, layout: Layout, positive: int | str) -> ClassNames:
    """The classes of a binary model with one column: 0 and 1, else that of the column and the other one seen."""
    if positive in (0, 1):
        return (0, 1)
    seen = seen_classes(data, layout) or ()
    classes = (*seen, *([] if str(positive) in map(str, seen) else [positive]))
    if len(classes) != 2:
        raise InputError(
            f"two classes, {positive!r} and another one",
            got=", ".join(map(repr, classes[:6])),
            column=next(feed.columns[0] for feed in layout.wide_of_classes if feed.lone),
            remedy="name both, --classes a,b",
        )
    return tuple(sorted(classes, key=str))
