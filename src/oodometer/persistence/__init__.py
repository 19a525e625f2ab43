"""Persistence: fitted objects to one safe file and back: JSON and arrays, classes by a closed list, no pickle."""

from __future__ import annotations

from .archive import (
    ENDING,
    FORMAT,
    Archive,
    Damaged,
    Encoder,
    NotKept,
    archive_of,
    decoded,
    write_archive,
)

__all__ = [
    "ENDING",
    "FORMAT",
    "Archive",
    "Damaged",
    "Encoder",
    "NotKept",
    "archive_of",
    "decoded",
    "write_archive",
]
