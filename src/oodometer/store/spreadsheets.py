"""Spreadsheets: CSV that one may open in them, and what they do to the cells of a file that comes back."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from typing import IO, Any

_FORMULA = re.compile(r"[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s?%?")
_SHOWN = 1e-5  # 1234567890123456789 is shown, and saved, as 1.23457E+18
_DIGITS = 1e-14  # and as a plain number with 15 digits


def guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula: an apostrophe goes before =, +, - and @, but not before numbers.

    Source: OWASP, CSV injection.

    >>> guarded("=1+1"), guarded("-0.5"), guarded("- well"), guarded("a=b")
    ("'=1+1", '-0.5', "'- well", 'a=b')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unguarded(text: str) -> str:
    """The text before `guarded`.

    >>> unguarded("'=1+1"), unguarded("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if text.startswith("'") and guarded(text[1:]) == text else text


def same_cell(written: str | None, back: str | None) -> bool:
    """Whether a cell that comes back is the one that was written, as spreadsheets change it: 007 becomes 7.

    Leading zeros go, numbers of more than 15 digits are rounded, TRUE stands for true, blanks at the ends go.

    >>> same_cell("007", "7"), same_cell("1234567890123456789", "1,23457E+18"), same_cell("8", "7")
    (True, True, False)
    """
    if written is None or back is None:
        return written is back
    one, other = written.strip(), unguarded(back).strip()
    if one == other or one.casefold() == other.casefold() in ("true", "false"):
        return True
    if not (_NUMBER.fullmatch(one) and _NUMBER.fullmatch(other)) or "%" in one + other:
        return False
    tolerance = _SHOWN if "e" in other.lower() else _DIGITS
    return math.isclose(float(one.replace(",", ".")), float(other.replace(",", ".")), rel_tol=tolerance)


def write_sheet(file: IO[bytes], table: Any) -> None:
    """Write an Arrow table as CSV for people: cells are `guarded`, lists are JSON, columns of bytes are left out.

    Where a letter is not ASCII the file begins with the mark of UTF-8, without which Excel reads other letters.
    """
    names = [field.name for field in table.schema if not holds_bytes(field.type)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(guarded, names))
    columns = [table.column(name).to_pylist() for name in names]
    writer.writerows([_cell(value) for value in row] for row in zip(*columns, strict=True))
    whole = text.getvalue()
    file.write(whole.encode("utf-8" if whole.isascii() else "utf-8-sig", "replace"))


def holds_bytes(kind: Any) -> bool:
    """Whether cells of an Arrow type are bytes, or hold some, as pictures do."""
    import pyarrow.types as pt

    if pt.is_nested(kind):
        return any(holds_bytes(kind.field(i).type) for i in range(kind.num_fields))
    return bool(pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, dict)):
        return guarded(json.dumps(value, ensure_ascii=False, default=str))
    if isinstance(value, (int, float)):
        return repr(value)
    return guarded(str(value))
