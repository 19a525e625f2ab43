"""Record: what a store keeps of one run, as rows of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Cell = str | int | float | bool | None

Verdict = tuple[str, str, str, str, float]
"""What an alarm is known by: kind and key of the part, metric, rule, amount."""


@dataclass(frozen=True)
class PartRow:
    """A number of the target, a chunk or a slice: ``kind`` and ``part`` say of which, ``metric`` which number.

    ``part`` is a key that stays from run to run while the name changes: a last month that is short is told as "2026-10
    to 2026-11", and a last chunk of rows grows.
    """

    kind: str
    part: str
    name: str
    metric: str
    rows: int | None
    begins: str | None
    ends: str | None
    value: float | None
    lower: float | None
    upper: float | None
    level: float | None
    interval_kind: str | None
    method: str | None
    trust: str | None
    why: str | None
    truth: float | None
    truth_lower: float | None
    truth_upper: float | None
    fell: str | None
    fell_p: float | None

    def cells(self, run: int, place: int) -> tuple[Cell, ...]:
        """The row of the table of parts."""
        numbers = (self.value, self.lower, self.upper, self.level)
        words = (self.interval_kind, self.method, self.trust, self.why)
        truth = (self.truth, self.truth_lower, self.truth_upper)
        head = (run, place, self.kind, self.part, self.name, self.begins, self.ends, self.rows, self.metric)
        return (*head, *numbers, *words, *truth, self.fell, self.fell_p)


@dataclass(frozen=True)
class VerdictRow:
    """What a rule said of a part: ``verdict`` is "raised", "by chance" or "holds"; ``since`` when it was first raised,
    without an end in between.
    """

    kind: str
    part: str
    name: str
    metric: str
    rule: str
    amount: float
    bound: float | None
    value: float | None
    p: float | None
    verdict: str
    since: str | None = None

    @property
    def key(self) -> Verdict:
        """What the alarm is known by."""
        return (self.kind, self.part, self.metric, self.rule, self.amount)

    def cells(self, run: int) -> tuple[Cell, ...]:
        """The row of the table of alarms."""
        head = (run, self.kind, self.part, self.name, self.metric, self.rule, self.amount)
        return (*head, self.bound, self.value, self.p, self.verdict, self.since)


@dataclass(frozen=True)
class RunRecord:
    """A run: ``about`` are the columns of the table of runs by name, without ``id`` and ``repeats``."""

    about: Mapping[str, Cell]
    parts: tuple[PartRow, ...]
    verdicts: tuple[VerdictRow, ...]


def now() -> str:
    """The time in UTC, in ISO form."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def moment(value: Any) -> str | None:
    """A time out of a store, text or `datetime`, as ISO text in UTC.

    >>> moment("2026-11-24T20:00:00.000+00:00"), moment(None)
    ('2026-11-24T20:00:00+00:00', None)
    """
    if value is None:
        return None
    when = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    return when.isoformat(timespec="seconds")
