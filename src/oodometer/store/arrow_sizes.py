"""Arrow sizes: what the batches of an Arrow file unfold to, read from its messages before anything is unpacked."""

from __future__ import annotations

import os
import struct
from typing import IO

from .bounds import check_unpacked

_AS_IS = -1
_DICTIONARY, _BATCH = 2, 3


def check_messages(path: str) -> None:
    """No record batch or dictionary of an Arrow file or stream takes more memory than `check_unpacked` allows.

    The messages follow one another: a mark, the length of the metadata, the metadata, the body. Their metadata are
    tables of the format's Message.fbs. What is not as the format has it is left for its reader to complain about.
    """
    with open(path, "rb") as file:
        whole = os.fstat(file.fileno()).st_size
        at = 8 if file.read(6) == b"ARROW1" else 0
        try:
            while True:
                file.seek(at)
                mark, size = struct.unpack("<iI", file.read(8))
                before = 8
                if mark != -1:  # files written before 2019 have no mark
                    size, before = mark, 4
                if size <= 0 or at + before + size > whole:  # the end, or a length that is damaged
                    return
                file.seek(at + before)
                meta = file.read(size)
                message = _number("<I", meta, 0)
                body = at + before + size
                _check_body(file, path, meta, message, body)
                length = _field(meta, message, 3)
                at = body + (0 if length is None else max(_number("<q", meta, length), 0))
        except (struct.error, OverflowError, OSError):
            return


def _check_body(file: IO[bytes], path: str, meta: bytes, message: int, body: int) -> None:
    """Add up the buffers of one message; a packed one begins with its length when unpacked."""
    kind, header = _field(meta, message, 1), _field(meta, message, 2)
    if kind is None or header is None or _number("<B", meta, kind) not in (_DICTIONARY, _BATCH):
        return
    batch: int | None = _target(meta, header)
    if _number("<B", meta, kind) == _DICTIONARY:
        inner = _field(meta, _target(meta, header), 1)
        batch = None if inner is None else _target(meta, inner)
    buffers = None if batch is None else _field(meta, batch, 2)
    if batch is None or buffers is None or _field(meta, batch, 3) is None:
        return  # nothing is packed
    start = _target(meta, buffers)
    packed = unpacked = 0
    for i in range(_number("<I", meta, start)):
        offset, length = struct.unpack_from("<qq", meta, start + 4 + 16 * i)
        if length >= 8:
            file.seek(body + offset)
            told = _number("<q", file.read(8), 0)
            packed += length
            unpacked += length if told == _AS_IS else told
    check_unpacked(packed, unpacked, path)


def _number(form: str, data: bytes, at: int) -> int:
    found: int = struct.unpack_from(form, data, at)[0]
    return found


def _target(data: bytes, at: int) -> int:
    """Where an offset at this place leads."""
    return at + _number("<I", data, at)


def _field(data: bytes, table: int, number: int) -> int | None:
    """Where a field of a table lies, None where it is absent."""
    fields = table - _number("<i", data, table)
    place = 4 + 2 * number
    if place >= _number("<H", data, fields):
        return None
    offset = _number("<H", data, fields + place)
    return table + offset if offset else None
