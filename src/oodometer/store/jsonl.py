"""JSONL: one object a line, parsed in blocks; a block that does not parse is read line by line to name the row."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.json as pajson

from ..errors import InputError
from ..fields import FIELDS
from ..plain import Json, Plain, Strings
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
_FIXED: Json = {"number": pa.float64(), "nested": pa.list_(_NUMBERS)}
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

    # of columns, by their first value; None where it is to be inferred
    types: Mapping[str, str | None]
    odd: Strings = ()
    form = "jsonl"
    opening = ("columns", "types", "odd")

    @staticmethod
    def open(path: str) -> JsonlReader:
        """Read the first lines for the keys and the types of their values."""
        first = _first_values(path)
        if not first:
            raise InputError(
                "at least one row", got="none", remedy="check what wrote it", file=path
            )
        values = first | _late_values(path, first)
        types = {name: _type_of(value) for name, value in values.items()}
        odd = tuple(name for name, value in values.items() if odd_cell(value, name))
        return JsonlReader(file=path, columns=tuple(types), types=types, odd=odd)

    def type_of(self, column: str) -> str:
        """The type of the first value."""
        return str(self.types[column])

    @classmethod
    def agreeing(cls, readers: Sequence[Self], types: Mapping[str, Sequence[str]]) -> list[Self]:
        """Columns that hold another type than in the first file are read as there, which names their first cell."""
        first, out = readers[0], []
        for number, reader in enumerate(readers):
            retyped = {
                n: first.types[n]
                for n, all_of in types.items()
                if _sort(all_of[0]) != _sort(all_of[number])
            }
            out.append(replace(reader, types={**reader.types, **retyped}) if retyped else reader)
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
        tokens = {name: _written(name) for name in names}
        late: Json = {}
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
        unexpected = "ignore" if len(typed) == len(schema) else "infer"
        done = 0
        for _, block in _blocks(self.file, _BLOCK, self.start, self.end, self.before):
            try:
                parsing = pajson.ParseOptions(
                    explicit_schema=typed, unexpected_field_behavior=unexpected
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


def _first_values(path: str) -> Json:
    """The names in the first lines, and the first value of each."""
    first: Json = {}
    for _, block in _blocks(path, _HEAD):
        if block.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            raise InputError(
                "one JSON object a line",
                got="a JSON array",
                file=path,
                remedy="write JSONL, for example with jq -c '.[]'",
            )
        for row in _objects(block, path, 0):
            for name, value in row.items():
                if first.get(name) is None:
                    first[name] = value
        if first:
            break
    return first


def _late_values(path: str, names: Collection[str]) -> Json:
    """Columns of a predictions file that come first after the first block, and the first value of each."""
    search, late = _NewNames(names), dict[str, Any]()
    for _, block in _blocks(path, _BLOCK):
        if search.rules_out(block):
            continue
        for line in filter(search.may_be_in, block.split(b"\n")):
            for row in _objects(line, path, 0):
                for name in row.keys() - {*names}:
                    if late.get(name) is None and search.counts(name):
                        late[name] = row[name]
    return late


class _NewNames:
    """Finds columns of a predictions file beside those that are known, without parsing what has none."""

    def __init__(self, names: Collection[str]) -> None:
        counts = {prefix: sum(name.startswith(prefix) for name in names) for prefix in WIDE}
        absent = [name + '"' for name in FIELDS if name not in names]
        absent += [prefix for prefix, count in counts.items() if not count]
        self._absent = re.compile(f'"(?:{"|".join(absent)})'.encode())
        self._named = re.compile(
            f'"(?:{"|".join(FIELDS)}|(?:{"|".join(WIDE)})(?:[^"\\\\]|\\\\.)*)"'.encode()
        )
        self._tokens = {token for name in names for token in _written(name)}
        prefixes = tuple(f'"{prefix}'.encode() for prefix in WIDE)
        self._single = [token + b":" for token in self._tokens if not token.startswith(prefixes)]
        self._wide = {f'"{prefix}'.encode(): count for prefix, count in counts.items() if count}

    def rules_out(self, block: bytes) -> bool:
        """Whether a block has no new column, as far as counting tells."""
        rows = block.count(b"\n") + (not block.endswith(b"\n"))
        counts = {prefix: block.count(prefix) for prefix in self._wide}
        if any(counts[prefix] != count * rows for prefix, count in self._wide.items()):
            return False
        if len(self._single) <= _FEW and b'" :' not in block:
            # quicker: is every colon one of a known name?
            named = sum(map(block.count, self._single)) + sum(counts.values())
            if block.count(b'":') == named:
                return True
        return self._absent.search(block) is None

    def may_be_in(self, line: bytes) -> bool:
        """Whether a line has the name of a new column, or a text that looks like one."""
        return not self._tokens.issuperset(self._named.findall(line))

    def counts(self, name: str) -> bool:
        """Whether a name is that of a column of a predictions file."""
        return self._named.fullmatch(json.dumps(name).encode()) is not None


def _written(name: str) -> set[bytes]:
    """How a name may be written in JSON."""
    return {json.dumps(name, ensure_ascii=ascii).encode() for ascii in (True, False)}


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


def _objects(block: bytes, file: str, done: int) -> Iterator[Json]:
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


def _carefully(block: bytes, schema: Plain, kinds: Mapping[str, Kind], file: str, done: int) -> Any:
    """The block as a table by way of Python's parser, or the error that names row and column."""
    rows = list(_objects(block, file, done))
    columns: Json = {}
    for name, kind in kinds.items():
        cells = [row.get(name) for row in rows]
        # integers, whole floats or strings may come together in some; the decoder judges
        arrow_type = None if kind in ("class", "truth", "any", "raw") else schema[name]
        # true and false would be taken for 1 and 0
        numeric = kind in _FIXED and arrow_type != pa.bool_()
        column = _array(cells, arrow_type, numeric)
        is_inferred = kind == "any" and column is not None and column.null_count < len(column)
        if is_inferred and _sort(str(column.type)) != _sort(str(schema[name])):
            column, arrow_type = None, schema[name]  # of the rows before
        if column is None:
            fault = partial(InputError, file=file, column=name)
            _refuse_odd_cell(cells, arrow_type, kind, numeric, done, fault)
            column = pa.array([None if cell is None else str(cell) for cell in cells])
        columns[name] = column
    return pa.table(columns)


_UNFIT = (pa.ArrowException, ValueError, TypeError, OverflowError)


def _array(cells: Sequence[Any], arrow_type: Any, numeric: bool) -> Any:
    """The cells of a column as an array; None where they do not fit, or truth values stand among others."""
    if numeric:
        is_mixed = any(map(holds_truth, cells))
    else:
        is_mixed = len({isinstance(cell, bool) for cell in cells if cell is not None}) > 1
    if is_mixed:
        return None
    try:
        return pa.array(cells, arrow_type)
    except MemoryError:
        raise
    except _UNFIT:
        return None


def _refuse_odd_cell(
    cells: Sequence[Any],
    arrow_type: Any,
    kind: Kind,
    numeric: bool,
    done: int,
    fault: Callable[..., InputError],
) -> None:
    """Raise the error for the first cell that is not of the type that is wanted, or that the cells before have."""
    for row, cell in enumerate(cells, start=done + 1):
        try:
            is_known = arrow_type is not None and not pa.types.is_boolean(arrow_type)
            if (numeric or is_known) and holds_truth(cell):
                raise ValueError
            got = pa.array([cell], arrow_type)
        except _UNFIT:
            expected = _EXPECTED.get(kind, "values of one type")
            remedy = "make every cell of the column one type"
            if kind == "text":
                remedy = "write it as a string"
            if isinstance(cell, str) and _HALF.search(cell):
                expected = "text that UTF-8 can hold"
                remedy = "write both halves of the pair, or U+FFFD (\\ufffd)"
            raise fault(expected, got=repr(cell)[:60], row=row, remedy=remedy) from None
        if arrow_type is None and cell is not None:
            arrow_type = got.type
            is_mixed = any(isinstance(value, float) for value in cells)
            if pa.types.is_integer(arrow_type) and is_mixed and not any(map(holds_truth, cells)):
                arrow_type = pa.float64()


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
