"""Reader: one file of one format, or a table in memory, as Arrow record batches; where text may be cut into parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from ..classes import ClassNames
from .base import rows_of_a_part
from .columns import Kind, Layout

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
    """Lines that hold more than blanks; the last one need not end."""
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


def runs_of(groups: Sequence[int], size: int, left: Collection[int] | None = None) -> Iterator[tuple[int, int, int]]:
    """Neighbouring groups of rows with ``size`` rows together: the first, the one after the last, and the rows before
    them. Those not ``left`` are in no run.
    """
    first = before = rows = 0
    for at, count in enumerate((*groups, 0)):
        ends = at == len(groups) or (left is not None and at not in left)
        if rows and (ends or rows >= size):
            yield first, at, before
            first, before, rows = at, before + rows, 0
        if ends:
            first, before = at + 1, before + count
        else:
            rows += count


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
            (replace(self, start=start, end=end, before=before, rows=after - before, marks=()), before)
            for (start, before), (end, after) in zip(cuts, ends, strict=True)
        ]
