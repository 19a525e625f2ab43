"""Slicing: the rows of each slice of a batch, by the values of a column, and what a slice is called."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array
from ..classes import is_null
from ..errors import UnknownColumnError, UsageError
from ..predictions import Predictions

Key = tuple[str, Any]  # ("whole", None), ("by", value) or ("every", number of the chunk)

WHOLE: Key = ("whole", None)
MOST_SLICES = 200
MISSING = "(missing)"  # the slice of rows whose cell is empty


def rows_by_value(values: Array) -> tuple[list[Any], Iterator[Array]]:
    """The names of the distinct values, shape (sample,), and the numbers of the rows that have each, ascending."""
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
    """Slices as people list them: numbers by size, texts by the alphabet and the numbers in them, empty cells last."""

    def number(name: Any) -> float | None:
        with suppress(ValueError):
            return None if math.isnan(read := float(name)) else read
        return None

    numeric = all(number(name) is not None for _, name in keys if name != MISSING)

    def order(key: Key) -> tuple[Any, ...]:
        """By number, else by words, without regard to case, and whole numbers; the text itself decides of equals."""
        if key[1] == MISSING:
            return (1,)
        text = str(key[1])
        words = [word for word in re.split(r"(\d+)", text.casefold()) if word]
        pieces = [(0, float(word), "") if word.isdecimal() else (1, 0.0, word) for word in words]
        return (0, number(key[1]) if numeric else 0.0, *pieces, (2, 0.0, text))

    return sorted(keys, key=order)


def check_slices(keys: Collection[Key], by: str) -> None:
    """At most `MOST_SLICES` slices: a column of identifiers is no slice."""
    if len(keys) > MOST_SLICES:
        remedy = "slice by one with fewer, or bin it first"
        raise UsageError(f"the column {by!r} has more than {MOST_SLICES} distinct values; {remedy}")


CALENDAR = ("day", "week", "month", "quarter", "year")
SO_FAR = " (so far)"
_STEPS = {"day": ("D", 1), "month": ("M", 1), "quarter": ("M", 3), "year": ("Y", 1)}  # numpy's unit, and how many
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DAY = 86_400
_LONGEST = 100 * 366 * _DAY  # a century
_FIRST_MONDAY = np.datetime64("1970-01-05", "us")
_MOST_ROWS = 10**12


@dataclass(frozen=True)
class Earliest:
    """The time of the first row of a chunk; two parts of it keep the earlier one."""

    time: np.datetime64

    def __add__(self, other: Earliest) -> Earliest:
        return self if self.time <= other.time else other


@dataclass(frozen=True)
class TimeChunks:
    """Chunks along `time` (UTC): a ``unit`` of the calendar, or so many ``seconds`` from a Monday."""

    unit: str = ""
    seconds: int = 0
    timed: ClassVar[bool] = True

    def numbers(self, batch: Predictions, first_row: int) -> Array:
        """The number of the chunk of each row, shape (sample,); `UsageError` without times."""
        if batch.time is None:
            raise UnknownColumnError("time", "--every needs the column `time`; rename yours with --map theirs=time")
        return self.at(batch.time)

    def place(
        self, number: int, rows: int, earliest: np.datetime64 | None, unfinished: bool = False
    ) -> Mapping[str, Any]:
        """``name``, ``start`` and ``end`` of a chunk; an unfinished one is ``open``, "(so far)"."""
        days = bool(self.unit) or self.seconds % _DAY == 0
        start = self.begins(number) if earliest is None else earliest
        ends = {"start": iso(start, days), "end": iso(self.begins(number + 1), days)}
        name = self.name(number, start)
        return {"name": f"{name}{SO_FAR}", **ends, "open": True} if unfinished else {"name": name, **ends}

    def at(self, time: Array) -> Array:
        """The number of the chunk at each time: days, months or years since 1970, or so many seconds from a Monday."""
        if self.unit in _STEPS:
            code, many = _STEPS[self.unit]
            return np.asarray(time.astype(f"datetime64[{code}]").astype(np.int64) // many)
        return np.asarray((time - _FIRST_MONDAY).astype(np.int64) // ((self.seconds or _SECONDS["w"]) * 1_000_000))

    def begins(self, number: int) -> np.datetime64:
        """Where the chunk of this number begins."""
        if self.unit in _STEPS:
            code, many = _STEPS[self.unit]
            begin: np.datetime64 = np.array([number * many], f"datetime64[{code}]").astype("datetime64[us]")[0]
            return begin
        return _FIRST_MONDAY + np.timedelta64(number * (self.seconds or _SECONDS["w"]), "s")

    def name(self, number: int, start: np.datetime64) -> str:
        """2019-03-01, 2019-W09 (ISO 8601), 2019-03, 2019-Q1 or 2019; of seconds the time of the first row."""
        if not self.unit:
            unit = "D" if self.seconds % _DAY == 0 else "m" if self.seconds % 60 == 0 else "s"
            return str(start.astype(f"datetime64[{unit}]")).replace("T", " ")
        day = self.begins(number).astype("datetime64[D]").item()
        if self.unit == "week":
            year, week, _ = day.isocalendar()
            return f"{year:04d}-W{week:02d}"
        if self.unit == "quarter":
            return f"{day.year:04d}-Q{(day.month + 2) // 3}"
        return str(day.isoformat()[: {"day": 10, "month": 7, "year": 4}[self.unit]])


@dataclass(frozen=True)
class RowChunks:
    """Chunks of so many rows, in the order of the file."""

    count: int
    timed: ClassVar[bool] = False

    def numbers(self, batch: Predictions, first_row: int) -> Array:
        """The number of the chunk of each row; ``first_row`` is the target's own first row."""
        return np.asarray((np.arange(len(batch), dtype=np.int64) + batch.first_row - first_row) // self.count)

    def place(
        self, number: int, rows: int, earliest: np.datetime64 | None, unfinished: bool = False
    ) -> Mapping[str, Any]:
        """Named by the rows, counted from 1 as in messages; ``start`` and ``end`` count from 0 as the column `row`."""
        start = number * self.count
        place = {"name": f"rows {start + 1} to {start + rows}", "start": start, "end": start + rows}
        return place | ({"open": True} if rows < self.count else {})


Chunks = TimeChunks | RowChunks


def parse_chunks(text: str) -> Chunks:
    """How ``7d``, ``month`` or ``1000rows`` cuts a target; `UsageError` for anything else."""
    asked = text.strip()
    if asked.lower() in CALENDAR:
        return TimeChunks(asked.lower())
    match = re.fullmatch(r"(\d{1,13})\s*(s|m|h|d|w|(?i:rows?))", asked)  # 1M is a month elsewhere, and no minute here
    if match is not None:
        count, unit = int(match[1]), match[2].lower()
        if unit.startswith("row") and 0 < count <= _MOST_ROWS:
            return RowChunks(count)
        if unit in _SECONDS and 0 < count * _SECONDS[unit] <= _LONGEST:
            return TimeChunks(seconds=count * _SECONDS[unit])
    some = f"expected chunks such as {', '.join(CALENDAR)}, 30m, 12h, 7d, 2w or 1000rows"
    raise UsageError(f"{some}, got {text!r} (m is a minute; month is a month of the calendar)")


def iso(time: np.datetime64, days: bool) -> str:
    """A time in ISO 8601, without fractions that are zero; a date alone at midnight, for whole ``days``."""
    text = str(time.astype("datetime64[us]")).removesuffix(".000000")
    text = text.removesuffix("T00:00:00") if days else text
    return text.rstrip("0") if "." in text else text
