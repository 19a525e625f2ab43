"""Bounds: how long a row of text may be, and how much memory what is packed in a file may unfold to."""

from __future__ import annotations

import os

from ..errors import InputError, UsageError

ROW, _ROW_MB = "OODOMETER_MAX_ROW_MB", 64
UNPACKED, _UNPACKED_MB = "OODOMETER_MAX_UNPACKED_MB", 1024
_TIMES = 100  # numbers that a model gave are packed to a half or a tenth, not to less than a hundredth


def most_row() -> int:
    """Bytes that one row of CSV or JSONL may have: 64 MB, or what OODOMETER_MAX_ROW_MB says."""
    return _megabytes(ROW, _ROW_MB)


def check_row(length: int, file: str, line: int | None = None, row: int | None = None) -> None:
    """A row of at most `most_row` bytes; longer ones are a fault, or would fill the memory."""
    most = most_row()
    if length > most:
        which = "" if line is None else f" (line {line})"
        raise InputError(
            f"rows of at most {most >> 20} MB",
            got=f"a longer one{which}",
            file=file,
            row=row,
            remedy=f"write one sample a row; {ROW}=N allows rows of N MB",
        )


def check_unpacked(packed: int, unpacked: int, file: str, column: str | None = None) -> None:
    """What is to be unpacked as a whole takes at most 1 GB, or what OODOMETER_MAX_UNPACKED_MB says, or is no bomb.

    >>> check_unpacked(10**9, 2 * 10**9, "a.npz")
    >>> check_unpacked(10**6, 2 * 10**9, "a.npz", "features")
    Traceback (most recent call last):
    oodometer.errors.InputError: a.npz: column features: expected at most 1024 MB when unpacked, got ...
    """
    most = _megabytes(UNPACKED, _UNPACKED_MB)
    if unpacked > most and unpacked > _TIMES * packed:
        raise InputError(
            f"at most {most >> 20} MB when unpacked",
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
