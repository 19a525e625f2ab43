"""Markdown: the card of a result as text that a ticket, a wiki or a pull request shows as headings and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .cards import Grid, card_of

_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~])")


def markdown_of(found: Any) -> str:
    """The card of a result as Markdown; what would be markup in a name is escaped."""
    card = card_of(found)
    lines = [f"# {_plain(card.title)}: {_plain(card.number)}", ""]
    if card.interval:
        trust = "" if card.trust is None else f"; trust: **{_plain(card.trust)}**"
        lines += [f"{_plain(card.interval)}{trust}", ""]
    lines += [f"> **Warning:** {_plain(one)}\n" for one in card.warnings]
    lines += [f"- {_plain(one)}" for one in card.lines]
    lines += [f"- Seed of folds, samples and draws: {one}" for one in [getattr(found, "seed", None)] if one is not None]
    for grid in card.grids:
        lines += ["", f"## {_plain(grid.title[:1].upper() + grid.title[1:])}", "", *_table(grid)]
    return "\n".join(lines).rstrip() + "\n"


def _table(grid: Grid) -> list[str]:
    rule = ["---" if j in grid.words else "--:" for j in range(len(grid.columns))]
    return [_row(grid.columns), f"| {' | '.join(rule)} |", *(_row(row) for row in grid.rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_plain(str(cell)) for cell in cells)} |"


def _plain(text: str) -> str:
    """Text as text, on one line.

    >>> _plain("a|b <i> `x`")
    'a\\\\|b \\\\<i\\\\> \\\\`x\\\\`'
    """
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
