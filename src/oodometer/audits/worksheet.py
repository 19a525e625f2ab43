"""Worksheet: suggested rows as a table that a person fills in, or as a page with buttons for the classes."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ..arrays import Array
from ..classes import ClassNames
from ..errors import UsageError
from ..fields import FIELDS
from ..plain import Json, Strings
from ..results.values import counted, listed
from ..store import Source, write_result, write_table
from ..store.cells import arrow_of
from ..store.source import PickedRows, pick_rows
from ..store.write import guarded, write_sheet
from ..version import __version__
from .joining import KEY
from .suggestion import Suggestion

# what is written of the draw of each row
DRAWN = (
    "draw",
    "row",
    "stratum",
    "probability",
    "weight",
    "share",
)
_ENDINGS = (".csv", ".html", ".parquet", ".jsonl", ".arrow", ".feather")
_TRUTHS = ("label", "correct")


@dataclass(frozen=True)
class Worksheet:
    """Rows to label with all their columns (``picked``); ``classes`` None: right or wrong; ``said``: predicted."""

    drawn: Suggestion
    picked: PickedRows
    classes: ClassNames | None
    key: str | None
    said: Strings | None = None

    @classmethod
    def of(
        cls,
        suggestion: Suggestion,
        target: Source,
        *,
        predicted: Array | None,
        key: str | None = None,
    ) -> Worksheet:
        """The rows of a target; ``predicted`` are the classes of all its rows, ``key`` which column has ids."""
        picked, classes = pick_rows(target, suggestion.row), target.classes or None
        predictions = None
        if predicted is not None:
            codes = predicted[suggestion.row].tolist()
            predictions = tuple(str(code if classes is None else classes[code]) for code in codes)
        return cls(
            suggestion,
            picked,
            None if predicted is None else classes,
            picked.named(key or KEY),
            predictions,
        )

    @property
    def answer(self) -> str:
        """The column to be filled in."""
        return "correct" if self.classes is None else "label"

    def question(self, label: str) -> str:
        """What is asked of each row, in the words of the column ``label`` and of few classes."""
        if self.classes is None:
            return "Is the model right here?"
        names, asks = [*map(str, self.classes)], "Which is it" if label in _TRUTHS else label
        return f"{asks}: {listed(names, 'or')}?" if len(names) <= _FEW_CLASSES else f"{asks}?"

    @cached_property
    def columns(self) -> list[str]:
        """Columns of the target, ids first; what it says of the truth is no help to label by, and is left out."""
        named = [
            n for n in self.picked.table.column_names if self.picked.field_of(n) not in _TRUTHS
        ]
        return sorted((n for n in named if n not in _TRUTHS), key=lambda name: name != self.key)

    @property
    def draws(self) -> Json:
        """What is to be known of the draw when the labels come back, column by column; each has shape (draw,)."""
        suggestion, count = self.drawn, len(self.drawn.row)
        values = (
            np.arange(count),
            suggestion.row,
            suggestion.stratum,
            suggestion.probability,
            suggestion.weight,
        )
        return dict(zip(DRAWN, (*values, np.full(count, suggestion.share)), strict=True))

    def table(self) -> Any:
        """All of it as an Arrow table: the target's columns, the draw, the empty answer last."""
        import pyarrow as pa

        target_columns, draws = self.picked.table.select(self.columns), self.draws
        is_integer = isinstance((self.classes or ("",))[0], int)
        kind = pa.bool_() if self.classes is None else pa.int64() if is_integer else pa.string()
        names = list(target_columns.column_names)
        for i, name in enumerate(names):
            while names[i] in DRAWN or (names[i] != name and names.count(names[i]) > 1):
                names[i] = f"target_{names[i]}"
        columns = [
            *target_columns.columns,
            *map(arrow_of, draws.values()),
            pa.nulls(len(self.drawn.row), kind),
        ]
        return pa.table(columns, names=[*names, *draws, self.answer])


def check_worksheet(out: str | os.PathLike[str], key: str | None) -> None:
    """Raise `UsageError` for an ending that no worksheet has, and for a key that is called as a column of the draw."""
    if Path(out).suffix.lower() not in _ENDINGS:
        endings = ".csv (for a spreadsheet), .html (a page to label on), .parquet, .jsonl or .arrow"
        raise UsageError(f"cannot write {out}: end the name in {endings}")
    if key in DRAWN:
        raise UsageError(
            f"suggested rows have a column {key} of their own; rename yours, --map {key}=id"
        )


HERE = Path(__file__).parent / "labelling"
_FEW_CLASSES = 4  # that a question names
_LONG = 40  # letters from which on a text is shown large, not as one cell of a table
_DECIMAL = re.compile(r"-?\d+\.\d+")
_SHOWN_LARGE = ("input", "output")
_FOLDED = ("time", "group")
_PICTURES = {b"\xff\xd8\xff": "jpeg", b"\x89PNG": "png", b"GIF8": "gif", b"RIFF": "webp"}


def labelling_page(sheet: Worksheet, title: str, question: str, file: str = "labels.csv") -> str:
    """One HTML document that loads nothing and asks a question of each row; texts of the data never become markup,
    answers stay in the browser.
    """
    values = {
        name: [_cell(value) for value in sheet.picked.table.column(name).to_pylist()]
        for name in _shown_columns(sheet)
    }
    rows = _page_rows(sheet, list(values.values()))
    judging = sheet.classes is None  # who does has to see the answer, wherever it stands
    saved = [] if sheet.key is None else [sheet.key]
    data = {
        "file": file,
        "question": question,
        "answer": sheet.answer,
        "judging": judging,
        "classes": ["true", "false"] if judging else [str(entry) for entry in sheet.classes or ()],
        "words": ["right", "wrong"] if judging else None,
        "saved": [*saved, *sheet.draws],
        **_page_columns(sheet, values, judging),
        "rows": rows,
    }
    data["hash"] = hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    parts = {
        "QUESTION": html.escape(question),
        "TITLE": html.escape(f"{counted(len(rows), 'row')} of {title}"),
        "VERSION": __version__,
        "STYLE": (HERE / "page.css").read_text(encoding="utf-8").strip(),
        "SCRIPT": (HERE / "page.js").read_text(encoding="utf-8").strip(),
        "DATA": text,
    }
    pieces = (HERE / "page.html").read_text(encoding="utf-8").split("@")
    page = "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))
    # Half a character, which JSON may hold, cannot be written as UTF-8.
    return page.encode("utf-8", "replace").decode("utf-8")


def _shown_columns(sheet: Worksheet) -> list[str]:
    """The columns that the page shows; what a model said is hidden, or shown as one line."""
    visible_fields: list[str | None] = [
        n for n, entry in FIELDS.items() if entry.cell not in ("class", "number", "truth")
    ]
    visible_fields += ["features", None]
    feed = sheet.picked.layout.feeds.get("features")
    lists = feed.columns if feed is not None and not feed.wide else ()  # which nobody reads
    return [
        name
        for name in sheet.columns
        if name != sheet.key and sheet.picked.field_of(name) in visible_fields and name not in lists
    ]


def _is_large(field: str | None, cells: Sequence[Any]) -> bool:
    """Whether a column of a field, or of none, is shown large, not as one cell of a table."""
    filled = [cell for cell in cells if cell is not None]
    if field in _SHOWN_LARGE or any(isinstance(cell, (list, dict)) for cell in filled):
        return True
    return field is None and bool(filled) and median(map(len, filled)) > _LONG


def _page_columns(sheet: Worksheet, values: Mapping[str, list[Any]], judging: bool) -> Json:
    """Names of the columns, and the places of those that are shown large, in a table, and when asked for."""
    fields = [sheet.picked.field_of(name) for name in values]
    large = list(map(_is_large, fields, values.values()))
    texts = [i for i, is_large in enumerate(large) if is_large]
    small = [i for i, is_large in enumerate(large) if not is_large]
    folded = small
    if judging or not texts:
        folded = [i for i in small if fields[i] in _FOLDED]
    return {
        "columns": [
            name.removeprefix("feature_") if field == "features" else name
            for name, field in zip(values, fields, strict=True)
        ],
        "texts": texts,
        "open": [i for i in small if i not in folded],
        "folded": folded,
    }


def _page_rows(sheet: Worksheet, columns: Sequence[list[Any]]) -> list[Json]:
    """Each row with its name, what is saved with its answer, its cells, and what a model said."""
    draws = [[repr(value) for value in draw.tolist()] for draw in sheet.draws.values()]
    ids = [] if sheet.key is None else sheet.picked.table.column(sheet.key).to_pylist()
    rows = []
    for i, row in enumerate(sheet.drawn.row):
        name, saved = f"row {row} of the file", [draw[i] for draw in draws]
        if sheet.key is not None:
            name, saved = f"{sheet.key} {ids[i]}", [guarded(str(ids[i])), *saved]
        rows.append(
            {
                "name": name,
                "saved": saved,
                "cells": [column[i] for column in columns],
                "said": None if sheet.said is None else sheet.said[i],
            }
        )
    return rows


def write_worksheet(
    sheet: Worksheet, out: str | os.PathLike[str], *, title: str, question: str
) -> Path:
    """Write the rows as a table or, by the ending .html, as a page to label on; whole or not at all."""
    ending = Path(out).suffix.lower()
    if ending == ".html":
        return write_result(out, labelling_page(sheet, title, question, f"{Path(out).stem}.csv"))
    table = sheet.table()
    if ending == ".csv":
        return write_result(out, lambda file: write_sheet(file, table))
    return write_table(table, out)


def _cell(value: Any) -> Any:
    """A cell as the page shows it: a text, a list of texts, a picture, or null."""
    if isinstance(value, dict) and isinstance(value.get("bytes"), bytes):
        value = value["bytes"]
    if isinstance(value, bytes):
        kind = next((kind for magic, kind in _PICTURES.items() if value.startswith(magic)), None)
        if kind is None:
            return f"{len(value)} bytes"
        return {"image": f"data:image/{kind};base64,{base64.b64encode(value).decode('ascii')}"}
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return value
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = float(value)  # as CSV has it, with all its digits
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return f"{value:g}" if isinstance(value, float) else str(value)
