"""Slicing: the rows of each slice of a batch, by the values of a column, and what a slice is called."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from ..arrays import Array
from ..classes import is_null
from ..errors import UsageError
from ..predictions import Predictions

Key = tuple[str, Any]  # ("whole", None), ("by", value) or ("every", number of the chunk)

WHOLE: Key = ("whole", None)
MOST_SLICES = 200
MISSING = "(missing)"  # the slice of rows whose cell is empty


def rows_by_value(values: Array) -> tuple[list[Any], Iterator[Array]]:
    """The names of the distinct values, shape (sample,), and the numbers of the rows that have each, ascending.

    >>> names, rows = rows_by_value(np.array(["b", "a", "b"], dtype=object))
    >>> names, [index.tolist() for index in rows]
    (['b', 'a'], [[0, 2], [1]])
    """
    if values.dtype.kind in "iufbM":
        distinct, codes = np.unique(values, return_inverse=True)
        names = [slice_name(value) for value in distinct]
    else:
        index: dict[Any, int] = {}
        codes = np.array([index.setdefault(slice_name(v), len(index)) for v in values.tolist()], dtype=np.intp)
        names = list(index)
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(len(names) + 1))
    return names, (order[edges[i] : edges[i + 1]] for i in range(len(names)))


def column_of(batch: Predictions, name: str) -> Array:
    """A field or a further column to slice by; class codes are given their names."""
    if name in batch.columns:
        return batch.columns[name]
    codes = batch.predicted if name == "prediction" else batch.label if name == "label" else None
    if codes is not None:
        names = batch.classes if batch.has_classes else range(int(codes.max(initial=-1)) + 1)
        return np.array([*(names or ()), None], dtype=object)[codes]  # an unknown label, -1, is the last
    value = getattr(batch, name, None)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value
    raise UsageError(f"there is no column {name!r} to slice by")


def slice_name(value: Any) -> Any:
    """What a slice is called: a string, a number or a truth value, so that batches and JSON agree on it."""
    if isinstance(value, np.datetime64):
        return MISSING if np.isnat(value) else str(value).removesuffix(".000000").removesuffix("T00:00:00")
    value = value.item() if isinstance(value, np.generic) else value
    if is_null(value):
        return MISSING
    if isinstance(value, str) and value.strip("'") == MISSING:
        return f"'{value}'"  # a text that reads like the name of the empty cells is quoted, and quoted again if it was
    return value if isinstance(value, (str, int, float)) else str(value)


def in_natural_order(keys: Collection[Key]) -> list[Key]:
    """Slices as people list them: numbers by size, texts by the alphabet and the numbers in them, empty cells last.

    >>> [name for _, name in in_natural_order([("by", "20K - 40K"), ("by", "(missing)"), ("by", "0 - 20K")])]
    ['0 - 20K', '20K - 40K', '(missing)']
    >>> [name for _, name in in_natural_order([("by", "10"), ("by", "-2.5"), ("by", "9")])]
    ['-2.5', '9', '10']
    """
    numbers = [_number(name) for _, name in keys if name != MISSING]
    numeric = None not in numbers

    def order(key: Key) -> tuple[Any, ...]:
        name = key[1]
        if name == MISSING:
            return (1,)
        number = _number(name) if numeric else None
        return (0, 0.0 if number is None else number, *_pieces(str(name)))

    return sorted(keys, key=order)


def _number(name: Any) -> float | None:
    """The number that a slice's name is or reads as; None for others."""
    try:
        number = float(name)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _pieces(text: str) -> list[tuple[int, float, str]]:
    """A text as its words, without regard to case, and its whole numbers; the text itself decides between equals."""
    words = re.split(r"(\d+)", text.casefold())
    told = [(0, float(word), "") if word.isdecimal() else (1, 0.0, word) for word in words if word]
    return [*told, (2, 0.0, text)]


def check_slices(keys: Collection[Key], by: str) -> None:
    """At most `MOST_SLICES` slices: a column of identifiers is no slice."""
    if len(keys) > MOST_SLICES:
        raise UsageError(
            f"the column {by!r} has more than {MOST_SLICES} distinct values; slice by one with fewer, or bin it first"
        )
