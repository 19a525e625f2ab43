"""Nested: answers of tools that stand in one cell, such as ``[{"label": "cat", "score": 0.9}, ...]``, as columns."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.json as pajson
import pyarrow.types as pt

from ..arrays import Array
from ..classes import one_form
from ..errors import InputError
from ..fields import FIELDS
from ..plain import Json, Plain, Strings
from .base import name_order
from .cells import arrow_of, coded_cells, first_true, flat_list, number_cells, numbers_of, plain
from .columns import WIDE, Feed, usual_field

HEAD_ROWS = 1024  # rows that say what a column holds
_LABEL = re.compile(r"label|class|(class|display)_?name|category|name|value")
_LABELS = re.compile(r"labels|classes|(class|display)_?names")
_RANKED = re.compile(
    r"(top_?\d*_?|pred(icted|iction)?_?)(labels|classes)|pred(iction)?s|predicted|top_?\d+"
)
_SCORE = re.compile(r"scores?|p|probs?|probabilit(y|ies)|confidences?")
_ANSWERS = {
    name
    for name, field in FIELDS.items()
    if field.elsewhere and field.kind in ("class", "number", "numbers")
}
_ANSWERS = (_ANSWERS - {"label"}) | {"output"}  # fields whose column may hold such cells
# and vectors of Spark
_VECTORS = {name for name, field in FIELDS.items() if field.kind == "numbers"}
_OFF = 0.02  # by which probabilities of a tool may miss 1
_WHOLE = re.compile(r"(-?\d+)\.0+")
_NUMBERS = re.compile(r"\[[\s\d.eE+-]*\]")  # as numpy prints an array
_WORDS = re.compile(r"\[\s*'[^',]*'(\s+'[^',]*')+\s*\]")  # and one of strings
_SCALAR = re.compile(r"\b(?:np|numpy)\.\w+\(([^()]*)\)")  # as numpy 2 prints an entry of a list
_ARRAY = re.compile(
    r"(?:np\.|numpy\.)?(?:array|tensor)\(([^()]*?)(?:,\s*(?:dtype|device|grad_fn)=.*)?\)", re.DOTALL
)
_OPENING = ("[", "{", "(", "array(", "tensor(", "np.array(", "numpy.array(")
PERCENT = re.compile(r"\s*[-+]?\d+([.,]\d+)?\s*%\s*")
_SHOWN = 60
_EXPECTED = 'an answer such as [{"label": "cat", "score": 0.9}] or {"cat": 0.9, "dog": 0.1}'

_MOST_SHARES = 50  # columns of probabilities that are held against 100
_HUNDREDTH = 0.5  # by which percents with decimals may miss 100

Form = Literal[
    "every class",
    "best class",
    "numbers by class",
    "vector",
    "percents",
    "hundredths",
    "list of hundredths",
    "fields",
    "record",
]


class Pairs(NamedTuple):
    """Classes and their scores, end to end; ``offsets`` say where the pairs of each row begin."""

    codes: Array
    names: list[str]
    scores: Array
    offsets: Array


@dataclass(frozen=True)
class Unfolded:
    """A column of the file whose cells are read as the columns ``gives``: of each of ``classes``, of the best class and
    its score, or of numbers. ``text``: cells are JSON, or what Python prints; ``named_by``: another column that has the
    classes of each row's scores; ``within``: the field of a record that has them, beside others of single values.
    """

    column: str
    form: Form
    gives: Strings
    classes: Strings = ()
    text: bool = False
    named_by: str = ""
    within: str = ""

    def columns_of(self, cells: Any) -> Json:
        """The columns that the cells give, by name. Raises `InputError` for a row that holds something else."""
        try:
            return self._columns(plain(cells, coded=False))
        except InputError:
            raise
        except (pa.ArrowException, AttributeError, KeyError, IndexError, TypeError, ValueError):
            raise InputError(
                "answers as in the first rows",
                got=f"cells of type {cells.type}"[:120],
                column=self.column,
                remedy="write every cell of the column in one form",
            ) from None

    def _columns(self, cells: Any) -> Json:
        match self.form:
            case "percents":
                return {self.column: _of_percents(cells, self.column)}
            case "hundredths":
                return {self.column: _hundredth(cells)}
            case "list of hundredths":
                return {self.column: _of_hundredths(cells)}
            case "fields":
                return self._of_fields(cells)
        cells = _parsed(cells, self.column) if self.text else cells
        match self.form:
            case "vector":
                return {self.column: _of_vectors(cells, self.column)}
            case "record":
                return self._of_record(cells)
            case "numbers by class":
                return self._of_numbers(cells)
            case "best class":
                return self._of_best(cells)
        matrix = self._matrix(_pairs(_single(cells), self.column))
        return dict(zip(self.gives, map(arrow_of, matrix.T), strict=True))

    def _of_fields(self, cells: Any) -> Json:
        """The fields of objects, null where a file does not have one."""
        present = {field.name for field in cells.type}
        lacking = pa.nulls(len(cells))
        return {
            output: cells.field(name) if name in present else lacking
            for output, name in zip(self.gives, self.classes, strict=True)
        }

    def _of_record(self, cells: Any) -> Json:
        """The single values of records, and the probabilities in the field that has them."""
        _refuse_rows(~_valid(cells), self.column, "an answer", cells)
        inner, prefix = cells.field(self.within), f"{self.column}.{self.within}"
        by_class = {f"{prefix}.{name}": name for name in self.classes}
        alone = [name for name in self.gives if name not in by_class and name != prefix]
        out = {name: cells.field(name.removeprefix(f"{self.column}.")) for name in alone}
        if not by_class:
            return out | {prefix: inner}
        numbers = replace(self, form="numbers by class", gives=(*by_class,))
        return out | numbers._of_numbers(inner)

    def _of_numbers(self, cells: Any) -> Json:
        """The numbers of objects whose fields are the classes."""
        _refuse_rows(~_valid(cells), self.column, "a number for each class", cells)
        places = {class_text(field.name): i for i, field in enumerate(cells.type)}
        absent = [name for name in self.classes if name not in places]
        more = [name for name in places if name not in self.classes]
        if absent or more:
            raise _other_classes(self, 0, more[0] if more else None, absent)
        return {
            output: cells.field(places[name])
            for output, name in zip(self.gives, self.classes, strict=True)
        }

    def _of_best(self, cells: Any) -> Json:
        """The class with the highest score, and that score."""
        pairs = _pairs(_single(cells), self.column)
        lengths = np.diff(pairs.offsets)
        _refuse_rows(lengths < 1, self.column, "an answer", cells)
        row = np.repeat(np.arange(len(lengths)), lengths)
        best = np.lexsort((-pairs.scores, row))[pairs.offsets[:-1]]
        label = arrow_of([pairs.names[code] for code in pairs.codes[best]])
        return dict(zip(self.gives, (label, arrow_of(pairs.scores[best])), strict=True))

    def _matrix(self, pairs: Pairs) -> Array:
        """Scores with the axes (sample, class)."""
        index = {name: k for k, name in enumerate(self.classes)}
        at = np.array([index.get(name, -1) for name in pairs.names] or [0], dtype=int)[pairs.codes]
        lengths, size = np.diff(pairs.offsets), len(self.classes)
        row = np.repeat(np.arange(len(lengths)), lengths)
        if (at < 0).any():
            first = first_true(at < 0)
            raise _other_classes(self, int(row[first]), pairs.names[pairs.codes[first]], [])
        counts = np.bincount(row * size + at, minlength=len(lengths) * size).reshape(-1, size)
        if (counts != 1).any():
            where, k = map(int, np.unravel_index(first_true((counts != 1).ravel()), counts.shape))
            if counts[where, k]:
                raise InputError(
                    "each class once",
                    got=f"{self.classes[k]} {counts[where, k]} times",
                    row=where + 1,
                    column=self.column,
                    remedy="give every class once a row",
                )
            raise _other_classes(self, where, None, [self.classes[k]])
        out = np.empty((len(lengths), size))
        out[row, at] = pairs.scores
        return out


def _other_classes(
    unfolded: Unfolded, row: int, more: str | None, absent: Sequence[str]
) -> InputError:
    """The error for a row with other classes than the first rows."""
    listed = ", ".join(unfolded.classes[:6]) + (", ..." if len(unfolded.classes) > 6 else "")
    expected = f"the {len(unfolded.classes)} classes of the first rows ({listed})"
    got = f"no {absent[0]}" if more is None else f"{more!r}"
    remedy = "ask the tool for all classes (top_k=None of a Hugging Face pipeline), or for the best alone (top_k=1)"
    return InputError(expected, got=got, row=row + 1, column=unfolded.column, remedy=remedy)


def _valid(cells: Any) -> Array:
    return np.asarray(cells.is_valid().to_numpy(zero_copy_only=False), dtype=bool)


def _refuse_rows(bad: Array, column: str, expected: str, cells: Any) -> None:
    """Raise `InputError` for the first bad row, with what stands there."""
    if bad.any():
        row = first_true(bad)
        value = cells[row].as_py()
        raise InputError(
            expected,
            got="null (an empty cell)" if value is None else repr(value)[:_SHOWN],
            row=row + 1,
            column=column,
            remedy="fill in the value or drop the row",
        )


def json_table(lines: bytes, parsing: Any = None) -> Any:
    """Whole lines of JSON as an Arrow table, in this thread; `pyarrow.ArrowInvalid` for what is none. Of a list such as
    [null, 0] the reader may make one that reaches beyond its values, which is refused alike.
    """
    options = pajson.ReadOptions(use_threads=False, block_size=len(lines) + 1)
    table = pajson.read_json(pa.BufferReader(lines), options, parsing)
    table.validate()
    return table


def _parsed(cells: Any, column: str) -> Any:
    """Cells of JSON, or of what Python or numpy prints, as Arrow's nested values."""
    texts = cells.to_pylist()
    lines = "\n".join(
        '{"c":' + ("null" if t is None else t.replace("\n", " ")) + "}" for t in texts
    ).encode()
    try:
        table = json_table(lines)
        if table.num_rows == len(texts) and table.column_names == ["c"]:
            return plain(table.column(0))
    except (pa.ArrowException, ValueError):
        pass
    values = []
    for row, text in enumerate(texts, start=1):
        value = None if text is None else value_of(text)
        if text is not None and value is None:
            got, remedy = repr(text[:_SHOWN]), "write it as JSON (json.dumps)"
            raise InputError(_EXPECTED, got=got, row=row, column=column, remedy=remedy)
        values.append(value)
    try:
        return pa.array(values)
    except (pa.ArrowException, ValueError, TypeError) as error:
        got = " ".join(str(error).split())[:_SHOWN]
        remedy = "write every cell in one form, as JSON"
        raise InputError("cells of one form", got=got, column=column, remedy=remedy) from None


def value_of(text: str) -> Any:
    """What a text of JSON, of Python, numpy or torch holds; None where it is neither.

    >>> value_of("[{'label': 'cat', 'score': 0.9}]"), value_of("[0.1 0.9]"), value_of("cat")
    ([{'label': 'cat', 'score': 0.9}], [0.1, 0.9], None)
    >>> value_of("[np.float64(0.1), np.float64(0.9)]"), value_of("tensor([0.1, 0.9])")
    ([0.1, 0.9], [0.1, 0.9])
    """
    bare = text.strip()
    if not bare.startswith(_OPENING):
        return None
    bare = _unwrapped(bare)
    for read in (json.loads, ast.literal_eval):
        try:
            return _dense(read(bare))
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return [float(part) for part in bare[1:-1].split()] if _NUMBERS.fullmatch(bare) else None


def _unwrapped(text: str) -> str:
    """A text without the names of types that numpy and torch print around numbers, strings and lists."""
    if "(" in text:
        text = _SCALAR.sub(r"\1", text)
        array = _ARRAY.fullmatch(text)
        text = text if array is None else array[1].strip()
    # Python would join strings that no comma parts
    return re.sub(r"'\s+'", "', '", text) if _WORDS.fullmatch(text) else text


def _dense(value: Any) -> Any:
    """A sparse vector as Spark prints it, (size, places, numbers), as a list; anything else as it is."""
    if not isinstance(value, tuple):
        return value
    if len(value) != 3 or not isinstance(value[0], int):
        return list(value)
    out = [0.0] * value[0]
    for at, number in zip(value[1], value[2], strict=True):
        out[at] = float(number)
    return out


def _of_percents(cells: Any, column: str) -> Any:
    """Cells such as ``73.1 %`` as shares of 1."""
    out: list[float | None] = []
    for row, text in enumerate(cells.to_pylist(), start=1):
        if text is None or not str(text).strip():
            out.append(None)
            continue
        if not PERCENT.fullmatch(str(text)):
            raise InputError(
                "percents such as 73.1%, as in row 1",
                got=repr(text)[:_SHOWN],
                row=row,
                column=column,
                remedy="write every cell of the column in one way",
            )
        out.append(float(text.strip().rstrip("%").strip().replace(",", ".")) / 100)
    return pa.array(out, pa.float64())


def _of_vectors(cells: Any, column: str) -> Any:
    """Lists of numbers, or Spark's vectors, as lists of numbers."""
    _refuse_rows(~_valid(cells), column, "a list of numbers", cells)
    if not pt.is_struct(cells.type):
        return cells
    if all(kind == 1 for kind in cells.field("type").unique().to_pylist()):
        return plain(cells.field("values"))
    return pa.array(
        [
            _dense((v["size"], v["indices"], v["values"])) if not v["type"] else v["values"]
            for v in cells.to_pylist()
        ]
    )


def _single(cells: Any) -> Any:
    """Lists of one list, as older pipelines of Hugging Face give them, as the list inside."""
    listed = pt.is_list(cells.type) or pt.is_large_list(cells.type)
    inner = cells.type.value_type if listed else None
    if (
        inner is not None
        and (pt.is_list(inner) or pt.is_large_list(inner))
        and not cells.null_count
    ):
        offsets = numbers_of(cells.offsets)
        if (np.diff(offsets) == 1).all():
            return cells.values.slice(offsets[0], len(cells))
    return cells


def _pairs(cells: Any, column: str) -> Pairs:
    """The classes and scores of each row, whichever way they are nested."""
    _refuse_rows(~_valid(cells), column, "an answer", cells)
    offsets = np.arange(len(cells) + 1)
    if pt.is_map(cells.type):
        entries, offsets = _flat(cells)
        labels, scores = entries.field(0), entries.field(1)
    elif pt.is_struct(cells.type):
        label, score, are_lists = keys_of([field.name for field in cells.type])
        labels, scores = plain(cells.field(label)), plain(cells.field(score))
        if are_lists:
            _refuse_rows(
                ~_valid(labels) | ~_valid(scores), column, "lists of classes and scores", cells
            )
            (labels, offsets), (scores, ends) = _flat(labels), _flat(scores)
            _refuse_rows(
                np.diff(ends) != np.diff(offsets), column, f"as many {score} as {label}", cells
            )
    else:
        entries, offsets = _flat(cells)
        label, score, _ = keys_of([field.name for field in entries.type])
        labels, scores = entries.field(label), entries.field(score)
    labels, scores = plain(labels, coded=False), plain(scores, coded=False)
    for array, what in (
        (labels, "a class beside every score"),
        (scores, "a score beside every class"),
    ):
        if array.null_count:
            row = int(np.searchsorted(offsets, first_true(~_valid(array)), side="right")) - 1
            _refuse_rows(np.arange(len(cells)) == row, column, what, cells)
    codes, distinct = coded_cells(labels)
    return Pairs(
        codes, list(map(class_text, distinct.to_pylist())), number_cells(scores, column), offsets
    )


def _flat(lists: Any) -> tuple[Any, Array]:
    """The entries of lists, end to end, and where those of each begin."""
    if pt.is_fixed_size_list(lists.type):
        size = lists.type.list_size
        return plain(lists.values.slice(lists.offset * size, len(lists) * size)), np.arange(
            len(lists) + 1
        ) * size
    if not len(lists):
        return lists.values.slice(0, 0), np.zeros(1, dtype=np.int64)
    offsets = numbers_of(lists.offsets).astype(np.int64)
    return plain(lists.values.slice(offsets[0], offsets[-1] - offsets[0])), offsets - offsets[0]


def class_text(value: Any) -> str:
    """A class as a column name has it: 1 for 1.0."""
    text = one_form(str(value).lower() if isinstance(value, bool) else str(value).strip())
    match = _WHOLE.fullmatch(text)
    return match[1] if match else text


def keys_of(names: Iterable[str]) -> tuple[str, str, bool]:
    """The names of the classes and of their scores in an object, and whether they are lists; "" where there are none.

    >>> keys_of(["label", "score"]), keys_of(["classes", "scores"]), keys_of(["cat", "dog"])
    (('label', 'score', False), ('classes', 'scores', True), ('', '', False))
    """
    keys = [*names]
    score = next((name for name in keys if _SCORE.fullmatch(name.lower())), "")
    for are_lists, form in ((True, _LABELS), (False, _LABEL)):
        label = next((name for name in keys if form.fullmatch(name.lower())), "")
        if label and score:
            return label, score, are_lists
    return "", "", False


# --- what a column holds, by its first rows


def odd_cell(value: Any, name: str) -> bool:
    """Whether a cell may hold an answer that is nested, the classes of one, or a percent, as text or as it is."""
    if isinstance(value, str):
        bare = value.strip()
        return bare.startswith(_OPENING) or (
            bare.endswith("%") and PERCENT.fullmatch(bare) is not None
        )
    if isinstance(value, list) and value and not isinstance(value[0], (list, dict)):
        return usual_field(name) == "probabilities" or _are_classes(name) or name == "prediction"
    return isinstance(value, (list, dict))


def odd_columns(schema: Any) -> Strings:
    """Columns of a schema that may hold such cells; of texts those whose name is one of answers."""
    out = []
    for field in schema:
        kind, usual = field.type, usual_field(field.name)
        inner = getattr(kind, "value_type", None)
        while inner is not None and hasattr(inner, "value_type") and not pt.is_dictionary(inner):
            inner = inner.value_type
        nested = (
            pt.is_struct(kind) or pt.is_map(kind) or (inner is not None and pt.is_struct(inner))
        )
        listed = inner is not None and not pt.is_dictionary(kind)
        listed = listed and (
            usual == "probabilities" or _are_classes(field.name) or field.name == "prediction"
        )
        text = pt.is_string(kind) or pt.is_large_string(kind) or str(kind) == "string_view"
        named = usual in _ANSWERS or field.name in _ANSWERS or field.name.startswith("prob_")
        if nested or listed or (text and (named or _may_answer(field.name))):
            out.append(field.name)
    return tuple(out)


def _may_answer(name: str) -> bool:
    return re.search(r"(?i)prob|score|pred|answer|output|result|class", name) is not None


class _Seen(NamedTuple):
    """What the first rows of a column hold: Python's values, whether they were written as text (``json``: as lists that
    the reader makes of it) or as Arrow's maps.
    """

    values: list[Any]
    text: bool = False
    maps: bool = False
    json: bool = False


def _values(cells: Any) -> list[Any]:
    """Cells as Python has them; none of structs whose fields differ in length, which Arrow makes of odd JSON, and none
    of texts that are damaged: the error is that of the pass that reads them.
    """
    try:
        return list(cells.to_pylist())
    except (pa.ArrowException, UnicodeDecodeError):
        return []


def _seen(cells: Any, reads_json: bool = False) -> _Seen | None:
    """The first rows of a column; ``reads_json``: the reader makes lists of JSON text by itself, as that of CSV."""
    cells = plain(cells, coded=False)
    values = [value for value in _values(cells) if value is not None and value != ""]
    if not values:
        return None
    if isinstance(values[0], str):
        if PERCENT.fullmatch(values[0]):
            return _Seen(values, text=True)
        read = [value_of(value) for value in values]
        parsed = [value for value in read if value is not None]
        is_json = reads_json and _is_json(values[0])
        return None if read[0] is None else _Seen(parsed, text=True, json=is_json)
    if pt.is_map(cells.type):
        return _Seen([dict(value) for value in values], maps=True)
    return _Seen(values)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _form_of(column: str, seen: _Seen, ours: str | None) -> Unfolded | None:
    """How a column is unfolded; None where it holds nothing that is known. ``ours`` is what a user called it."""
    values = seen.values
    if isinstance(values[0], str):
        return Unfolded(column, "percents", (column,), text=True)
    # of one list, as of older pipelines
    if _is_list(values[0]) and len(values[0]) == 1 and _is_list(values[0][0]):
        values = [value[0] for value in values if value]
    first = values[0]
    if _is_vector(first):
        return _of_vector(column, seen, ours)
    if (record := _of_record(column, seen)) is not None:
        return record
    rows = [_answers_of(value) for value in values]
    answers = [row for row in rows if row is not None]
    if len(answers) < len(rows):
        return None
    return _of_answers(
        column, answers, not isinstance(first, dict) or bool(keys_of(first)[0]), seen
    )


def _of_record(column: str, seen: _Seen) -> Unfolded | None:
    """Records of single values and, in one field that is called so, the probabilities of all classes."""
    if seen.maps or not all(isinstance(value, dict) for value in seen.values):
        return None
    first = seen.values[0]
    key = _field_of_probabilities(first)
    alone = [name for name in first if all(_is_single(value.get(name)) for value in seen.values)]
    if key is None or not alone:
        return None
    inner = [value.get(key) for value in seen.values]
    classes = tuple(map(class_text, first[key])) if isinstance(first[key], dict) else ()
    if not _are_rows_of_shares(inner):
        return None
    prefix = f"{column}.{key}"
    answers = [f"{prefix}.{name}" for name in classes] or [prefix]
    gives = (*(f"{column}.{name}" for name in alone), *answers)
    return Unfolded(column, "record", gives, classes, seen.text, within=key)


def _field_of_probabilities(record: Mapping[str, Any]) -> str | None:
    """The only field of a record that holds several values and is called probabilities."""
    nested = [key for key, value in record.items() if isinstance(value, (dict, list))]
    called = [key for key in nested if "probabilities" in (key, usual_field(str(key)))]
    return called[0] if len(called) == 1 else None


def _is_single(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float))


def _are_shares(row: Any) -> bool:
    """Whether a list holds probabilities of all classes."""
    numbers = _is_list(row) and len(row) > 1 and all(map(_is_number, row))
    return numbers and _sums_to_one(row)


def _are_rows_of_shares(cells: Sequence[Any]) -> bool:
    """Whether lists, or mappings by class, hold probabilities of equally many classes."""
    rows = [[*cell.values()] if isinstance(cell, dict) else cell for cell in cells]
    return all(_are_shares(row) and len(row) == len(rows[0]) for row in rows)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_vector(value: Any) -> bool:
    """Whether a cell is a list of numbers, or one of Spark's vectors."""
    if isinstance(value, dict):
        return {"type", "values"} <= value.keys() <= {"type", "values", "size", "indices"}
    return _is_list(value) and bool(value) and all(map(_is_number, value))


def _of_vector(column: str, seen: _Seen, ours: str | None) -> Unfolded | None:
    """Vectors are read where the name is that of probabilities, since many columns hold some; lists of a field as
    they are.
    """
    ours, is_list = ours or column, _is_list(seen.values[0])
    if is_list and ours in _VECTORS and (seen.json or not seen.text):
        return None
    named = usual_field(column) == "probabilities" or ours in _VECTORS
    called = column == "prediction" or usual_field(column) == "prediction"
    named = named or (called and ours == column and all(map(_are_shares, seen.values)))
    return Unfolded(column, "vector", (column,), text=seen.text) if named else None


def _answers_of(value: Any) -> list[tuple[str, float]] | None:
    """Classes with their scores; None where a cell is no such thing."""
    pairs = _of_object(value) if isinstance(value, dict) else _of_objects(value)
    if not pairs or not all(_is_number(score) for _, score in pairs):
        return None
    names = all(isinstance(name, (str, int, float)) for name, _ in pairs)
    return [(class_text(name), float(score)) for name, score in pairs] if names else None


def _of_object(value: Plain) -> list[tuple[Any, Any]]:
    """Pairs of one object: a class and its score, lists of both, or a score under the name of each class."""
    label, score, are_lists = keys_of(value)
    if not label:
        return list(value.items())
    if not are_lists:
        return [(value[label], value[score])]
    both = value[label], value[score]
    return list(zip(*both, strict=False)) if all(map(_is_list, both)) else []


def _of_objects(value: Any) -> list[tuple[Any, Any]]:
    """Pairs of a list of objects, each a class and its score."""
    keys = (
        [keys_of(entry) if isinstance(entry, dict) else ("", "", False) for entry in value]
        if _is_list(value)
        else []
    )
    if not all(label and not are_lists for label, _, are_lists in keys):
        return []
    return (
        [(entry[label], entry[score]) for entry, (label, score, _) in zip(value, keys, strict=True)]
        if keys
        else []
    )


def _of_answers(
    column: str, rows: Sequence[list[tuple[str, float]]], named: bool, seen: _Seen
) -> Unfolded | None:
    """All classes where every row has them and they sum to 1; else, of ``named`` pairs, the best one."""
    orders = [tuple(name for name, _ in row) for row in rows]
    if _are_alike(orders) and all(_sums_to_one([score for _, score in row]) for row in rows):
        classes = orders[0] if len({*orders}) == 1 else name_order(orders[0])
        gives = tuple(f"{column}.{name}" for name in classes)
        form: Form = "every class" if named or seen.maps else "numbers by class"
        return Unfolded(column, form, gives, classes, seen.text)
    if named and all(0 <= score <= 1 for row in rows for _, score in row):
        return Unfolded(column, "best class", (f"{column}.label", f"{column}.score"), (), seen.text)
    return None


def _are_alike(orders: Sequence[Strings]) -> bool:
    """Whether every row has the same classes, each once."""
    first = sorted(orders[0])
    return len({*first}) == len(first) > 1 and all(sorted(order) == first for order in {*orders})


def _sums_to_one(scores: Sequence[float]) -> bool:
    return abs(sum(scores) - 1) <= _OFF and min(scores) >= 0


def renamings_of(unfolded: Unfolded) -> dict[str, str]:
    """What the columns that it gives are called by us."""
    if unfolded.form == "best class":
        return dict(zip(unfolded.gives, ("prediction", "confidence"), strict=True))
    if unfolded.form == "vector":
        return {} if unfolded.column in _VECTORS else {unfolded.column: "probabilities"}
    if unfolded.form in ("percents", "fields"):
        return {}
    if unfolded.form == "record":
        return _renamings_of_record(unfolded)
    return {
        column: f"prob_{name}"
        for column, name in zip(unfolded.gives, unfolded.classes, strict=True)
    }


def _renamings_of_record(unfolded: Unfolded) -> dict[str, str]:
    """The probabilities of a record, and the decision beside them, where one of its values is called so."""
    size = max(len(unfolded.classes), 1)
    alone, answers = unfolded.gives[:-size], unfolded.gives[-size:]
    out = dict.fromkeys(answers, "probabilities")
    if unfolded.classes:
        names = zip(answers, unfolded.classes, strict=True)
        out = {column: f"prob_{name}" for column, name in names}
    fields = {column: column.removeprefix(f"{unfolded.column}.") for column in alone}
    decided = [
        c for c, name in fields.items() if name == "class" or usual_field(name) == "prediction"
    ]
    return out | (dict.fromkeys(decided, "prediction") if len(decided) == 1 else {})


class Unfolding(NamedTuple):
    """The columns of a file with those that nested answers give in their place, and the renamings with theirs."""

    columns: Strings
    mapping: Mapping[str, str]
    unfolded: tuple[Unfolded, ...] = ()


def unfold(
    reader: Any, columns: Strings, mapping: Mapping[str, str], as_is: Collection[str] = ()
) -> Unfolding:
    """Find the columns of nested answers by the first rows; columns ``as_is`` are asked for unchanged, too. Raises
    `InputError` where two columns hold the answers, or one that is named so holds something else.
    """
    may_be = [
        n
        for n in reader.odd
        if n in columns and (n not in FIELDS or n in (*_ANSWERS, *_VECTORS, "score"))
    ]
    names = [name for name in may_be if mapping.get(name) in (None, *_ANSWERS) or name in FIELDS]
    names += [n for n in columns if (o := mapping.get(n, "")) == "score" or o.startswith("prob_")]
    wide = [name for name in reader.odd if name.startswith(tuple(WIDE)) and name in columns]
    names = list(dict.fromkeys((*names, *wide)))
    if not names:
        return Unfolding(columns, mapping)
    beside = _named_beside(reader, columns, mapping)
    chosen = _each_alone(reader, names, columns, mapping) if beside is None else [beside]
    return _applied(chosen, columns, mapping, as_is)


def hundredths(reader: Any, feed: Feed | None) -> tuple[Unfolded, ...]:
    """Columns of probabilities of all classes, or lists of them, that are percents without a sign: numbers from 0 to
    100, some above 1, which sum to 100 in every one of the first rows. A lone column tells nothing.
    """
    if feed is None or feed.lone or not {*feed.columns} <= {*reader.columns}:
        return ()
    shares, lists = feed.columns, not feed.wide
    if len(shares) > _MOST_SHARES:
        return ()
    try:
        kinds = dict.fromkeys(shares, "numbers" if lists else "number")
        batch = reader.first_rows(kinds, HEAD_ROWS)
        numbers = None if batch is None else _side_by_side(batch, shares, lists)
    except (InputError, ValueError, TypeError, pa.ArrowException):
        return ()  # said where they are read
    if numbers is None or not _sum_to_100(numbers[np.isfinite(numbers).all(axis=1)]):
        return ()
    form: Form = "list of hundredths" if lists else "hundredths"
    return tuple(Unfolded(name, form, (name,)) for name in shares)


def _side_by_side(batch: Any, names: Sequence[str], are_lists: bool) -> Array:
    """The numbers of columns, or of the lists in the only one, (row, class)."""
    if not are_lists:
        cells = [number_cells(batch.column(name), name) for name in names]
        return np.column_stack(cells)
    values, size = flat_list(plain(batch.column(names[0])), names[0])
    return number_cells(values, names[0]).reshape(-1, size)


def _sum_to_100(numbers: Array) -> bool:
    """Whether numbers of all classes, (row, class), are percents."""
    if not numbers.size or numbers.min() < 0 or numbers.max() <= 1 or numbers.shape[1] < 2:
        return False
    are_whole = bool((numbers == np.round(numbers)).all())
    slack = max(_HUNDREDTH, numbers.shape[1] / 2 * are_whole)
    return bool((np.abs(numbers.sum(axis=1) - 100) <= slack).all())


def _of_hundredths(cells: Any) -> Any:
    """Lists of percents as lists of shares of 1; an empty cell is told where they are read."""
    cells = plain(cells)
    if cells.null_count:
        return cells
    values, offsets = _flat(cells)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), _hundredth(values))


def _hundredth(percents: Any) -> Any:
    """Numbers as shares of 1, null where they are."""
    numbers = plain(percents).cast(pa.float64())
    mask = None if not numbers.null_count else ~_valid(numbers)
    return pa.array(numbers.to_numpy(zero_copy_only=False) / 100, mask=mask)


def _each_alone(
    reader: Any, names: Sequence[str], columns: Sequence[str], mapping: Mapping[str, str]
) -> list[Unfolded]:
    """Those of the columns of these names whose own cells hold answers."""
    candidates: list[Unfolded] = []
    head = _head(reader, names)
    for name, cells in head.items():
        seen = _seen(cells, reads_json=reader.text)
        unfolded = None if seen is None else _form_of(name, seen, mapping.get(name))
        candidates += [] if unfolded is None else [unfolded]
    other_fields = [
        mapping.get(c, c) for c in columns if c not in {unfolded.column for unfolded in candidates}
    ]
    chosen = _chosen(candidates, other_fields, mapping)
    if not chosen:
        _refuse_unread(head, other_fields)
    answers = {unfolded.column for unfolded in chosen}
    beside = [_of_fields(name, cells) for name, cells in head.items() if name not in answers]
    return [*chosen, *(unfolded for unfolded in beside if unfolded is not None)]


def _of_fields(column: str, cells: Any) -> Unfolded | None:
    """Objects of single values, as the inputs of a row in batch predictions, as a column for each field."""
    kind = cells.type
    if not pt.is_struct(kind) or any(pt.is_nested(field.type) for field in kind):
        return None
    names = tuple(field.name for field in kind)
    return Unfolded(column, "fields", tuple(f"{column}.{name}" for name in names), names)


def _named_beside(
    reader: Any, columns: Sequence[str], mapping: Mapping[str, str]
) -> Unfolded | None:
    """Lists of probabilities beside lists of their classes, as SageMaker writes them; None without both."""
    called = {c: mapping.get(c, c if c in FIELDS else usual_field(c)) for c in columns}
    scores = [c for c, ours in called.items() if ours == "probabilities"]
    may_name = [c for c in columns if c in reader.odd and c not in mapping and _are_classes(c)]
    if len(scores) != 1 or not may_name:
        return None
    head = {name: _lists(cells) for name, cells in _head(reader, (*may_name, *scores)).items()}
    numbers = head.get(scores[0], [])
    names = [name for name in may_name if numbers and _name_each(head.get(name, []), numbers)]
    if len(names) != 1:
        return None
    both = [
        {"labels": name, "scores": score}
        for name, score in zip(head[names[0]], numbers, strict=True)
    ]
    unfolded = _form_of(scores[0], _Seen(both), "probabilities")
    return None if unfolded is None else replace(unfolded, named_by=names[0])


def _name_each(lists: Sequence[list[Any]], numbers: Sequence[list[Any]]) -> bool:
    """Whether every row has as many classes, each of them once, as numbers."""
    return [*map(len, lists)] == [*map(len, numbers)] and all(
        len({*map(str, row)}) == len(row) for row in lists
    )


def _are_classes(column: str) -> bool:
    """Whether a column of lists may name the class of each probability beside it."""
    return any(form.fullmatch(column.lower()) for form in (_LABELS, _RANKED))


def _lists(cells: Any) -> list[Any]:
    """What first rows hold, where every one holds a list; else nothing."""
    seen = _seen(cells)
    return seen.values if seen is not None and all(map(_is_list, seen.values)) else []


def _refuse_unread(head: Plain, other_fields: Sequence[str]) -> None:
    """Raise `InputError` where a column that is named as answers are holds none that is known, and no other does."""
    unread: dict[str, tuple[int, Any]] = {}
    for name, cells in head.items():
        first = next(((i, v) for i, v in enumerate(_values(cells), 1) if v not in (None, "")), None)
        if first is not None and odd_cell(first[1], name):
            unread[name] = first
    readable = [name for name in other_fields if name not in unread]
    if any(
        (name in FIELDS and name != "label") or name.startswith(tuple(WIDE)) for name in readable
    ):
        return
    if any(usual_field(name) not in (None, "time", "label") for name in readable):
        return
    for name, (row, value) in unread.items():
        if usual_field(name) == "probabilities":
            raise InputError(
                _EXPECTED,
                got=repr(value)[:_SHOWN],
                row=row,
                column=name,
                remedy="write one number for each class, as columns prob_<class>",
            )


def _head(reader: Any, names: Sequence[str]) -> Json:
    """The first rows of columns; none where they cannot be read, which is told by whoever wants them."""
    kinds = dict.fromkeys(names, "text" if reader.text else "raw")
    try:
        batch = next(iter(reader.tables(kinds, HEAD_ROWS)), None)
    except InputError:
        return {}
    return {} if batch is None else {name: batch.column(name) for name in names}


def _chosen(
    candidates: Sequence[Unfolded], other_fields: Sequence[str], mapping: Mapping[str, str]
) -> list[Unfolded]:
    """Those of the columns that are read, beside ``other_fields``."""
    sure = [
        candidate
        for candidate in candidates
        if (candidate.form == "vector" and candidate.column in _VECTORS)
        or _is_share(candidate, mapping)
    ]
    fields = {*other_fields, *(candidate.column for candidate in sure)}
    if any(
        WIDE.get(f"{name.partition('_')[0]}_", name) in _VECTORS - {"features"} for name in fields
    ):
        return sure  # which are the answers
    answers = _likeliest(
        [candidate for candidate in candidates if candidate not in sure], other_fields, mapping
    )
    if len(answers) > 1 and not {"prediction", "correct"} & {*other_fields}:
        named = ", ".join(candidate.column for candidate in answers)
        raise InputError(
            "one column of answers",
            got=named,
            column=answers[1].column,
            remedy=f"name the one that is meant, --map {answers[0].column}=probabilities",
        )
    return [*sure, *(answers if len(answers) == 1 else ())]


def _likeliest(
    candidates: Sequence[Unfolded], other_fields: Sequence[str], mapping: Mapping[str, str]
) -> list[Unfolded]:
    """Columns of all classes before those of the best one; of them those that a user or their names call answers."""
    every = [
        candidate for candidate in candidates if candidate.form not in ("best class", "percents")
    ]
    best = [
        candidate
        for candidate in candidates
        if candidate.form == "best class" and "confidence" not in other_fields
    ]
    answers = every or best
    answers = [candidate for candidate in answers if candidate.column in mapping] or answers
    return [
        candidate
        for candidate in answers
        if usual_field(candidate.column) or candidate.column in _ANSWERS
    ] or answers


def _is_share(unfolded: Unfolded, mapping: Mapping[str, str]) -> bool:
    if unfolded.form == "percents" and mapping.get(unfolded.column, unfolded.column) == "score":
        return True
    called = mapping.get(unfolded.column, unfolded.column)
    named = called.startswith("prob_") or usual_field(unfolded.column) == "probabilities"
    return unfolded.form == "percents" and named


def _applied(
    chosen: Sequence[Unfolded],
    columns: Strings,
    mapping: Mapping[str, str],
    as_is: Collection[str],
) -> Unfolding:
    by_column = {unfolded.column: unfolded for unfolded in chosen}
    other_fields = {mapping.get(c, c) for c in columns if c not in by_column}
    renamed, out = dict(mapping), list[str]()
    for column in columns:
        if column not in as_is and any(column == unfolded.named_by for unfolded in chosen):
            continue
        unfolded = by_column.get(column)
        if unfolded is None or column in as_is:
            out.append(column)
        if unfolded is not None:
            renamings = {
                theirs: ours
                for theirs, ours in renamings_of(unfolded).items()
                if ours not in other_fields
            }
            if unfolded.form in ("fields", "record"):
                out += unfolded.gives
            elif unfolded.form in ("vector", "percents"):
                out += [column] * (column not in as_is)
                renamings = {} if column in mapping else renamings
            else:
                renamed.pop(column, None)
                out += renamings
            renamed |= renamings
    return Unfolding(tuple(out), renamed, tuple(chosen))


def _with_names(batch: Any, unfolded: Unfolded) -> Any:
    """Lists of classes and of their scores, from two columns, as one column of both."""
    both = [plain(batch.column(name), coded=False) for name in (unfolded.named_by, unfolded.column)]
    texts = [pt.is_string(cells.type) or pt.is_large_string(cells.type) for cells in both]
    both = [
        _parsed(cells, unfolded.column) if text else cells
        for cells, text in zip(both, texts, strict=True)
    ]
    return pa.StructArray.from_arrays(both, names=["labels", "scores"])


def unfolded_batch(batch: Any, names: Iterable[str], unfolded: Sequence[Unfolded]) -> Any:
    """A record batch with the columns of these names, those of nested answers among them."""
    columns: Json = {}
    column_names = list(names)
    for nested in unfolded:
        if not {*nested.gives}.isdisjoint(column_names):
            columns |= nested.columns_of(
                _with_names(batch, nested) if nested.named_by else batch.column(nested.column)
            )
    return pa.record_batch(
        [columns[n] if n in columns else batch.column(n) for n in column_names], names=column_names
    )
