"""A store of past runs in a file, by the SQLite that comes with Python."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, final
from urllib.parse import quote

from ..errors import InputError
from ..store.atomic import refuse_links_of_others
from . import base
from .base import TABLES, Cell, Session, Store

# by the type of a column: what no cell of it may be
_NOT = {
    "BIGINT": "typeof(?) NOT IN ('integer', 'null')",
    "DOUBLE PRECISION": "typeof(?) NOT IN ('real', 'integer', 'null')",
    "TEXT": "typeof(?) NOT IN ('text', 'null')",
    "TIMESTAMPTZ": "? IS NOT NULL AND (typeof(?) <> 'text' OR julianday(?) IS NULL)",
    "JSON": "CASE WHEN json_valid(?) THEN json_type(?) ELSE '' END <> 'object'",
}


@final
class _Session:
    """Statements on a connection to SQLite."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, *values: Cell) -> list[tuple[Any, ...]]:
        """Do a statement and return what it finds."""
        return self._connection.execute(sql.replace("%s", "?"), values).fetchall()

    def many(self, sql: str, rows: Sequence[Sequence[Cell]]) -> None:
        """Do a statement once for each row of values."""
        self._connection.executemany(sql.replace("%s", "?"), rows)


@final
class SqliteStore(Store):
    """Runs in one file, which is made with the first of them.

    Writers wait for each other for ten seconds. The journal is SQLite's usual one: the store stays a single file that
    can be copied, and a program that is killed leaves the store as it was before its run.

    >>> import tempfile
    >>> store = SqliteStore(Path(tempfile.mkdtemp()) / "runs.sqlite")
    >>> store.check(), Path(store.name).exists()
    (None, False)
    """

    kind = "SQLite"

    def __init__(self, path: str | os.PathLike[str], argv: str | None = None) -> None:
        super().__init__(os.fspath(path), argv)
        self._path = Path(path)

    @contextmanager
    def session(self, *, write: bool) -> Iterator[Session]:
        """A transaction; see `Store.session`."""
        # A reader, too, must be able to take back what a killed writer left half done, where it may.
        mode = "rwc" if write else "rw" if self._may_write() else "ro"
        if self._path.is_dir():
            raise self._error("a folder", "name a file in it, such as runs.sqlite")
        if self._path.exists() and not self._path.is_file():
            raise self._error("a pipe or device", "name a file, such as runs.sqlite")
        if write:
            refuse_links_of_others(self._path)
        if not write and not self._path.exists():
            raise self._error("no such file", "check the path; `oodometer estimate --store` makes a store")
        try:
            address = f"file:{quote(os.path.abspath(self._path))}?mode={mode}"
            with closing(sqlite3.connect(address, uri=True, timeout=base.WAIT, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    yield _Session(connection)
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._told(error) from error

    def _may_write(self) -> bool:
        return os.access(self._path, os.W_OK) and os.access(self._path.parent, os.W_OK)

    def has_table(self, session: Session, name: str) -> bool:
        """Whether there is such a table in the file."""
        return bool(session.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = %s", name))

    def check_foreign(self, session: Session) -> None:
        """A file of another program's tables is no place for ours: its path was mistyped."""
        other = session.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name LIMIT 1")
        if other:
            raise self._error(f"a database of another program (table {other[0][0]})", "choose another path")

    def check_whole(self, session: Session, every_page: bool = False) -> None:
        """Cells are what their columns hold: SQLite itself takes anything anywhere; no page is damaged."""
        for table in TABLES:
            for _, name, kind, *_ in session.rows(f"PRAGMA table_info({table})"):
                bad = _NOT[kind].replace("?", name)
                if name == "id":
                    bad = f"{bad} OR id NOT BETWEEN 1 AND {2**62}"
                found = (
                    session.rows(f"SELECT rowid, {name} FROM {table} WHERE {bad} LIMIT 1") if name != "result" else []
                )
                if found:
                    raise self.damaged(f"{table}, row {found[0][0]}: {name} is {str(found[0][1])[:60]!r}")
        if every_page and (said := session.rows("PRAGMA quick_check(1)")[0][0]) != "ok":
            raise self.damaged(" ".join(str(said).split())[:160])

    def is_new(self) -> bool:
        """Whether the file is yet to be made, in a folder that lets it."""
        if self._path.exists():
            return False
        home = self._path.parent
        if not home.is_dir():
            raise self._error("no such folder", f"make {home} first")
        if not os.access(home, os.W_OK):
            raise self._error("a folder that cannot be written", "choose another path")
        return True

    def _told(self, error: sqlite3.Error) -> InputError:
        """An error of SQLite in our words."""
        said = " ".join(str(error).split())
        if "locked" in said or "busy" in said:
            got = f"locked by another program for {base.WAIT:g} s"
            return self._error(got, "wait until it has ended, or end it, and run again")
        if "not a database" in said:
            return self._error("another kind of file", "choose another path; a new file is made")
        if "malformed" in said or "corrupt" in said:
            return self._error(f"a damaged one ({said})", "take a copy from before, or choose another path")
        if "unable to open" in said:
            return self._error("no file that can be opened", "choose another path")
        if "readonly" in said:
            return self._error("one that cannot be written", "give yourself the right to write the file and its folder")
        if "full" in said:
            return self._error("a full disk", "free some space")
        return self._error(said[:200], "choose another path")

    def _error(self, got: str, remedy: str) -> InputError:
        return InputError("a store of past runs (SQLite)", got=got, remedy=remedy, file=self.name)
