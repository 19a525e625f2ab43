"""Artifact cache: what is remembered between runs carries a checksum; what is damaged or foreign is made anew."""

from __future__ import annotations

import hashlib
import json
import operator
import os
import stat
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .atomic import write_atomic

FORMAT = 1
"""Of the envelope around a kept value; what another format holds is made anew."""


def checksum(*parts: str | bytes) -> str:
    """A short hash of texts and bytes, each set apart from the next."""
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        plain = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(plain).to_bytes(8, "little") + plain)
    return digest.hexdigest()


def checksum_of_files(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Name -> checksum of the content of each file; `OSError` where one cannot be read."""
    out = {}
    for name in names:
        with (folder / name).open("rb") as file:
            out[name] = hashlib.file_digest(
                file, lambda: hashlib.blake2b(digest_size=12)
            ).hexdigest()
    return out


# of files that this process has read, by what no copy can keep
_hashes: dict[tuple[int, ...], str] = {}
_identity = operator.attrgetter("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
# nanoseconds after which a change of a file has another time than the one before it
_SETTLED = 10**9


def content_of(path: str | os.PathLike[str]) -> Any:
    """A hash of the bytes of a file, since a copy can keep size and time, and of each below a folder; read again only
    where the system has another time of change. What cannot be read is told by the class of the error.
    """
    try:
        state = os.stat(path)
        if stat.S_ISDIR(state.st_mode):
            files = sorted(entry for entry in Path(path).rglob("*") if entry.is_file())
            return [[entry.relative_to(path).as_posix(), content_of(entry)] for entry in files]
        if not stat.S_ISREG(state.st_mode):
            return "pipe or device"
        key = _identity(state)
        if key in _hashes:
            return _hashes[key]
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "blake2b").hexdigest()[:24]
        if (
            os.name == "posix"
            and time.time_ns() - state.st_ctime_ns > _SETTLED
            and _identity(os.stat(path)) == key
        ):
            _hashes[key] = digest
        return digest
    except (OSError, ValueError) as error:
        return type(error).__name__


def made_anew(path: str | os.PathLike[str], what: str) -> None:
    """Say, as one warning, that something kept cannot be used and is made anew."""
    warnings.warn(f"{path}: {what}; it is made anew", stacklevel=3)


def write_artifact(path: Path, kind: str, value: Any) -> Path:
    """Keep a value that JSON can hold; the file appears whole or not at all."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    record = {"format": FORMAT, "kind": kind, "checksum": checksum(kind, text), "value": text}
    return write_atomic(path, json.dumps(record, ensure_ascii=False) + "\n")


def read_artifact(path: Path, kind: str, warn: bool = True) -> Any:
    """The value that was kept; None where there is none, and, with a warning, where it is damaged or something else."""
    try:
        text = path.read_bytes()
    except OSError:
        return None
    try:
        record = json.loads(text)
        if record["format"] == FORMAT and record["checksum"] == checksum(kind, record["value"]):
            return json.loads(record["value"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    if warn:
        made_anew(path, "what is stored there is damaged or of another version")
    return None
