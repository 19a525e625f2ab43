"""Rows: a file of JSON lines or a table as text, read and written a row at a time; what is not shifted stays."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, final

from ...errors import InputError

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
