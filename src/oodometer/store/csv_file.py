"""CSV: streamed in blocks, types by column name and never by guess; faults are looked up by a second, careful pass."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import IO, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from ..errors import InputError
from ..plain import Json, Plain, Strings
from .cells import holds_truth
from .columns import Kind, says_truth
from .files import check_row, most_row, opened, opened_natively, packing, translated
from .nested import odd_cell
from .places import is_remote, local_copy
from .scan import TextIndex, TextReader

_STEP = 1 << 20
_MARK = b"\xef\xbb\xbf"
_NUMBER = re.compile(
    r"(?:[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf|infinity))?", re.ASCII | re.IGNORECASE
)
_SWAPPED = str.maketrans(",.", ".,")
_LINE, _RETURN, _QUOTE = 10, 13, 34


def index_cells(stream: Any, delimiter: str) -> TextIndex | None:
    """The index of CSV text of more than one column; None where it is not sure that it is right. A line ends outside of
    quotes, which are counted: as long as each that opens begins a cell, and each other one behind it doubles the one
    before. Else, with a carriage return alone, or with quotes that stay open, only its reader can tell the rows.
    """
    begins = (ord(delimiter), _LINE, _RETURN, _QUOTE)
    base = rows = line = 0  # first byte of the block; lines that are filled; where the line began
    in_quotes, last = 0, _LINE
    marks: list[tuple[int, int]] = []
    while data := bytes(stream.read(_STEP)):
        if data.endswith(b"\r"):
            data += bytes(stream.read(1))
        if not base and data.startswith(_MARK):
            data, base, line = data[len(_MARK) :], len(_MARK), len(_MARK)
        cells = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(cells == _QUOTE) if b'"' in data else np.zeros(0, np.intp)
        if len(quotes):
            opening = quotes[in_quotes::2]
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
        outside = (np.searchsorted(quotes, ends) + in_quotes) % 2 == 0
        ends, returned = ends[outside] + base, returned[outside]
        if len(ends):
            lengths = ends - returned - np.concatenate([[line], ends[:-1] + 1])
            rows += int(np.count_nonzero(lengths > 0))
            line = int(ends[-1]) + 1
            if rows:
                marks.append((line, rows - 1))
        in_quotes = (in_quotes + len(quotes)) % 2
        base, last = base + len(data), int(cells[-1]) if len(cells) else last
    if in_quotes:
        return None
    rows += base > line
    return max(rows - 1, 0), tuple(marks)


def find_fault(reader: CsvReader, kinds: Mapping[str, Kind]) -> InputError | None:
    """The first line with too few or too many cells, or the first cell that is no number where one belongs."""
    numeric = [(i, name) for i, name in enumerate(reader.columns) if kinds.get(name) == "number"]
    row, limit, fault = 0, most_row(), partial(InputError, file=reader.file)
    before = csv.field_size_limit(min(limit, 2**31 - 1))
    try:
        with opened(reader.file) as raw:
            stream = io.TextIOWrapper(
                raw, encoding="utf-8-sig", errors="surrogateescape", newline=""
            )

            def bounded() -> Iterator[str]:
                while line := stream.readline(limit + 1):
                    check_row(len(line), reader.file)
                    yield line

            lines = csv.reader(bounded(), delimiter=reader.delimiter)
            for number, cells in enumerate(_rows(lines, len(reader.columns))):
                row = number
                cell_fault = _row_fault(cells, row, reader, numeric)
                if cell_fault is not None:
                    return cell_fault.at(file=reader.file)
    except InputError as error:
        error.row = row + 1
        return error.at()
    except (csv.Error, OSError, EOFError) as error:
        return fault(
            "CSV text",
            got=str(error),
            row=row + 1,
            remedy="it may be cut off or damaged: write it again",
        )
    finally:
        csv.field_size_limit(before)
    return None


def _row_fault(
    cells: Sequence[str], row: int, reader: CsvReader, numeric: Sequence[tuple[int, str]]
) -> InputError | None:
    """What is wrong with a row, the first of which is the header line; ``numeric`` are places and names of numbers."""
    if any("\udc80" <= c <= "\udcff" for cell in cells if not cell.isascii() for c in cell):
        remedy = "save the file as UTF-8"
        return InputError("text in UTF-8", got="other bytes", row=row or None, remedy=remedy)
    if row and len(cells) != len(reader.columns):
        expected = f"{len(reader.columns)} cells, as in the header line"
        remedy = "quote cells that hold the delimiter, or complete the line"
        return InputError(expected, got=f"{len(cells)}", row=row, remedy=remedy)
    for position, name in numeric if row else ():
        bare = cells[position].strip()
        if name in reader.truths:
            if bare.lower() in ("", "true", "false", "1", "0"):
                continue
            expected, remedy = "true or false, as in row 1", "write 1 and 0 in every row"
        else:
            if _NUMBER.fullmatch(bare.translate(_SWAPPED) if reader.comma else bare):
                continue
            expected, remedy = "a number", "correct the cell or drop the row"
            if bare.endswith("%"):
                remedy = "write 70% as 0.7"
            elif "," in bare:
                remedy = "write decimal points, not commas"
        return InputError(
            expected, got=repr(cells[position][:60]), row=row, column=name, remedy=remedy
        )
    return None


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


_HEAD = 1 << 20
_SHORT = 1 << 16  # bytes of a block that first rows are read from
_LOOKED_AT = 16  # rows whose cells may be nested, of which the first may be empty
_LAST = ("]", "}", ")", "%", " ")  # what they end with
_BLOCK = 8 << 20  # long, so that each batch is worth the work of asking all methods
_DECIMAL = r"(?:^|[;\t])[ \"]*[-+]?\d*{}\d+(?:[eE][-+]?\d+)?[ \"]*(?=[;\t]|\r?$)"
_COMMA, _POINT = (re.compile(_DECIMAL.format(sign), re.MULTILINE) for sign in (",", r"\."))
_EXCELS = re.compile(r'"?sep=.?"?', re.IGNORECASE)
_MANY_DIGITS = re.compile(r"-?\d*\.\d{4,}(e-?\d+)?")  # a number that names nothing
_TAIL = 1 << 14  # bytes that are looked at for what is no row
_TOTAL = re.compile(
    r"(grand |sub-?)?totals?( general| général)?|(gesamt-?)?summe|gesamt|gesamtergebnis|insgesamt|sums?|average|"
    r"mean|mittelwert|durchschnitt|somme|moyenne|suma|promedio|totale|média|row count|rows"
)
_TRUTHS = ("true", "True", "TRUE", "false", "False", "FALSE")
_WHOLE = re.compile(r"\s*(-?\d+),0+\s*")
_LISTS: Json = dict.fromkeys(("numbers", "ragged"), pa.list_(pa.float64())) | dict.fromkeys(
    ("classes", "truths")
)
_LISTS["nested"] = pa.list_(_LISTS["numbers"])
_LOOSE = ("int64", "double", "string")  # each fits what those before it fit
_WORDS = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, kw_only=True)
class CsvReader(TextReader):
    """A CSV file with a header line; delimited by commas, semicolons or tabs; plain or packed (gzip, xz, bzip2)."""

    delimiter: str
    comma: bool
    block: int
    # features that say true or false in the first row, as indicators are written
    truths: tuple[str, ...] = ()
    steady: bool = True  # whether the decimal sign is known for sure: no number further down can tell another one
    odd: Strings = ()
    # types of columns that no name gives, found by a pass
    loose: Json = field(default_factory=dict)
    form = "csv"
    text = True
    finds_types = True
    opening = ("columns", "delimiter", "comma", "block", "truths", "steady", "odd")

    @staticmethod
    def open(path: str) -> CsvReader:
        """Read the header line and find out the delimiter and the decimal sign."""
        fault, header = partial(InputError, file=path), "a header line with column names"
        head = _head_of(path)
        text = _decoded(head, path).lstrip("\r\n")
        first = re.split(r"[\r\n]", text, maxsplit=1)[0]
        if len(first) == len(text) and len(head) == _HEAD:
            raise fault(
                header, got="a first line of more than 1 MB", remedy="check what the file is"
            )
        if not first:
            raise fault(header, got="blank lines", remedy="check what wrote it")
        unquoted = re.sub(r'"[^"]*"', "", first)
        delimiter = max(",;\t|", key=unquoted.count) if "," not in unquoted else ","
        odd = _above_header(first, unquoted, text, delimiter) or _total_below(path, delimiter)
        if odd is not None:
            raise odd.at(file=path)
        try:
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            names = next(rows)
        except (csv.Error, StopIteration) as error:
            raise fault(header, got=str(error)) from None
        # A decimal comma can only be meant where the comma is not the delimiter.
        body = text.partition("\n")[2]
        has_point = delimiter != "," and _POINT.search(body) is not None
        comma = delimiter != "," and not has_point and _COMMA.search(body) is not None
        truths, nested = _first_cells(names, rows)
        return CsvReader(
            file=path,
            columns=tuple(names),
            delimiter=delimiter,
            comma=comma,
            block=max(_HEAD, min(_BLOCK, most_row()), 8 * len(first)),
            truths=truths,
            steady=comma or delimiter == "," or has_point,
            odd=nested,
        )

    def index(self) -> TextIndex:
        """Rows are counted by their ends where these can be told for sure, else by reading one column."""
        # of one column a blank line is a row
        with translated(self.file, self.form), opened(self.file) as stream:
            index = None if len(self.columns) == 1 else index_cells(stream, self.delimiter)
        if index is None:
            first = self.columns[0]
            return sum(
                batch.num_rows for batch in self._stream({first: pa.string()}, {first: "text"})
            ), ()
        return index if self.steady and not packing(self.file) else (index[0], ())

    def type_of(self, column: str) -> str:
        """The narrowest type that every cell of the column fits; all of it is read, so that batches agree."""
        fitting = [pa.int64(), pa.float64()]
        full_reader = replace(self, start=0, end=None, before=0, block=_HEAD)
        for batch in full_reader._stream({column: pa.string()}, {column: "any"}):
            for kind in list(fitting):
                try:
                    # that of many fails as slowly as it succeeds
                    batch.column(0).slice(0, 1).cast(kind)
                    batch.column(0).cast(kind)
                except pa.ArrowInvalid:
                    fitting.remove(kind)
            if not fitting:
                break
        return str(fitting[0] if fitting else pa.string())

    def cell_type(self, column: str) -> Any:
        """The type that every cell of the column fits, in all files that are read together."""
        return self._type(column, "any")

    @classmethod
    def agreeing(cls, readers: Sequence[Self], types: Mapping[str, Sequence[str]]) -> list[Self]:
        """The narrowest type that the cells of all files fit."""
        widest = {
            name: pa.type_for_alias(max(all_of, key=_LOOSE.index)) for name, all_of in types.items()
        }
        return [replace(reader, loose=dict(widest)) for reader in readers]

    @property
    def cast(self) -> str:  # type: ignore[override]
        """The types that a pass found, which depend on the files beside this one."""
        return repr(sorted((name, str(kind)) for name, kind in self.loose.items()))

    def tables(self, kinds: Mapping[str, Kind], rows: int) -> Iterator[Any]:
        """Stream blocks; a block that does not parse is explained by `find_fault`."""
        types = {name: self._type(name, kind) for name, kind in kinds.items()}
        done = 0
        for batch in self._stream(types, kinds):
            for at in range(0, batch.num_rows, rows):
                piece = batch.slice(at, rows)
                self._refuse_header(piece, kinds, done)
                for name, kind in kinds.items():
                    number = piece.schema.get_field_index(name)
                    if kind in _LISTS:
                        lists = _lists(piece.column(number), kind, name, self.file, done)
                        piece = piece.set_column(number, name, lists)
                    elif self.comma and kind in ("class", "truth"):  # 1,0 is 1.0 in other files
                        cells = piece.column(number)
                        texts = [
                            None if t is None else _WHOLE.sub(r"\1.0", t)
                            for t in cells.dictionary.to_pylist()
                        ]
                        pointed = (
                            pa.array(texts, pa.string()).take(cells.indices).dictionary_encode()
                        )
                        piece = piece.set_column(number, name, pointed)
                yield piece
                done += piece.num_rows

    def first_rows(self, kinds: Mapping[str, Kind], rows: int) -> Any:
        """As of any reader, from a block that is no longer than these need."""
        short = replace(self, block=_SHORT)
        return next(iter(short.tables(kinds, rows)), None)

    def _refuse_header(self, piece: Any, kinds: Mapping[str, Kind], done: int) -> None:
        """Raise `InputError` for a row that is the header line again, as where files are put one behind another."""
        names = [name for name, kind in kinds.items() if kind in ("class", "truth")]
        held = [n for n in names if n in piece.column(n).dictionary.to_pylist()]
        if len(held) < 2:
            return
        import pyarrow.compute as pc

        rows = [{*pc.indices_nonzero(pc.equal(piece.column(n), n)).to_pylist()} for n in held]
        for row in sorted(set.intersection(*rows))[:1]:
            raise InputError(
                "a row",
                got="the header line again",
                row=done + row + 1,
                column=held[0],
                file=self.file,
                remedy="leave it out: one header line, the first",
            )

    def _stream(self, types: Plain, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        block, done, reader = self.block, 0, self
        # Of one column blank lines before the first line and behind the last are no rows.
        single = len(self.columns) == 1
        while True:
            with opened_natively(self.file, self.start, self.end, trimmed=single) as stream:
                skip = done
                try:
                    for batch in reader._parsed(stream, types, block):
                        fresh = batch.slice(min(skip, batch.num_rows))
                        skip -= batch.num_rows - fresh.num_rows
                        done += fresh.num_rows
                        yield fresh
                    return
                except (pa.ArrowException, OSError, ValueError, EOFError) as error:
                    if isinstance(error, MemoryError):
                        raise
                    if "straddling" in str(error) and block < most_row():
                        # a row longer than the block: begin again and skip what was given
                        block = min(8 * block, most_row())
                        continue
                    with translated(self.file, self.form):
                        fault = find_fault(reader, kinds)
                        swapped = replace(self, comma=not self.comma)
                        late = reader is self and self.delimiter != "," and fault is not None
                        if late and find_fault(swapped, kinds) is None:
                            reader = swapped  # the first decimal sign of the file stands far down
                            continue
                        raise (
                            error if fault is None else fault.at(row_offset=-self.before)
                        ) from None

    def _parsed(self, stream: Any, types: Plain, block: int) -> Iterator[Any]:
        """The record batches of a stream; of one column a blank line is an empty cell."""
        names = list(self.columns) if self.start else None
        return iter(
            pacsv.open_csv(
                stream,
                read_options=pacsv.ReadOptions(
                    block_size=block, use_threads=False, column_names=names
                ),
                parse_options=pacsv.ParseOptions(
                    delimiter=self.delimiter,
                    newlines_in_values=True,
                    ignore_empty_lines=len(self.columns) > 1,
                ),
                convert_options=pacsv.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    decimal_point="," if self.comma else ".",
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        )

    def _type(self, name: str, kind: Kind) -> Any:
        if kind == "number":
            return pa.bool_() if name in self.truths else pa.float64()
        if kind in ("class", "truth"):
            return _WORDS
        if kind != "any":
            return pa.string()
        if name not in self.loose:
            self.loose[name] = pa.type_for_alias(self.type_of(name))
        return self.loose[name]


def _above_header(first: str, unquoted: str, text: str, delimiter: str) -> InputError | None:
    """The error for a first line that is no header: what Excel says to itself, a row of numbers, or a title above rows
    of several cells; ``unquoted``: the line without what stands in quotes.
    """
    fault = partial(InputError, "a header line with column names", got=repr(first[:60]))
    if _EXCELS.fullmatch(first.strip()):
        return fault(remedy="delete the first line, which Excel writes for itself")
    if any(_MANY_DIGITS.fullmatch(name.strip()) for name in unquoted.split(delimiter)):
        return fault(remedy="write a line with the names of the columns above the first row")
    title, *rest = (cell.strip() for cell in first.split(delimiter))
    if title and len(rest) > 1 and not any(rest):  # a spreadsheet fills the line with empty cells
        return fault(remedy="delete what stands above the header line")
    if not any(sign in unquoted for sign in ",;\t|"):
        body = re.sub(r'"[^"]*("|$)', "", text[len(first) : len(first) + _TAIL])
        if any("," in line for line in body.splitlines()[: _LOOKED_AT + 1]):
            return fault(remedy="delete what stands above the header line")
    return None


def _total_below(path: str, delimiter: str) -> InputError | None:
    """The error for a last row that is a total of those above, as spreadsheets have one: it begins with a word for that
    which no other of the last rows has there, and another cell of it is empty, or none of a few values above.
    """
    if is_remote(path) or packing(path):
        return None
    with open(local_copy(path), "rb") as file:
        file.seek(max(0, os.path.getsize(file.name) - _TAIL))
        tail = file.read().decode("utf-8", "replace").strip()
    rows = list[list[str]]()
    with suppress(csv.Error):
        rows = [row for row in csv.reader(tail.splitlines(), delimiter=delimiter) if any(row)]
    place = next((i for i, cell in enumerate(rows[-1]) if cell.strip()), 0) if rows else 0
    words = [row[place].strip().lower() for row in rows if len(row) > place]
    if len(words) < 3 or len(rows[-1]) < 2 or not _TOTAL.fullmatch(words[-1]):
        return None
    above = [{*cells} for cells in zip(*rows[1:-1], strict=False)]
    odd = (
        not cell.strip() or (len(cells) <= _LOOKED_AT and cell not in cells)
        for cell, cells in zip(rows[-1], above, strict=False)
    )
    if words[-1] in words[:-1] or not any([*odd][place + 1 :]):
        return None
    got = f"a total in the last one: {delimiter.join(rows[-1])[:60]}"
    return InputError("rows of samples", got=got, remedy="delete the last row")


def _head_of(path: str) -> bytes:
    """The first block of a file; `InputError` where nothing but blank lines comes for too long."""
    with translated(path, "csv"), opened(path, head=True) as stream:
        head: bytes = stream.read(_HEAD)
        data, blank, limit = head, len(head) - len(head.rstrip(b"\r\n")), most_row()
        while len(data) == _HEAD and data.endswith((b"\n\n", b"\n\r\n")) and blank <= limit:
            data = stream.read(_HEAD)
            filled = data.rstrip(b"\r\n")
            blank = len(data) - len(filled) + (0 if filled else blank)
        if blank > limit:
            raise InputError(
                "rows",
                got=f"more than {limit >> 20} MB of blank lines",
                remedy="check what wrote the file",
                file=path,
            )
    return head


def _decoded(head: bytes, path: str) -> str:
    """The text of a block, without a character that its end cut."""
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start >= len(head) - 4:
            return head[: error.start].decode("utf-8-sig")
        raise InputError(
            "text in UTF-8",
            got=f"byte {head[error.start]:#04x}",
            row=head[: error.start].count(b"\n") or None,
            file=path,
            remedy="save the file as UTF-8",
        ) from None


def _first_cells(names: Sequence[str], lines: Iterator[list[str]]) -> tuple[Strings, Strings]:
    """The columns of indicators, which say true or false in the first row, and those whose cells may be nested."""
    truths: list[str] = []
    odd: dict[str, None] = {}
    with suppress(csv.Error):  # told by the pass that reads all rows
        for number, row in enumerate(islice(filter(None, lines), _LOOKED_AT)):
            for name, cell in zip(names, row, strict=False):
                if number == 0 and cell.strip() in _TRUTHS and says_truth(name):
                    truths.append(name)
                if cell[-1:] in _LAST and odd_cell(cell, name):
                    odd[name] = None
    return tuple(truths), tuple(odd)


def _lists(cells: Any, kind: Kind, column: str, file: str, done: int) -> Any:
    """Cells such as ``[0.9, 0.1]`` as an Arrow list column."""
    texts = cells.to_pylist()
    try:
        joined = "[" + ",".join("null" if t is None else t for t in texts) + "]"
        values = json.loads(joined)
        wrong = _LISTS[kind] is not None and ("true" in joined or "false" in joined)
        if len(values) == len(texts) and not wrong:
            return pa.array(values, _LISTS[kind])
    except (ValueError, pa.ArrowException, RecursionError):
        pass
    fault = partial(InputError, file=file, column=column)
    for row, cell in enumerate(texts, start=done + 1):
        try:
            value = None if cell is None else json.loads(cell)
            if _LISTS[kind] is not None and holds_truth(value):
                raise ValueError
            pa.array([value], _LISTS[kind])
        except (ValueError, pa.ArrowException, RecursionError):
            remedy = "write JSON lists, or one wide column for each entry"
            raise fault(
                "a list such as [0.9, 0.1]", got=repr(cell[:60]), row=row, remedy=remedy
            ) from None
    got, remedy = "cells of different types", "write JSON lists of one type"
    raise fault("lists of one type", got=got, row=done + 1, remedy=remedy)


def write(file: IO[bytes], schema: Any, batches: Iterator[Any]) -> None:
    """Write record batches as CSV; numbers in full, so that they read back the same."""
    with pacsv.CSVWriter(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
