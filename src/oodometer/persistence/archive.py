"""Archive: the fitted file, a zip of JSON and arrays with a checksum of every byte, written whole or not at all."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, Self

from ..errors import InputError
from ..store.atomic import write_result
from ..version import __version__
from .decoding import Damaged

ENDING = ".oodo"
FORMAT = 2  # raise it when a file of before can no longer be read, or what it holds means something else
_HEADER = "oodometer.json"
_SIGN = b"oodometer blake2b "
_DIGEST = 20  # bytes
_EARLY = (1980, 1, 1, 0, 0, 0)  # no time of writing: the same content is the same file
_REMEDY = "write it again with `oodometer fit REFERENCE --out FILE.oodo`"


def write_archive(
    path: str | PathLike[str], about: Mapping[str, Any], sections: Mapping[str, Any], arrays: Sequence[bytes]
) -> Path:
    """Write `archive_of` these to a file. Raises `WorkError` where it cannot be written."""
    return write_result(path, archive_of(about, sections, arrays))


def archive_of(about: Mapping[str, Any], sections: Mapping[str, Any], arrays: Sequence[bytes]) -> bytes:
    """The bytes of a fitted file: what it is ``about`` first, then sections of JSON, then arrays as `.npy`.

    The zip's comment is a checksum of all bytes before it.
    """
    header = {"oodometer": __version__, "format": FORMAT, "arrays": len(arrays), **about}
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, _HEADER, (json.dumps(header, indent=2, allow_nan=False) + "\n").encode())
        for name, section in sections.items():
            _add(archive, f"{name}.json", json.dumps(section, allow_nan=False, separators=(",", ":")).encode())
        for i, content in enumerate(arrays):
            _add(archive, _array_name(i), content)
        archive.comment = _SIGN + bytes(2 * _DIGEST)
    body = file.getvalue()[: -2 * _DIGEST]
    return body + _checksum(body)


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _EARLY)
    entry.create_system, entry.external_attr = 3, 0o644 << 16  # alike on every system
    archive.writestr(entry, content)


def _array_name(number: int) -> str:
    return f"arrays/{number:04}.npy"


def _checksum(body: Any) -> bytes:
    return blake2b(body, digest_size=_DIGEST).hexdigest().encode()


class Archive:
    """A fitted file that is whole and of this version; its sections are read when they are asked for."""

    def __init__(self, name: str, content: bytes) -> None:
        """``content`` of the file ``name``; `InputError` where it is none, damaged, or of another version."""
        self.name = name
        self._content = content
        self._entries: dict[str, tuple[int, int]] = {}
        self._check_whole()
        header = self._header()
        self.arrays = [self._entry(_array_name(i)) for i in range(int(header["arrays"]))]

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Self:
        """Read the file; `InputError` where that is impossible."""
        try:
            if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
                raise OSError(0, "a pipe or device")  # which may never end
            return cls(str(path), Path(path).read_bytes())
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or str(error)
            remedy = "check the path, or " + _REMEDY
            raise InputError("a file that can be read", got=said, remedy=remedy, file=str(path)) from None

    def section(self, name: str) -> Any:
        """The JSON of a section; `InputError` where it is none."""
        try:
            return json.loads(self._entry(f"{name}.json"))
        except (ValueError, RecursionError, Damaged) as error:
            raise self.damaged(error) from None

    def damaged(self, error: Exception | None = None) -> InputError:
        """The error for a file that is not what was written."""
        got = "one that is cut off or damaged" + (f" ({' '.join(str(error).split())[:200]})" if error else "")
        return InputError("a whole fitted file", got=got, remedy=_REMEDY, file=self.name)

    def _check_whole(self) -> None:
        content = self._content
        if not content.startswith(b"PK\x03\x04"):
            raise InputError("a fitted file", got="other bytes at the start", remedy=_REMEDY, file=self.name)
        body, said = memoryview(content)[: -2 * _DIGEST], content[-2 * _DIGEST :]
        if bytes(body[-len(_SIGN) :]) != _SIGN or _checksum(body) != said:
            if f"{_HEADER}".encode() not in content[:80]:
                raise InputError("a fitted file", got="another zip file", remedy=_REMEDY, file=self.name)
            raise self.damaged()
        try:
            with zipfile.ZipFile(BytesIO(content)) as archive:
                for one in archive.infolist():
                    self._entries[one.filename] = self._place_of(one)
        except (zipfile.BadZipFile, ValueError, LookupError, NotImplementedError, EOFError, OSError) as error:
            raise self.damaged(error) from None

    def _place_of(self, entry: zipfile.ZipInfo) -> tuple[int, int]:
        """Where the bytes of an entry begin and end; they are stored as they are."""
        start = entry.header_offset
        head = self._content[start : start + 30]
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size or len(head) < 30:
            raise Damaged(f"{entry.filename} is packed")
        start += 30 + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        if start + entry.file_size > len(self._content):
            raise Damaged(f"{entry.filename} is cut off")
        return start, start + entry.file_size

    def _entry(self, name: str) -> bytes:
        if name not in self._entries:
            raise self.damaged(Damaged(f"no {name}"))
        start, end = self._entries[name]
        return self._content[start:end]

    def _header(self) -> dict[str, Any]:
        header = self.section(_HEADER.removesuffix(".json"))
        if not isinstance(header, dict) or type(header.get("arrays")) is not int:
            raise self.damaged(Damaged("its header"))
        if header.get("format") != FORMAT or header.get("oodometer") != __version__:
            raise InputError(
                f"a file that oodometer {__version__} fitted (format {FORMAT})",
                got=f"one of oodometer {header.get('oodometer')} (format {header.get('format')})",
                remedy="what was learnt may mean something else there: fit it again with this version",
                file=self.name,
            )
        return header
