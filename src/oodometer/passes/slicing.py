"""Slicing: the rows of each slice of a batch, by the values of a column, and what a slice is called."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array
from ..classes import is_null
from ..errors import UnknownColumnError, UsageError
from ..plain import Json, Plain
from ..predictions import Predictions
from ..zones import clock, instants

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
        codes = np.array(
            [index.setdefault(slice_name(v), len(index)) for v in values.tolist()], dtype=np.intp
        )
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
        # an unknown label, -1, is the last
        return np.array([*(names or ()), None], dtype=object)[codes]
    value = getattr(batch, name, None)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value
    raise UsageError(f"there is no column {name!r} to slice by")


def slice_name(value: Any) -> Any:
    """What a slice is called: a string, a number or a truth value, so that batches and JSON agree on it."""
    if isinstance(value, np.datetime64):
        return (
            MISSING
            if np.isnat(value)
            else str(value).removesuffix(".000000").removesuffix("T00:00:00")
        )
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
PARTIAL = " (partial)"
# numpy's unit, and how many
_STEPS = {
    "day": ("D", 1),
    "month": ("M", 1),
    "quarter": ("M", 3),
    "year": ("Y", 1),
}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DAY = 86_400
_LONGEST = 100 * 366 * _DAY  # a century
_FIRST_MONDAY = np.array(["1970-01-05"], "datetime64[us]")
_REST = 100  # a chunk has come to its end where less than one part in so many of its length is left behind its last row
_MOST_ROWS = 10**12


@dataclass(frozen=True)
class Latest:
    """The last of some times, and the coarsest of a day, an hour, a minute and a second of which each is a multiple."""

    time: np.datetime64
    step: int = 1

    def __add__(self, other: Latest) -> Latest:
        return Latest(max(self.time, other.time), min(self.step, other.step))


@dataclass(frozen=True)
class TimeChunks:
    """Chunks along `time`: a ``unit`` of the calendar, or so many ``seconds``, counted from Monday, 1970-01-05. Units
    and whole days are those of the clock of ``zone`` (UTC where it is ""), an hour shorter or longer where that is put
    forward or back; other lengths are exact, from the midnight of that Monday in the zone.
    """

    unit: str = ""
    seconds: int = 0
    zone: str = ""
    timed: ClassVar[bool] = True

    def numbers(self, batch: Predictions, first_row: int) -> Array:
        """The number of the chunk of each row, shape (sample,); `UsageError` without times."""
        if batch.time is None:
            raise UnknownColumnError(
                "time", "--every needs the column `time`; rename yours with --map theirs=time"
            )
        return self.at(batch.time)

    def latest(self, time: Array) -> Latest:
        """The last of the times of some rows."""
        microseconds = clock(time, self.zone).astype("datetime64[us]").astype(np.int64)
        steps = (step for step in (_DAY, 3600, 60) if not (microseconds % (step * 1_000_000)).any())
        return Latest(time.max(), next(steps, 1))

    @property
    def _days(self) -> bool:
        return bool(self.unit) or self.seconds % _DAY == 0

    def place(self, number: int, rows: int, latest: Latest | None) -> Plain:
        """``name``, ``start`` and ``end`` of a chunk, which depend on its number alone, and the ``timezone``. The last
        one, for which the last time is given, is ``partial`` until its rows come to its end: those of whole days or
        hours stand for these.
        """
        begin, end = self.begins(number), self.begins(number + 1)
        unit = "D" if self._days and not self.zone else "s"
        place: Json = {
            "name": self.name(number),
            "start": self._iso_text(begin, unit),
            "end": self._iso_text(end, unit),
        }
        place |= {"timezone": self.zone} if self.zone else {}
        if (
            latest is not None
            and end - latest.time - np.timedelta64(latest.step, "s") > (end - begin) / _REST
        ):
            place |= {"name": place["name"] + PARTIAL, "open": True, "partial": True}
        return place

    def at(self, time: Array) -> Array:
        """The number of the chunk at each instant: days, months or years since 1970, or lengths from a Monday on."""
        if self._days:
            time = clock(time, self.zone)
        if self.unit in _STEPS:
            code, step = _STEPS[self.unit]
            return np.asarray(time.astype(f"datetime64[{code}]").astype(np.int64) // step)
        first = _FIRST_MONDAY if self._days else instants(_FIRST_MONDAY, self.zone)
        return np.asarray(
            (time - first).astype(np.int64) // ((self.seconds or _SECONDS["w"]) * 1_000_000)
        )

    def begins(self, number: int) -> np.datetime64:
        """The instant at which the chunk of this number begins."""
        if self.unit in _STEPS:
            code, step = _STEPS[self.unit]
            wall = np.array([number * step], f"datetime64[{code}]").astype("datetime64[us]")
        else:
            length = np.timedelta64(number * (self.seconds or _SECONDS["w"]), "s")
            if not self._days:
                return np.datetime64((instants(_FIRST_MONDAY, self.zone) + length)[0])
            wall = _FIRST_MONDAY + length
        return np.datetime64(instants(wall, self.zone)[0])

    def name(self, number: int) -> str:
        """2019-03-01, 2019-W09 (ISO 8601), 2019-03, 2019-Q1 or 2019; of seconds where it begins."""
        begin = self.begins(number)
        if not self._days:
            return self._iso_text(begin, "s" if self.seconds % 60 else "m").replace("T", " ")
        day = clock(np.array([begin]), self.zone).astype("datetime64[D]")[0].item()
        if self.unit == "week":
            year, week, _ = day.isocalendar()
            return f"{year:04d}-W{week:02d}"
        if self.unit == "quarter":
            return f"{day.year:04d}-Q{(day.month + 2) // 3}"
        return str(day.isoformat()[: {"month": 7, "year": 4}.get(self.unit, 10)])

    def _iso_text(self, instant: np.datetime64, unit: str) -> str:
        """An instant in ISO 8601 to a unit of numpy, by the clock of the zone and with its offset if there is one."""
        wall = clock(np.array([instant]), self.zone)[0]
        minutes = int((wall - instant) // np.timedelta64(60, "s"))
        offset = (
            f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
            if self.zone
            else ""
        )
        return f"{wall.astype(f'datetime64[{unit}]')}{offset}"


@dataclass(frozen=True)
class RowChunks:
    """Chunks of so many rows, in the order of the file."""

    count: int
    timed: ClassVar[bool] = False

    def numbers(self, batch: Predictions, first_row: int) -> Array:
        """The number of the chunk of each row; ``first_row`` is the target's own first row."""
        return np.asarray(
            (np.arange(len(batch), dtype=np.int64) + batch.first_row - first_row) // self.count
        )

    def place(self, number: int, rows: int, latest: Latest | None) -> Plain:
        """Named by the rows, counted from 1 as in messages; ``start`` and ``end`` count from 0 as the column `row`."""
        start = number * self.count
        unfinished = rows < self.count
        place = {
            "name": f"rows {start + 1} to {start + rows}{PARTIAL * unfinished}",
            "start": start,
        }
        return (
            place | {"end": start + rows} | ({"open": True, "partial": True} if unfinished else {})
        )


Chunks = TimeChunks | RowChunks


def parse_chunks(text: str, zone: str = "") -> Chunks:
    """How ``7d``, ``month`` or ``1000rows`` cuts a target, in a time zone; `UsageError` for anything else."""
    spec = text.strip()
    if spec.lower() in CALENDAR:
        return TimeChunks(spec.lower(), zone=zone)
    # 1M is a month elsewhere, and no minute here
    match = re.fullmatch(r"(\d{1,13})\s*(s|m|h|d|w|(?i:rows?))", spec)
    if match is not None:
        count, unit = int(match[1]), match[2].lower()
        if unit.startswith("row") and 0 < count <= _MOST_ROWS:
            return RowChunks(count)
        if unit in _SECONDS and 0 < count * _SECONDS[unit] <= _LONGEST:
            return TimeChunks(seconds=count * _SECONDS[unit], zone=zone)
    expected = f"expected chunks such as {', '.join(CALENDAR)}, 30m, 12h, 7d, 2w or 1000rows"
    raise UsageError(f"{expected}, got {text!r} (m is a minute; month is a month of the calendar)")
