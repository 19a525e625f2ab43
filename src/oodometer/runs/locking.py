"""Locking: one process at a time in a folder; the system lets go of the lock of a process that was killed."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..store.atomic import open_unfollowed


class Lock:
    """Held from entering to leaving; `UsageError` where another holder is in ``home``.

    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp())
    >>> with Lock(home / "lock", home):
    ...     is_locked(home / "lock")
    True
    >>> is_locked(home / "lock")
    False
    """

    def __init__(self, path: Path, home: Path) -> None:
        self.path, self.home = path, home
        self._file: Any = None

    def __enter__(self) -> Lock:
        if not self.take():
            try:
                holder = self.path.read_bytes()[:100].decode(errors="replace").strip()
            except OSError:  # gone meanwhile
                holder = ""
            raise UsageError(
                f"{self.home} is in use by another run (process {holder or 'unknown'}); wait until it has ended, or "
                "give this one a folder of its own"
            )
        return self

    def take(self) -> bool:
        """Whether nobody held the lock, so that it is held from here on; `UsageError` where it cannot be written."""
        try:
            taken = self._opened()
        except OSError as error:
            if error.errno == errno.ELOOP:  # truncated, it would be another's file
                raise UsageError(f"{self.path} is a link or a pipe, which is not followed; remove it") from None
            said = error.strerror or error
            raise UsageError(f"{self.home} cannot be written: {said}; choose another folder") from None
        if not taken:
            self._file.close()
            return False
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n".encode())
        self._file.flush()
        return True

    def release(self, *, remove: bool = False) -> None:
        """Let go of it; with ``remove`` its file goes, too."""
        if remove:  # while it is held: whoever opened the file before sees that it is gone, and opens a new one
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
        self._file.close()

    def _opened(self) -> bool:
        """Open the file and take its lock; one that was removed meanwhile keeps nobody out and is opened anew."""
        while True:
            self._file = open(self.path, "a+b", opener=open_unfollowed)  # noqa: SIM115
            if not _take(self._file):
                return False
            mine = os.fstat(self._file.fileno())
            with suppress(FileNotFoundError):
                there = os.stat(self.path)
                if (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino):
                    return True
            self._file.close()

    def __exit__(self, *_: object) -> None:
        self.release()


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock now."""
    try:
        with path.open("r+b") as file:
            return not _take(file)
    except OSError:
        return False


def _take(file: Any) -> bool:
    """Take the lock of a file without waiting."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        file.seek(1 << 30)  # past what is written, which others may read
        with suppress(OSError):  # it does not tell a lock that is taken from one that cannot be
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            return True
        return False
    with suppress(BlockingIOError, PermissionError):  # any other error is a disk without locks
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
