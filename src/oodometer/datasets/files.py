"""Files: the lines of a compressed file, of a plain one, and of one member of an archive; every fault in one line."""

from __future__ import annotations

import json
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import InputError

_BROKEN = (lzma.LZMAError, zlib.error, tarfile.TarError, EOFError, UnicodeDecodeError, OSError)


def read_lines(path: Path) -> Iterator[str]:
    """Lines of a UTF-8 file, without their ends; unpacked where its name ends in .xz.

    Raises `InputError` for a file that is missing or broken.
    """
    try:
        opener = lzma.open if path.suffix == ".xz" else open
        with opener(path, "rt", encoding="utf-8", newline="\n") as file:
            for line in file:
                yield line.rstrip("\r\n")
    except FileNotFoundError:
        raise missing_file(path) from None
    except _BROKEN as error:
        kind = "an .xz file of text" if path.suffix == ".xz" else "a file of text in UTF-8"
        raise _broken(kind, path, error) from error


def read_objects(path: Path, *needed: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Row (from 1) and object of each line of a JSONL file; each object must have the keys ``needed``.

    Raises `InputError` naming file and row.
    """
    for row, line in enumerate(read_lines(path), 1):
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict) or any(key not in found for key in needed):
            raise InputError(
                f"JSON with {', '.join(needed)}",
                got=repr(line[:40]),
                remedy="fetch the file again",
                file=str(path),
                row=row,
            )
        yield row, found


def read_member(path: Path, member: str) -> list[str]:
    """Lines of one member of a .tar.xz archive, or of the unpacked file where a folder stands beside the archive.

    ``member`` is a path inside the archive, such as ``cogs/train.tsv``. Raises `InputError` where neither is there.
    """
    unpacked = path.parent / member
    if unpacked.is_file():
        return list(read_lines(unpacked))
    try:
        with tarfile.open(path) as archive:
            file = archive.extractfile(member)
            if file is None:
                raise KeyError(member)
            return [line.rstrip("\r") for line in file.read().decode("utf-8").removesuffix("\n").split("\n")]
    except FileNotFoundError:
        raise missing_file(path) from None
    except KeyError as error:
        raise InputError(
            f"a file {member} in the archive", got="none", remedy="fetch the archive again", file=str(path)
        ) from error
    except _BROKEN as error:
        raise _broken("a .tar.xz archive of text", path, error) from error


def missing_file(path: Path) -> InputError:
    """The error for a file that the folder of data does not hold."""
    return InputError(
        "a data file in the folder of OODOMETER_DATA",
        got="no such file",
        remedy="put it there, or unset OODOMETER_DATA to load from the hub",
        file=str(path),
    )


def _broken(kind: str, path: Path, error: Exception) -> InputError:
    return InputError(kind, got=str(error) or type(error).__name__, remedy="fetch the file again", file=str(path))
