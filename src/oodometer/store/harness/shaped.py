"""Shaped: reads a record of answers by the table of shapes; which shape a file has."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from ...classes import verdict_number
from ...errors import InputError
from ...plain import Json, Plain
from ..files import opened, translated
from ..shapes import Shape
from .base import Answers, LogOptions, is_json_lines, json_rows, mapping, read_json
from .others import Row, check_total, graded

_STEPS = re.compile(r"\{[^}]+\}|\[\]|[^.\[\]{}]+")
_LONGEST_ID = 64
_NO_GRADE = "no grade"
_NOT_AT_RANDOM = "not at random where hard answers fail more often"


class _Place(NamedTuple):
    """A value in a document: the name and the number that led to it, and the objects around it, outermost first."""

    value: Any
    key: str
    number: int
    around: tuple[Any, ...]


def _objects_of(file: str) -> Iterator[tuple[int, Any]]:
    """The objects of a file with their numbers, from 1: lines, entries of an array, rows of a table, or one."""
    if file.lower().endswith((".csv", ".parquet", ".pq")):
        with translated(file, "table"):
            yield from enumerate(_table_rows(file), 1)
    elif _is_array(file) or is_json_lines(file):
        yield from json_rows(file)
    else:
        yield 1, read_json(file)


def _is_array(file: str) -> bool:
    with translated(file, "JSON"), opened(file) as stream:
        head: bytes = stream.read(64)
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def _table_rows(file: str) -> list[Json]:
    if file.lower().endswith(".csv"):
        from pyarrow import csv

        rows: list[Json] = csv.read_csv(file).to_pylist()
        return rows
    import pyarrow.parquet as pq

    rows = pq.read_table(file).to_pylist()
    return rows


def _walk(place: _Place, steps: Sequence[str], here: Any) -> Iterator[_Place]:
    """The values that a path leads to; ``here`` is the object that was entered last."""
    if not steps:
        yield place
        return
    step, rest, value = steps[0], steps[1:], place.value
    around = (*place.around, here)
    if step == "[]":
        for number, entry in enumerate(value if isinstance(value, list) else (), 1):
            yield from _walk(_Place(entry, place.key, number, around), rest, entry)
    elif step.startswith("{"):
        for key, number, entry in _of_table(value, step, place.key):
            yield from _walk(_Place(entry, key, number, around), rest, entry)
    elif "*" in step:
        for key in fnmatch.filter(mapping(value), step):
            entry = value[key]
            yield from _walk(_Place(entry, key, 1, around), rest, entry)
    else:
        entry = _entry(value, step)
        if entry is not None:
            yield from _walk(place._replace(value=entry), rest, here)


def _of_table(value: Any, step: str, key: str) -> Iterator[tuple[str, int, Json]]:
    """The rows of a table that is written as names and rows, ``{c:d}``, or as lists side by side, ``{v=.x,u=.y}``: what
    their names begin with, else the key; their number, and themselves.
    """
    if "=" not in step:
        names, rows = (mapping(value).get(part) for part in step[1:-1].split(":"))
        for number, cells in enumerate(rows or (), 1):
            yield key, number, dict(zip(map(str, names or ()), cells, strict=True))
        return
    ends = dict(part.split("=") for part in step[1:-1].split(","))
    first = next(iter(ends.values()))
    for name in (name for name in mapping(value) if name.endswith(first)):
        start = name.removesuffix(first)
        lists = [mapping(value).get(start + end) or () for end in ends.values()]
        for number, cells in enumerate(zip_longest(*lists), 1):
            yield start, number, dict(zip(ends, cells, strict=True))


def _entry(value: Any, step: str) -> Any:
    """What stands under a name of a mapping, or a number of a list; None where nothing does."""
    if isinstance(value, list):
        return value[int(step)] if step.isdecimal() and int(step) < len(value) else None
    return mapping(value).get(step)


def _rows(root: Any, paths: Sequence[str]) -> list[_Place]:
    """The rows of an object, by the first path that leads to some."""
    for path in paths:
        if not path:
            return [_Place(root, "", 1, ())]
        steps = _STEPS.findall(path)
        found = [*_walk(_Place(root, "", 1, ()), steps, root)]
        if found:
            return found
    return []


class _Path(NamedTuple):
    """A path without alternatives: where it begins, its steps, and whether they are names alone."""

    start: str
    steps: tuple[str, ...]
    is_plain: bool


@cache
def _options_of(path: str) -> tuple[_Path, ...]:
    """The alternatives of a path; none where it is empty."""
    out = []
    for option in path.split("|") if path else ():
        start = option if option in (".", "@", "#") else option[0] if option[0] in "/^~" else ""
        steps = () if start in (".", "@", "#") else tuple(_STEPS.findall(option.lstrip("/^~")))
        is_plain = not any(step == "[]" or step[0] == "{" or "*" in step for step in steps)
        out.append(_Path(start, steps, is_plain))
    return tuple(out)


class _Cells:
    """The cells of a row by their paths; ``heads`` are what the file says once."""

    def __init__(self, row: _Place, heads: Plain) -> None:
        self.row, self.heads = row, heads

    def _begin(self, start: str) -> Any:
        """The value at which a path begins."""
        row = self.row
        if not start or start == ".":
            return row.value
        if start == "/":
            return row.around[0] if row.around else row.value
        if start == "^":
            return row.around[-1] if row.around else None
        return {"@": row.key, "#": row.number, "~": self.heads}[start]

    def all(self, path: _Path) -> list[tuple[str, Any]]:
        """Each value that a path leads to, with the name that a ``*`` stood for; none for null."""
        value = self._begin(path.start)
        if path.is_plain:
            for step in path.steps:
                value = value.get(step) if type(value) is dict else _entry(value, step)
            return [] if value is None else [("", value)]
        places = _walk(_Place(value, "", 1, ()), path.steps, value)
        return [(place.key, place.value) for place in places if place.value is not None]

    def one(self, path: str) -> Any:
        """The first value of the alternatives that is neither null nor empty; else an empty one; else None."""
        empty = None
        for option in _options_of(path):
            for _, value in self.all(option):
                if value != "":
                    return value
                empty = value
        return empty

    def says(self, tests: Mapping[str, Collection[str]]) -> str:
        """The value for which one of the tests holds, "" where none does."""
        for path, values in tests.items():
            for option in _options_of(path):
                for _, value in self.all(option):
                    text = str(value).lower()
                    if text in values or (not values and value not in (None, "", False, [])):
                        return text or "none"
        return ""


def read_shape(shape: Shape, files: Sequence[str], options: LogOptions) -> list[Answers]:
    """The answers in the files of one run that have this shape, those of each task by themselves.

    Verdicts become ``correct`` or ``score`` by the first metric that is known; rows that the grader failed on are left
    out, answers that could not be parsed are wrong, and both are counted in a warning. Of several models, the column
    ``model`` names that of each row. Raises `InputError` for a file without rows, a verdict that is none, and a
    question that comes twice.
    """
    tasks: dict[str, list[tuple[Row, str]]] = {}
    heads: Json = {}
    number = 0
    for file in files:
        for _, root in _objects_of(file):
            heads |= _heads(root, shape)
            for place in _rows(root, shape.rows):
                cells = _Cells(place, heads)
                if shape.only and not cells.says(shape.only):
                    continue
                number += 1
                task = str(cells.one(shape.task) or _named(shape, file, "task") or "")
                row = _row(shape, cells, number, file)
                tasks.setdefault(task, []).extend([row] * _battles(shape, cells))
    file = files[0] if len(files) == 1 else os.path.commonpath(files)
    if not tasks:
        raise InputError(
            f"answers as {shape.tool} writes them",
            got="none",
            file=file,
            remedy="check what wrote the file",
        )
    total = _Cells(_Place(None, "", 1, ()), heads).one(shape.total)
    several = len(tasks) > 1
    return [
        _answers(shape, file, task, rows, options, None if several else total, several)
        for task, rows in tasks.items()
    ]


def _battles(shape: Shape, cells: _Cells) -> int:
    """How many battles the verdict of a row counts for: 1 of what is none."""
    if not shape.weights:
        return 1
    return shape.weights.get(str(cells.one(next(iter(shape.metrics.values())))).strip().lower(), 1)


def battles_of_shape(shape: Shape, file: str) -> list[Json]:
    """The battles in a file, a row each: the question, the two models in the order in which they were shown, and the
    verdict as it is written. A model that the file does not name is ``baseline``.
    """
    verdict = next(iter(shape.metrics.values()))
    out: list[Json] = []
    for _, root in _objects_of(file):
        for place in _rows(root, shape.rows):
            cells = _Cells(place, {})
            sides = [str(cells.one(shape.model)), str(cells.one(shape.opponent) or "baseline")]
            first, second = sides[::-1] if str(place.number) == shape.turned else sides
            out.append(
                {
                    "id": _name_of(cells.one(shape.id), len(out)),
                    "model_a": first,
                    "model_b": second,
                    "winner": str(cells.one(verdict) or ""),
                }
            )
    return out


def _heads(root: Any, shape: Shape) -> Json:
    """What an object says for the whole file."""
    paths = [part for path in (shape.model, shape.task, shape.total) for part in path.split("|")]
    names = {path[1:].partition(".")[0] for path in paths if path.startswith("~")}
    return {name: root[name] for name in names if name in mapping(root)}


def _named(shape: Shape, file: str, what: str) -> str | None:
    """The model or the task that the name of the file has."""
    match = re.fullmatch(shape.stem, Path(file).stem) if shape.stem else None
    return match.groupdict().get(what) if match else None


def _row(shape: Shape, cells: _Cells, number: int, file: str) -> tuple[Row, str]:
    """One answer, and what is to be told apart of it."""
    why = cells.says(shape.failed)
    reason = " ".join(str((why and cells.one(shape.reason)) or why).split())[:_LONGEST_ID]
    scores = {} if why else _scores(shape, cells, number, file)
    epoch = cells.one(shape.epoch)
    model = cells.one(shape.model) or _named(shape, file, "model")
    row = Row(
        number,
        _name_of(cells.one(shape.id), number),
        scores,
        output=_text(cells.one(shape.output)),
        input=_text(cells.one(shape.input)),
        epoch=int(epoch) if str(epoch).isdecimal() else 0,
        more={"model": str(model or "").replace("/", "_"), "variant": cells.one(shape.variant)},
        why=f"{_NO_GRADE}: {reason}" if why else _NO_GRADE,
        costs={name: cells.one(path) for name, path in shape.costs.items()},
    )
    wrong = cells.says(shape.apart)
    said = (values[wrong] for values in shape.apart.values() if wrong in values)
    return row, next(said, "")


def _scores(shape: Shape, cells: _Cells, number: int, file: str) -> Json:
    """The numbers of a row by metric; `InputError` for a verdict of a named metric that is none."""
    scores: Json = {}
    for name, path in shape.metrics.items():
        if name == "*":
            for option, part in zip(_options_of(path), path.split("|"), strict=True):
                prefix, _, suffix = part.rpartition(".")[2].partition("*")
                for key, value in cells.all(option):
                    bare = key.removeprefix(prefix).removesuffix(suffix)
                    scores.setdefault(bare, _number(value, shape, cells))
            continue
        values = [cells.one(part) for part in path.split("&")]
        numbers = [_number(value, shape, cells) for value in values]
        for value, score in zip(values, numbers, strict=True):
            if score is None and isinstance(value, str):
                raise InputError(
                    f"a verdict that {shape.tool} writes",
                    got=repr(value)[:60],
                    file=file,
                    row=number,
                    column=name,
                    remedy="check what wrote the file",
                )
        scores[name] = None if None in numbers else min(filter(_is_known, numbers), default=None)
    if shape.listed:
        path, name_path, value_path = shape.listed
        entries = cells.one(path)
        for entry in entries if isinstance(entries, list) else ():
            inner = _Cells(_Place(entry, "", 1, cells.row.around), cells.heads)
            value = inner.one(value_path)
            scores[str(inner.one(name_path))] = _number(value, shape, inner)
    return {name: score for name, score in scores.items() if score is not None}


def _is_known(number: Any) -> bool:
    return number is not None


def _number(value: Any, shape: Shape, cells: _Cells) -> Any:
    """A verdict as a number; what is no verdict is None, and lists stay as they are."""
    if isinstance(value, str):
        word = value.strip().lower()
        score = shape.words.get(word, verdict_number(word))
        if score is not None and score != score:
            return None
        is_turned = shape.turned and str(cells.row.number) == shape.turned
        return 1 - score if is_turned and score is not None else score
    return value if isinstance(value, (bool, int, float, list)) and value == value else None


def _name_of(value: Any, number: int) -> str:
    """The id of a question: a short text as it is, a long one or an object by its hash, else the number of the row."""
    if value is None:
        return str(number - 1)
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return text if len(text) <= _LONGEST_ID else hashlib.sha256(text.encode()).hexdigest()[:12]


def _text(value: Any) -> str | None:
    """A text as it is, another value as JSON."""
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)


def _answers(
    shape: Shape,
    file: str,
    task: str,
    pairs: Sequence[tuple[Row, str]],
    options: LogOptions,
    total: Any,
    several: bool,
) -> Answers:
    """The answers of one task, graded, with what is to be said of those that were not."""
    apart = Counter(why for row, why in pairs if why and row.scores)
    answers = [row for row, _ in pairs]
    rows = _of_models(_merged(answers) if shape.merged else answers)
    models = {row.more["model"] for row in rows}
    model = next(iter(models)) or None if len(models) == 1 else None
    if len(models) == 1:
        rows = [row._replace(more={}) for row in rows]
    out = Answers(file, task or Path(file).stem, model)
    graded(out, _with_epochs(rows), options)
    lines = _said_of(out.skipped, apart, len({*map(attrgetter("row"), rows)}), shape.tool)
    out.warnings += [f"{out.task}: {line}" if several else line for line in lines]
    if isinstance(total, (int, float)) and total == total:
        check_total(out, total, options)
    return out


def _said_of(
    skipped: Sequence[tuple[str, str]], apart: Counter[str], rows: int, tool: str
) -> list[str]:
    """What is to be said of answers without a grade, and of those that count as wrong without having been graded."""
    lines = []
    if skipped:
        said = f"{len(skipped):,} of {rows:,} answers have no grade"
        whys = Counter(why.removeprefix(_NO_GRADE).lstrip(": ") for _, why in skipped)
        lines.append(f"{said}{_counted(whys)}; they are left out, which is {_NOT_AT_RANDOM}")
    if apart:
        said = f"{apart.total():,} of {rows:,} answers count as wrong, as {tool} has it"
        lines.append(f"{said}{_counted(apart)}; {_NOT_AT_RANDOM}")
    return lines


def _counted(reasons: Counter[str]) -> str:
    """The most frequent reasons with their numbers, in brackets; "" where there are none."""
    named = [f"{why} ({count:,})" for why, count in reasons.most_common(3) if why]
    return f": {', '.join(named)}" if named else ""


def _of_models(rows: Sequence[Row]) -> list[Row]:
    """Rows with the model of each, behind it the variant where there are several."""
    variants = {row.more["variant"] for row in rows}
    return [
        row._replace(
            more={
                "model": f"{row.more['model']}-{row.more['variant']}".strip("-")
                if len(variants) > 1
                else row.more["model"]
            }
        )
        for row in rows
    ]


def _merged(rows: Sequence[Row]) -> list[Row]:
    """Rows of one id as one answer with the scores of all."""
    merged: dict[str, Row] = {}
    for row in rows:
        first = merged.setdefault(row.id, row)
        if first is not row:
            scores = {**row.scores, **first.scores}
            output = first.output if first.output is not None else row.output
            merged[row.id] = first._replace(scores=scores, output=output)
    return [*merged.values()]


def _with_epochs(rows: Sequence[Row]) -> list[Row]:
    """Rows with the number of the time that the question was asked, where the file does not say it."""
    times = Counter[tuple[str, str]]()
    out = []
    for row in rows:
        key = (row.id, str(row.more.get("model")))
        times[key] += 1
        out.append(row if row.epoch else row._replace(epoch=times[key]))
    return out


def ratings_of(shape: Shape, file: str) -> list[Json]:
    """What people said of each item, a row each rating: ``id``, ``rater`` and a column of the name of the question.

    Of several values in one rating the texts are joined.
    """
    table: dict[tuple[str, str], Json] = {}
    for number, root in _objects_of(file):
        for place in _rows(root, shape.rows):
            cells = _Cells(place, {})
            if shape.only and not cells.says(shape.only):
                continue
            rating = cells.one(shape.rating)
            if isinstance(rating, list):
                rating = " + ".join(map(str, rating))
            key = (_name_of(cells.one(shape.id), number), str(cells.one(shape.rater)))
            row = table.setdefault(key, {"id": key[0], "rater": key[1]})
            row[str(cells.one(shape.question))] = rating
    return [*table.values()]
