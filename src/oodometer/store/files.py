"""Files: which format a path has, whether it may be read, whether it stays the same while it is read."""

from __future__ import annotations

import codecs
import io
import lzma
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import InputError, OodometerError, UsageError
from ..plain import Json
from ..version import __version__
from .artifact_cache import content_of, read_artifact, write_artifact
from .places import is_remote, local_copy, look_at, open_remote, split_query

ROW, _ROW_MB = "OODOMETER_MAX_ROW_MB", 64
UNPACKED, _UNPACKED_MB = "OODOMETER_MAX_UNPACKED_MB", 1024
# numbers that a model gave are packed to a half or a tenth, not to less than a hundredth
_TIMES = 100


def most_row() -> int:
    """Bytes that one row of CSV or JSONL may have: 64 MB, or what OODOMETER_MAX_ROW_MB says."""
    return _megabytes(ROW, _ROW_MB)


def check_row(length: int, file: str, line: int | None = None) -> None:
    """A row of at most `most_row` bytes; longer ones are a fault, or would fill the memory."""
    limit = most_row()
    if length > limit:
        raise InputError(
            f"rows of at most {limit >> 20} MB",
            got="a longer one" + (f" (line {line})" if line else ""),
            file=file,
            remedy=f"write one sample a row; {ROW}=N allows rows of N MB",
        )


def check_unpacked(packed: int, unpacked: int, file: str, column: str | None = None) -> None:
    """What is to be unpacked as a whole takes at most 1 GB, or what OODOMETER_MAX_UNPACKED_MB says, or is no bomb."""
    limit = _megabytes(UNPACKED, _UNPACKED_MB)
    if unpacked > limit and unpacked > _TIMES * packed:
        raise InputError(
            f"at most {limit >> 20} MB when unpacked",
            got=f"{unpacked >> 20} MB from {max(packed >> 20, 1)} MB",
            file=file,
            column=column,
            remedy=f"check what the file is; {UNPACKED}=N allows N MB",
        )


def _megabytes(name: str, usual: int) -> int:
    text = os.environ.get(name, "").strip()
    if not text:
        return usual << 20
    if not text.isdecimal() or not int(text):
        raise UsageError(f"{name} is a number of megabytes such as {usual}, got {text!r}")
    return int(text) << 20


_ENDINGS_OF = {"parquet": ".parquet .pq", "csv": ".csv .tsv", "jsonl": ".jsonl .ndjson .json"}
_ENDINGS_OF |= {"arrow": ".arrow .feather .ipc", "npz": ".npz"}
ENDINGS = {ending: form for form, endings in _ENDINGS_OF.items() for ending in endings.split()}
FORMATS = tuple(_ENDINGS_OF)
_TEXT = ("csv", "jsonl")
_STEP = 1 << 20
_PACKED = {".gz": "gzip", ".xz": "xz", ".bz2": "bzip2"}  # text that is unpacked on the way
_UTF_16, _UTF_16_MARKS = "utf-16", (b"\xff\xfe", b"\xfe\xff")  # which Excel calls Unicode text
_NEVER = {
    ".txt": "a table of text is called .csv or .tsv, lines of JSON .jsonl: rename the file",
    ".pkl": "pickle is never read, it can run code: write the predictions as Parquet, CSV, JSONL, Arrow or NPZ",
    ".npy": "one array has no column names: save it with np.savez('x.npz', probabilities=...)",
    ".xlsx": "save the sheet as CSV",
    ".oodo": "a fitted file stands in the place of a REFERENCE, of estimate, diagnose, backtest and audit: it comes "
    "first, and its predictions are no one else's",
}
_NEVER |= dict.fromkeys((".pickle", ".pt", ".pth", ".bin", ".joblib", ".ckpt"), _NEVER[".pkl"])
_KNOWN_BY_ARROW = {"gzip": "gzip", "bzip2": "bz2"}
_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
    b"\x1f\x8b": "gzip",
}
_MAGIC |= {
    b"\xfd7zXZ\x00": "xz",
    b"\x80\x04\x95": "pickle",
    b"\x80\x05\x95": "pickle",
    b"FEA1": "Feather version 1",
}
_MAGIC |= {b"BZh%d1AY&SY" % size: "bzip2" for size in range(1, 10)}


def format_of(path: Path, stated: str | None = None) -> str:
    """The format a path's ending (or ``stated``) names; ``.csv.gz`` and the like are text, unpacked on the way."""
    if stated is not None:
        if stated not in FORMATS:
            raise InputError(
                f"a format among {', '.join(FORMATS)}", got=repr(stated), file=str(path)
            )
        return stated
    endings = [ending.lower() for ending in path.suffixes]
    last = endings[-1] if endings else ""
    if last in _PACKED and len(endings) > 1 and ENDINGS.get(endings[-2]) in _TEXT:
        return ENDINGS[endings[-2]]
    if last in ENDINGS:
        return ENDINGS[last]
    got = f"the ending {last}" if last else "a name without an ending"
    remedy = (
        f"known endings: {', '.join(ENDINGS)} (and .csv.gz, .jsonl.xz, ...); or name the format"
    )
    raise InputError("a predictions file", got=got, remedy=_NEVER.get(last, remedy), file=str(path))


@dataclass(frozen=True, slots=True)
class Stamp:
    """Size and time of change of a file, to notice when it is rewritten while it is read."""

    size: int
    changed: int

    @staticmethod
    def of(path: str) -> Stamp:
        """The stamp of the file as it is now."""
        try:
            about = os.stat(path)
            return Stamp(about.st_size, about.st_mtime_ns)
        except FileNotFoundError:
            remote = look_at(path) if is_remote(path) else None
            if remote is None:
                raise
            return Stamp(*remote)

    def verify(self, path: str) -> None:
        """Raise `InputError` if the file is not what it was."""
        try:
            now = Stamp.of(path)
        except OSError:
            now = None
        if now != self:
            raise InputError(
                "a file that stays the same while it is read",
                got="a file that was changed or removed meanwhile",
                remedy="wait until its writer has finished, then run again",
                file=path,
            )


def check_file(path: str | Path, stated: str | None = None) -> tuple[str, Stamp]:
    """Check that the path is a file that may be read and that its first bytes fit its format; format and stamp."""
    name = str(path)
    remote = is_remote(name)
    fault = partial(InputError, file=name)
    try:
        head, stamp, mode = _remote_head(name) if remote else _local_head(path)
    except FileNotFoundError:
        remedy = f"check the {'URL' if remote else 'path'}"
        raise fault("a file", got="no such file", remedy=remedy) from None
    except OodometerError:  # which says already what an object store answered
        raise
    except PermissionError:
        remedy = "check who may read it (ls -l)"
        raise fault("a file that may be read", got="permission denied", remedy=remedy) from None
    except (OSError, ValueError) as error:
        raise InputError(
            "a path that can be read", got=str(error), remedy="check the path"
        ) from None
    if stat.S_ISDIR(mode):
        raise fault("a file", got="a folder", remedy="name one file in it")
    if not stat.S_ISREG(mode):
        raise fault(
            "a regular file",
            got="a pipe or device",
            remedy="give - and pipe CSV or JSONL to standard input",
        )
    form = format_of(Path(split_query(name)[0] if remote else path), stated)
    if not head:
        raise fault("predictions", got="an empty file", remedy="check what wrote it")
    if (odd := _odd_start(head, form)) is not None:
        raise odd.at(file=name)
    return form, stamp


def _remote_head(name: str) -> tuple[bytes, Stamp, int]:
    """The first bytes of an object, its stamp and the mode of a file."""
    stamp, head = Stamp.of(name), b""
    if stamp.size:
        with open_remote(name) as file:
            head = bytes(file.read(4096))
    return head, stamp, stat.S_IFREG


def _local_head(path: str | Path) -> tuple[bytes, Stamp, int]:
    """The first bytes of a file, its stamp and its mode; of what is no regular file no bytes."""
    about, head = os.stat(path), b""
    if stat.S_ISREG(about.st_mode):
        with Path(path).open("rb") as file:
            head = file.read(4096)
    return head, Stamp(about.st_size, about.st_mtime_ns), about.st_mode


def _odd_start(head: bytes, form: str) -> InputError | None:
    """The error for a file that does not begin as its format does."""
    seen = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    if seen == form or (seen in _PACKED.values() and form in _TEXT):
        return None
    if seen is not None:
        remedy = "rename the file to what it is" if seen in FORMATS else "unpack or convert it"
        remedy = "pickle is never read" if seen == "pickle" else remedy
        got = f"{seen} (by its first bytes)"
        return InputError(f"{form} (by its ending)", got=got, remedy=remedy)
    if form in _TEXT and head.startswith(_UTF_16_MARKS):
        return None
    remedy = "check what the file is"
    if form in _TEXT and b"\0" in head:
        return InputError(f"{form} text", got="binary data", remedy=remedy)
    if form in ("parquet", "npz"):
        got = "other bytes at the start"
        return InputError(f"{form} (by its ending)", got=got, remedy=remedy)
    return None


def packing(path: str) -> str:
    """How a file is packed, as its first bytes say: by gzip, xz or bzip2, as UTF-16, or not at all."""
    with open(local_copy(path), "rb") as file:
        return _packing(file)


def _packing(file: Any) -> str:
    head = bytes(file.read(16))
    if head.startswith(_UTF_16_MARKS):
        return _UTF_16
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")
    return kind if kind in _PACKED.values() else ""


def opened(path: str, start: int = 0, end: int | None = None, *, head: bool = False) -> Any:
    """The file as a stream of bytes, unpacked where it is packed; an object store is not asked for all for its
    ``head``.
    """
    remote = head and is_remote(path)
    local = path if head else local_copy(path)
    with open_remote(path) if remote else open(local, "rb") as file:
        packed = _packing(file)
    return _stream(open_remote(path) if remote else local, packed, start, end)


def _stream(source: Any, packed: str, start: int = 0, end: int | None = None) -> Any:
    import pyarrow as pa

    if start or end is not None:  # of a file that is not packed
        file = pa.OSFile(source)
        return file.get_stream(start, (file.size() if end is None else end) - start)
    if packed == "xz":  # which pyarrow does not know
        return pa.PythonFile(lzma.open(source), mode="r")
    if packed == _UTF_16:
        file = open(source, "rb") if isinstance(source, str) else source  # noqa: SIM115
        return pa.PythonFile(io.BufferedReader(_Recoded(file), _STEP), mode="r")
    return pa.input_stream(source, compression=_KNOWN_BY_ARROW.get(packed))


class _Recoded(io.RawIOBase):
    """A stream of UTF-16, whose mark says the order of its bytes, as one of UTF-8."""

    def __init__(self, file: Any) -> None:
        self._file, self._rest = file, b""
        self._decoder = codecs.getincrementaldecoder("utf-16")()

    def readable(self) -> bool:
        """That it is one to read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as there is text; how many bytes of it."""
        while not self._rest:
            data = self._file.read(_STEP)
            self._rest = self._decoder.decode(data, final=not data).encode()
            if not data:
                break
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def close(self) -> None:
        """Close the file, too."""
        self._file.close()
        super().close()


def opened_natively(
    path: str, start: int = 0, end: int | None = None, *, trimmed: bool = False
) -> Any:
    """As `opened`, for Arrow's CSV, ``trimmed`` of the line ends at both ends. Arrow reads ahead in a thread when
    nobody wants more: in Python's code when the process ends, that would hang. What only Python unpacks is unpacked
    first.
    """
    import pyarrow as pa

    path = local_copy(path)
    with open(path, "rb") as head:
        packed = _packing(head)
    if packed not in ("xz", _UTF_16) and not trimmed:
        return _stream(path, packed, start, end)
    if packed:
        done, size = 0, os.path.getsize(path)
        with (
            translated(path, "text"),
            _stream(path, packed) as stream,
            tempfile.NamedTemporaryFile(prefix="oodometer-", delete=False) as unpacked,
        ):
            try:
                while data := stream.read(_STEP):
                    done += unpacked.write(data)
                    check_unpacked(size, done, path)
                unpacked.flush()
                file = pa.OSFile(unpacked.name)
            finally:
                with suppress(OSError):  # a system that keeps open files by name
                    os.unlink(unpacked.name)
    else:
        file = pa.OSFile(path)
    if not trimmed:
        return file
    # the bytes between a mark of UTF-8 with the line ends behind it and the line ends at the end
    start, end = 3 * (file.read_at(3, 0) == b"\xef\xbb\xbf"), file.size()
    while start < end:
        data = file.read_at(_STEP, start)
        start += len(data) - len(data.lstrip(b"\r\n"))
        if data.strip(b"\r\n"):
            break
    while end > start:
        data = file.read_at(min(_STEP, end - start), max(start, end - _STEP))
        end -= len(data) - len(data.rstrip(b"\r\n"))
        if data.strip(b"\r\n"):
            break
    return file.get_stream(start, end - start)


def explained(error: Exception, file: str | None, form: str) -> InputError:
    """What libraries raise on damaged or odd files as one `InputError`; faults of others than the file are raised."""
    if isinstance(error, InputError):
        return error
    if isinstance(
        error, (OodometerError, AssertionError, ImportError, NameError, StopIteration, Warning)
    ):
        raise error
    text = " ".join((str(error) or type(error).__name__).split())
    if isinstance(error, MemoryError):  # Arrow's among them
        remedy = "raise the limit on memory (ulimit -v, or the container's), or give fewer rows"
        return InputError(
            "memory to read it", got=f"out of memory ({text[:120]})", remedy=remedy, file=file
        )
    return InputError(
        f"a whole and readable {form} file",
        got=text if len(text) <= 200 else text[:197] + "...",
        remedy="it may be cut off or damaged: write it again",
        file=file,
    )


@contextmanager
def translated(file: str | None, form: str) -> Iterator[None]:
    """Errors of libraries inside are `explained`."""
    try:
        yield
    except OodometerError:
        raise
    except Exception as error:
        raise explained(error, file, form) from error


_SMALL = 8 << 20  # bytes of a file that is hashed whole


class KnownFiles:
    """Facts about files, plain values by name, in one file of JSON; those of another version count as unknown."""

    def __init__(self, path: Path | None = None) -> None:
        if path is not None and path.exists() and not path.is_file():
            raise UsageError(f"{path} is a folder, pipe or device; remove it")
        self._path, self._changed = path, False
        self._before: dict[str, Json] = {}
        if path is not None:
            self._before = read_artifact(path, f"files {__version__}", warn=False) or {}
        self._now: dict[str, Json] = {}

    def _facts(self, path: str, stamp: Stamp | None) -> tuple[Json, Json]:
        """What is known of a file with this content: what was used or found by now, and before.

        ``mark`` tells the content from another of the same name, size and time: a hash where the file is small, made
        anew when the system's own time of change is another, else that time; none for object stores.
        """
        if self._path is None or stamp is None:
            return {}, {}
        key = f"{path if is_remote(path) else os.path.abspath(path)}\n{stamp.size} {stamp.changed}"
        if key not in self._now:
            before, facts = self._before.get(key, {}), self._now.setdefault(key, {})
            if not is_remote(path):
                try:
                    changed = mark = str(os.stat(path).st_ctime_ns)
                    if stamp.size <= _SMALL:
                        unread = before.get("changed") != changed or os.name != "posix"
                        mark = content_of(path) if unread else before["mark"]
                    self._changed |= before.get("changed") != changed
                    facts.update(changed=changed, mark=mark)
                except OSError:  # told by whoever reads it
                    pass
            if before.get("mark") != facts.get("mark"):
                self._before.pop(key, None)
        return self._now[key], self._before.get(key, {})

    def mark(self, path: str, stamp: Stamp | None) -> str:
        """What tells a file's content from another; empty outside of a run folder, and for an object store."""
        return str(self._facts(path, stamp)[0].get("mark", ""))

    def get(self, path: str, stamp: Stamp | None, name: str) -> Any:
        """What is known; None where nothing is, and outside of a run folder."""
        now, before = self._facts(path, stamp)
        if name not in now and name in before:
            now[name] = before[name]
        return now.get(name)

    def put(self, path: str, stamp: Stamp | None, name: str, value: Any) -> None:
        """Remember a plain value, or what a function gives; nothing outside of a run folder."""
        if stamp is not None and self._path is not None:
            self._facts(path, stamp)[0][name] = value() if callable(value) else value
            self._changed = True

    def save(self) -> None:
        """Write what was used or found since the beginning; what was not is forgotten."""
        if self._path is not None and (self._changed or self._now.keys() != self._before.keys()):
            write_artifact(self._path, f"files {__version__}", self._now)
            self._changed = False


_CURRENT: ContextVar[KnownFiles | None] = ContextVar("known files", default=None)


def known_files() -> KnownFiles:
    """Those of the run folder in use; elsewhere nothing is known, and nothing kept."""
    return _CURRENT.get() or KnownFiles()


@contextmanager
def knowing(path: Path) -> Iterator[KnownFiles]:
    """Inside, facts about files are kept at this path; they are written by `KnownFiles.save` and at the end."""
    facts = KnownFiles(path)
    token = _CURRENT.set(facts)
    try:
        yield facts
        facts.save()
    finally:
        _CURRENT.reset(token)
