"""Store of past runs: what every kind of it can do; SQLite and PostgreSQL open a transaction and name their errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any, final

from ..errors import InputError, NotStoredError, WorkError

Cell = str | int | float | bool | None
Row = Mapping[str, Cell]
"""A row to be written, its cells by column; columns that it does not name stay empty."""


def now() -> str:
    """The time in UTC, in ISO form."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def moment(value: Any) -> str | None:
    """A time out of a store, text or `datetime`, as ISO text in UTC."""
    if value is None:
        return None
    when = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    return when.isoformat(timespec="seconds")


# Columns of each table, and its key. Names of types are PostgreSQL's: SQLite takes any, and keeps whole numbers,
# numbers and texts as what they are. `kind` and `part` say of which part of a target (all, a chunk, a slice) a row is;
# `verdict` is "raised", "by chance" or "holds", `since` when an alarm was first raised, without an end in between.
_OF_RUN = "run BIGINT NOT NULL REFERENCES oodometer_runs (id) ON DELETE CASCADE, "
_TABLES = {
    "oodometer_store": ("version BIGINT NOT NULL", ""),
    "oodometer_runs": (
        "id BIGINT PRIMARY KEY, at TIMESTAMPTZ NOT NULL, job TEXT NOT NULL, verb TEXT NOT NULL, version TEXT NOT NULL, "
        "reference TEXT, target TEXT, rows BIGINT, reference_accuracy DOUBLE PRECISION, value DOUBLE PRECISION, "
        "lower DOUBLE PRECISION, upper DOUBLE PRECISION, level DOUBLE PRECISION, kind TEXT, method TEXT, trust TEXT, "
        "why TEXT, truth DOUBLE PRECISION, diagnosis TEXT, alarms BIGINT NOT NULL, new_alarms BIGINT NOT NULL, "
        "exit_code BIGINT NOT NULL, cut TEXT NOT NULL, answer TEXT NOT NULL, repeats BIGINT, options JSON NOT NULL, "
        "result JSON NOT NULL",
        "",
    ),
    "oodometer_parts": (
        f"{_OF_RUN}place BIGINT NOT NULL, kind TEXT NOT NULL, part TEXT NOT NULL, name TEXT NOT NULL, begins TEXT, "
        "ends TEXT, rows BIGINT, metric TEXT NOT NULL, value DOUBLE PRECISION, lower DOUBLE PRECISION, "
        "upper DOUBLE PRECISION, level DOUBLE PRECISION, interval_kind TEXT, method TEXT, trust TEXT, why TEXT, "
        "truth DOUBLE PRECISION, truth_lower DOUBLE PRECISION, truth_upper DOUBLE PRECISION, fell TEXT, "
        "fell_p DOUBLE PRECISION",
        ", PRIMARY KEY (run, kind, part, metric)",
    ),
    "oodometer_alarms": (
        f"{_OF_RUN}kind TEXT NOT NULL, part TEXT NOT NULL, name TEXT NOT NULL, metric TEXT NOT NULL, "
        "rule TEXT NOT NULL, amount DOUBLE PRECISION NOT NULL, bound DOUBLE PRECISION, value DOUBLE PRECISION, "
        "p DOUBLE PRECISION, verdict TEXT NOT NULL, since TIMESTAMPTZ",
        ", PRIMARY KEY (run, kind, part, metric, rule, amount)",
    ),
}
TABLES = tuple(_TABLES)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        *(f"CREATE TABLE {table} ({columns}{key})" for table, (columns, key) in _TABLES.items()),
        "CREATE INDEX oodometer_runs_of_job ON oodometer_runs (job, id)",
    ),
)
"""Statements that lead from version 0 (no tables) to 1, from 1 to 2 and so on; all in one transaction."""

VERSION = len(MIGRATIONS)
"""The schema that this release reads and writes."""

WAIT = 10.0  # seconds that a store may be locked, or a server be silent, before that is said
WAIT_FOR_IT = "wait until it has ended, or end it, and run again"


@final
class Session:
    """A transaction on a connection of Python's database interface; ``mark`` is how it marks the place of a value."""

    def __init__(self, connection: Any, mark: str = "%s") -> None:
        self._connection, self._mark = connection, mark

    def rows(self, sql: str, *values: Cell) -> list[tuple[Any, ...]]:
        """Do a statement, with ``%s`` for each value, and return what it finds."""
        cursor = self._connection.execute(sql.replace("%s", self._mark), values)
        return [] if cursor.description is None else list(cursor.fetchall())

    def add(self, table: str, rows: Sequence[Row]) -> None:
        """Add rows to a table."""
        names = [column.split()[0] for column in _TABLES[table][0].split(", ")]
        marks = ", ".join([self._mark] * len(names))
        sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
        self._connection.cursor().executemany(
            sql, [[row.get(name) for name in names] for row in rows]
        )


class Store(ABC):
    """A place that keeps runs. ``name`` is its path or address as messages say it, never with a password.

    A run is added whole or not at all, whatever ends the program; two programs may write at once.
    """

    kind: str  # as messages call it

    def __init__(self, name: str, argv: str | None = None) -> None:
        self.name, self.argv = name, argv
        self._waiting: list[Callable[[], None]] | None = None

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

    def check_whole(self, session: Session, every_page: bool = False) -> None:  # noqa: B027 - servers do it themselves
        """Raise `InputError` for a store whose runs could not be read again; one without tables is whole."""

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
                empty: dict[str, Cell] = dict.fromkeys(
                    ("job", "verb", "version", "cut", "answer"), ""
                )
                empty |= dict.fromkeys(("alarms", "new_alarms", "exit_code"), 0)
                _insert(
                    session,
                    {**empty, "at": "1970-01-01T00:00:00+00:00", "options": "{}", "result": "{}"},
                    (),
                    (),
                )
                raise _TakeBack
        except _TakeBack:
            pass

    def append(
        self,
        run: Row,
        parts: Sequence[Row] = (),
        alarms: Sequence[Row] = (),
        refused: NotStoredError | None = None,
    ) -> None:
        """Add a run, rows of the tables by column (`id`, `run` and `place` are worked out); now or `afterwards`.
        Raises `NotStoredError` where that fails, and ``refused`` in its place.
        """

        def add() -> None:
            if refused is not None:
                raise refused
            try:
                with self.session(write=True) as session:
                    self._renew(session)
                    _insert(session, run, parts, alarms)
            except (InputError, WorkError) as error:
                raise NotStoredError(
                    f"the answer is there, but the store did not take this run: {error}"
                ) from error

        if self._waiting is None:
            add()
        else:
            self._waiting.append(add)

    @contextmanager
    def afterwards(self) -> Iterator[Store]:
        """Inside, runs wait; they are added at the end of the block, and not at all where an error ends it.

        So a run counts as told only after its alarms were, and one that was killed in between raises them again.
        """
        waiting: list[Callable[[], None]] = []
        self._waiting = waiting
        try:
            yield self
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

    def _version(self, session: Session) -> int:
        """The schema that is there, 0 for none; `InputError` for one from the future."""
        if not self.has_table(session, "oodometer_store"):
            self.check_foreign(session)
            return 0
        versions = session.rows("SELECT version FROM oodometer_store")
        version = versions[0][0] if len(versions) == 1 else f"{len(versions)} of them"
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
        return InputError(
            "a store of past runs",
            got=f"a damaged one ({what})",
            remedy="take a copy from before, or choose another path",
            file=self.name,
        )

    def _renew(self, session: Session) -> None:
        """Bring the tables to the present schema."""
        version = self._version(session)
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                session.rows(statement)
        if version == 0:
            session.rows("INSERT INTO oodometer_store (version) VALUES (%s)", VERSION)
        elif version < VERSION:
            session.rows("UPDATE oodometer_store SET version = %s", VERSION)


class _TakeBack(Exception):
    """Ends a transaction of which nothing is to stay."""


def _insert(session: Session, run: Row, parts: Sequence[Row], alarms: Sequence[Row]) -> None:
    """All rows of a run, under the next number; nobody else writes meanwhile."""
    number = int(session.rows("SELECT COALESCE(MAX(id), 0) + 1 FROM oodometer_runs")[0][0])
    session.add("oodometer_runs", [{**run, "id": number}])
    session.add(
        "oodometer_parts", [{**part, "run": number, "place": i} for i, part in enumerate(parts)]
    )
    session.add("oodometer_alarms", [{**alarm, "run": number} for alarm in alarms])
