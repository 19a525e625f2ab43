"""Texts: the texts of a file of rows, or the contexts of its dialogues, and rows of the same form made of others."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, final

from ...datasets.dialogues import CONTEXTS, TURNS, said, text_key, why_no_reply, with_replies
from ...errors import InputError, UsageError

_PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
LINES, _TABLES = (".jsonl", ".ndjson"), {".csv": ",", ".tsv": "\t"}
_BROKEN = (lzma.LZMAError, zlib.error, EOFError, OSError)
_LONGEST_CELL = 1 << 27

Row = dict[str, Any]


@final
class Rows:
    """A file of rows: JSON lines (``.jsonl``, ``.ndjson``), or a table (``.csv``, ``.tsv``), plain or packed.

    Packed files end in ``.gz``, ``.xz`` or ``.bz2``. Text is UTF-8. Raises `InputError` naming file, row and column.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        inner = path.with_suffix("") if path.suffix.lower() in _PACKED else path
        self.ending = inner.suffix.lower()
        if self.ending not in (*LINES, *_TABLES):
            known = "that ends in .jsonl, .ndjson, .csv or .tsv (or one of them and .gz, .xz, .bz2)"
            raise self.wrong(f"a file of texts {known}", path.name, "convert it, or name it by what it is")
        if not path.is_file():
            raise self.wrong("a file of texts", "a folder" if path.is_dir() else "no such file", "check the path")

    def wrong(
        self, expected: str, got: str, remedy: str = "mend the row", row: int | None = None, column: str | None = None
    ) -> InputError:
        """The error for what is wrong in the file."""
        return InputError(expected, got=got, remedy=remedy, file=str(self.path), row=row, column=column)

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        """Number, from 1 on, and columns of each row."""
        opener = _PACKED.get(self.path.suffix.lower(), open)
        read = 0
        try:
            with opener(self.path, "rt", encoding="utf-8-sig", newline="") as file:
                for row in self._lines(file) if self.ending in LINES else self._table(file):
                    read += 1
                    yield read, row
        except UnicodeDecodeError as error:
            got = f"the byte {error.object[error.start]:#04x}, which none such holds there"
            raise self.wrong("text in UTF-8", got, "save the file as UTF-8", read + 1) from error
        except csv.Error as error:
            raise self.wrong("a row of the table", str(error), row=read + 1) from error
        except _BROKEN as error:
            raise self.wrong("a file that can be read", str(error) or "its end too soon", "fetch it again") from error
        if not read:
            raise self.wrong("at least one row", "none", "check the file")

    def _lines(self, file: IO[str]) -> Iterator[Row]:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise self.wrong("a JSON object", repr(line.strip()[:40]), row=number)
            yield row

    def _table(self, file: IO[str]) -> Iterator[Row]:
        lines = csv.reader(file, delimiter=_TABLES[self.ending], strict=True)
        heads = _next(lines) or []
        twice = next((head for head in heads if heads.count(head) > 1), None)
        if twice is not None:
            raise self.wrong("columns of different names", f"two named {twice!r}", "rename one")
        for number, cells in enumerate(iter(lambda: _next(lines), None), 1):
            if len(cells) != len(heads):
                raise self.wrong(f"{len(heads)} cells", f"{len(cells)}", row=number)
            yield dict(zip(heads, cells, strict=True))

    def written(self, rows: Iterable[Mapping[str, Any]]) -> Callable[[IO[bytes]], None]:
        """What writes rows in the form of this file, not packed."""

        def write(file: IO[bytes]) -> None:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=False)
            table = csv.writer(text, delimiter=_TABLES.get(self.ending, ","), lineterminator="\n")
            for number, row in enumerate(rows):
                if self.ending in LINES:
                    text.write(json.dumps(row, ensure_ascii=False) + "\n")
                else:
                    table.writerows([*([row] if not number else ()), row.values()])
            text.flush()
            text.detach()

        return write


def _next(lines: Iterator[list[str]]) -> list[str] | None:
    """The next row; the longest cell is a setting of the whole process, and so is put back before anyone else sees."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        return next(lines, None)
    finally:
        csv.field_size_limit(before)


TEXT = ("text", "sentence", "review", "content", "input")


def filters_of(where: str | Sequence[str]) -> dict[str, str]:
    """Column -> value of ``COLUMN=VALUE``; `UsageError` for what has another form.

    >>> filters_of("split=test")
    {'split': 'test'}
    """
    given = [where] if isinstance(where, str) else list(where)
    wrong = next((one for one in given if "=" not in one or one.startswith("=")), None)
    if wrong is not None:
        raise UsageError(f"expected COLUMN=VALUE, such as split=test, got {wrong!r}")
    return dict(one.split("=", 1) for one in given)


@final
@dataclass(frozen=True)
class Again:
    """Makes a row of texts again; ``number`` is that of the row in the file.

    >>> Again({"c": []}, "c", ["a", {"role": "user", "content": "b"}], 1)(["B"])
    {'c': [{'role': 'user', 'content': 'B'}]}
    """

    row: Row
    column: str
    turns: list[Any]
    number: int

    def __call__(self, new: Sequence[str]) -> Row:
        """The row with these texts in the place of the last of its turns, all else in them as it is."""
        kept = self.turns[len(self.turns) - len(new) :]
        keys = [text_key(turn) for turn in kept]
        turns = [text if key is None else {**one, key: text} for one, key, text in zip(kept, keys, new, strict=True)]
        return {**self.row, self.column: turns if isinstance(self.row[self.column], (list, type(None))) else turns[0]}


@final
@dataclass(frozen=True)
class Texts:
    """The texts, or contexts of dialogues, of a file; ``dialogues`` is None where either will do."""

    rows: Rows
    column: str | None
    where: Mapping[str, str]
    dialogues: bool | None

    def _turns(self) -> Iterator[tuple[int, Row, str, list[Any]]]:
        """Number and row of those that are asked for, the column of the turns, and these."""
        usual = {True: TURNS, False: TEXT, None: (*TURNS, *TEXT)}[self.dialogues]
        seen = False
        for number, row in self.rows:
            there = f"the columns {', '.join(map(str, row))}"
            lacking = next((name for name in self.where if name not in row), None)
            if lacking is not None:
                raise self.rows.wrong(f"a column {lacking}", there, "name one of them", number)
            if any(str(row[name]) != value for name, value in self.where.items()):
                continue
            seen = True
            column = next((name for name in usual if name in row), None) if self.column is None else self.column
            if column is None:
                expected = f"a column with the {'text' if self.dialogues is False else 'turns'}, such as {usual[0]}"
                remedy = "call it so" if self.dialogues is None else "name it with --column"
                raise self.rows.wrong(expected, there, remedy, number)
            if column not in row:
                raise self.rows.wrong(f"a column {column}", there, "name one of them", number)
            value = row[column]
            turns = list(value) if isinstance(value, list) and self.dialogues is not False else [value]
            odd = [one for one in turns if said(one) is None]
            if odd or (self.dialogues and not isinstance(value, list)):
                expected = "a list of turns, each a text or an object with a text in it" if self.dialogues else "a text"
                remedy = "mend the row" if self.dialogues is None else "mend the row, or name another column (--column)"
                raise self.rows.wrong(expected, f"{odd[0] if odd else value!r}"[:60], remedy, number, column)
            yield number, row, column, turns
        if not seen:
            wanted = " and ".join(f"{name}={value}" for name, value in self.where.items())
            raise self.rows.wrong(f"rows with {wanted}", "none", "check the values")

    def read_turns(self) -> Iterator[tuple[str, ...]]:
        """The turns of each row."""
        for *_, turns in self._turns():
            yield tuple(map(said, turns))

    def read(self, refused: Counter[str]) -> Iterator[tuple[tuple[str, ...], Again]]:
        """What is shifted, and what makes a row of it again; rows that hold nothing are counted in ``refused``."""
        for number, row, column, turns in self._turns():
            if not self.dialogues or (turns and (column in CONTEXTS or "response" in row)):
                yield tuple(map(said, turns)), Again(row, column, turns, number)
            elif column in CONTEXTS or "response" in row:
                refused["a context without turns"] += 1
            else:
                texts = tuple(map(said, turns))
                replies = list(with_replies(row, column, texts))
                refused.update([] if replies else [why_no_reply(turns)])
                for one in replies:
                    yield texts[: one["turn"]], Again(dict(one), "context", turns[: one["turn"]], number)
