"""Worksheet: suggested rows as a table that a person fills in, with all that the target says of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..classes import ClassNames
from ..errors import UsageError
from ..store import Source
from ..store.picked_rows import PickedRows, pick_rows
from .joining import KEY
from .suggestion import Suggestion

DRAWN = ("draw", "row", "stratum", "probability", "weight", "share")  # what is written of the draw of each row
_ENDINGS = (".csv", ".html", ".parquet", ".jsonl", ".arrow", ".feather")
_TRUTHS = ("label", "correct")


@dataclass(frozen=True)
class Worksheet:
    """Rows to label.

    Parameters
    ----------
    drawn : the suggestion.
    picked : the same rows of the target, with all columns of its file.
    classes : what a label may be; None where there are no classes, and a person says whether the model is right.
    key : what the target calls its ids; None where it has none.
    said : the class that the model predicts; None where it tells none.
    """

    drawn: Suggestion
    picked: PickedRows
    classes: ClassNames | None
    key: str | None
    said: tuple[str, ...] | None = None

    @classmethod
    def of(cls, drawn: Suggestion, target: Source, *, predicted: Array | None, key: str | None = None) -> Worksheet:
        """The rows of a target; ``predicted`` are the classes of all its rows, ``key`` which column has ids."""
        picked, classes = pick_rows(target, drawn.row), target.classes or None
        said = None
        if predicted is not None:
            said = tuple(str(one if classes is None else classes[one]) for one in predicted[drawn.row].tolist())
        return cls(drawn, picked, None if predicted is None else classes, picked.named(key or KEY), said)

    @property
    def answer(self) -> str:
        """The column to be filled in."""
        return "correct" if self.classes is None else "label"

    @cached_property
    def columns(self) -> list[str]:
        """Columns of the target, ids first; what it says of the truth is no help to label by, and is left out."""
        named = [n for n in self.picked.table.column_names if self.picked.field_of(n) not in _TRUTHS]
        return sorted((n for n in named if n not in _TRUTHS), key=lambda name: name != self.key)

    @property
    def draws(self) -> dict[str, Any]:
        """What is to be known of the draw when the labels come back, column by column; each has shape (draw,)."""
        drawn, count = self.drawn, len(self.drawn.row)
        values = (np.arange(count), drawn.row, drawn.stratum, drawn.probability, drawn.weight)
        return dict(zip(DRAWN, (*values, np.full(count, drawn.share)), strict=True))

    def table(self) -> Any:
        """All of it as an Arrow table: the target's columns, the draw, and the empty answer last.

        A column of the target that is called as one of the draw's gets the prefix ``target_``.
        """
        import pyarrow as pa

        held = self.picked.table.select(self.columns)
        whole = isinstance((self.classes or ("",))[0], int)
        kind = pa.bool_() if self.classes is None else pa.int64() if whole else pa.string()
        draws = self.draws
        return pa.table(
            [*held.columns, *map(pa.array, draws.values()), pa.nulls(len(self.drawn.row), kind)],
            names=[*_apart(held.column_names), *draws, self.answer],
        )


def _apart(names: list[str]) -> list[str]:
    """The names with a prefix where they would be taken for those of the draw.

    >>> _apart(["id", "row", "target_row"])
    ['id', 'target_target_row', 'target_row']
    """
    taken, out = set(names), []
    for name in names:
        free = name
        while free in DRAWN or (free != name and free in taken):
            free = f"target_{free}"
        taken.add(free)
        out.append(free)
    return out


def check_worksheet(out: str | os.PathLike[str], key: str | None) -> None:
    """Raise `UsageError` for an ending that no worksheet has, and for a key that is called as a column of the draw."""
    if Path(out).suffix.lower() not in _ENDINGS:
        raise UsageError(
            f"cannot write {out}: end the name in .csv (for a spreadsheet), .html (a page to label on), "
            ".parquet, .jsonl or .arrow"
        )
    if key in DRAWN:
        raise UsageError(f"suggested rows have a column {key} of their own; rename yours, --map {key}=id")
