"""CSV faults: a slow and careful pass, made only after a fast one failed, that names the row and the cell at fault."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ..errors import InputError
from .bounds import check_row, most_row
from .columns import Kind
from .files import opened

if TYPE_CHECKING:
    from .csv_file import CsvReader

__all__ = ["find_fault"]


def find_fault(reader: CsvReader, kinds: Mapping[str, Kind]) -> InputError | None:
    """The first line with too few or too many cells, or the first cell that is no number where one belongs."""
    numeric = [(i, name) for i, name in enumerate(reader.columns) if kinds.get(name) == "number"]
    before = csv.field_size_limit()
    csv.field_size_limit(min(most_row(), 2**31 - 1))
    row = 0
    try:
        with opened(reader.file) as raw:
            stream = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
            lines = csv.reader(_bounded(stream, reader.file), delimiter=reader.delimiter)
            for number, cells in enumerate(_rows(lines, len(reader.columns))):
                row = number
                if any("\udc80" <= c <= "\udcff" for cell in cells if not cell.isascii() for c in cell):
                    return InputError(
                        "text in UTF-8",
                        got="other bytes",
                        file=reader.file,
                        row=row or None,
                        remedy="save the file as UTF-8",
                    )
                if number == 0:
                    continue
                if len(cells) != len(reader.columns):
                    return InputError(
                        f"{len(reader.columns)} cells, as in the header line",
                        got=f"{len(cells)}",
                        file=reader.file,
                        row=row,
                        remedy="quote cells that hold the delimiter, or complete the line",
                    )
                for position, name in numeric:
                    cell = cells[position]
                    if name in reader.truths and cell.strip().lower() not in ("", "true", "false", "1", "0"):
                        return InputError(
                            "true or false, as in row 1",
                            got=repr(cell[:60]),
                            row=row,
                            column=name,
                            file=reader.file,
                            remedy="write 1 and 0 in every row",
                        )
                    if name not in reader.truths and not _is_number(cell, reader.decimal):
                        return _no_number(cell, name, row, reader.file)
    except InputError as error:
        error.row = row + 1
        return error.at()
    except (csv.Error, OSError, EOFError) as error:
        return InputError(
            "CSV text",
            got=str(error),
            file=reader.file,
            row=row + 1,
            remedy="it may be cut off or damaged: write it again",
        )
    finally:
        csv.field_size_limit(before)
    return None


def _bounded(stream: io.TextIOWrapper, file: str) -> Iterator[str]:
    """The lines of a text, none longer than a row may be."""
    most = most_row()
    while line := stream.readline(most + 1):
        check_row(len(line), file)
        yield line


def _rows(lines: Iterable[list[str]], columns: int) -> Iterator[list[str]]:
    """Rows of cells; a blank line between others is an empty cell where there is one column, else no row."""
    blank, begun = 0, False
    for cells in lines:
        if cells:
            yield from ([""] for _ in range(blank if begun and columns == 1 else 0))
            yield cells
            blank, begun = 0, True
        else:
            blank += 1


def _is_number(cell: str, decimal: str) -> bool:
    bare = cell.strip()
    odd = "_" in bare or not bare.isascii()  # Python reads 1_000 and digits of other scripts
    if odd or (decimal == "," and "." in bare):
        return False
    try:
        float(bare.replace(",", ".") if decimal == "," else bare or "0")
    except ValueError:
        return bare == ""
    return True


def _no_number(cell: str, column: str, row: int, file: str) -> InputError:
    bare = cell.strip()
    if bare.endswith("%"):
        remedy = "write 70% as 0.7"
    elif "," in bare:
        remedy = "write decimal points, not commas"
    else:
        remedy = "correct the cell or drop the row"
    return InputError("a number", got=repr(cell[:60]), remedy=remedy, row=row, column=column, file=file)
