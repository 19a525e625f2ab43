"""Output: tables on a terminal, JSON to a file or standard output, progress on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, TextIO

from ..errors import visible
from ..notes import kind_of
from ..outputs import terminal
from ..plain import Plain, Strings

KEPT = "what is finished is kept, run the same command again and it goes on from there"
_defaults: ContextVar[str] = ContextVar("defaults", default="")
typed_words: ContextVar[Strings] = ContextVar("typed_words", default=())  # behind `oodometer`
_EVERY = 10.0  # seconds between two lines of progress
# 1 all, 0 the usual, -1 errors alone
_loudness: ContextVar[int] = ContextVar("loudness", default=0)


def say(*lines: str, error: bool = False) -> None:
    """Lines on standard output, or on standard error; nothing in them can steer a terminal."""
    if error or not quiet():
        stream = sys.stderr if error else sys.stdout
        _put("".join(f"{terminal.painted(visible(line), stream)}\n" for line in lines), stream)


def tell(*lines: str) -> None:
    """Sentences on standard output, folded to the width of the screen; nothing for an empty one."""
    for line in filter(None, lines):
        say(*terminal.wrapped(visible(line), terminal.width()))


def show(result: Any, *, seed: int | None = None, kinds: Sequence[str] = ()) -> None:
    """The view of a result on standard output, with -v all of it, details of these ``kinds`` first; how much
    was left out.
    """
    if quiet():
        return
    view = result.view() if seed is None else replace(result.view(), seed=seed)
    notes = [detail for detail in view.details if kind_of(detail) in kinds]
    view = replace(
        view,
        notes=(*notes, *view.notes),
        details=tuple(detail for detail in view.details if detail not in notes),
    )
    lines = terminal.view_lines(
        view, terminal.width(), full=verbose(), colour=terminal.colours(sys.stdout)
    )
    _put("".join(f"{line}\n" for line in lines), sys.stdout)
    left_out(terminal.fitted(view, terminal.width())[1])


def left_out(counts: Mapping[str, int]) -> None:
    """One line on what was not printed: "14 methods and 3 notes left out: -v"."""
    from ..results.values import counted

    parts = [counted(count, what.replace("_", " ")) for what, count in counts.items() if count]
    if parts and not verbose():
        tell(f"{', '.join(parts[:-1])}{' and ' if len(parts) > 1 else ''}{parts[-1]} left out: -v")


def verbose() -> bool:
    """Whether all is to be printed (-v)."""
    return _loudness.get() > 0


def quiet() -> bool:
    """Whether nothing but errors is to be printed (--quiet)."""
    return _loudness.get() < 0


@contextmanager
def settings(loudness: int, defaults: str) -> Iterator[None]:
    """Inside, commands print all that they know (1), the usual (0), or nothing but errors (-1); ``defaults`` are noted
    behind the command as it was typed.
    """
    tokens = _loudness.set(loudness), _defaults.set(defaults)
    try:
        yield
    finally:
        _loudness.reset(tokens[0])
        _defaults.reset(tokens[1])


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
    result: Plain,
    *,
    json: str | None = None,
    report: str | None = None,
    page: Plain | None = None,
    record: Any = None,
    files: Sequence[str] | None = None,
) -> None:
    """Write a result as JSON (to standard output for ``-``) and as a page, of ``page`` where that differs; with the
    record ``record`` the endings of ``files`` and ``report`` say what is written.
    """
    if json is None and report is None and not files:
        return
    from ..store import together, when_written, write_result

    with together():
        if record is not None:
            from ..outputs.files import save

            for path in (*(() if report is None else (report,)), *(files or ())):
                save(record, path, mapping=result)
        elif report is not None:
            from ..reports import write_report

            write_report(page or result, report)
        if json is not None:
            from ..outputs.files import json_text

            text = json_text(result)
            if json == "-":
                when_written(lambda: _put(text, sys.stdout))
            else:
                write_result(json, text)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None
) -> None:
    """A table on standard output that fits the screen, 80 columns where it is none."""
    if not quiet():
        columns = [visible(name) for name in columns]
        rows = [[visible(cell) for cell in row] for row in rows]
        lines = terminal.table_lines(
            columns, rows, terminal.width(), colour=terminal.colours(sys.stdout)
        )
        _put(
            "".join(
                f"{line}\n" for line in ["", *([] if title is None else [visible(title)]), *lines]
            ),
            sys.stdout,
        )


class _Bar:
    """A bar of the phases of some work, the time that each takes and has left."""

    def __init__(self, bar: Any, what: str) -> None:
        self._bar, self._what = bar, what
        self._task = bar.add_task(what, total=None)

    def __call__(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total or None)

    def phase(self, name: str) -> None:
        """Another phase begins, of which nothing is done."""
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=None)


class _Telling:
    """Of work that lasts: a line of standard error every ten seconds, that of a new phase at once from then on."""

    def __init__(self, what: str, share: bool = False) -> None:
        from time import monotonic

        self._now, self._what, self._phase, self._share = monotonic, what, "", share
        self._begun = self._last = monotonic()

    def __call__(self, done: int, total: int) -> None:
        if self._now() - self._last >= _EVERY:
            how_far = (
                f"{done / total:.0%}"
                if self._share and total
                else f"{done:,}{f' of {total:,}' if total else ''}"
            )
            self._say(how_far.replace("%", " %"))

    def phase(self, name: str) -> None:
        """Another phase begins."""
        self._phase = f" ({name})"
        if self._now() - self._begun >= _EVERY:
            self._say(f"after {self._now() - self._begun:.0f} s")

    def _say(self, how_far: str) -> None:
        self._last = self._now()
        say(f"{self._what}{self._phase}: {how_far}", error=True)


def is_watched() -> bool:
    """Whether standard error is a terminal; a cell of a notebook (Jupyter names its process) only looks like one."""
    return sys.stderr.isatty() and "JPY_PARENT_PID" not in os.environ


@contextmanager
def progress_bar(
    what: str, *, lines: bool = False, share: bool = False
) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error where that is a terminal; gives the function to call with (done, total), whose method
    ``phase`` hears of what is done now. ``lines``: elsewhere a line every ten seconds, with ``share`` in percent.
    """
    if quiet() or not is_watched():
        yield _Telling(what, share) if lines and not quiet() else None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    words = TextColumn("{task.description}", markup=False)
    columns = (
        words,
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Bar(bar, what)


def command_line_with(option: str, value: str) -> str:
    """The command as it was typed with an ``option`` of this value, in the place of the one that it had."""
    words = list(typed_words.get())
    places = [i for i, word in enumerate(words) if word.partition("=")[0] == option]
    if len(places) != 1:
        return command_line(option, value)
    (place,) = places
    length = 1 if "=" in words[place] else 2
    words[place : place + length] = [option, value]
    token = typed_words.set(tuple(words))
    try:
        return command_line()
    finally:
        typed_words.reset(token)


def command_line(*more: str) -> str:
    """The command as it was typed, and ``more`` words behind it; passwords in addresses are hidden."""
    import shlex

    from ..errors import without_passwords

    defaults = _defaults.get()
    words = [without_passwords(word, word=True) for word in (*typed_words.get(), *more)]
    return shlex.join(["oodometer", *words]) + (f"  # {defaults}" if defaults else "")
