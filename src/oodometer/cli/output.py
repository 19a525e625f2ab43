"""Output: tables on a terminal, JSON to a file or standard output, progress on standard error."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from json import dumps
from typing import Any, TextIO

from ..errors import visible

__all__ = [
    "KEPT",
    "check_page",
    "command_line",
    "deliver",
    "parse_classes",
    "parse_mapping",
    "print_table",
    "progress_bar",
    "results",
    "say",
]

KEPT = "what is finished is kept, run the same command again and it goes on from there"
_EVERY = 10.0  # seconds between two lines of progress
_NAME_WIDTH = 24  # characters that the first column gets before the others do
# What JSON may hold as it is and a terminal must not get: further controls, turns of direction, half characters.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def say(*lines: str, error: bool = False) -> None:
    """Lines on standard output, or on standard error; nothing in them can steer a terminal."""
    _put("".join(f"{visible(line)}\n" for line in lines), sys.stderr if error else sys.stdout)


def _put(text: str, stream: TextIO) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:  # a terminal whose encoding lacks a letter shows the letter's number
        code = stream.encoding or "ascii"
        stream.write(text.encode(code, "backslashreplace").decode(code))


@contextmanager
def results() -> Iterator[None]:
    """Inside, whatever is asked for is written once everything has succeeded: all of it, or nothing."""
    from ..store import together

    with together():
        yield


def deliver(
    result: Mapping[str, Any],
    *,
    json: str | None = None,
    report: str | None = None,
    page: Mapping[str, Any] | None = None,
) -> None:
    """Write a result as JSON (to standard output for ``-``) and as a page, of ``page`` where that differs."""
    if json is None and report is None:
        return
    from ..store import together, when_written, write_result

    with together():
        if report is not None:
            from ..reports import write_report

            write_report(page or result, report)
        if json is not None:
            text = dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
            text = _UNSAFE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)
            if json == "-":
                when_written(lambda: _put(text, sys.stdout))
            else:
                write_result(json, text)


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str | None = None,
    *,
    bold: Collection[tuple[int, int]] = (),
) -> None:
    """A table on standard output: drawn on a terminal, tab-separated in a pipe.

    ``bold`` names cells (row, column) that stand out where the table is drawn.
    """
    columns, rows = [visible(name) for name in columns], [[visible(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        if title:
            say(f"# {title}")
        _put("".join("\t".join(row) + "\n" for row in (columns, *rows)), sys.stdout)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # As Text, so that brackets in a name are no markup.
    heading = None if title is None else Text(visible(title), style="table.title")
    table = Table(title=heading, box=box.SIMPLE_HEAD, title_justify="left")
    for j, name in enumerate(columns):
        longest = max((len(row[j]) for row in rows), default=0) if j == 0 else 0
        table.add_column(Text(name, style="table.header"), overflow="fold", min_width=min(longest, _NAME_WIDTH) or None)
    for i, row in enumerate(rows):
        table.add_row(*(Text(cell, style="bold" if (i, j) in bold else "") for j, cell in enumerate(row)))
    Console().print(table)


@contextmanager
def progress_bar(what: str, *, lines: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error where that is a terminal; gives the function to call with (done, total).

    ``lines``: elsewhere a line every ten seconds, so that a log tells that a long job is alive.
    """
    if not sys.stderr.isatty():
        yield _telling(what) if lines else None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def _telling(what: str) -> Callable[[int, int], None]:
    from time import monotonic

    last = monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        if monotonic() - last >= _EVERY:
            last = monotonic()
            say(f"{what}: {done:,}{f' of {total:,}' if total else ''}", error=True)

    return tell


def parse_mapping(pairs: Sequence[str]) -> dict[str, str] | None:
    """``theirs=ours`` pairs as a mapping; `UsageError` for anything else.

    >>> parse_mapping(["y_true=label"])
    {'y_true': 'label'}
    """
    from ..errors import UsageError

    out = {}
    for pair in pairs:
        theirs, equals, ours = pair.partition("=")
        if not (theirs and equals and ours):
            raise UsageError(f"expected --map theirs=ours, got {pair!r}")
        out[theirs] = ours
    return out or None


def parse_classes(text: str | None) -> list[int | str] | None:
    """``a,b,c`` as class names; whole numbers become integers when all are.

    >>> parse_classes("0,1"), parse_classes("cat,dog")
    ([0, 1], ['cat', 'dog'])
    """
    if text is None:
        return None
    names = [part.strip() for part in text.split(",")]
    if all(name.lstrip("-").isdigit() for name in names):
        return [int(name) for name in names]
    return list(names)


def command_line() -> str:
    """The command as it was typed, for the report."""
    import shlex

    return shlex.join(["oodometer", *sys.argv[1:]])


def check_page(report: str | None) -> None:
    """Say before the work that the libraries of a page are absent."""
    if report is not None:
        from ..reports import check_report_libraries

        check_report_libraries()
