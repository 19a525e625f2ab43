"""Markdown: the view of a result as text that a ticket, a wiki or a pull request shows as headings and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_SEED = "Seed of folds, samples and draws"
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~])")


def markdown_of(result: Any) -> str:
    """The view of a result as Markdown; what would be markup in a name is escaped."""
    view = result.view()
    lines = [f"# {_plain(view.title)}: {_plain(view.number)}", ""]
    beside = [f"{' to '.join(view.ends)}, {view.made}" if view.ends else "", view.note]
    beside = [", ".join(map(_plain, filter(None, beside)))]
    beside += [] if view.trust is None else [f"trust: **{_plain(view.trust)}**"]
    lines += ["; ".join(filter(None, beside)), ""] if any(beside) else []
    lines += [f"> **Warning:** {_plain(warning)}\n" for warning in view.warnings]
    lines += [f"- {_plain(item)}" for item in (*view.sentences, *view.details) if item.strip()]
    lines += [] if view.seed is None else [f"- {_SEED}: {view.seed}"]
    for grid in view.grids:
        if grid.rows:
            title = _plain(grid.title[:1].upper() + grid.title[1:])
            rule = ["--:" if number else "---" for number in grid.numeric]
            lines += ["", f"## {title}", ""] if title else [""]
            lines += [_row(grid.columns), f"| {' | '.join(rule)} |", *map(_row, grid.rows)]
        lines += [f"\n{_plain(note)}" for note in grid.notes if note]
    notes = [f"- {_plain(item)}" for item in (*view.notes, *view.alarms)]
    return "\n".join([*lines, *([""] if notes else []), *notes]).rstrip() + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_plain(str(cell)) for cell in cells)} |"


def _plain(text: str) -> str:
    """Text as text, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
