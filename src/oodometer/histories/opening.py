"""Opening: a store of past runs by its path or its address."""

from __future__ import annotations

import os
from typing import Any

from ..errors import UsageError, without_passwords
from .base import Store


def open_store(place: Any, argv: str | None = None) -> Store:
    """The store at a path (SQLite) or at an address ``postgresql://user@host/database``; nothing is asked of it yet.

    ``argv`` is the command that is kept with the runs. Raises `UsageError` for another kind of address.

    >>> open_store("runs.sqlite").kind, open_store("postgresql://host/db").kind
    ('SQLite', 'PostgreSQL')
    >>> open_store("mysql://host/db")
    Traceback (most recent call last):
    oodometer.errors.UsageError: the store: expected the path of a file or postgresql://user@host/database, got mysql://...
    """
    if isinstance(place, Store):
        return place
    if not isinstance(place, (str, os.PathLike)) or not os.fspath(place) or "\0" in str(place):
        raise UsageError(f"the store: expected the path of a file or postgresql://user@host/database, got {place!r}")
    text = os.fspath(place)
    scheme, sign, rest = text.partition("://")
    if sign and scheme in ("postgresql", "postgres"):
        from .postgresql import PostgresStore

        return PostgresStore(text, argv)
    if sign and scheme == "sqlite":  # as other libraries write it: sqlite:///relative, sqlite:////absolute
        text = rest.removeprefix("/")
    elif sign:
        said = without_passwords(text, word=True)
        raise UsageError(f"the store: expected the path of a file or postgresql://user@host/database, got {said}")
    from .sqlite import SqliteStore

    return SqliteStore(text, argv)
