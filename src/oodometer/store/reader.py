"""Reader: what each format gives, raw columns in batches, and how a batch becomes arrays for the door."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from ..arrays import Coded
from ..classes import NO_ANSWER, ClassNames, is_missing_word
from ..errors import InputError
from ..fields import FIELDS
from .base import Each, Order, rows_of_a_part
from .columns import AXES, Feed, Kind, Layout, class_names
from .files import KnownFiles, Stamp, is_packed, known_files, translated

if TYPE_CHECKING:
    from .encoding import FeatureEncoding
    from .where import Condition


_STEP = 1 << 20
_MARK = b"\xef\xbb\xbf"
_LINE, _RETURN, _QUOTE, _BLANK = 10, 13, 34, 32


class TextIndex(NamedTuple):
    """Rows of a text file; ``marks`` are (byte at which a row begins, rows before it), none where it may not be cut."""

    rows: int
    marks: tuple[tuple[int, int], ...] = ()


def filled_lines(block: bytes) -> int:
    """Lines that hold more than blanks; the last one need not end.

    >>> filled_lines(b'{"a": 1}\\n\\n  \\n {"a": 2}')
    2
    """
    cells = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(cells == _LINE)
    begins = np.concatenate([[0], ends + 1])
    begins = begins[begins < len(cells)]
    if not (cells[begins] <= _BLANK).any():
        return len(begins)
    return sum(1 for line in block.split(b"\n") if line.strip())


def index_cells(stream: Any, delimiter: str) -> TextIndex | None:
    """The index of CSV text of more than one column; None where it is not sure that it is right.

    A line ends outside of quotes. Quotes are counted, which tells inside from outside as long as each that opens
    stands at the beginning of a cell, and each other one behind it doubles the one before. Text of which that is not
    true, with a carriage return alone, or with quotes that stay open has no index: only its reader can tell its rows.

    >>> import io
    >>> index_cells(io.BytesIO(b'a,b\\n1,"x\\n""y""z"\\n\\n2,z'), ",").rows
    2
    >>> index_cells(io.BytesIO(b'a,b\\n1,5" disk\\n2,"z"'), ",") is None
    True
    """
    begins = (ord(delimiter), _LINE, _RETURN, _QUOTE)
    base = rows = line = 0  # first byte of the block; lines that are filled; where the line began
    inside, last = 0, _LINE
    marks: list[tuple[int, int]] = []
    while data := bytes(stream.read(_STEP)):
        if data.endswith(b"\r"):
            data += bytes(stream.read(1))
        if not base and data.startswith(_MARK):
            data, base, line = data[len(_MARK) :], len(_MARK), len(_MARK)
        cells = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(cells == _QUOTE) if b'"' in data else np.zeros(0, np.intp)
        if len(quotes):
            opening = quotes[inside::2]
            before = np.where(opening > 0, cells[opening - 1], last)
            if not np.isin(before, begins).all():
                return None
        ends = np.flatnonzero(cells == _LINE)
        returned = np.zeros(len(ends), bool)
        if b"\r" in data:
            returns = np.flatnonzero(cells == _RETURN)
            if returns[-1] == len(cells) - 1 or (cells[returns + 1] != _LINE).any():
                return None
            returned = np.where(ends > 0, cells[ends - 1], last) == _RETURN
        outside = (np.searchsorted(quotes, ends) + inside) % 2 == 0
        ends, returned = ends[outside] + base, returned[outside]
        if len(ends):
            lengths = ends - returned - np.concatenate([[line], ends[:-1] + 1])
            rows += int(np.count_nonzero(lengths > 0))
            line = int(ends[-1]) + 1
            if rows:
                marks.append((line, rows - 1))
        inside = (inside + len(quotes)) % 2
        base, last = base + len(data), int(cells[-1]) if len(cells) else last
    if inside:
        return None
    rows += base > line
    return TextIndex(max(rows - 1, 0), tuple(marks))


def spread(marks: Iterable[tuple[int, int]], rows: int, wanted: int) -> list[tuple[int, int, int]]:
    """Pieces of at least ``wanted`` rows but the last: first byte, rows before, rows.

    >>> spread(((10, 2), (20, 5), (30, 6)), 9, 4)
    [(0, 0, 5), (20, 5, 4)]
    """
    out, first, before = [], 0, 0
    for at, done in marks:
        if done - before >= wanted and done < rows:
            out.append((first, before, done - before))
            first, before = at, done
    return [*out, (first, before, rows - before)]


# A batch holds at most about so many numbers, however many classes a row has.
MOST_CELLS = 8_000_000
# Column of batches that do not hold all rows: the place of each among those that their reader went through.
PLACE = "\0place"


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
    rows: int = 65_536
    positions: bool = False
    encoding: FeatureEncoding | None = None
    others: bool = False

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Names of the axes of the fields that are read."""
        axes = {AXES[f.field] for f in self.feeds if f.field in AXES}
        return {axis: names for axis, names in self.named.items() if axis in axes}


class Piece(NamedTuple):
    """Consecutive rows of one file: their reader, the rows before them in all and in the file, the file's stamp.

    ``before`` is None where only a pass over the files before it can tell.
    """

    reader: Reader
    before: int | None
    in_file: int
    stamp: Stamp | None = None


class Reader(ABC):
    """One file (or table in memory) of one format; small, and picklable for workers."""

    form: str
    file: str | None
    columns: tuple[str, ...]
    rows: int | None
    text = False  # whether cells are text whose type has to be found out
    comma = False  # whether its numbers have a decimal comma
    classes: ClassNames | None  # class names that the file states apart from its columns
    binding = False  # whether they stand beside the arrays; else a note that other tools may have left behind
    stated_names: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # likewise of the axes in AXES

    @abstractmethod
    def chunks(self, plan: Plan) -> Iterator[dict[str, Any]]:
        """Arguments of `Predictions.from_arrays` for consecutive rows; rows in errors count from the reader's first."""

    @abstractmethod
    def tables(self, kinds: Mapping[str, Kind], rows: int) -> Iterator[Any]:
        """Record batches of at most ``rows`` rows that hold the columns of ``kinds`` (perhaps more)."""

    @abstractmethod
    def widths(self, layout: Layout) -> dict[str, int]:
        """Lengths of the lists in list columns, as the first row has them."""

    @abstractmethod
    def coded(self, plan: Plan) -> Iterator[tuple[str, Callable[[int], int], Coded]]:
        """Class columns batch after batch, to find out which classes occur: column, codes and values, and what gives
        the row, from 1, of a place in the batch.
        """

    def bound(self, layout: Layout) -> Reader:
        """The reader once the meaning of its columns is known."""
        return self

    def holds_cells(self, column: str) -> bool:
        """Whether the column has one cell a row."""
        return True

    def counted(self, each: Each, columns: Collection[str], stamp: Stamp | None) -> Reader:
        """The reader once its rows are counted where parts need it, and the types of ``columns`` are the same in all
        its files; ``each`` looks at the files.
        """
        return self

    def each_file(self, work: Callable[[Reader], Reader | None]) -> Reader | None:
        """What ``work`` makes of the reader of each file, without those of which it makes None; None where all are."""
        return work(self)

    def unsettled(self, where: Sequence[Condition]) -> Sequence[Condition] | None:
        """The conditions that rows have to be asked; None where it is known that they hold of none."""
        return where

    def narrowed(self, where: Sequence[Condition], target_rows: int) -> list[Piece] | None:
        """The pieces that may hold rows for which the conditions hold; None where only reading can tell."""
        return None

    @property
    def text_file(self) -> TextReader | None:
        """The text file that it reads, if it is one."""
        return None

    def with_text_file(self, reader: TextReader) -> Reader:
        """The same of another text file."""
        raise NotImplementedError

    @property
    def cast(self) -> str:
        """What else decides how cells are read, besides the plan and the file itself."""
        return ""

    def split(self, target_rows: int) -> list[Piece]:
        """Readers of consecutive pieces, each with the number of rows before it."""
        return [Piece(self, 0, 0)]

    def files_whole(self) -> list[Piece]:
        """Each file in one piece."""
        return [Piece(self, 0, 0)]

    def placed(self, error: InputError) -> InputError:
        """The error, whose row counts from the first one here, in the file that holds it."""
        return error.at(file=self.file)


class TableReader(Reader):
    """A format that gives Arrow record batches."""

    def chunks(self, plan: Plan) -> Iterator[dict[str, Any]]:
        """Decode batch after batch."""
        from . import cells as decode

        done = 0
        for batch in self.tables(plan.layout.kinds(plan.feeds), _fitting(plan)):
            if batch.num_rows:
                with self._counted(done, batch):
                    arrays = self._decoded(batch, plan)
                done += batch.num_rows
                if PLACE in batch.schema.names:
                    arrays["places"] = decode.numbers_of(batch.column(PLACE))
                yield arrays

    def _decoded(self, batch: Any, plan: Plan) -> dict[str, Any]:
        from . import cells as decode

        arrays: dict[str, Any] = {}
        slices: dict[str, Any] = {}
        for feed in plan.feeds:
            if feed.kind == "raw" and plan.encoding is not None:
                given = zip(plan.encoding.users, feed.columns, strict=True)
                cells = {user.name: batch.column(column) for user, column in given}
                arrays[feed.field] = plan.encoding.encode(cells, self.text, self.comma)
                slices = plan.encoding.slices(arrays[feed.field])
                continue
            width = plan.widths.get(feed.field)
            if plan.positions and FIELDS[feed.field].cell == "class":
                arrays[feed.field] = decode.positions(batch, feed, self.text)
            else:
                arrays[feed.field] = decode.field(batch, feed, plan.classes, self.text, width, plan.others)
            if plan.orders and not feed.wide:
                values = arrays[feed.field]
                for place, axis in enumerate(FIELDS[feed.field].axes):
                    if axis in plan.orders and isinstance(values, Coded):
                        values = Coded(np.take(values.codes, plan.orders[axis], axis=place), values.values)
                    elif axis in plan.orders:
                        values = np.take(values, plan.orders[axis], axis=place)
                arrays[feed.field] = values
        extra = {name: decode.extra(batch, column) for name, column in plan.layout.extra.items()}
        arrays["columns"] = {**slices, **extra}
        return arrays

    def widths(self, layout: Layout) -> dict[str, int]:
        """Read one row for its list columns."""
        from . import cells as decode

        lists = ("numbers", "nested", "classes", "truths")
        feeds = [feed for feed in layout.feeds.values() if not feed.wide and feed.kind in lists]
        out: dict[str, int] = {}
        if not feeds:
            return out
        for batch in self.tables(layout.kinds(feeds, extra=False), 1):
            if batch.num_rows:
                with self._counted(0, batch):
                    for feed in feeds:
                        out |= decode.widths(decode.plain(batch.column(feed.columns[0])).slice(0, 1), feed)
                break
        return out

    def coded(self, plan: Plan) -> Iterator[tuple[str, Callable[[int], int], Coded]]:
        """Read the class columns alone."""
        from . import cells as decode

        done = 0
        for batch in self.tables(plan.layout.kinds(plan.feeds, extra=False), plan.rows):
            for feed in plan.feeds:
                for name in feed.columns:
                    with self._counted(done, batch):
                        codes = decode.seen(batch.column(name), feed, name, self.text)
                    yield name, partial(_row_of, batch, done), codes
            done += batch.num_rows

    @contextmanager
    def _counted(self, done: int, batch: Any) -> Iterator[None]:
        """Errors get the rows before the batch added, and damage that only decoding shows is one of them."""
        try:
            with translated(self.file, self.form):
                yield
        except InputError as error:
            raise in_reader(error, batch, done) from None


def _row_of(batch: Any, done: int, at: int) -> int:
    """The row, from 1, of a place in a batch."""
    return done + at + 1 if PLACE not in batch.schema.names else int(batch.column(PLACE)[at].as_py()) + 1


@dataclass(frozen=True)
class WrappedReader(TableReader):
    """A reader with something more; everything else is that of the reader within."""

    inner: Reader

    def __post_init__(self) -> None:
        for name in ("form", "file", "columns", "text", "comma", "classes", "binding"):
            object.__setattr__(self, name, getattr(self.inner, name))
        object.__setattr__(self, "stated_names", dict(self.inner.stated_names))

    def bound(self, layout: Layout) -> Reader:
        """The same of the reader within."""
        return replace(self, inner=self.inner.bound(layout))

    def holds_cells(self, column: str) -> bool:
        """Whether the column has one cell a row."""
        return self.inner.holds_cells(column)

    @property
    def text_file(self) -> TextReader | None:
        """That of the reader within."""
        return self.inner.text_file

    def with_text_file(self, reader: TextReader) -> Reader:
        """The same of another text file."""
        return replace(self, inner=self.inner.with_text_file(reader))

    def of_pieces(self, pieces: Sequence[Piece]) -> list[Piece]:
        """The same of each piece of the reader within."""
        return [one._replace(reader=replace(self, inner=one.reader)) for one in pieces]


def in_reader(error: InputError, batch: Any, done: int) -> InputError:
    """An error whose row counts from the first of a batch, counted from the first of its reader."""
    if error.row is None or PLACE not in batch.schema.names:
        return error.at(row_offset=done)
    return error.at(row_offset=batch.column(PLACE)[error.row - 1].as_py() + 1 - error.row)


def _fitting(plan: Plan) -> int:
    cells = sum(len(feed.columns) if feed.wide else plan.widths.get(feed.field, 1) for feed in plan.feeds)
    return max(1, min(plan.rows, max(1024, MOST_CELLS // max(cells, 1))))


def seen_classes(reader: Reader, layout: Layout) -> ClassNames | None:
    """The sorted distinct classes of the class columns, by one pass; all integers or all strings."""
    feeds = tuple(f for f in layout.feeds.values() if f.kind in ("class", "classes"))
    if not feeds:
        return None
    plan = Plan(layout, feeds, None)
    of = {column: feed.field for feed in feeds for column in feed.columns}
    found: dict[Any, None] = {}
    labels: dict[Any, None] = {}
    answered = True
    for column, _, coded in reader.coded(plan):
        (labels if of[column] == "label" else found).update(dict.fromkeys(coded.values))
        answered &= of[column] != "prediction" or not bool((coded.codes < 0).any())
    found |= {value: None for value in labels if value in found or not is_missing_word(value)}
    found.pop(None, None)
    if not answered:
        return (*sorted(map(str, found)), NO_ANSWER)
    numbers = {value: _is_number(value, reader.text) for value in found}
    if len(set(numbers.values())) > 1:
        raise _mixed(numbers, reader, plan)
    if all(numbers.values()):
        return tuple(sorted(int(value) for value in found))
    return tuple(sorted(found))


def two_classes(reader: Reader, layout: Layout, positive: int | str) -> ClassNames:
    """The classes of a binary model with one column: 0 and 1, else that of the column and the other one seen."""
    if positive in (0, 1):
        return (0, 1)
    seen = seen_classes(reader, layout) or ()
    found = (*seen, *([] if str(positive) in map(str, seen) else [positive]))
    if len(found) != 2:
        raise InputError(
            f"two classes, {positive!r} and another one",
            got=", ".join(map(repr, found[:6])),
            column=next(feed.columns[0] for feed in layout.wide_of_classes if feed.lone),
            remedy="name both, --classes a,b",
        )
    return tuple(sorted(found, key=str))


def _is_number(value: Any, text: bool) -> bool:
    return not isinstance(value, str) or (text and isinstance(class_names([value])[0], int))


def _mixed(numbers: Mapping[Any, bool], reader: Reader, plan: Plan) -> InputError:
    """The error that names the first row whose class is not of the first one's type."""
    first = next(iter(numbers))
    other = next(value for value, number in numbers.items() if number != numbers[first])
    error = InputError(
        "classes of one type, all integers or all strings", got=f"{first!r} and {other!r}", remedy="make them one type"
    )
    for piece in reader.files_whole():
        for column, row_of, coded in piece.reader.coded(plan):
            hits = coded.codes == (coded.values.index(other) if other in coded.values else -2)
            if hits.any():
                error.column = column
                error.row = piece.in_file + row_of(int(np.unravel_index(np.argmax(hits), hits.shape)[-1]))
                return error.at(file=piece.reader.file)
    return error


_SMALL = 4 << 20  # bytes of a file alone that is not worth cutting


@dataclass(frozen=True)
class _Facts:
    """What a pass over a file found: where its rows are (None: not looked for), and types of columns by name."""

    index: TextIndex | None
    types: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class TextReader(TableReader):
    """A format of text: bytes ``start`` to ``end`` (None: the last) of a file; ``before`` counts the rows before them.

    ``rows`` and ``marks`` are known once the file was counted; only a whole file has marks.
    """

    file: str
    columns: tuple[str, ...]
    start: int = 0
    end: int | None = None
    before: int = 0
    rows: int | None = None
    marks: tuple[tuple[int, int], ...] = ()
    finds_types: ClassVar[bool] = False
    classes = None

    @abstractmethod
    def told(self) -> dict[str, Any]:
        """What opening the file found, as plain values."""

    @classmethod
    @abstractmethod
    def recalled(cls, path: str, told: Mapping[str, Any]) -> Self:
        """The reader that opening the file would give."""

    @abstractmethod
    def index(self) -> TextIndex:
        """How many rows the whole file has, by one pass, and where it may be cut."""

    def type_of(self, column: str) -> str:
        """The type of a column that no name gives; a pass finds it where ``finds_types`` says so."""
        raise NotImplementedError

    def cell_type(self, column: str) -> Any:
        """The type that the cells of such a column are written as, where all are written as text; None else."""
        return None

    @property
    def text_file(self) -> TextReader:
        """Itself."""
        return self

    def with_text_file(self, reader: TextReader) -> TextReader:
        """The other."""
        return reader

    @classmethod
    def agreeing(cls, readers: Sequence[Self], types: Mapping[str, Sequence[str]]) -> list[Self]:
        """Readers that read columns, whose types in each of them are given, alike."""
        return list(readers)

    def split(self, target_rows: int) -> list[Piece]:
        """Ranges of at least ``target_rows`` rows, where the file may be cut; else the whole."""
        if self.rows is None or not self.marks:
            return [Piece(self, 0, 0)]
        pieces = spread(self.marks, self.rows, rows_of_a_part(target_rows, self.rows))
        ends = [*(first for first, _, _ in pieces[1:]), None]
        return [
            Piece(replace(self, start=first, end=end, before=before, rows=rows, marks=()), before, before)
            for (first, before, rows), end in zip(pieces, ends, strict=True)
        ]

    def counted(self, each: Each, columns: Collection[str], stamp: Stamp | None) -> TextReader:
        """The same, counted where it is worth cutting."""
        return counted([self], [stamp], columns, each, size=stamp.size if stamp is not None else 0)[0]

    @property
    def whole(self) -> Self:
        """The whole file, uncounted."""
        return replace(self, start=0, end=None, before=0, rows=None, marks=())

    def in_range(self, error: InputError) -> InputError:
        """An error whose row counts from the first of the file, counted from the first of the range."""
        return error.at(row_offset=-self.before)


def counted(
    readers: Sequence[TextReader],
    stamps: Sequence[Stamp | None],
    columns: Collection[str],
    each: Each,
    size: int | None = None,
) -> list[TextReader]:
    """Readers of whole files that know their rows; types of ``columns`` agree in all of them.

    Files are looked at on whatever ``each`` runs, those that are known already (`known_files`) not at all. ``size`` is
    that of a file alone: a small one, or one that is packed, is one part, and its rows need not be known.
    """
    known, kind = known_files(), type(readers[0])
    wanted = [name for name in columns if all(name in reader.columns for reader in readers)]
    to_find = wanted if kind.finds_types else []
    cut = size is None or (size > _SMALL and not is_packed(readers[0].file))
    found = [_recalled(known, one, stamp, to_find) for one, stamp in zip(readers, stamps, strict=True)]
    lacking = [i for i, one in enumerate(found) if (cut and one.index is None) or len(one.types) < len(to_find)]
    looked = each(partial(_look, columns=tuple(to_find), cut=cut), [(readers[i], stamps[i]) for i in lacking])
    for i, facts in zip(lacking, looked, strict=True):
        found[i] = facts
        if facts.index is not None:
            known.put(readers[i].file, stamps[i], "index", json.loads(json.dumps(facts.index)))
        for name, one in facts.types.items():
            known.put(readers[i].file, stamps[i], f"type of {name}", one)
    types = {
        name: [
            facts.types[name] if name in facts.types else one.type_of(name)
            for facts, one in zip(found, readers, strict=True)
        ]
        for name in wanted
    }
    return [
        replace(reader, rows=facts.index.rows, marks=facts.index.marks) if cut and facts.index is not None else reader
        for reader, facts in zip(kind.agreeing(readers, types), found, strict=True)
    ]


def _look(file: tuple[TextReader, Stamp | None], columns: Sequence[str], cut: bool) -> _Facts:
    reader, stamp = file
    try:
        return _Facts(reader.index() if cut else None, {name: reader.type_of(name) for name in columns})
    except InputError:
        if stamp is not None:
            stamp.verify(reader.file)  # a file that changed meanwhile is the better explanation
        raise


def _recalled(known: KnownFiles, reader: TextReader, stamp: Stamp | None, columns: Sequence[str]) -> _Facts:
    index = known.get(reader.file, stamp, "index")
    types = {name: known.get(reader.file, stamp, f"type of {name}") for name in columns}
    return _Facts(
        None if index is None else TextIndex(index[0], tuple((at, rows) for at, rows in index[1])),
        {name: one for name, one in types.items() if one is not None},
    )
