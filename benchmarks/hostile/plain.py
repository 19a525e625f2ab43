"""An independent reading of a predictions file: csv, json, pyarrow and numpy alone, with none of our own code.

It says what a file holds by the rules of the interface, or that nothing should be made of it. What the program makes of
the same bytes is set against it.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import math
import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

WIDE = {"prob_": "probabilities", "logit_": "logits", "feature_": "features", "member_": "members", "view_": "views",
    "vote_": "votes"}  # fmt: skip
CODED = ("label", "prediction")
SCORES, OFFSETS = "candidate_scores", "candidate_scores_offsets"
NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
WHOLE = re.compile(r"[+-]?\d+\.0*", re.ASCII)
UNKNOWN = ("", "nan", "null")
UNSEEN = {
    0xA0: " ",
    0x2007: " ",
    0x202F: " ",
    0x200B: None,
    0xFEFF: None,
}  # signs in names that nobody sees
PRINTED = re.compile(r"\[[\s\d.eE+-]*\]", re.ASCII)  # a list as numpy prints it
NO_LABEL = {
    "",
    "nan",
    "null",
    "?",
    "-",
    "--",
    ".",
    "na",
    "n/a",
    "#n/a",
    "#na",
    "<na>",
    "none",
    "-nan",
    "nat",
    "nil",
}
TRUE, FALSE = ("true", "1", "1.0"), ("false", "0", "0.0")


class Unreadable(Exception):
    """Nothing should be made of this file."""


@dataclass
class Plain:
    """What a file holds: cells of one column (`label`, ...), and of named axes (`probabilities`: name -> cells)."""

    rows: int
    single: dict[str, list[Any]] = field(default_factory=dict)
    named: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    scores: list[list[float]] = field(default_factory=list)  # of candidates
    others: list[list[Any]] = field(default_factory=list)  # of columns of names that say nothing


def read_plain(path: Path, form: str) -> Plain:
    """The file's content; `Unreadable` where it has none that could be told without a guess."""
    try:
        table = {"csv": _csv, "jsonl": _jsonl, "parquet": _arrow, "arrow": _arrow, "npz": _npz}[
            form
        ](path)
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from None
    # the columns by the rules of the interface; unknown ones are ignored
    stated = table.get("classes", [None])[0]
    columns = {k: v for k, v in table.items() if k != "classes"}
    found = Plain(0)
    lengths = set()
    for raw, cells in columns.items():
        name = raw.strip()
        prefix = next((p for p in WIDE if raw.lstrip().startswith(p)), None)
        if name == SCORES:
            lists = [json.loads(v) if isinstance(v, _Text) else v for v in cells]
            if any(not isinstance(v, list) or len(v) < 2 for v in lists):
                raise Unreadable("candidates: no list of two or more")
            found.scores = [[_number(s) for s in row] for row in lists]
        elif name in ("label", "prediction", "confidence", "correct", "group"):
            found.single[name] = [_cell(name, v) for v in cells]
        elif name in WIDE.values() or (raw.strip() == "prob_" and any(map(_is_listed, cells))):
            ours = (
                name if name in WIDE.values() else WIDE[name]
            )  # "prob_" names no class, and its lists have them all
            lists = [_list(v, ours) for v in cells]
            if any(not isinstance(v, list) or len(v) != len(lists[0]) for v in lists):
                raise Unreadable(f"{name}: lists of other lengths")
            axis = (
                [str(n) for n in stated]
                if stated and ours in ("probabilities", "logits")
                else range(len(lists[0]))
            )
            found.named[ours] = {
                str(n): [_cell(ours, row[i]) for row in lists] for i, n in enumerate(axis)
            }
        elif prefix is not None:
            here = found.named.setdefault(WIDE[prefix], {})
            here[raw.lstrip().removeprefix(prefix)] = [_cell(WIDE[prefix], v) for v in cells]
        else:
            found.others.append([str(v) for v in cells])
            continue
        lengths.add(len(cells))
    if len(lengths) != 1:
        raise Unreadable("columns of other lengths, or none")
    found.rows = lengths.pop()
    if found.scores:
        if {"probabilities", "logits"} & found.named.keys():
            raise Unreadable("classes beside candidates")
        for name in CODED:
            for cell, row in zip(found.single.get(name, []), found.scores, strict=False):
                if cell is not None and not (
                    _name(cell).isdecimal() and int(_name(cell)) < len(row)
                ):
                    raise Unreadable(f"{name}: {cell!r} is no place among {len(row)} candidates")
            if name in found.single:  # places are numbers, as 01 is 1
                found.single[name] = [
                    None if cell is None else int(_name(cell)) for cell in found.single[name]
                ]
    elif "label" in found.single:
        axes = [found.named[one] for one in ("probabilities", "logits") if one in found.named]
        # Words and -1 in the place of a label are unknown, unless a class is called so.
        classes = {_name(one) for names in axes for one in names} or set(
            map(_name, found.single.get("prediction", []))
        )
        held = {str(v) for v in found.single["label"] if v is not None} - {"-1"}
        counts = len(held) > 1 and all(one.isdecimal() for one in held)
        missing = NO_LABEL | {"-1"} if counts else NO_LABEL
        found.single["label"] = [
            None
            if isinstance(v, str) and v.strip().lower() in missing and _name(v) not in classes
            else v
            for v in found.single["label"]
        ]
    return found


def _csv(path: Path) -> dict[str, list[Any]]:
    text = path.read_bytes().decode("utf-8-sig")
    lines = [line for line in re.split(r"\r\n|\n|\r", text) if line]
    delimiter = max(",;\t|", key=lines[0].count)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    header, body = rows[0], rows[1:]
    if any(len(row) != len(header) for row in body):
        raise Unreadable("rows of other lengths")
    if len(set(header)) < len(header):
        raise Unreadable("a column twice")
    return {
        name: [
            None
            if cell.strip().lower() in (("",) if name.strip() == "group" else UNKNOWN)
            else _Text(cell)
            for cell in cells
        ]
        for name, cells in zip(header, zip(*body, strict=True), strict=True)
    }


def _list(value: Any, field: str) -> Any:
    """A list that a cell of text holds, as JSON or, of probabilities, as numpy prints it; other cells as they are."""
    if field == "probabilities" and isinstance(value, str) and PRINTED.fullmatch(value.strip()):
        return [float(part) for part in value.strip()[1:-1].split()]
    return json.loads(value) if isinstance(value, _Text) else value


def _is_listed(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, str) and value.lstrip().startswith("["))


class _Text(str):
    """A cell of CSV, which has no type of its own."""

    __slots__ = ()


def _jsonl(path: Path) -> dict[str, list[Any]]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise Unreadable("a key twice")
        return dict(pairs)

    text = path.read_bytes().decode("utf-8-sig")
    rows = [json.loads(line, object_pairs_hook=once) for line in text.split("\n") if line.strip()]
    if not all(isinstance(row, dict) for row in rows):
        raise Unreadable("a line that is no object")
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _arrow(path: Path) -> dict[str, list[Any]]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    if path.suffix == ".parquet":
        # `read_table` also refuses types of the footer that nobody needs for reading the cells
        with parquet.ParquetFile(path) as opened:
            table = opened.read(use_threads=False)
    else:
        with pa.OSFile(str(path)) as file:
            table = pa.ipc.open_file(file).read_all()
    if len(set(table.column_names)) < len(table.column_names):
        raise Unreadable("a column twice")
    table.validate(full=True)
    return {name: table.column(name).to_pylist() for name in table.column_names}


def _npz(path: Path) -> dict[str, list[Any]]:
    with np.load(path, allow_pickle=False) as archive:
        if len(set(archive.files)) < len(archive.files):
            raise Unreadable("an array twice")
        ours = (
            "label",
            "prediction",
            "confidence",
            "correct",
            "group",
            "classes",
            *WIDE.values(),
            SCORES,
            OFFSETS,
        )
        arrays = {
            n: archive[n]
            for n in archive.files
            if n.strip() in ours or n.lstrip().startswith(tuple(WIDE))
        }
        for name in archive.files:
            if name not in arrays:
                with contextlib.suppress(Exception):  # of no name of ours: it need not be readable
                    arrays[name] = archive[name]
    out = {}
    for name, array in arrays.items():
        values = array.T if name in ("members", "views", "votes") else array
        out[name] = ["" if v is None else v for v in values.tolist()]
    if "classes" in out:
        out["classes"] = [out["classes"]]  # one cell: names of the axis, not rows
    if OFFSETS in out:
        ends = out.pop(OFFSETS)
        if SCORES not in out or ends != sorted(ends) or ends[0] < 0 or ends[-1] > len(out[SCORES]):
            raise Unreadable("offsets that do not rise within the scores")
        out[SCORES] = [out[SCORES][a:b] for a, b in itertools.pairwise(ends)]
    return out


def _cell(name: str, value: Any) -> Any:
    """A cell as its column means it: a number, a class by name, or true and false; None where unknown."""
    if value is None:
        return None
    if name == "features" and isinstance(value, bool | np.bool_):
        return float(value)  # an indicator
    if (
        name == "features"
        and isinstance(value, _Text)
        and value.strip() in ("True", "False", "true", "false")
    ):
        return float(value.strip().lower() == "true")
    if name in ("probabilities", "logits", "confidence", "features"):
        return _number(value)
    if name in ("correct", "votes"):
        said = str(value).strip().lower()
        if said in UNKNOWN and isinstance(value, str):
            return None
        if said in TRUE or said in FALSE:
            return said in TRUE
        raise Unreadable(f"{name}: {value!r} is no truth")
    if name == "group":
        return str(value)
    if isinstance(value, bool):
        return str(int(value)) if not isinstance(value, _Text) else str(value)
    if isinstance(value, float):
        if not value.is_integer():
            raise Unreadable(f"{name}: {value!r} is no class")
        return str(int(value))
    text = value.decode() if isinstance(value, bytes) else str(value)
    if isinstance(value, _Text):  # blanks around a cell of CSV mean nothing
        text = text.strip()
    return _shown(text) or None


def _shown(text: str) -> str:
    """A name in the one form that its spellings have."""
    return unicodedata.normalize("NFC", text).translate(UNSEEN)


def _number(value: Any) -> float:
    if isinstance(value, bool) or (isinstance(value, str) and not isinstance(value, _Text)):
        raise Unreadable(f"{value!r} is no number")
    if isinstance(value, _Text) and not NUMBER.fullmatch(value):
        raise Unreadable(f"{value!r} is no number")
    number = float(value)
    if not math.isfinite(number):
        raise Unreadable(f"{value!r} is no finite number")
    return number


def differs(plain: Plain, record: Any) -> str:
    """Where the program's record says something else than the file, or nothing."""
    if record.rows != plain.rows:
        return f"{record.rows} rows for {plain.rows}"
    if plain.scores:
        held = record.candidate_scores
        rows = (
            [] if held is None else [v.tolist() for v in np.split(held.values, held.offsets[1:-1])]
        )
        if len(rows) != len(plain.scores) or any(
            len(a) != len(b) or not all(map(_equal, a, b))
            for a, b in zip(rows, plain.scores, strict=True)
        ):
            return "candidate_scores differ"
    most = max(map(len, plain.scores), default=0)
    classes = [_name(c) for c in (range(most) if plain.scores else record.classes or ())]
    for name, cells in plain.single.items():
        got = getattr(record, name)
        if got is None:
            return f"{name} is dropped"
        if name in CODED:
            said = [None if c < 0 else classes[c] for c in got.tolist()]
            cells = [None if v is None else _name(v) for v in cells]
        elif name == "correct":
            said = [None if c < 0 else bool(c) for c in got.tolist()]
        elif name == "group":
            said = [None if v is None else str(v) for v in got.tolist()]
        else:
            said = got.tolist()
        wrong = next(
            (i for i, (a, b) in enumerate(zip(said, cells, strict=True)) if not _equal(a, b)), None
        )
        if wrong is not None:
            return f"{name}, row {wrong + 1}: {said[wrong]!r} for {cells[wrong]!r}"
    for name, columns in plain.named.items():
        problem = _axis_differs(name, columns, record, classes)
        if problem:
            return problem
    return ""


def _axis_differs(name: str, columns: dict[str, list[Any]], record: Any, classes: list[str]) -> str:
    got = getattr(record, name)
    if got is None:
        return f"{name} is dropped"
    by_column = got if name in ("members", "views", "votes") else got.T
    axis = {"members": "model", "views": "view", "votes": "judge", "features": "feature"}.get(name)
    held = record.names.get(axis) if axis else None
    names = (
        classes if axis is None else list(held) if held else [str(i) for i in range(len(by_column))]
    )
    if sorted(names) != sorted(map(_name, columns)):
        return f"{name}: columns {names} for {list(columns)}"
    for key, cells in columns.items():
        said = by_column[names.index(_name(key))].tolist()
        if name in ("members", "views"):
            said = [classes[c] for c in said]
        slack = 1e-6
        if name == "probabilities":  # rounded rows may be scaled to sum to 1
            slack += 2 * max(abs(sum(row) - 1) for row in zip(*columns.values(), strict=True))
        wrong = next(
            (
                i
                for i, (a, b) in enumerate(zip(said, cells, strict=True))
                if not _equal(a, b, slack)
            ),
            None,
        )
        if wrong is not None:
            return f"{name}[{key}], row {wrong + 1}: {said[wrong]!r} for {cells[wrong]!r}"
    return ""


def _name(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, str) and WHOLE.fullmatch(value):  # how CSV writes a column of whole floats
        return str(int(float(value)))
    return _shown(str(value))


def _equal(one: Any, other: Any, slack: float = 1e-6) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=slack)
    return bool(one == other)


def as_arrays(plain: Plain) -> dict[str, Any]:
    """The content as arrays for the library: classes in the order of their names, labels and decisions by name."""
    out: dict[str, Any] = {}
    if "probabilities" in plain.named:
        columns = {_name(k): v for k, v in plain.named["probabilities"].items()}
        out["classes"] = sorted(columns)
        out["probabilities"] = np.array([columns[k] for k in out["classes"]]).T
    # In a pair a column of the classes is the label, however it is called, where it is the only one.
    classes = {_name(name) for name in plain.named.get("probabilities", {})}
    alike = [cells for cells in plain.others if {*cells} <= classes]
    columns = {"label": alike[0], **plain.single} if len(alike) == 1 else plain.single
    for name in CODED:
        if name in columns:
            out[name] = np.array([None if v is None else _name(v) for v in columns[name]], object)
    return out


def accuracy_and_brier(plain: Plain) -> tuple[float, float] | None:
    """Accuracy and Brier score by their definitions, where labels and probabilities are there."""
    if plain.scores:
        # the same over the softmax of the candidates of each row
        right, squares = [], []
        for i, (cell, row) in enumerate(
            zip(plain.single.get("label", []), plain.scores, strict=False)
        ):
            if cell is None:
                continue
            powers = np.exp(np.array(row) - max(row))
            truth = int(_name(cell))
            said = (
                int(_name(plain.single["prediction"][i]))
                if "prediction" in plain.single
                else int(np.argmax(row))
            )
            right.append(said == truth)
            squares.append(float(((powers / powers.sum() - np.eye(len(row))[truth]) ** 2).sum()))
        return (float(np.mean(right)), float(np.mean(squares))) if right else None
    held = as_arrays(plain)
    if "probabilities" not in held or "label" not in held:
        return None
    known = np.array([v is not None for v in held["label"]])
    if not known.any():
        return None
    p = held["probabilities"][known]
    truth = np.array([held["classes"].index(v) for v in held["label"][known]])
    predicted = p.argmax(axis=1)
    if "prediction" in plain.single:
        said = np.array(plain.single["prediction"], object)[known]
        predicted = np.array([held["classes"].index(_name(v)) for v in said])
    hot = np.eye(p.shape[1])[truth]
    return float((predicted == truth).mean()), float(((p - hot) ** 2).sum(axis=1).mean())
