"""Filters: numbers as the templates write them, each a `<data>` element that carries the number unrounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup, escape

from .numbers import (
    DASH,
    MISSING,
    basename,
    digits,
    finite,
    number,
    p_value,
    percent,
    percent_range,
    rows_text,
    short,
    threshold,
)
from .words import capital, measured, sentence, signed_points

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


def _number_range(interval: Mapping[str, Any]) -> Markup:
    lower, upper = interval.get("lower"), interval.get("upper")
    if finite(lower) is None or finite(upper) is None:
        return Markup(MISSING)
    return _data(lower, number(lower, 4)) + DASH + _data(upper, number(upper, 4))


FILTERS: dict[str, Any] = {
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
    "threshold": lambda value: _data(value, threshold(value)),
    "p_value": lambda value: _data(value, p_value(value)),
    "rows": lambda value: _data(value, rows_text(value)),
}
"""Filters of the templates, by name."""
