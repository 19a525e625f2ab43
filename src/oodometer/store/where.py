"""Where: conditions on rows such as "day >= 2026-11-01", as they are written, and the columns that they are about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ..errors import InputError, UnknownColumnError, UsageError, near_names
from ..fields import FIELDS
from .columns import Kind, Layout

__all__ = ["Condition", "Value", "bound", "names_in", "no_such_column", "none_left", "parse_where", "said"]

_SIGNS = {"=": "equal", "==": "equal", "!=": "not_equal", "<>": "not_equal"}
_SIGNS |= {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
_COLUMN = r'(?:"(?P<quoted>[^"]+)"|(?P<bare>[^<>=!"\'()]+?))'
_COMPARED = re.compile(rf"\s*{_COLUMN}\s*(?P<sign>==|=|!=|<>|<=|>=|<|>)\s*(?P<value>.*?)\s*", re.DOTALL)
_AMONG = re.compile(rf"\s*{_COLUMN}\s+(?i:in)\s*\((?P<values>.*)\)\s*", re.DOTALL)
_VALUE = re.compile(r"""\s*(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)"|([^'",()]+?))\s*(?:,|$)""")
_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][-+]?\d+)?|[-+]?\.\d+(?:[eE][-+]?\d+)?")
_REMEDY = 'such as "day >= 2026-11-01", "score < 0.5", "site = \'a b\'" or "site in (a, b)"'


@dataclass(frozen=True)
class Value:
    """A value as it is written; in quotes it is a text, whatever it reads like."""

    text: str
    quoted: bool = False

    @property
    def number(self) -> int | float | None:
        """The number that it is, if it is one."""
        if self.quoted or not _NUMBER.fullmatch(self.text):
            return None
        return int(self.text) if re.fullmatch(r"[-+]?\d+", self.text) else float(self.text)


@dataclass(frozen=True)
class Condition:
    """A column, a comparison (of `pyarrow.compute`, or "is_in") and the values to compare with; ``text`` as written.

    ``kind`` is what the cells are read as, once the file's columns are known; None before.
    """

    column: str
    sign: str
    values: tuple[Value, ...]
    text: str
    kind: Kind | None = None
    allowed: ClassVar[tuple[str, ...]] = ("any", "raw", "text", "number", "class", "truth", "time")

    @property
    def ordered(self) -> bool:
        """Whether it asks for more than equality."""
        return self.sign in ("less", "less_equal", "greater", "greater_equal")


def parse_where(given: str | Sequence[str] | None) -> tuple[Condition, ...]:
    """The conditions that are written; a row is left where all hold. `UsageError` for what is none.

    >>> [one] = parse_where("site in (a, 'b, c')")
    >>> one.column, one.sign, [value.text for value in one.values]
    ('site', 'is_in', ['a', 'b, c'])
    >>> parse_where("day = ")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a condition such as "day >= 2026-11-01", ... got 'day = '
    """
    texts = [given] if isinstance(given, str) else list(given or ())
    return tuple(_parsed(text) for text in texts)


def _parsed(text: str) -> Condition:
    among, compared = _AMONG.fullmatch(text), _COMPARED.fullmatch(text)
    found = among or compared
    values = _values(among["values"]) if among else _values(compared["value"]) if compared else []
    if found is None or not values or (among is None and len(values) > 1):
        raise UsageError(f"expected a condition {_REMEDY}, got {text!r}")
    column = found["quoted"] or found["bare"].strip()
    sign = "is_in" if among else _SIGNS[found["sign"]]
    return Condition(column, sign, tuple(values), " ".join(text.split()))


def _values(text: str) -> list[Value]:
    """Values between commas; none where one is missing or its quotes stay open."""
    out, at = [], 0
    while at < len(text):
        match = _VALUE.match(text, at)
        if match is None:
            return []
        single, double, bare = match.groups()
        quoted = single.replace("''", "'") if single is not None else double and double.replace('""', '"')
        out.append(Value(bare, False) if bare is not None else Value(quoted or "", True))
        at = match.end()
    return [] if text.rstrip().endswith(",") else out


def said(where: Iterable[Condition]) -> str:
    """The conditions in a sentence.

    >>> said(parse_where(["a > 1", "b = x"]))
    'a > 1 and b = x'
    """
    return " and ".join(one.text for one in where)


def bound(where: Iterable[Condition], layout: Layout, file: str | None) -> tuple[Condition, ...]:
    """The conditions with the file's own names of columns, and what their cells are read as.

    Raises `UnknownColumnError` for a column that is not there, `UsageError` for one that has no cell of its own a row.
    """
    place = f"{file}: " if file else ""
    feeds = {column: feed for feed in layout.feeds.values() for column in feed.columns}
    out = []
    for one in where:
        theirs = layout.where.get(one.column)
        if theirs is None:
            raise no_such_column(one, layout.columns, place)
        kind: Kind = feeds[theirs].kind if theirs in feeds else "any"
        if kind not in Condition.allowed:
            raise UsageError(f"{place}the column {one.column} holds lists, which {one.text!r} cannot be asked of")
        out.append(replace(one, column=theirs, kind="any" if kind == "raw" else kind))
    return tuple(out)


def no_such_column(one: Condition, columns: Sequence[str], place: str) -> UnknownColumnError:
    """The error about a condition on a column that is not there."""
    near = near_names(one.column, columns)
    meant = f"did you mean {near[0]}? " if near else ""
    message = f"{place}there is no column {one.column} for the condition {one.text!r}; {meant}"
    shown = ", ".join(columns[:12])
    return UnknownColumnError(one.column, f"{message}its columns are {shown}", near[0] if near else None)


def none_left(where: Iterable[Condition], file: str | None, among: str = "") -> InputError:
    """The error where no row is left."""
    return InputError(
        f"rows where {said(where)}", got=f"none{among}", file=file, remedy="check the conditions of --where"
    )


def names_in(where: Iterable[Condition], mapping: Mapping[str, str] | None) -> list[Condition]:
    """The conditions with the file's own names of columns, as far as renaming alone tells them, before it is opened."""
    renamed = dict(mapping or {})
    theirs = {ours: own for own, ours in renamed.items()}
    out = []
    for one in where:
        field = FIELDS.get(renamed.get(one.column, one.column))
        kind = None if field is None else field.kind
        out.append(replace(one, column=theirs.get(one.column, one.column), kind=kind))
    return out
