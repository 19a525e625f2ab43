"""Text reader: a CSV or JSONL file, or a range of its bytes; rows are counted first where parts need their place."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

from ..errors import InputError
from .base import Each, rows_of_a_part
from .files import Stamp, is_packed
from .known_files import KnownFiles, known_files
from .reader import Piece, TableReader
from .text_index import TextIndex, spread

__all__ = ["TextReader", "counted"]

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
        _remember(known, readers[i], stamps[i], facts)
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


def _remember(known: KnownFiles, reader: TextReader, stamp: Stamp | None, facts: _Facts) -> None:
    if facts.index is not None:
        known.put(reader.file, stamp, "index", json.loads(json.dumps(facts.index)))
    for name, one in facts.types.items():
        known.put(reader.file, stamp, f"type of {name}", one)
