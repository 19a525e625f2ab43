"""Markdown: the view of a result as text that a ticket, a wiki or a pull request shows as headings and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..reports.sections import first_screen
from ..results.values import counted
from ..results.view import Grid, View
from ..version import __version__

_MOST_ROWS = 12  # of the table on the first screen
_SEED = "Seed of folds, samples and draws"
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~])")


def markdown_of(result: Any) -> str:
    """The view of a result as Markdown; what would be markup in a name is escaped."""
    view = result.view()
    lines = [f"# {_plain(view.title)}: {_plain(view.number)}", ""]
    beside = [" to ".join(view.ends) if view.ends else "", view.remark]
    beside = [", ".join(map(_plain, filter(None, beside)))]
    beside += [] if view.trust is None else [f"trust: **{_plain(view.trust)}**"]
    lines += ["; ".join(filter(None, beside)), ""] if any(beside) else []
    lines += [f"> **Warning:** {_plain(warning)}\n" for warning in view.warnings]
    lines += [f"- {_plain(item)}" for item in (*view.sentences, *view.details) if item.strip()]
    lines += [] if view.seed is None else [f"- {_SEED}: {view.seed}"]
    for grid in view.grids:
        if grid.rows:
            title = _title(grid)
            lines += ["", f"## {title}", "", *_table(grid)] if title else ["", *_table(grid)]
        lines += [f"\n{_plain(note)}" for note in grid.notes if note]
    notes = [f"- {_plain(item)}" for item in (*view.notes, *view.alarms)]
    return "\n".join([*lines, *([""] if notes else []), *notes]).rstrip() + "\n"


def first_screen_of(result: Any) -> str:
    """The first screen as Markdown; see `Shown.to_markdown`."""
    view = result.view()
    screen = first_screen(view)
    quotes = [("Against it", text) for text in view.against]
    if screen["why"] and view.trust not in (None, "high"):
        quotes.append(("Against it", f"trust {view.trust}: {screen['why']}"))
    quotes += [("Alarm", text) for text in view.alarms]
    quotes += [("Warning", text) for text in view.warnings]
    beside = " to ".join(view.ends) if view.ends else view.remark
    heading = f"### {_plain(view.title)}: {_plain(view.number)}"
    lines = [heading + (f" ({_plain(beside)})" if beside else ""), "", *_rests_on(view)]
    lines += [f"> **{kind}:** {_plain(text)}\n" for kind, text in quotes]
    lines += [f"- {_plain(text)}" for text in screen["sentences"]]
    lines += ["", *_first_table(view), f"<sub>oodometer {__version__}</sub>"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def _rests_on(view: View) -> list[str]:
    """Kind of the interval, trust, verdict and assumption in a line; no line of a result without an interval."""
    if not view.ends:
        return []
    marks = {"trust": view.trust, "fell": view.fell}
    items = [view.made, *(f"{name}: **{_plain(text)}**" for name, text in marks.items() if text)]
    items += [_plain(text) for text in (view.caveat, view.note) if text]
    items += [f"assumes: {_plain(view.assumes)}"] if view.assumes else []
    return [" · ".join(items), ""]


def _first_table(view: View) -> list[str]:
    """The first table that the screen shows, else the first of all, with at most 12 rows: the newest chunks, and those
    with an alarm before all others.
    """
    shown = [grid for item in view.grids if (grid := item.shown(False)) is not None and grid.rows]
    full = next((grid for grid in view.grids if grid.rows), None)
    if not shown and full is None:
        return []
    grid = shown[0] if shown else full
    assert grid is not None
    order = range(len(grid.rows))[:: -1 if grid.noun in ("chunk", "run") else 1]
    kept = sorted(sorted(order, key=lambda row: row not in grid.marked)[:_MOST_ROWS])
    left = len(grid.rows) - len(kept)
    rows = replace(grid, rows=[grid.rows[row] for row in kept])
    more = [f"\n{counted(left, 'more row')} in `to_frame()`"] if left else []
    return [f"**{_title(grid)}**", "", *_table(rows), *more, ""]


def _title(grid: Grid) -> str:
    return _plain(grid.title[:1].upper() + grid.title[1:])


def _table(grid: Grid) -> list[str]:
    rule = ["--:" if number else "---" for number in grid.numeric]
    return [_row(grid.columns), f"| {' | '.join(rule)} |", *map(_row, grid.rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_plain(str(cell)) for cell in cells)} |"


def _plain(text: str) -> str:
    """Text as text, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
