"""Atomic writing: an output file is there whole or not at all, and so are several that belong together."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ..errors import UsageError, WorkError

Content = bytes | str | Callable[[IO[bytes]], Any]


@dataclass
class _Waiting:
    """Files that wait beside their places, and what is to be done once they are there."""

    files: list[tuple[Path, Path]] = field(default_factory=list)
    after: list[Callable[[], Any]] = field(default_factory=list)


_waiting: ContextVar[_Waiting | None] = ContextVar("oodometer_waiting", default=None)


@contextmanager
def together() -> Iterator[None]:
    """Inside, results that are written wait beside their places; they all appear at the end, or none on an error. One
    inside another joins it.
    """
    if _waiting.get() is not None:
        yield
        return
    waiting = _Waiting()
    token = _waiting.set(waiting)
    try:
        yield
        while waiting.files:
            temporary, target = waiting.files[0]
            try:
                os.replace(temporary, target)
            except OSError as error:
                raise _cannot(target, error) from error
            waiting.files.pop(0)
    finally:
        _waiting.reset(token)
        for temporary, _ in waiting.files:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
    for call in waiting.after:
        call()


def when_written(call: Callable[[], Any]) -> None:
    """Call ``call()`` once the results of `together` are in their places; at once where nothing waits."""
    waiting = _waiting.get()
    if waiting is None:
        call()
    else:
        waiting.after.append(call)


def write_result(path: str | os.PathLike[str], content: Content) -> Path:
    """`write_atomic` for what was asked for, not for what is kept on the way: inside `together` it waits.

    path : of the file. A link that is named stays a link, and what it points to is replaced, unless somebody else put
        it there (`UsageError`).
    content : bytes, a text, or a function that writes to the open binary file.

    Returns the path. Raises `WorkError` where it cannot be written.
    """
    waiting = _waiting.get()
    target = Path(os.path.realpath(path))
    refuse_links_of_others(path)
    if waiting is None or _is_device(target):
        return write_atomic(target, content)
    temporary = _beside(target)
    waiting.files.append((temporary, target))
    try:
        _write_new(temporary, target, content)
    except OSError as error:
        raise _cannot(path, error) from error
    return Path(path)


def refuse_clashes(outputs: Mapping[str, Any], inputs: Iterable[Any] = ()) -> None:
    """Raise `UsageError` where an output is the same file as an input or as another output.

    outputs : what a user calls an output -> its path.
    inputs : paths, or other data.

    Links count as the file they lead to; what is no path or not there, and devices such as /dev/null, are passed over.
    """
    read = [(str(path), _identity(path)) for path in inputs if isinstance(path, (str, os.PathLike))]
    written: dict[Any, str] = {}
    for name, path in outputs.items():
        if not isinstance(path, (str, os.PathLike)):
            continue
        target = Path(os.path.realpath(path))
        if _is_device(target):
            continue
        identity = _identity(path) or target
        for source, source_identity in read:
            if identity == source_identity:
                raise UsageError(
                    f"{name} would write over the input {source}; choose another place"
                )
        if identity in written:
            raise UsageError(
                f"{written[identity]} and {name} are one file, {path}; give each its own"
            )
        written[identity] = name


def _identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Device and number of a file that is there (standard input's own, where it is a file)."""
    try:
        about = os.fstat(0) if path == "-" else os.stat(path)
    except (OSError, ValueError):
        return None
    return (about.st_dev, about.st_ino) if about.st_ino else None


def write_atomic(
    path: str | os.PathLike[str], content: Content, *, draft: Path | None = None
) -> Path:
    """Write bytes, text (as UTF-8) or what ``content(file)`` writes, to a new file in the same folder, which then takes
    the place of ``path`` in one step. Raises `WorkError` where that is impossible, `UsageError` where ``path`` is a
    link, which would lead into a file that nobody named; what stood there before is then untouched. ``draft`` is
    another place for the new file, on the same disk, where nobody else writes.
    """
    if os.path.islink(path):
        raise _is_link(path)
    target = Path(os.path.realpath(path))
    try:
        if _is_device(target):
            # A device or a pipe, such as /dev/null, cannot be replaced; one that nobody reads is no reason to wait.
            descriptor = os.open(target, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
            with os.fdopen(descriptor, "wb") as file:
                os.set_blocking(descriptor, True)
                _fill(file, content)
            return Path(path)
        temporary = _beside(target) if draft is None else draft
        try:
            if draft is not None:
                draft.unlink(missing_ok=True)
            _write_new(temporary, target, content)
            os.replace(temporary, target)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _cannot(path, error) from error
    return Path(path)


def _is_device(target: Path) -> bool:
    return target.exists() and not target.is_file() and not target.is_dir()


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A place beside ``folder`` to fill; it becomes ``folder``, in place of what was there, once the block has ended.
    On an error nothing is left of it, and what stood at ``folder`` stays.
    """
    if os.path.islink(folder):
        raise _is_link(folder)
    part = _beside(folder)
    try:
        yield part
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _beside(target: Path) -> Path:
    """A name that is not taken, in the folder of the target; it tells whose it is, so that no lost one stays."""
    name = f".{target.name[:80]}."
    mine = re.compile(rf"{re.escape(name)}{_machine()}-(\d+)-[0-9a-f]{{12}}\.part")
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            match = mine.fullmatch(entry.name)
            if match and not _lives(int(match[1])):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)
    return target.with_name(f"{name}{_machine()}-{os.getpid()}-{secrets.token_hex(6)}.part")


def _lives(process: int) -> bool:
    """Whether there is such a process; where that cannot be asked without harm, yes."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _machine() -> str:
    """A few letters for this machine: a folder may be shared with others, whose processes are not known here."""
    name = os.uname().nodename if hasattr(os, "uname") else "here"
    return hashlib.blake2b(name.encode(), digest_size=3).hexdigest()


def _write_new(temporary: Path, target: Path, content: Content) -> None:
    if target.is_dir():
        raise IsADirectoryError(0, "it is a folder")
    # O_EXCL: never through a file that somebody else put there; the umask gives the usual permissions.
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
    )
    with os.fdopen(descriptor, "wb") as file:
        _fill(file, content)


def refuse_links_of_others(path: str | os.PathLike[str]) -> None:
    """Raise `UsageError` where the name of an output is a link that another user put there."""
    if (
        os.path.islink(path)
        and hasattr(os, "geteuid")
        and os.lstat(path).st_uid not in (os.geteuid(), 0)
    ):
        raise _is_link(path)


def _is_link(path: str | os.PathLike[str]) -> UsageError:
    text = f"cannot write {path}: it is a link to {os.path.realpath(path)}, which is not followed; remove it"
    return UsageError(text)


def open_unfollowed(path: str | os.PathLike[str], flags: int) -> int:
    """As `os.open`, of a file of one name: `OSError` for a link, for a file that has another name, and for a pipe:
    through a link what is written in place would be written into another's file.
    """
    descriptor = os.open(
        path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666
    )
    about = os.fstat(descriptor)
    if about.st_nlink > 1 or not stat.S_ISREG(about.st_mode):
        os.close(descriptor)
        raise OSError(errno.ELOOP, "it is a link or a pipe, which is not followed")
    return descriptor


def _cannot(path: str | os.PathLike[str], error: OSError) -> WorkError:
    reason = error.strerror or str(error)
    remedy = (
        "free some space"
        if error.errno == errno.ENOSPC
        else "choose a folder that exists and may be written"
    )
    return WorkError(f"cannot write {path}: {reason}; {remedy}")


def _fill(file: IO[bytes], content: Content) -> None:
    if isinstance(content, str):
        file.write(content.encode("utf-8"))
    elif isinstance(content, bytes):
        file.write(content)
    else:
        content(file)
