"""Reader: one file of one format, or a table in memory, as Arrow record batches; where text may be cut into parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from ..classes import ClassNames
from ..errors import InputError
from .base import Each, rows_of_a_part
from .columns import Kind, Layout
from .files import Stamp, is_packed, known_files

if TYPE_CHECKING:
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


class Reader(ABC):
    """One file (or table in memory) of one format; small, and picklable for workers. Rows in its errors count from its
    first row.
    """

    form: str
    file: str | None
    columns: tuple[str, ...]
    rows: int | None
    text = False  # whether cells are text whose type has to be found out
    comma = False  # whether its numbers have a decimal comma
    classes: ClassNames | None  # class names that the file states apart from its columns
    binding = False  # whether they stand beside the arrays; else a note that other tools may have left behind
    stated_names: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # likewise of the axes in AXES
    cast = ""  # what else decides how cells are read, besides the plan and the file itself

    @abstractmethod
    def tables(self, kinds: Mapping[str, Kind], rows: int) -> Iterator[Any]:
        """Record batches of at most ``rows`` rows that hold the columns of ``kinds`` (perhaps more)."""

    def bound(self, layout: Layout) -> Reader:
        """The reader once the meaning of its columns is known."""
        return self

    def holds_cells(self, column: str) -> bool:
        """Whether the column has one cell a row."""
        return True

    def cell_type(self, column: str) -> Any:
        """The type that the cells of a column are written as, where all are written as text; None else."""
        return None

    def split(self, target_rows: int, where: Sequence[Condition] = ()) -> list[tuple[Reader, int]]:
        """Readers of consecutive rows, each with the number of rows before it; those of which the file itself says that
        the conditions hold of none are left out.
        """
        return [(self, 0)]


_SMALL = 4 << 20  # bytes of a file alone that is not worth cutting
_TYPE = "type of "


@dataclass(frozen=True, kw_only=True)
class TextReader(Reader):
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
    def facts(self) -> dict[str, Any]:
        """What opening the file found, as plain values."""

    @classmethod
    @abstractmethod
    def from_facts(cls, path: str, facts: Mapping[str, Any]) -> Self:
        """The reader that opening the file would give."""

    @abstractmethod
    def index(self) -> TextIndex:
        """How many rows the whole file has, by one pass, and where it may be cut."""

    def type_of(self, column: str) -> str:
        """The type of a column that no name gives; a pass finds it where ``finds_types`` says so."""
        raise NotImplementedError

    @classmethod
    def agreeing(cls, readers: Sequence[Self], types: Mapping[str, Sequence[str]]) -> list[Self]:
        """Readers that read columns, whose types in each of them are given, alike."""
        return list(readers)

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
            (replace(self, start=start, end=end, before=before, rows=after - before, marks=()), before)
            for (start, before), (end, after) in zip(cuts, ends, strict=True)
        ]


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
    cut = size is None or (size > _SMALL and not is_packed(readers[0].file))
    facts_wanted = [*["index"] * cut, *(f"{_TYPE}{name}" for name in wanted if kind.finds_types)]
    files = list(zip(readers, stamps, strict=True))
    facts = [
        {what: fact for what in facts_wanted if (fact := known.get(reader.file, stamp, what)) is not None}
        for reader, stamp in files
    ]
    lacking = [i for i, own in enumerate(facts) if len(own) < len(facts_wanted)]
    for i, looked in zip(lacking, each(partial(_look, asked=facts_wanted), [files[i] for i in lacking]), strict=True):
        facts[i] = looked
        for what, fact in looked.items():
            known.put(readers[i].file, stamps[i], what, fact)
    types = {
        name: [own.get(f"{_TYPE}{name}") or reader.type_of(name) for own, reader in zip(facts, readers, strict=True)]
        for name in wanted
    }
    out = kind.agreeing(readers, types)
    if not cut:
        return out
    indexes = [own["index"] for own in facts]
    return [
        replace(reader, rows=rows, marks=tuple((at, before) for at, before in marks))
        for reader, (rows, marks) in zip(out, indexes, strict=True)
    ]


def _look(file: tuple[TextReader, Stamp | None], asked: Sequence[str]) -> dict[str, Any]:
    """What a pass over a file finds: its index, and types of columns."""
    reader, stamp = file
    try:
        return {
            what: reader.type_of(what.removeprefix(_TYPE)) if what.startswith(_TYPE) else [*reader.index()]
            for what in asked
        }
    except InputError:
        if stamp is not None:
            stamp.verify(reader.file)  # a file that changed meanwhile is the better explanation
        raise
