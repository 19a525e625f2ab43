"""Atomic writing: an output file is there whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ..errors import WorkError

__all__ = ["write_atomic"]

Content = bytes | str | Callable[[IO[bytes]], Any]


def write_atomic(path: str | os.PathLike[str], content: Content) -> Path:
    """Write bytes, text (as UTF-8) or what ``content(file)`` writes; the path appears once all of it is written.

    The bytes go to a new file in the same folder, which then takes the place of ``path`` in one step. Raises
    `WorkError` where that is impossible; whatever stood at ``path`` before is then untouched.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_atomic(folder / "report.txt", "done").read_text()
    'done'
    >>> write_atomic(folder / "none" / "report.txt", "done")
    Traceback (most recent call last):
    oodometer.errors.WorkError: cannot write ...report.txt: No such file or directory; choose a folder that exists ...
    """
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(path))
    temporary: Path | None = None
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            with target.open("wb") as file:  # a device or a pipe, such as /dev/null, cannot be replaced
                _fill(file, content)
            return Path(path)
        if target.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        temporary = target.with_name(f".{target.name[:80]}.{secrets.token_hex(6)}.part")
        # O_EXCL: never through a file that somebody else put there; the umask gives the usual permissions.
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
        )
        with os.fdopen(descriptor, "wb") as file:
            _fill(file, content)
        os.replace(temporary, target)
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = (
            "free some space"
            if error.errno == errno.ENOSPC
            else "choose a folder that exists and may be written"
        )
        raise WorkError(f"cannot write {path}: {reason}; {remedy}") from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
    return Path(path)


def _fill(file: IO[bytes], content: Content) -> None:
    if isinstance(content, str):
        file.write(content.encode("utf-8"))
    elif isinstance(content, bytes):
        file.write(content)
    else:
        content(file)
