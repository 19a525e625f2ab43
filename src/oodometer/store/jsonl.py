"""JSONL: one object a line, parsed in blocks; a block that does not parse is read line by line to name the row."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.json as pajson

from ..errors import InputError
from ..fields import FIELDS
from .cells import holds_truth
from .columns import WIDE, Kind, says_truth
from .files import check_row, opened, packing, translated
from .nested import json_table, odd_cell
from .scan import TextIndex, TextReader

_BLOCK = 8 << 20
_HEAD = 1 << 20
_MARKED = 1 << 20  # bytes between places where a file may be cut
_HALF = re.compile("[\ud800-\udfff]")  # of a pair of surrogates
_FEW = 8  # names that are counted one by one
_NUMBERS = pa.list_(pa.float64())
_FIXED: dict[str, Any] = {"number": pa.float64(), "nested": pa.list_(_NUMBERS)}
_FIXED |= dict.fromkeys(("numbers", "ragged"), _NUMBERS) | dict.fromkeys(
    ("text", "time"), pa.string()
)


def filled_lines(block: bytes) -> int:
    """Lines that hold more than blanks; the last one need not end."""
    cells = np.frombuffer(block, np.uint8)
    begins = np.concatenate([[0], np.flatnonzero(cells == 10) + 1])
    begins = begins[begins < len(cells)]
    if not (cells[begins] <= 32).any():
        return len(begins)
    return sum(map(bool, map(bytes.strip, block.split(b"\n"))))


_EXPECTED = {"number": "a number", "nested": "a list of lists of numbers", "text": "a text"}
_EXPECTED |= dict.fromkeys(("numbers", "ragged"), "a list of numbers")


@dataclass(frozen=True, kw_only=True)
class JsonlReader(TextReader):
    """A file of JSON objects, one a line; plain or packed (gzip, xz, bzip2)."""

    types: Mapping[
        str, str | None
    ]  # of columns, by their first value; None where it is to be inferred
    odd: tuple[str, ...] = ()
    form = "jsonl"
    opening = ("columns", "types", "odd")

    @staticmethod
    def open(path: str) -> JsonlReader:
        """Read the first lines for the keys and the types of their values."""
        first: dict[str, Any] = {}
        for _, block in _blocks(path, _HEAD):
            if block.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
                remedy = "write JSONL, for example with jq -c '.[]'"
                raise InputError(
                    "one JSON object a line", got="a JSON array", file=path, remedy=remedy
                )
            for key, value in (cell for row in _objects(block, path, 0) for cell in row.items()):
                if first.get(key) is None:
                    first[key] = value
            if first:
                break
        if not first:
            raise InputError(
                "at least one row", got="none", remedy="check what wrote it", file=path
            )
        # columns of a predictions file that come first after the first block, and their first values
        names = first.keys()
        counts = {prefix: sum(name.startswith(prefix) for name in names) for prefix in WIDE}
        absent = [name + '"' for name in FIELDS if name not in names]
        absent += [prefix for prefix, count in counts.items() if not count]
        new = re.compile(f'"(?:{"|".join(absent)})'.encode())
        named = re.compile(
            f'"(?:{"|".join(FIELDS)}|(?:{"|".join(WIDE)})(?:[^"\\\\]|\\\\.)*)"'.encode()
        )
        tokens = {
            json.dumps(name, ensure_ascii=ascii).encode()
            for name in names
            for ascii in (True, False)
        }
        single = [
            token + b":"
            for token in tokens
            if not token.startswith(tuple(f'"{p}'.encode() for p in WIDE))
        ]
        late: dict[str, Any] = {}
        for _, block in _blocks(path, _BLOCK):
            rows = block.count(b"\n") + (not block.endswith(b"\n"))
            wide = [
                (block.count(f'"{prefix}'.encode()), n * rows) for prefix, n in counts.items() if n
            ]
            steady = all(there == wanted for there, wanted in wide)
            if (
                steady and len(single) <= _FEW and b'" :' not in block
            ):  # quicker: is every colon one of a known name?
                known_colons = sum(map(block.count, single)) + sum(there for there, _ in wide)
                if block.count(b'":') == known_colons:
                    continue
            if steady and new.search(block) is None:
                continue
            for line in block.split(b"\n"):
                if not tokens.issuperset(named.findall(line)):
                    for row in _objects(line, path, 0):
                        for name in row.keys() - set(names):
                            if late.get(name) is None and named.fullmatch(
                                json.dumps(name).encode()
                            ):
                                late[name] = row[name]
        types = {name: _type_of(value) for name, value in (first | late).items()}
        odd = tuple(name for name, value in (first | late).items() if odd_cell(value, name))
        return JsonlReader(file=path, columns=tuple(types), types=types, odd=odd)

    def type_of(self, column: str) -> str:
        """The type of the first value."""
        return str(self.types[column])

    @classmethod
    def agreeing(cls, readers: Sequence[Self], types: Mapping[str, Sequence[str]]) -> list[Self]:
        """Columns that hold another type than in the first file are read as there, which names their first cell."""
        first, out = readers[0], []
        for number, reader in enumerate(readers):
            other = {
                n: first.types[n]
                for n, all_of in types.items()
                if _sort(all_of[0]) != _sort(all_of[number])
            }
            out.append(replace(reader, types={**reader.types, **other}) if other else reader)
        return out

    def index(self) -> TextIndex:
        """Lines are counted; one ends wherever there is a line end, which a JSON text writes otherwise."""
        marks, rows = [], 0
        for end, block in _blocks(self.file, _MARKED):
            rows += filled_lines(block)
            marks.append((end, rows))
        return rows, (() if packing(self.file) else tuple(marks))

    def with_columns(self, names: Collection[str]) -> JsonlReader:
        """The same with those of these columns that come first further down; as it is where there are none."""
        tokens = {
            name: {json.dumps(name, ensure_ascii=ascii).encode() for ascii in (True, False)}
            for name in names
        }
        late: dict[str, Any] = {}
        for _, block in _blocks(self.file, _BLOCK):
            for name in [
                n for n in names if late.get(n) is None and any(map(block.__contains__, tokens[n]))
            ]:
                values = [row[name] for row in _objects(block, self.file, 0) if name in row]
                if values:
                    late[name] = next((value for value in values if value is not None), None)
        types = {name: _type_of(value) for name, value in late.items()}
        return replace(self, columns=(*self.columns, *late), types={**self.types, **types})

    def tables(self, kinds: Mapping[str, Kind], rows: int) -> Iterator[Any]:
        """Parse block after block."""
        schema = {name: self._type(name, kind) for name, kind in kinds.items()}
        typed = pa.schema([(name, kind) for name, kind in schema.items() if kind is not None])
        # A column without a known type is inferred in each block, and with it every other column.
        others = "ignore" if len(typed) == len(schema) else "infer"
        done = 0
        for _, block in _blocks(self.file, _BLOCK, self.start, self.end, self.before):
            try:
                parsing = pajson.ParseOptions(
                    explicit_schema=typed, unexpected_field_behavior=others
                )
                table = json_table(block, parsing)
                if table.num_rows != block.count(b"\n") and table.num_rows != filled_lines(block):
                    raise ValueError  # several objects on a line, or one on several
            except MemoryError:
                raise
            except (pa.ArrowException, ValueError):
                table = _carefully(block, schema, kinds, self.file, done)
            for name in schema:
                if name not in table.column_names:
                    table = table.append_column(name, pa.nulls(table.num_rows))
            yield from table.combine_chunks().to_batches(max_chunksize=rows)
            done += table.num_rows

    def _type(self, name: str, kind: Kind) -> Any:
        """A feature may be an indicator, true or false in every row, and times may be numbers since 1970."""
        if kind == "time" and self.types[name] in ("int64", "double"):
            return _arrow(self.types[name])
        if self.types[name] == "bool" and says_truth(name):
            return pa.bool_()
        return _FIXED[kind] if kind in _FIXED else _arrow(self.types[name])


def _blocks(
    path: str, size: int, start: int = 0, end: int | None = None, lines: int = 0
) -> Iterator[tuple[int, bytes]]:
    """Whole lines of about ``size`` bytes, without a byte order mark, and the byte behind each block; ``lines`` before
    ``start``.
    """
    with translated(path, "jsonl"), opened(path, start, end) as stream:
        pieces: list[bytes] = []  # of a line that has not come to its end
        length, read = 0, start
        while data := stream.read(size):
            behind = read + len(data)
            if not read:
                data = data.removeprefix(b"\xef\xbb\xbf")
            read = behind
            cut = data.rfind(b"\n") + 1
            if cut:
                block = b"".join([*pieces, data[:cut]])
                if not block.isspace():
                    yield behind - len(data) + cut, block
                lines += block.count(b"\n")
                pieces, length = [], 0
            pieces.append(data[cut:])
            length += len(data) - cut
            check_row(length, path, line=lines + 1)
        block = b"".join(pieces)
        if block and not block.isspace():
            yield read, block


class _Object(dict[str, Any]):
    """An object that remembers a name that it had twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs]
        self.twice = (
            None
            if len(self) == len(names)
            else next(n for i, n in enumerate(names) if n in names[:i])
        )


_decoded = json.JSONDecoder(object_pairs_hook=_Object).decode


def _objects(block: bytes, file: str, done: int) -> Iterator[dict[str, Any]]:
    for row, line in enumerate(filter(bytes.strip, block.split(b"\n")), start=done + 1):
        fault = partial(InputError, file=file, row=row)
        try:
            value = _decoded(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            remedy = "write one object a line, in UTF-8"
            raise fault("a JSON object on the line", got=str(error), remedy=remedy) from None
        if not isinstance(value, _Object):
            remedy = 'write {"name": value, ...} on every line'
            raise fault("a JSON object on the line", got=repr(value)[:60], remedy=remedy)
        if value.twice is not None:
            expected, remedy = "every name once in an object", "write each column once a line"
            raise fault(expected, got="the name twice", column=value.twice, remedy=remedy)
        yield value


def _carefully(
    block: bytes, schema: Mapping[str, Any], kinds: Mapping[str, Kind], file: str, done: int
) -> Any:
    """The block as a table by way of Python's parser, or the error that names row and column."""
    rows = list(_objects(block, file, done))
    columns: dict[str, Any] = {}
    for name, kind in kinds.items():
        cells = [row.get(name) for row in rows]
        # integers, whole floats or strings may come together in some; the decoder judges
        wanted = None if kind in ("class", "truth", "any", "raw") else schema[name]
        numeric = (
            kind in _FIXED and wanted != pa.bool_()
        )  # true and false would be taken for 1 and 0
        try:
            truths = set(
                map(holds_truth if numeric else lambda cell: isinstance(cell, bool), cells)
            )
            if True in truths and (
                numeric or len({isinstance(c, bool) for c in cells if c is not None}) > 1
            ):
                raise ValueError
            columns[name] = column = pa.array(cells, wanted)
            if kind == "any" and column.null_count < len(column):
                if _sort(str(column.type)) == _sort(str(schema[name])):
                    continue
                wanted = schema[name]  # of the rows before
                raise ValueError
        except MemoryError:
            raise
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            seen: Any = wanted
            for row, cell in enumerate(cells, start=done + 1):
                try:
                    if holds_truth(cell) and (
                        numeric or not (seen is None or pa.types.is_boolean(seen))
                    ):
                        raise ValueError
                    got = pa.array([cell], seen)
                except (pa.ArrowException, ValueError, TypeError, OverflowError):
                    expected = _EXPECTED.get(kind, "values of one type")
                    remedy = (
                        "write it as a string"
                        if kind == "text"
                        else "make every cell of the column one type"
                    )
                    if isinstance(cell, str) and _HALF.search(cell):
                        expected, remedy = (
                            "text that UTF-8 can hold",
                            "write both halves of the pair, or U+FFFD (\\ufffd)",
                        )
                    fault = InputError(
                        expected,
                        got=repr(cell)[:60],
                        file=file,
                        row=row,
                        column=name,
                        remedy=remedy,
                    )
                    raise fault from None
                if seen is None and cell is not None:
                    fractions = any(isinstance(c, float) for c in cells) and not any(
                        map(holds_truth, cells)
                    )
                    seen = pa.float64() if pa.types.is_integer(got.type) and fractions else got.type
            columns[name] = pa.array([None if c is None else str(c) for c in cells])
    return pa.table(columns)


def _sort(name: str) -> str:
    """What columns of a type hold: numbers of all types are one sort."""
    return "number" if name in ("int64", "double") else name


def _type_of(value: Any) -> str | None:
    """The name of the Arrow type of a column by its first value; None where it is to be inferred."""
    for kind, name in ((bool, "bool"), (str, "string"), (int, "int64"), (float, "double")):
        if isinstance(value, kind):
            return name
    if isinstance(value, list) and value and all(type(v) is type(value[0]) for v in value):
        inner = _type_of(value[0])
        return None if inner is None else f"list<item: {inner}>"
    return None


def _arrow(name: str | None) -> Any:
    """The type of this name."""
    inner = re.fullmatch(r"list<item: (.*)>", name or "")
    return (
        None
        if name is None
        else pa.type_for_alias(name)
        if inner is None
        else pa.list_(_arrow(inner[1]))
    )


def write(file: IO[bytes], schema: Any, batches: Iterator[Any]) -> None:
    """Write record batches as one JSON object a line."""
    for batch in batches:
        for row in batch.to_pylist():
            text = json.dumps(row, ensure_ascii=False, default=lambda time: time.isoformat())
            file.write(text.encode("utf-8") + b"\n")
