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

from ...datasets.dialogues import CONTEXTS, TURNS, replies_among, said, text_key
from ...errors import InputError, UsageError

_PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_LINES, _TABLES = (".jsonl", ".ndjson"), {".csv": ",", ".tsv": "\t"}
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
        if self.ending not in (*_LINES, *_TABLES):
            raise InputError(
                "a file of texts that ends in .jsonl, .ndjson, .csv or .tsv (or one of them and .gz, .xz, .bz2)",
                got=path.name,
                remedy="convert it, or name it by what it is",
                file=str(path),
            )
        if not path.is_file():
            got = "a folder" if path.is_dir() else "no such file"
            raise InputError("a file of texts", got=got, remedy="check the path", file=str(path))

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        """Number, from 1 on, and columns of each row."""
        opener = _PACKED.get(self.path.suffix.lower(), open)
        found = 0
        try:
            with opener(self.path, "rt", encoding="utf-8-sig", newline="") as file:
                for row in self._lines(file) if self.ending in _LINES else self._table(file):
                    found += 1
                    yield found, row
        except UnicodeDecodeError as error:
            raise InputError(
                "text in UTF-8",
                got=f"the byte {error.object[error.start]:#04x}, which none such holds there",
                remedy="save the file as UTF-8",
                file=str(self.path),
                row=found + 1,
            ) from error
        except csv.Error as error:
            raise self._odd("a row of the table", str(error), found + 1) from error
        except _BROKEN as error:
            raise InputError(
                "a file that can be read",
                got=str(error) or "its end too soon",
                remedy="fetch it again",
                file=str(self.path),
            ) from error
        if not found:
            raise InputError("at least one row", got="none", remedy="check the file", file=str(self.path))

    def _lines(self, file: IO[str]) -> Iterator[Row]:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise self._odd("a JSON object", repr(line.strip()[:40]), number)
            yield row

    def _table(self, file: IO[str]) -> Iterator[Row]:
        lines = csv.reader(file, delimiter=_TABLES[self.ending], strict=True)
        heads = _next(lines) or []
        twice = next((head for head in heads if heads.count(head) > 1), None)
        if twice is not None:
            raise InputError(
                "columns of different names", got=f"two named {twice!r}", remedy="rename one", file=str(self.path)
            )
        for number, cells in enumerate(iter(lambda: _next(lines), None), 1):
            if len(cells) != len(heads):
                raise self._odd(f"{len(heads)} cells", f"{len(cells)}", number)
            yield dict(zip(heads, cells, strict=True))

    def _odd(self, expected: str, got: str, row: int) -> InputError:
        return InputError(expected, got=got, remedy="mend the row", file=str(self.path), row=row)

    def written(self, rows: Iterable[Mapping[str, Any]]) -> Callable[[IO[bytes]], None]:
        """What writes rows in the form of this file, not packed."""

        def write(file: IO[bytes]) -> None:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=False)
            if self.ending in _LINES:
                for row in rows:
                    text.write(json.dumps(row, ensure_ascii=False) + "\n")
            else:
                heads: list[str] | None = None
                table = csv.writer(text, delimiter=_TABLES[self.ending], lineterminator="\n")
                for row in rows:
                    if heads is None:
                        heads = list(row)
                        table.writerow(heads)
                    table.writerow(list(row.values()))
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


_TEXT = ("text", "sentence", "review", "content", "input")


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


def _with_texts(turns: Sequence[Any], new: Sequence[str]) -> list[Any]:
    """The last turns of a dialogue with other texts, all else in them as it is.

    >>> _with_texts(["a", {"role": "user", "content": "b"}], ["B"])
    [{'role': 'user', 'content': 'B'}]
    """
    kept = turns[len(turns) - len(new) :]
    keys = [text_key(turn) for turn in kept]
    return [text if key is None else {**turn, key: text} for turn, key, text in zip(kept, keys, new, strict=True)]


@final
@dataclass(frozen=True)
class Texts:
    """The texts, or contexts of dialogues, of a file; ``dialogues`` is None where either will do."""

    rows: Rows
    column: str | None
    where: Mapping[str, str]
    dialogues: bool | None

    def _chosen(self) -> Iterator[tuple[int, Row]]:
        seen = False
        for number, row in self.rows:
            for name in self.where:
                if name not in row:
                    raise self._no_column(name, row, number)
            if all(str(row[name]) == value for name, value in self.where.items()):
                seen = True
                yield number, row
        if not seen:
            wanted = " and ".join(f"{name}={value}" for name, value in self.where.items())
            raise InputError(f"rows with {wanted}", got="none", remedy="check the values", file=str(self.rows.path))

    def _column(self, row: Row, number: int) -> str:
        if self.column is not None:
            if self.column not in row:
                raise self._no_column(self.column, row, number)
            return self.column
        usual = {True: TURNS, False: _TEXT, None: (*TURNS, *_TEXT)}[self.dialogues]
        found = next((name for name in usual if name in row), None)
        if found is None:
            raise InputError(
                f"a column with the {'text' if self.dialogues is False else 'turns'}, such as {usual[0]}",
                got=f"the columns {', '.join(map(str, row))}",
                remedy="call it so" if self.dialogues is None else "name it with --column",
                file=str(self.rows.path),
                row=number,
            )
        return found

    def _no_column(self, name: str, row: Row, number: int) -> InputError:
        return InputError(
            f"a column {name}",
            got=f"the columns {', '.join(map(str, row))}",
            remedy="name one of them",
            file=str(self.rows.path),
            row=number,
        )

    def _turns(self, row: Row, column: str, number: int) -> list[Any]:
        value = row[column]
        turns = value if isinstance(value, list) and self.dialogues is not False else [value]
        wrong = [one for one in turns if said(one) is None]
        if wrong or (self.dialogues and not isinstance(value, list)):
            odd = wrong[0] if wrong else value
            raise InputError(
                "a list of turns, each a text or an object with a text in it" if self.dialogues else "a text",
                got=f"{odd!r}"[:60],
                remedy="mend the row" if self.dialogues is None else "mend the row, or name another column (--column)",
                file=str(self.rows.path),
                row=number,
                column=column,
            )
        return list(turns)

    def read_turns(self) -> Iterator[tuple[str, ...]]:
        """The turns of each row."""
        for number, row in self._chosen():
            yield _texts_of(self._turns(row, self._column(row, number), number))

    def read(self, refused: Counter[str]) -> Iterator[tuple[tuple[str, ...], Again]]:
        """What is shifted, and what makes a row of it again; rows that hold nothing are counted in ``refused``."""
        for number, row in self._chosen():
            column = self._column(row, number)
            turns = self._turns(row, column, number)
            if not self.dialogues:
                yield _texts_of(turns), Again(row, column, turns, number)
            elif column in CONTEXTS or "response" in row:
                if turns:
                    yield _texts_of(turns), Again(row, column, turns, number)
                else:
                    refused["a context without turns"] += 1
            else:
                replies = replies_among(turns)
                if not replies:
                    few = "a dialogue of one turn, which has no reply" if turns else "a dialogue without turns"
                    refused["a chat in which the assistant does not reply" if len(turns) > 1 else few] += 1
                rest = {name: value for name, value in row.items() if name != column}
                for at in replies:
                    more = {"context": None, **rest, "response": said(turns[at]), "turn": at}
                    yield _texts_of(turns[:at]), Again(more, "context", turns[:at], number)


def _texts_of(turns: Sequence[Any]) -> tuple[str, ...]:
    return tuple(map(said, turns))


@final
@dataclass(frozen=True)
class Again:
    """Makes a row of texts again; ``number`` is that of the row in the file."""

    row: Row
    column: str
    turns: list[Any]
    number: int

    def __call__(self, new: Sequence[str]) -> Row:
        """The row with these texts in the place of the last of its turns."""
        found = _with_texts(self.turns, new)
        return {**self.row, self.column: found if isinstance(self.row[self.column], (list, type(None))) else found[0]}
