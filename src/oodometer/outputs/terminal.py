"""Terminal: the view of a result as plain text that fits the screen, with colour where it is wanted and seen."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TextIO

from ..errors import visible
from ..results.view import READ, WORDS_PAGE, Grid, View, is_numbers

_USUAL = 80  # characters a line, where nothing tells the width of the screen
_LEAST = 12  # characters that a column of text keeps, however narrow the screen
_GAP = "  "
MOST_WARNINGS = 3  # that are shown before somebody asks for all
# lines of an answer, of one with times, and rows that a long table keeps
_SCREEN, _TIMES, _ROWS = (
    24,
    40,
    8,
)
_COMMAND = re.compile(r"`[^`]{1,40}`")
_NO_BREAK = "\x00"  # a space that is no place to fold; `visible` lets none pass
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
# What is said with colour: a sign that holds without it, too.
_MARKS = (
    (re.compile(r"\b[Tt]rust high\b"), "\x1b[32m"),
    (re.compile(r"\b[Tt]rust low\b"), "\x1b[33m"),
    (re.compile(r"\b[Tt]rust none\b"), "\x1b[31m"),
    (re.compile(r"\bALARM\b|^Alarm raised\b|\(alarm\)"), "\x1b[1;31m"),
    (re.compile(r"^(oodometer: )?warning:"), "\x1b[33m"),
    (re.compile(r"^(Estimated|True|Reference) [^:]+:|^oodometer:"), _BOLD),
)
_TRUST = {"high": "\x1b[32m", "low": "\x1b[33m", "none": "\x1b[31m"}


def text_of(result: Any) -> str:
    """What a result shows at a prompt: as on a terminal, without colours."""
    return "\n".join(view_lines(result.view(), width()))


def view_lines(view: View, across: int, *, full: bool = False, colour: bool = False) -> list[str]:
    """A view as lines of at most so many characters: number and sentences, tables, notes, alarms, warnings.

    ``full`` shows what otherwise waits until somebody asks; ``colour`` marks what is said with colour.
    """
    displayed = view if full else fitted(view, across)[0]
    lines = _lines(displayed, across, colour)
    lines += (
        [f"Seed of folds, samples and draws: {view.seed}"]
        if view.seed or (full and view.seed is not None)
        else []
    )
    lines += [f"What the words mean: {WORDS_PAGE}"] if full else []
    return list(map(_coloured, lines)) if colour else lines


def fitted(view: View, across: int) -> tuple[View, Counter[str]]:
    """The view as it fits a screen of 24 lines, or of 40 with points in time, and how many of what are left out of it.

    Details wait, then the last rows of long tables (the first ones of times; none with an alarm, and no rows to label),
    then notes, the last tables, and more rows.
    """
    fitting = _Fitting(view)
    # without the line on what is left out
    limit = (_TIMES if view.points else _SCREEN) - 2 - bool(view.seed)
    while True:
        displayed = fitting.tables()
        out = fitting.view_with(displayed)
        over = len(_lines(out, across, colour=False)) - limit
        if over <= 0 or not fitting.shorten(displayed, over):
            return out, fitting.left_out()


class _Fitting:
    """A view of which rows, notes and tables are left out step by step."""

    def __init__(self, view: View) -> None:
        self.view, self.grids, self.notes = view, list(view.grids), list(view.notes)
        self.cut = Counter[int]()  # place of a table -> its rows that are left out
        read = [warning for warning in view.warnings if warning.endswith(READ)]
        further = [warning for warning in view.warnings if warning not in read]
        self.warnings = (*read, *further[:MOST_WARNINGS])
        self.more_warnings = len(further[MOST_WARNINGS:])

    def tables(self) -> dict[int, Grid]:
        """The tables with rows, as they are shown, by their place."""
        displayed = ((i, grid.shown(False)) for i, grid in enumerate(self.grids))
        return {i: grid for i, grid in displayed if grid is not None and grid.rows}

    def view_with(self, tables: Mapping[int, Grid]) -> View:
        """The view with these tables, and with the notes and warnings that are left."""
        empty = (grid.shown(False) for grid in self.grids if not grid.rows and grid.notes)
        return replace(
            self.view,
            grids=(*tables.values(), *(grid for grid in empty if grid is not None)),
            details=(),
            notes=tuple(self.notes),
            warnings=self.warnings,
        )

    def shorten(self, tables: Mapping[int, Grid], over: int) -> bool:
        """Leave out up to so many rows of the longest table, else a note, else the last table; whether anything was."""
        if not tables:
            return False
        longest = max(tables, key=lambda i: len(tables[i].rows) * (self.grids[i].noun != "row"))
        last = max(tables)
        may_wait = self.grids[last].noun != "row"
        minimum = _ROWS if len(self.notes) > 1 or (len(tables) > 1 and may_wait) else _ROWS // 2
        spare = min(over, len(tables[longest].rows) - minimum)
        if spare > 0 and self._drop_rows(longest, spare):
            return True
        if len(self.notes) > 1:
            self.notes.pop()
        elif last and may_wait:
            self.grids[last] = replace(self.grids[last], detail=True, few=None, main=None)
        else:
            return False
        return True

    def _drop_rows(self, index: int, limit: int) -> bool:
        """Leave out the last rows of a table, or the first ones of times; whether there are any to leave out."""
        grid = self.grids[index]
        if grid.noun == "row":
            return False
        displayed = list(range(len(grid.rows)) if grid.few is None else grid.few)
        order = displayed if grid.noun in ("chunk", "run") else displayed[::-1]
        drop = [row for row in order if row not in grid.marked]
        drop.sort(key={row for row, _ in grid.bold}.__contains__)  # what stands out stays
        drop = drop[:limit]
        if drop:
            self.cut[index] += len(drop)
            few = [row for row in displayed if row not in drop]
            self.grids[index] = replace(grid, few=few, rest="")
        return bool(drop)

    def left_out(self) -> Counter[str]:
        """How many of what are left out."""
        hidden, view = Counter[str](), self.view
        for i, (before, after) in enumerate(zip(view.grids, self.grids, strict=True)):
            hidden.update((after if after.detail else before).left_out())
            if self.cut[i] and not after.detail:
                hidden[after.columns[0] if after.noun in ("", "table") else after.noun] += self.cut[
                    i
                ]
        hidden["note"] = len(view.notes) - len(self.notes) + len(view.details) + self.more_warnings
        return hidden


def _lines(view: View, across: int, colour: bool) -> list[str]:
    remark = view.remark
    more = [f"[{', '.join(view.ends)}]" if view.ends else "", f"({remark})" if remark else ""]
    lines = _sentences([f"{view.title}: {'  '.join(filter(None, [view.number, *more]))}"], across)
    lines += _sentences([f"  {item}" for item in (*view.sentences, *view.details)], across)
    for grid in view.grids:
        if grid.rows:
            rows = [[visible(cell) for cell in row] for row in grid.rows]
            lines += ["", *_sentences([grid.title], across)]
            lines += table_lines(
                [*map(visible, grid.columns)], rows, across, bold=grid.bold, colour=colour
            )
        lines += _sentences(grid.notes, across)
    lines += _sentences(view.notes, across)
    lines += map(visible, view.alarms)  # unfolded: one line each, for a log
    return lines + _sentences(list(map(warned, view.warnings)), across)


def warned(text: str) -> str:
    """A warning as a line; what was read under names of a user's own is a plain statement."""
    return text if text.endswith(READ) else f"warning: {text}"


def _sentences(texts: Sequence[str], across: int) -> list[str]:
    return [line for text in texts if text.strip() for line in wrapped(visible(text), across)]


def drawn(stream: TextIO) -> bool:
    """Whether someone looks at the stream: a terminal, or FORCE_COLOR says so (a log with colours)."""
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def colours(stream: TextIO) -> bool:
    """Whether the stream gets colours: as `drawn`, unless NO_COLOR or a dumb terminal says no."""
    return drawn(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Characters a line: COLUMNS, or the terminal's, or 80."""
    return max(shutil.get_terminal_size((_USUAL, 24)).columns, 40)


def painted(text: str, stream: TextIO | None = None) -> str:
    """A line with its signal words in colour, where the stream shows colours."""
    return _coloured(text) if colours(stream or sys.stdout) else text


def _coloured(text: str) -> str:
    for sign, colour in _MARKS:
        text = sign.sub(lambda result, c=colour: f"{c}{result[0]}{_PLAIN}", text)  # type: ignore[misc]
    return text


def wrapped(line: str, across: int) -> list[str]:
    """A sentence in lines of at most so many characters, the later ones set in by two more."""
    inset = line[: len(line) - len(line.lstrip())]
    if len(line) <= across or "  oodometer " in line:  # a command is copied as a whole
        return [line]
    return _folded(
        line.strip(),
        across,
        initial_indent=inset,
        subsequent_indent=f"{inset}  ",
        break_long_words=False,
    )


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    across: int,
    *,
    bold: Collection[tuple[int, int]] = (),
    colour: bool = False,
) -> list[str]:
    """A table as lines of at most so many characters: columns under each other, numbers but in the first to the right.

    Long cells are folded between words. Where even that is too wide, the columns that do not fit follow below, beside
    the first column again.
    """
    cells = [list(columns), *map(list, rows)]
    by_column = [[line[j] for line in cells] for j in range(len(columns))]
    natural = [max(map(_cells, column)) for column in by_column]
    narrowest = [_least(j, column, natural[j]) for j, column in enumerate(by_column)]
    out: list[str] = []
    for block in _blocks(narrowest, across):
        widths = _widths([natural[j] for j in block], [narrowest[j] for j in block], across)
        right = [j > 0 and is_numbers(by_column[j][1:]) for j in block]
        out += [""] if out else []
        for i, line in enumerate(cells):
            styles = [_style(i - 1, j, columns[j], line[j], bold) if colour else "" for j in block]
            out += _row([line[j] for j in block], widths, right, styles)
    return out


def _style(row: int, j: int, column: str, cell: str, bold: Collection[tuple[int, int]]) -> str:
    """The look of a cell; row -1 has the names of the columns."""
    if row < 0:
        return _BOLD
    return _hue(column, cell) + (_BOLD if (row, j) in bold else "")


def _blocks(narrowest: Sequence[int], across: int) -> list[list[int]]:
    """Columns that stand beside each other, the first of all in each block."""
    blocks: list[list[int]] = [[0]]
    for j in range(1, len(narrowest)):
        block = blocks[-1]
        needed = sum(narrowest[k] for k in block) + narrowest[j] + len(_GAP) * len(block)
        if len(block) > 1 and needed > across:
            blocks.append([0])
        blocks[-1].append(j)
    return blocks


def _widths(natural: Sequence[int], narrowest: Sequence[int], across: int) -> list[int]:
    """Widths of columns beside each other: the widest one gives way until all of them fit."""
    widths, spare = list(natural), across - len(_GAP) * (len(natural) - 1)
    while sum(widths) > spare:
        free = [k for k, width in enumerate(widths) if width > narrowest[k]]
        if not free:
            break
        widths[max(free, key=widths.__getitem__)] -= 1
    return widths


def _cells(text: str) -> int:
    """Places on the screen: two for a wide letter, none for a mark on another."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _least(index: int, cells: Sequence[str], natural: int) -> int:
    """How narrow a column may become: names in the first one are folded last."""
    word = max((_cells(word) for cell in cells for word in cell.split()), default=0)
    return min(
        natural,
        max(_LEAST, min(word, 2 * _LEAST)) if index else max(_LEAST, min(natural, 2 * _LEAST)),
    )


def _row(
    cells: Sequence[str], widths: Sequence[int], right: Sequence[bool], styles: Sequence[str]
) -> list[str]:
    folded, out = [_folded(cell, width) for cell, width in zip(cells, widths, strict=True)], []
    for k in range(max(map(len, folded))):
        line = []
        for pieces, width, to_the_right, style in zip(folded, widths, right, styles, strict=True):
            text = pieces[k] if k < len(pieces) else ""
            blank = " " * (width - _cells(text))
            styled = f"{style}{text}{_PLAIN}" if style and text else text
            line.append(blank + styled if to_the_right else styled + blank)
        out.append(_GAP.join(line).rstrip())
    return out


def _folded(text: str, across: int, **look: Any) -> list[str]:
    """Text in lines; a number and its sign of percent, and a short command in backticks, stay on one line."""
    if not look and _cells(text) <= across:
        return [text]
    text = _COMMAND.sub(
        lambda result: result[0].replace(" ", _NO_BREAK), text.replace(" %", f"{_NO_BREAK}%")
    )
    lines = textwrap.wrap(text, across, break_on_hyphens=False, **look)
    return [line.replace(_NO_BREAK, " ") for line in lines] or [""]


def _hue(column: str, cell: str) -> str:
    """Colour of a cell that tells of trust or of an alarm."""
    if cell.startswith("ALARM"):
        return "\x1b[1;31m"
    return _TRUST.get(cell, "") if column == "trust" else ""
