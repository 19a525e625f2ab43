"""JSON rows: the objects of a log, line by line or as one array, plain or gzip'd."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...errors import InputError
from ..bounds import check_row, most_row
from ..files import opened, translated


def json_rows(file: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects with their row, from 1; blank lines are passed over. Raises `InputError` naming the row that is none."""
    with translated(file, "JSONL"), opened(file) as stream:
        head = stream.read(64).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if head.startswith("["):  # as releases up to 0.4.2 wrote them
        for row, one in enumerate(read_json(file), 1):
            yield row, _object(one, file, row)
        return
    for row, line in enumerate(_lines(file), 1):
        try:
            found = json.loads(line)
        except ValueError:
            raise InputError(
                "one JSON object a line",
                got=repr(line[:40].decode("utf-8", "replace")) + ("..." if len(line) > 40 else ""),
                file=file,
                row=row,
                remedy="the log may be cut off: copy it again, or remove that line",
            ) from None
        yield row, _object(found, file, row)


def read_json(file: str) -> Any:
    """A whole file of JSON."""
    with translated(file, "JSON"), opened(file) as stream:
        return json.loads(stream.read())


def _lines(file: str) -> Iterator[bytes]:
    """Lines that are not blank, without a byte order mark."""
    most, held = most_row(), b""
    with translated(file, "JSONL"), opened(file) as stream:
        while data := stream.read(1 << 20):
            *whole, held = (held + data).split(b"\n")
            yield from (line for one in whole if (line := one.strip().removeprefix(b"\xef\xbb\xbf")))
            if len(held) > most:
                check_row(len(held), file)
    if line := held.strip().removeprefix(b"\xef\xbb\xbf"):
        yield line


def _object(found: Any, file: str, row: int) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise InputError(
            "a JSON object", got=type(found).__name__, file=file, row=row, remedy="check what wrote the log"
        )
    return found
