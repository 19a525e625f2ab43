"""History: the result of the verb `history`: past runs of each job, and what they said of every part of its targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from .values import counted, plain


@dataclass(frozen=True)
class PastRun:
    """A run as its store tells it. ``number`` names it there, ``at`` is the time of its end (UTC, ISO).

    ``alarms`` were raised, ``new`` of them by no earlier run; ``repeats`` is the number of the run whose answer it
    gave again shortly after, as a scheduler does that tries twice.
    """

    number: int
    at: str
    job: str
    verb: str
    version: str
    reference: str | None
    target: str | None
    rows: int | None
    value: float | None
    lower: float | None
    upper: float | None
    level: float | None
    kind: str | None
    method: str | None
    trust: str | None
    why: str | None
    truth: float | None
    reference_accuracy: float | None
    diagnosis: str | None
    alarms: int
    new: int
    exit_code: int
    repeats: int | None
    options: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return plain(dict(vars(self)))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Seen:
    """What one run said of a part: the run's number and time, the rows it had then, and the number with its ends."""

    run: int
    at: str
    rows: int | None
    value: float | None
    lower: float | None
    upper: float | None
    trust: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class PastAlarm:
    """A rule that a part failed: ``since`` when it was first raised, and whether it still ``stands``."""

    rule: str
    amount: float
    bound: float | None
    since: str | None
    stands: bool

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class PastPart:
    """A number of the target, of a chunk or a slice (``kind``), as all runs saw it, the newest last.

    ``truth`` is what labels last told of it, with its ends; ``fell`` the newest answer to "did the accuracy fall?".
    """

    kind: str
    part: str
    name: str
    metric: str
    start: str | None
    end: str | None
    seen: tuple[Seen, ...]
    truth: Mapping[str, float] | None = None
    fell: str | None = None
    alarms: tuple[PastAlarm, ...] = ()

    @property
    def newest(self) -> Seen:
        """What the last run that looked at it said."""
        return self.seen[-1]

    @property
    def standing(self) -> tuple[PastAlarm, ...]:
        """Alarms that the last run raised."""
        return tuple(one for one in self.alarms if one.stands)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "kind": self.kind,
            "part": self.part,
            "name": self.name,
            "metric": self.metric,
            "start": self.start,
            "end": self.end,
            **self.newest.to_dict(),
            "truth": plain(self.truth),
            "fell": self.fell,
            "alarms": [one.to_dict() for one in self.alarms],
            "seen": [one.to_dict() for one in self.seen],
        }


@dataclass(frozen=True, repr=False)
class Job:
    """A series of runs, oldest first, and the parts of its targets along time, as the newest run cuts them."""

    name: str
    runs: tuple[PastRun, ...]
    parts: tuple[PastPart, ...]

    def __repr__(self) -> str:
        return f"{self.name}: {counted(len(self.runs), 'run')}, {counted(len(self.of(self.cut)), self.cut)}"

    def of(self, kind: str, metric: str = "accuracy") -> tuple[PastPart, ...]:
        """The parts of one kind ("target", "chunk" or "slice"), one number each."""
        return tuple(one for one in self.parts if one.kind == kind and one.metric == metric)

    @property
    def cut(self) -> str:
        """The kind of part that the newest run has: "chunk", "slice" or "target"."""
        return next((kind for kind in ("chunk", "slice") if self.of(kind)), "target")

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "job": self.name,
            "runs": [one.to_dict() for one in self.runs],
            "parts": [one.to_dict() for one in self.parts],
        }


@dataclass(frozen=True, repr=False)
class History:
    """What a store holds, job by job; ``store`` names it without a password.

    >>> History("runs.sqlite", (Job("car_loan", (), ()),))
    past runs in runs.sqlite
      car_loan: 0 runs, 0 targets
    """

    store: str
    jobs: tuple[Job, ...]
    argv: str | None = None

    def __repr__(self) -> str:
        return "\n  ".join([f"past runs in {self.store}", *map(repr, self.jobs)])

    def __getitem__(self, job: str) -> Job:
        for one in self.jobs:
            if one.name == job:
                return one
        raise UsageError(f"there is no job {job!r}; there is {', '.join(one.name for one in self.jobs) or 'none yet'}")

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        from ..version import __version__

        return {
            "command": "history",
            "version": __version__,
            "argv": self.argv,
            "store": self.store,
            "jobs": [one.to_dict() for one in self.jobs],
        }
