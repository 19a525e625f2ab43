"""Filters: numbers as the templates write them, each a `<data>` element that carries the number unrounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup, escape

from .numbers import (
    DASH,
    MISSING,
    basename,
    cutoff,
    digits,
    finite,
    given,
    number,
    p_value,
    percent,
    percent_range,
    rows_text,
    short,
    threshold,
)
from .words import apart, capital, measured, sentence, signed_points

__all__ = ["FILTERS"]


def _data(value: Any, text: str) -> Markup:
    """The text as an element that carries the unrounded number, for machines and for a hover."""
    if finite(value) is None:
        return escape(text)
    return Markup('<data value="{}">{}</data>').format(repr(value), text)


def _range(interval: Mapping[str, Any], decimals: int | None = None) -> Markup:
    """Both ends of an interval in percent, each as a `<data>` element."""
    lower, upper = finite(interval.get("lower")), finite(interval.get("upper"))
    if lower is None or upper is None:
        return Markup(MISSING)
    text = percent_range(lower, upper, digits(interval) if decimals is None else decimals)
    first, last = text.split(DASH, 1) if text.count(DASH) == 1 else (percent(lower), percent(upper))
    return _data(lower, first) + DASH + _data(upper, last)


def _number_range(interval: Mapping[str, Any], decimals: int = 4) -> Markup:
    lower, upper = interval.get("lower"), interval.get("upper")
    if finite(lower) is None or finite(upper) is None:
        return Markup(MISSING)
    dash = DASH if lower is not None and lower >= 0 else " to "  # beside a minus a dash would read as one more
    return _data(lower, number(lower, decimals)) + dash + _data(upper, number(upper, decimals))


def _signed(value: Any) -> str:
    """A difference with its sign and four decimals."""
    return f"{value:+.4f}".replace("-", "\N{MINUS SIGN}")


def _ends(interval: Mapping[str, Any], share: bool = False) -> str:
    """Both ends of an interval as bare text, for tables so large that elements around each end would swell the page."""
    lower, upper = finite(interval.get("lower")), finite(interval.get("upper"))
    if lower is None or upper is None:
        return MISSING
    if share:
        return percent_range(lower, upper, digits(interval))
    return f"{number(lower)}{DASH}{number(upper)}" if lower >= 0 else f"{number(lower)} to {number(upper)}"


def _span(interval: Mapping[str, Any]) -> Markup:
    """Both ends of an interval that may lie below 0, as words: a dash between would read as a minus."""
    lower, upper = interval.get("lower"), interval.get("upper")
    if finite(lower) is None or finite(upper) is None:
        return Markup(MISSING)
    return escape(f"{_signed(lower)} to {_signed(upper)}")


FILTERS: dict[str, Any] = {
    "apart": apart,
    "capital": capital,
    "measured": measured,
    "sentence": sentence,
    "signed_points": signed_points,
    "short": short,
    "basename": basename,
    "pct": lambda value, decimals=1: _data(value, percent(value, decimals)),
    "pct_of": lambda interval: _data(interval.get("value"), percent(interval.get("value"), digits(interval))),
    "range": _range,
    "num": lambda value, decimals=3: _data(value, number(value, decimals)),
    "num_range": _number_range,
    "ends": _ends,
    "span": _span,
    "gap": lambda value: _data(value, _signed(value)),
    "threshold": lambda value: _data(value, threshold(value)),
    "cutoff": lambda value: _data(value, cutoff(value)),
    "given": lambda value: _data(value, given(value)),
    "p_value": lambda value: _data(value, p_value(value)),
    "rows": lambda value: _data(value, rows_text(value)),
}
"""Filters of the templates, by name."""
