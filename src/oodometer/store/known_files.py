"""Known files: what was found out about files by reading them whole, kept as long as their content is what it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..version import __version__
from .artifact_cache import checksum, content_of
from .atomic import write_atomic
from .files import Stamp
from .places import is_remote

_SMALL = 8 << 20  # bytes of a file that is hashed whole


class KnownFiles:
    """Facts about files, plain values by name, in one file of JSON; those of another version count as unknown.

    >>> known, stamp = KnownFiles(), Stamp(10, 99)
    >>> known.put("a.csv", stamp, "rows", 7)
    >>> known.get("a.csv", stamp, "rows"), known.get("a.csv", Stamp(10, 100), "rows")
    (7, None)
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._before: dict[str, dict[str, Any]] = {} if path is None else _read(path)
        self._now: dict[str, dict[str, Any]] = {}
        self._marks: dict[str, str] = {}
        self._changed = False

    def mark(self, path: str, stamp: Stamp | None) -> str:
        """What tells a file's content from another of the same name, size and time of change; empty outside of a run
        folder, and for an object store, which gives each content a time of its own.

        A hash of the whole where it is small, worked out again when the system's own time of change is another, which
        no copy can keep; that time itself where it is large.
        """
        if self._path is None or stamp is None or is_remote(path):
            return ""
        key = _key(path, stamp)
        if key not in self._marks:
            before = self._before.get(key, {})
            try:
                changed = mark = str(os.stat(path).st_ctime_ns)
                if stamp.size <= _SMALL:
                    unread = before.get("changed") != changed or os.name != "posix"
                    mark = content_of(path) if unread else before["mark"]
            except OSError:  # told by whoever reads it
                return ""
            if before.get("mark") != mark:
                self._before.pop(key, None)
            self._marks[key] = mark
            self._changed |= before.get("changed") != changed
            self._now.setdefault(key, {}).update(changed=changed, mark=mark)
        return self._marks[key]

    def get(self, path: str, stamp: Stamp | None, name: str) -> Any:
        """What is known; None where nothing is."""
        if stamp is None:
            return None
        key, _ = _key(path, stamp), self.mark(path, stamp)
        found = self._now.get(key, {}).get(name)
        if found is None:
            found = self._before.get(key, {}).get(name)
            if found is not None:
                self._now.setdefault(key, {})[name] = found
        return found

    def put(self, path: str, stamp: Stamp | None, name: str, value: Any) -> None:
        """Remember a plain value."""
        if stamp is not None:
            self.mark(path, stamp)
            self._now.setdefault(_key(path, stamp), {})[name] = value
            self._changed = True

    def save(self) -> None:
        """Write what was used or found since the beginning; what was not is forgotten."""
        if self._path is not None and (self._changed or self._now.keys() != self._before.keys()):
            told = {"oodometer": __version__, "sum": _sum(self._now), "files": self._now}
            write_atomic(self._path, json.dumps(told, ensure_ascii=False) + "\n")
            self._changed = False


_CURRENT: ContextVar[KnownFiles | None] = ContextVar("known files", default=None)


def known_files() -> KnownFiles:
    """Those of the run folder in use; elsewhere nothing is known, and nothing kept."""
    return _CURRENT.get() or KnownFiles()


@contextmanager
def knowing(path: Path) -> Iterator[KnownFiles]:
    """Inside, facts about files are kept at this path; they are written by `KnownFiles.save` and at the end."""
    known = KnownFiles(path)
    token = _CURRENT.set(known)
    try:
        yield known
        known.save()
    finally:
        _CURRENT.reset(token)


def _key(path: str, stamp: Stamp) -> str:
    place = path if is_remote(path) else os.path.abspath(path)
    return f"{place}\n{stamp.size} {stamp.changed}"


def _sum(files: dict[str, dict[str, Any]]) -> str:
    return checksum(json.dumps(files, sort_keys=True))


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """The facts in a file; none where it is absent, damaged or of another version: they are found out again."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is a folder, pipe or device; remove it")
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        files = told["files"]
        return files if told["oodometer"] == __version__ and told["sum"] == _sum(files) else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
