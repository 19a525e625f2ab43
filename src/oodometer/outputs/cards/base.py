"""Base of cards: one number, a few lines, points of a small chart, tables; words still to be escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...results import percent
from ..tables.base import ends


@dataclass(frozen=True)
class Point:
    """A number of the small chart, in the order of time; ``truth`` where it is known."""

    name: str
    value: float
    lower: float
    upper: float
    truth: float | None = None
    alarm: bool = False


@dataclass(frozen=True)
class Grid:
    """A table of text; ``folded`` where it may wait until somebody asks, ``words``: columns that are no numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    folded: bool = False
    words: frozenset[int] = frozenset((0,))
    marked: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Card:
    """What a result says at a glance.

    Parameters
    ----------
    title : what the number is. number : as text, in large letters. interval : its interval, level and kind.
    trust : high, low or none; None where the result tells no trust. lines : sentences. points : of a small chart, and
    ``line``, a level to hold them against, called ``line_name``. grids : tables. warnings : to read first.
    """

    title: str
    number: str
    interval: str = ""
    trust: str | None = None
    lines: tuple[str, ...] = ()
    points: tuple[Point, ...] = ()
    line: float | None = None
    line_name: str = ""
    grids: tuple[Grid, ...] = ()
    warnings: tuple[str, ...] = ()


def interval_text(one: Any) -> str:
    """Ends, level and kind of an interval of a share.

    >>> from oodometer.results import Interval
    >>> interval_text(Interval(0.8, 0.7, 0.9, 0.95, "exact"))
    '70.0 % to 90.0 %, 95 % exact interval'
    """
    return f"{percent(one.lower)} to {percent(one.upper)}, {percent(one.level, None)} {one.kind} interval"


def numbers(one: Any, *, share: bool = True) -> list[str]:
    """Cells of a number and the ends of its interval; empty ones without it.

    >>> numbers({"value": 0.5, "lower": 0.25, "upper": 0.75}), numbers(None)
    (['50.0 %', '25.0 %', '75.0 %'], ['', '', ''])
    """
    found = ends(one)
    cells = [found[name] for name in ("value", "lower", "upper")]
    return ["" if cell is None else percent(cell) if share else f"{cell:.4f}" for cell in cells]


def sentence(text: str) -> str:
    """Text with a capital letter before it and its spaces counted once.

    >>> sentence("  rests on: luck")
    'Rests on: luck'
    """
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]
