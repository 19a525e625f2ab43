"""Zip members: what a zip archive holds, also where members are packed with Zstandard, as inspect writes them."""

from __future__ import annotations

import zipfile
import zlib
from types import TracebackType
from typing import Any

from ..bounds import check_unpacked
from ..files import translated

__all__ = ["ZipMembers"]

_ZSTANDARD = 93  # the number of the method in the zip format; the standard library reads it from Python 3.14 on
_LOCAL = 30  # bytes of a member's own header, before its name and its extra field


class ZipMembers:
    """A zip archive, read member by member; of a name that is there twice the last one counts.

    Raises `InputError` for an archive or a member that is cut off or damaged.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        with translated(file, "zip"):
            self._zip = zipfile.ZipFile(file)
            self._members = {one.filename: one for one in self._zip.infolist()}

    def __enter__(self) -> ZipMembers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members in their order."""
        return tuple(self._members)

    def read(self, name: str) -> bytes:
        """The bytes of a member, checked against their checksum."""
        member = self._members[name]
        check_unpacked(member.compress_size, member.file_size, self.file)
        with translated(self.file, "zip"):
            if member.compress_type != _ZSTANDARD:
                return self._zip.read(member)
            content = _unpacked(self._packed(member), member.file_size)
            if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
                raise ValueError(f"{name} has another checksum than the archive says")
            return content

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        with open(self.file, "rb") as stream:
            stream.seek(member.header_offset)
            header = stream.read(_LOCAL)
            more = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
            stream.seek(more, 1)
            return stream.read(member.compress_size)


def _unpacked(content: bytes, size: int) -> bytes:
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
        found: Any = stream.read(size + 1)  # no more than was promised
    return bytes(found)
