"""Store of past runs: what every kind of it can do; SQLite and PostgreSQL open a transaction and name their errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, runtime_checkable

from ..errors import InputError, NotStoredError, WorkError

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


# Names of types are PostgreSQL's: SQLite takes any, and keeps whole numbers, numbers and texts as what they are.
_FIRST = (
    "CREATE TABLE oodometer_store (version BIGINT NOT NULL)",
    """CREATE TABLE oodometer_runs (
        id BIGINT PRIMARY KEY, at TIMESTAMPTZ NOT NULL, job TEXT NOT NULL, verb TEXT NOT NULL, version TEXT NOT NULL,
        reference TEXT, target TEXT, rows BIGINT, reference_accuracy DOUBLE PRECISION,
        value DOUBLE PRECISION, lower DOUBLE PRECISION, upper DOUBLE PRECISION, level DOUBLE PRECISION,
        kind TEXT, method TEXT, trust TEXT, why TEXT, truth DOUBLE PRECISION, diagnosis TEXT,
        alarms BIGINT NOT NULL, new_alarms BIGINT NOT NULL, exit_code BIGINT NOT NULL,
        cut TEXT NOT NULL, answer TEXT NOT NULL, repeats BIGINT, options JSON NOT NULL, result JSON NOT NULL)""",
    "CREATE INDEX oodometer_runs_of_job ON oodometer_runs (job, id)",
    """CREATE TABLE oodometer_parts (
        run BIGINT NOT NULL REFERENCES oodometer_runs (id) ON DELETE CASCADE, place BIGINT NOT NULL,
        kind TEXT NOT NULL, part TEXT NOT NULL, name TEXT NOT NULL, begins TEXT, ends TEXT, rows BIGINT,
        metric TEXT NOT NULL, value DOUBLE PRECISION, lower DOUBLE PRECISION, upper DOUBLE PRECISION,
        level DOUBLE PRECISION, interval_kind TEXT, method TEXT, trust TEXT, why TEXT,
        truth DOUBLE PRECISION, truth_lower DOUBLE PRECISION, truth_upper DOUBLE PRECISION, fell TEXT,
        fell_p DOUBLE PRECISION, PRIMARY KEY (run, kind, part, metric))""",
    """CREATE TABLE oodometer_alarms (
        run BIGINT NOT NULL REFERENCES oodometer_runs (id) ON DELETE CASCADE,
        kind TEXT NOT NULL, part TEXT NOT NULL, name TEXT NOT NULL, metric TEXT NOT NULL, rule TEXT NOT NULL,
        amount DOUBLE PRECISION NOT NULL, bound DOUBLE PRECISION, value DOUBLE PRECISION, p DOUBLE PRECISION,
        verdict TEXT NOT NULL, since TIMESTAMPTZ, PRIMARY KEY (run, kind, part, metric, rule, amount))""",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST,)
"""Statements that lead from version 0 (no tables) to 1, from 1 to 2 and so on; all in one transaction."""

VERSION = len(MIGRATIONS)
"""The schema that this release reads and writes."""

TABLES = ("oodometer_store", "oodometer_runs", "oodometer_parts", "oodometer_alarms")

# Columns that are written, in the order of the values.
_COLUMNS = {
    "oodometer_runs": "id at job verb version reference target rows reference_accuracy value lower upper level kind "
    "method trust why truth diagnosis alarms new_alarms exit_code cut answer repeats options result",
    "oodometer_parts": "run place kind part name begins ends rows metric value lower upper level interval_kind method "
    "trust why truth truth_lower truth_upper fell fell_p",
    "oodometer_alarms": "run kind part name metric rule amount bound value p verdict since",
}

INSERTS = {
    table: f"INSERT INTO {table} ({', '.join(names.split())}) VALUES ({', '.join(['%s'] * len(names.split()))})"
    for table, names in _COLUMNS.items()
}
"""Statement that adds a row, by table."""


WAIT = 10.0  # seconds that a store may be locked, or a server be silent, before that is said
_RUN = tuple(INSERTS["oodometer_runs"].partition("(")[2].partition(")")[0].split(", "))


@runtime_checkable
class Session(Protocol):
    """A transaction in a store."""

    def rows(self, sql: str, *values: Cell) -> list[tuple[Any, ...]]:
        """Do a statement, with ``%s`` for each value, and return what it finds."""

    def many(self, sql: str, rows: Sequence[Sequence[Cell]]) -> None:
        """Do a statement once for each row of values."""


class Store(ABC):
    """A place that keeps runs. ``name`` is its path or address as messages say it, never with a password.

    A run is added whole or not at all, whatever ends the program; two programs may write at once.
    """

    kind: str  # as messages call it

    def __init__(self, name: str, argv: str | None = None) -> None:
        self.name, self.argv = name, argv
        self._waiting: list[Callable[[], None]] | None = None

    # ------------------------------------------------------------------------------ what a kind of store defines

    @abstractmethod
    def session(self, *, write: bool) -> AbstractContextManager[Session]:
        """A transaction, kept at the end of the block; errors of the store inside it become `InputError`.

        One that writes waits until no other does. Raises `InputError` for a store that cannot be opened, is locked for
        longer than ten seconds, or is something else.
        """

    @abstractmethod
    def has_table(self, session: Session, name: str) -> bool:
        """Whether there is such a table where ours would be."""

    def check_foreign(self, session: Session) -> None:  # noqa: B027 - most stores share a place with other tables
        """Raise `InputError` where tables of ours do not belong."""

    def is_new(self) -> bool:
        """Whether there is nothing yet, and it can be made; `InputError` where it cannot."""
        return False

    # ------------------------------------------------------------------------------ what all of them do

    def check(self) -> None:
        """See before long work that a run can be added after it: one is added and taken back; older stores are renewed.

        Raises `InputError` as `session` does, and for a store of a newer schema.
        """
        if self.is_new():
            return
        try:
            with self.session(write=True) as session:
                older = 0 < self._version(session) < VERSION
                self.check_whole(session, every_page=True)
                self._renew(session)
                if older:
                    return  # and that stays: what older runs raised is read before the new one is added
                empty: dict[str, Cell] = dict.fromkeys(("job", "verb", "version", "cut", "answer"), "")
                counts: dict[str, Cell] = dict.fromkeys(("alarms", "new_alarms", "exit_code"), 0)
                at = "1970-01-01T00:00:00+00:00"
                _insert(
                    session, RunRecord({**empty, **counts, "at": at, "options": "{}", "result": "{}"}, (), ()), None
                )
                raise _TakeBack
        except _TakeBack:
            pass

    def append(self, run: RunRecord, repeats: int | None = None) -> None:
        """Add a run; ``repeats`` is the number of the run that it gives again.

        Raises `NotStoredError` where that fails.
        """
        self._now_or_later(partial(self._add, run, repeats))

    def refuse(self, error: NotStoredError) -> None:
        """Raise the error when the run would have been added."""
        self._now_or_later(partial(_raise, error))

    def _add(self, run: RunRecord, repeats: int | None) -> None:
        try:
            with self.session(write=True) as session:
                self._renew(session)
                _insert(session, run, repeats)
        except (InputError, WorkError) as error:
            raise NotStoredError(f"the answer is there, but the store did not take this run: {error}") from error

    def _now_or_later(self, act: Callable[[], None]) -> None:
        if self._waiting is None:
            act()
        else:
            self._waiting.append(act)

    @contextmanager
    def afterwards(self) -> Iterator[Store]:
        """Inside, runs wait; they are added at the end of the block, and not at all where an error ends it.

        So a run counts as told only after its alarms were, and one that was killed in between raises them again.
        """
        self._waiting = []
        try:
            yield self
            waiting = self._waiting
        finally:
            self._waiting = None
        for act in waiting:
            act()

    @contextmanager
    def reading(self) -> Iterator[Session | None]:
        """A transaction to read in; None where there is no run yet. `InputError` for a store of another schema."""
        with self.session(write=False) as session:
            version = self._version(session)
            if version == 0:
                yield None
                return
            if version < VERSION:
                raise InputError(
                    f"a store of schema {VERSION}",
                    got=f"schema {version}",
                    remedy="the next `oodometer estimate --store` brings it up to date",
                    file=self.name,
                )
            self.check_whole(session)
            yield session

    def check_whole(self, session: Session, every_page: bool = False) -> None:  # noqa: B027 - servers do it themselves
        """Raise `InputError` for a store whose runs could not be read again; one without tables is whole."""

    def _version(self, session: Session) -> int:
        """The schema that is there, 0 for none; `InputError` for one from the future."""
        if not self.has_table(session, "oodometer_store"):
            self.check_foreign(session)
            return 0
        found = session.rows("SELECT version FROM oodometer_store")
        version = found[0][0] if len(found) == 1 else f"{len(found)} of them"
        if type(version) is not int or version < 0:
            raise self.damaged(f"version {version!r}")
        if version > VERSION:
            raise InputError(
                f"a store of schema {VERSION}, the newest that this release knows",
                got=f"schema {version}",
                remedy="install the newer oodometer that made it, or give another store",
                file=self.name,
            )
        return version

    def damaged(self, what: str) -> InputError:
        """The error about a store that something else has changed."""
        remedy = "take a copy from before, or choose another path"
        return InputError("a store of past runs", got=f"a damaged one ({what})", remedy=remedy, file=self.name)

    def _renew(self, session: Session) -> None:
        """Bring the tables to the present schema."""
        version = self._version(session)
        for statements in MIGRATIONS[version:]:
            for one in statements:
                session.rows(one)
        if version == 0:
            session.rows("INSERT INTO oodometer_store (version) VALUES (%s)", VERSION)
        elif version < VERSION:
            session.rows("UPDATE oodometer_store SET version = %s", VERSION)


class _TakeBack(Exception):
    """Ends a transaction of which nothing is to stay."""


def _raise(error: Exception) -> None:
    raise error


def _insert(session: Session, run: RunRecord, repeats: int | None) -> None:
    """All rows of a run, under the next number; nobody else writes meanwhile."""
    number = int(session.rows("SELECT COALESCE(MAX(id), 0) + 1 FROM oodometer_runs")[0][0])
    values = {**run.about, "id": number, "repeats": repeats}
    session.rows(INSERTS["oodometer_runs"], *(values.get(name) for name in _RUN))
    session.many(INSERTS["oodometer_parts"], [one.cells(number, i) for i, one in enumerate(run.parts)])
    session.many(INSERTS["oodometer_alarms"], [one.cells(number) for one in run.verdicts])
