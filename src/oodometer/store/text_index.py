"""Text index: how many rows a CSV or JSONL file has, and where rows begin, so that it may be read in pieces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

_STEP = 1 << 20
_MARK = b"\xef\xbb\xbf"
_LINE, _RETURN, _QUOTE, _BLANK = 10, 13, 34, 32


class TextIndex(NamedTuple):
    """Rows of a text file; ``marks`` are (byte at which a row begins, rows before it), none where it may not be cut."""

    rows: int
    marks: tuple[tuple[int, int], ...] = ()


def filled_lines(block: bytes) -> int:
    """Lines that hold more than blanks; the last one need not end.

    >>> filled_lines(b'{"a": 1}\\n\\n  \\n {"a": 2}')
    2
    """
    cells = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(cells == _LINE)
    begins = np.concatenate([[0], ends + 1])
    begins = begins[begins < len(cells)]
    if not (cells[begins] <= _BLANK).any():
        return len(begins)
    return sum(1 for line in block.split(b"\n") if line.strip())


def index_cells(stream: Any, delimiter: str) -> TextIndex | None:
    """The index of CSV text of more than one column; None where it is not sure that it is right.

    A line ends outside of quotes. Quotes are counted, which tells inside from outside as long as each that opens
    stands at the beginning of a cell, and each other one behind it doubles the one before. Text of which that is not
    true, with a carriage return alone, or with quotes that stay open has no index: only its reader can tell its rows.

    >>> import io
    >>> index_cells(io.BytesIO(b'a,b\\n1,"x\\n""y""z"\\n\\n2,z'), ",").rows
    2
    >>> index_cells(io.BytesIO(b'a,b\\n1,5" disk\\n2,"z"'), ",") is None
    True
    """
    begins = (ord(delimiter), _LINE, _RETURN, _QUOTE)
    base = rows = line = 0  # first byte of the block; lines that are filled; where the line began
    inside, last = 0, _LINE
    marks: list[tuple[int, int]] = []
    while data := bytes(stream.read(_STEP)):
        if data.endswith(b"\r"):
            data += bytes(stream.read(1))
        if not base and data.startswith(_MARK):
            data, base, line = data[len(_MARK) :], len(_MARK), len(_MARK)
        cells = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(cells == _QUOTE) if b'"' in data else np.zeros(0, np.intp)
        if len(quotes):
            opening = quotes[inside::2]
            before = np.where(opening > 0, cells[opening - 1], last)
            if not np.isin(before, begins).all():
                return None
        ends = np.flatnonzero(cells == _LINE)
        returned = np.zeros(len(ends), bool)
        if b"\r" in data:
            returns = np.flatnonzero(cells == _RETURN)
            if returns[-1] == len(cells) - 1 or (cells[returns + 1] != _LINE).any():
                return None
            returned = np.where(ends > 0, cells[ends - 1], last) == _RETURN
        outside = (np.searchsorted(quotes, ends) + inside) % 2 == 0
        ends, returned = ends[outside] + base, returned[outside]
        if len(ends):
            lengths = ends - returned - np.concatenate([[line], ends[:-1] + 1])
            rows += int(np.count_nonzero(lengths > 0))
            line = int(ends[-1]) + 1
            if rows:
                marks.append((line, rows - 1))
        inside = (inside + len(quotes)) % 2
        base, last = base + len(data), int(cells[-1]) if len(cells) else last
    if inside:
        return None
    rows += base > line
    return TextIndex(max(rows - 1, 0), tuple(marks))


def spread(marks: Iterable[tuple[int, int]], rows: int, wanted: int) -> list[tuple[int, int, int]]:
    """Pieces of at least ``wanted`` rows but the last: first byte, rows before, rows.

    >>> spread(((10, 2), (20, 5), (30, 6)), 9, 4)
    [(0, 0, 5), (20, 5, 4)]
    """
    out, first, before = [], 0, 0
    for at, done in marks:
        if done - before >= wanted and done < rows:
            out.append((first, before, done - before))
            first, before = at, done
    return [*out, (first, before, rows - before)]
