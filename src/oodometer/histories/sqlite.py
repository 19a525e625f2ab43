"""A store of past runs in a file, by the SQLite that comes with Python."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import final
from urllib.parse import quote

from ..errors import InputError
from ..store.atomic import refuse_links_of_others
from . import base
from .base import TABLES, Session, Store

# by the type of a column: what no cell of it may be
_NOT = {
    "BIGINT": "typeof(?) NOT IN ('integer', 'null')",
    "DOUBLE PRECISION": "typeof(?) NOT IN ('real', 'integer', 'null')",
    "TEXT": "typeof(?) NOT IN ('text', 'null')",
    "TIMESTAMPTZ": "? IS NOT NULL AND (typeof(?) <> 'text' OR julianday(?) IS NULL)",
    "JSON": "CASE WHEN json_valid(?) THEN json_type(?) ELSE '' END <> 'object'",
}

_ERRORS = (  # words of SQLite, what they mean, and what to do
    (("locked", "busy"), "locked by another program for {wait:g} s", base.WAIT_FOR_IT),
    (("not a database",), "another kind of file", "choose another path; a new file is made"),
    (
        ("malformed", "corrupt"),
        "a damaged one ({said})",
        "take a copy from before, or choose another path",
    ),
    (("unable to open",), "no file that can be opened", "choose another path"),
    (
        ("readonly",),
        "one that cannot be written",
        "give yourself the right to write the file and its folder",
    ),
    (("full",), "a full disk", "free some space"),
)


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
        writable = os.access(self._path, os.W_OK) and os.access(self._path.parent, os.W_OK)
        mode = "rwc" if write else "rw" if writable else "ro"
        if self._path.is_dir():
            raise self._error("a folder", "name a file in it, such as runs.sqlite")
        if self._path.exists() and not self._path.is_file():
            raise self._error("a pipe or device", "name a file, such as runs.sqlite")
        if write:
            refuse_links_of_others(self._path)
        if not write and not self._path.exists():
            raise self._error(
                "no such file", "check the path; `oodometer estimate --store` makes a store"
            )
        try:
            address = f"file:{quote(os.path.abspath(self._path))}?mode={mode}"
            with closing(
                sqlite3.connect(address, uri=True, timeout=base.WAIT, isolation_level=None)
            ) as connection:
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    yield Session(connection, "?")
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._told(error) from error

    def has_table(self, session: Session, name: str) -> bool:
        """Whether there is such a table in the file."""
        return bool(
            session.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = %s", name)
        )

    def check_foreign(self, session: Session) -> None:
        """A file of another program's tables is no place for ours: its path was mistyped."""
        foreign_tables = session.rows(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name LIMIT 1"
        )
        if foreign_tables:
            raise self._error(
                f"a database of another program (table {foreign_tables[0][0]})",
                "choose another path",
            )

    def check_whole(self, session: Session, every_page: bool = False) -> None:
        """Cells are what their columns hold: SQLite itself takes anything anywhere; no page is damaged."""
        for table in TABLES:
            for _, name, kind, *_ in session.rows(f"PRAGMA table_info({table})"):
                bad = _NOT[kind].replace("?", name)
                if name == "id":
                    bad = f"{bad} OR id NOT BETWEEN 1 AND {2**62}"
                if name != "result":
                    for row, cell in session.rows(
                        f"SELECT rowid, {name} FROM {table} WHERE {bad} LIMIT 1"
                    ):
                        raise self.damaged(f"{table}, row {row}: {name} is {str(cell)[:60]!r}")
        if every_page and (fault := session.rows("PRAGMA quick_check(1)")[0][0]) != "ok":
            raise self.damaged(" ".join(str(fault).split())[:160])

    def is_new(self) -> bool:
        """Whether the file is yet to be made, in a folder that lets it."""
        if self._path.exists():
            return False
        folder = self._path.parent
        if not folder.is_dir():
            raise self._error("no such folder", f"make {folder} first")
        if not os.access(folder, os.W_OK):
            raise self._error("a folder that cannot be written", "choose another path")
        return True

    def _told(self, error: sqlite3.Error) -> InputError:
        """An error of SQLite in our words."""
        text = " ".join(str(error).split())
        for words, got, remedy in _ERRORS:
            if any(word in text for word in words):
                return self._error(got.format(said=text, wait=base.WAIT), remedy)
        return self._error(text[:200], "choose another path")

    def _error(self, got: str, remedy: str) -> InputError:
        return InputError("a store of past runs (SQLite)", got=got, remedy=remedy, file=self.name)
