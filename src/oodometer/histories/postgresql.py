"""A store of past runs on a PostgreSQL server, by psycopg."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, final
from urllib.parse import parse_qs, unquote, urlsplit

from ..errors import InputError, MissingExtraError, UsageError, without_passwords
from . import base
from .base import TABLES, Session, Store

# what PostgreSQL says behind the first thing
_MORE = re.compile(" (?:DETAIL:|HINT:|LINE 1:|CONTEXT:|Multiple connection attempts|- multiple)")

_TURN = (
    0x00D0_AE7E_12  # the advisory lock that writers take in turn; any number that nobody else uses
)


@final
class PostgresStore(Store):
    """Runs in tables ``oodometer_*`` of a database, in the first schema of the user's search path.

    The address is libpq's (``postgresql://user@host:port/database?sslmode=require``); a password is best left to
    ``~/.pgpass`` or ``PGPASSWORD``. Nothing waits for longer than ten seconds for the server or for another writer.

    >>> PostgresStore("postgresql://me:secret@host/db").name
    'postgresql://me:***@host/db'
    """

    kind = "PostgreSQL"

    def __init__(self, address: str, argv: str | None = None) -> None:
        super().__init__(without_passwords(address, word=True), argv)
        self._address = address
        self._secrets: list[str] = []  # passwords in it, as they stand there and as they are meant
        with suppress(ValueError):
            parts = urlsplit(address)
            written = [parts.password or "", *parse_qs(parts.query).get("password", [])]
            forms = {
                form for password in written if password for form in (password, unquote(password))
            }
            self._secrets = sorted(forms, key=len, reverse=True)

    @contextmanager
    def session(self, *, write: bool) -> Iterator[Session]:
        """A transaction; see `Store.session`."""
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtraError("a store on PostgreSQL", "psycopg", extra="postgres") from error
        try:
            with self._connected(psycopg) as connection:
                connection.execute(f"SET lock_timeout = '{base.WAIT:g}s'")
                connection.execute(f"SET statement_timeout = '{6 * base.WAIT:g}s'")
                if write:
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_TURN,))
                else:
                    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                yield Session(
                    connection
                )  # the end of the block keeps the transaction, an error takes it back
        except psycopg.Error as error:
            raise self._told(psycopg, error) from error

    def has_table(self, session: Session, name: str) -> bool:
        """Whether the search path leads to such a table."""
        return session.rows("SELECT to_regclass(%s)::text", name)[0][0] is not None

    def _connected(self, psycopg: Any) -> Any:
        """A new connection; poolers need statements that are not prepared."""
        authority = re.split(r"\?(?=[A-Za-z_]+=)", self._address.partition("://")[2])[0]
        if (
            authority.count("@") > 1
            or "@" in authority.partition("/")[2]
            or re.search(r"[?#\s]", authority)
        ):
            raise self._misread()  # libpq would take a part of the password for the host, and say so
        try:
            return psycopg.connect(
                self._address,
                prepare_threshold=None,
                application_name="oodometer",
                **self._time_limits(),
            )
        except (
            psycopg.ProgrammingError,
            UnicodeError,
            ValueError,
        ):  # what it says may quote a password
            raise self._misread() from None

    def _time_limits(self) -> dict[str, int]:
        """How long to wait, where the address does not say it."""
        limits = {"connect_timeout": round(base.WAIT), "tcp_user_timeout": round(1000 * base.WAIT)}
        in_address = parse_qs(urlsplit(self._address).query)
        return {name: limit for name, limit in limits.items() if name not in in_address}

    def _misread(self) -> UsageError:
        address = re.sub(r"://([^:/?@\s]*).*", r"://\1:***", self._address, flags=re.DOTALL)
        return UsageError(
            f"the store: expected an address such as postgresql://user@host:5432/database, got {address}; signs "
            "such as @, /, ?, # and % in a name or password are written %40, %2F, %3F, %23 and %25"
        )

    def _told(self, psycopg: Any, error: Any) -> InputError:
        """An error of PostgreSQL in our words, without the hints below the first thing that it says."""
        text = " ".join(str(error).split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        got = _MORE.split(text, maxsplit=1)[0]
        got = got.removeprefix("connection failed: ").strip()[:240]
        code = error.sqlstate or ""
        expected, remedy = "a store of past runs (PostgreSQL)", "give another database or store"
        if code == "55P03":
            got = f"locked by another program for {base.WAIT:g} s"
            expected = "a store that can be written"
            remedy = base.WAIT_FOR_IT
        elif code == "42501":
            expected = "permission to keep runs"
            remedy = f"let the user create tables, or write to {', '.join(TABLES)}; an administrator grants that"
        elif code == "25006":
            got, expected = "one that only reads (a standby)", "a server that can be written"
            remedy = "give the address of the primary"
        elif code in ("53100", "53200", "53300"):
            expected, remedy = "room on the server", "free some, and run again"
        elif isinstance(error, psycopg.OperationalError) and not code:
            expected, missing = "a PostgreSQL server that answers", "does not exist" in text
            remedy = "check host and port, and that the server runs and may be reached from here"
            if "password" in text or "authentication" in text:
                remedy = "give the password in ~/.pgpass or PGPASSWORD, and check the user"
            elif missing and "database" in text:
                remedy = "make the database (createdb), or check its name"
            elif missing and "role" in text:
                remedy = "check the user"
        return InputError(expected, got=got, remedy=remedy, file=self.name)
