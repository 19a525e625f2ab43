"""Where: conditions on rows such as "day >= 2026-11-01 and score < 0.5", and the columns that they are about.

    where      = condition { "and" condition }
    condition  = column ( "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) value
               | column [ "not" ] "in" "(" value { "," value } ")"
    column     = word | a name in double quotes
    value      = number | date or time in ISO 8601 | word | a text in single or double quotes

A word is letters, digits and ``_ . : + - / @``. Anything else is refused at the character where it stands. No condition
holds of an empty cell (null, NaN). Cells that are dates, as times or as text, are compared with dates alone; a time
without a zone is of the clock of ``--timezone``, else of UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..errors import InputError, UnknownColumnError, UsageError
from ..fields import FIELDS
from .columns import IN_UTC, Kind, Layout, TimeFormat, unknown_column

_SIGNS = {"=": "equal", "==": "equal", "!=": "not_equal", "<>": "not_equal"}
_SIGNS |= {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
ISO = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}(?::[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?)?"
)
_DATE = re.compile(ISO)
_TOKEN = re.compile(
    rf"""\s*(?:(?P<single>'(?:[^']|'')*')|(?P<double>"(?:[^"]|"")*")|(?P<date>{ISO}(?![\w.:+/@-]))
    |(?P<word>[\w.:+/@-]+)|(?P<sign>[<>=!]+)|(?P<mark>[(),])|(?P<other>&+|\|+|\S))""",
    re.VERBOSE,
)
NUMBER = re.compile(
    r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|[-+]?\.[0-9]+(?:[eE][-+]?[0-9]+)?"
)
_EXAMPLES = 'such as "day >= 2026-11-01", "score < 0.5 and site = \'a b\'" or "site in (a, b)"'


@dataclass(frozen=True)
class Value:
    """A value as it is written; in quotes it is a text or a date, but no number."""

    text: str
    quoted: bool = False

    @property
    def number(self) -> int | float | None:
        """The number that it is, if it is one."""
        if self.quoted or not NUMBER.fullmatch(self.text):
            return None
        return int(self.text) if re.fullmatch(r"[-+]?[0-9]+", self.text) else float(self.text)

    def time(self, zone: str = "") -> np.datetime64 | None:
        """The instant of UTC that it is, by the clock of a zone where it names no other; None where it is none in ISO
        8601.
        """
        if not _DATE.fullmatch(text := self.text.strip()):
            return None
        from .cells import lone_cell
        from .times import iso_times

        [time] = iso_times(lone_cell(text), zone)
        return None if np.isnat(time) else time  # the 30th of February


@dataclass(frozen=True)
class Condition:
    """A column, a comparison (of `pyarrow.compute`, or "is_in") and the values to compare with; ``text`` as written.

    ``kind`` is what the cells are read as, once the file's columns are known; None before. ``times`` says how times are
    written, and whose clock those without a zone are of.
    """

    column: str
    sign: str
    values: tuple[Value, ...]
    text: str
    kind: Kind | None = None
    times: TimeFormat = IN_UTC
    allowed: ClassVar[tuple[str, ...]] = ("any", "raw", "text", "number", "class", "truth", "time")

    @property
    def ordered(self) -> bool:
        """Whether it asks for more than equality."""
        return self.sign in ("less", "less_equal", "greater", "greater_equal")


def parse_where(
    conditions: str | Sequence[str] | None, times: TimeFormat = IN_UTC
) -> tuple[Condition, ...]:
    """The conditions that are written, all of which hold of a row that is left; `UsageError` names the character from
    1.
    """
    texts = [conditions] if isinstance(conditions, str) else list(conditions or ())
    return tuple(replace(c, times=times) for text in texts for c in _Parser(text).conditions())


_WORD = re.compile(r"(?!(?:and|or|not|in)$)[\w.:+/@-]+")


def equal_to(column: str, value: str) -> str:
    """The condition that a column holds a value, with quotes where they are needed.

    >>> equal_to("split", "test")
    'split == test'
    >>> print(equal_to("Data Split", "hold out"))
    "Data Split" == 'hold out'
    """
    named = column if _WORD.fullmatch(column) else '"' + column.replace('"', '""') + '"'
    text = value if _WORD.fullmatch(value) else "'" + value.replace("'", "''") + "'"
    return f"{named} == {text}"


class _Parser:
    """Reads the conditions of one text from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._tokens = [match for match in _TOKEN.finditer(text) if match.lastgroup]

    def conditions(self) -> list[Condition]:
        """All conditions of the text."""
        out = self._condition()
        while self._at < len(self._tokens):
            if not self._takes("and"):
                raise self._refused(self._joined())
            out += self._condition()
        return out

    def _condition(self) -> list[Condition]:
        """A name, a sign and its values; of "not in" a condition for each value."""
        first = self._at
        column = self._column()
        unlike = self._takes("not")
        if self._takes("in"):
            sign, values = "is_in", self._listed()
        else:
            sign, values = self._sign(is_allowed=not unlike), [self._value()]
        start, end = self._tokens[first].start(), self._tokens[self._at - 1].end()
        written = " ".join(self._text[start:end].split())
        if unlike:
            return [Condition(column, "not_equal", (value,), written) for value in values]
        return [Condition(column, sign, tuple(values), written)]

    def _column(self) -> str:
        if self._kind() not in ("word", "double") or self._is("and", "or", "not"):
            raise self._refused(
                "the name of a column is expected, in double quotes where it is no single word"
            )
        token = self._next()
        return token["word"] or token["double"][1:-1].replace('""', '"')

    def _sign(self, *, is_allowed: bool) -> str:
        sign = ""
        if is_allowed and self._kind() == "sign":
            sign = _SIGNS.get(self._tokens[self._at]["sign"], "")
        if not sign:
            raise self._refused(
                "one of = != < <= > >= in is expected; a column of several words is put in double quotes"
            )
        self._at += 1
        return sign

    def _listed(self) -> list[Value]:
        """Values in brackets."""
        if not self._is("("):
            raise self._refused('values are expected in brackets, "site in (a, b)"')
        values: list[Value] = []
        while not self._takes(")"):
            if values and not self._is(","):
                raise self._refused(
                    "a comma or the closing bracket is expected; put texts of other signs in quotes"
                )
            self._at += 1
            values.append(self._value())
        return values

    def _value(self) -> Value:
        kind = self._kind()
        if kind not in ("single", "double", "date", "word") or self._is("and", "or", "not", "in"):
            raise self._refused(
                "a value is expected: a number, a date such as 2026-11-01, a word, or a text in quotes"
            )
        written = self._next()[kind]
        if kind in ("single", "double"):
            return Value(written[1:-1].replace(2 * written[0], written[0]), True)
        return Value(written)

    def _kind(self) -> str | None:
        """What comes next; None at the end."""
        return self._tokens[self._at].lastgroup if self._at < len(self._tokens) else None

    def _next(self) -> re.Match[str]:
        self._at += 1
        return self._tokens[self._at - 1]

    def _is(self, *words: str) -> bool:
        """Whether one of these words or marks comes next."""
        kind = self._kind()
        return kind in ("word", "mark") and self._tokens[self._at][kind].lower() in words

    def _takes(self, word: str) -> bool:
        is_next = self._is(word)
        self._at += is_next
        return is_next

    def _joined(self) -> str:
        """How conditions are joined, where they are not."""
        if self._is("or"):
            return "several values of one column are asked for by in (a, b)"
        joined = 'conditions are joined by "and", or by --where given again'
        if self._tokens[self._at]["other"] in ("&", "&&", ";"):
            return joined
        return f"{joined}; a text of several words or other signs is put in quotes"

    def _refused(self, meant: str) -> UsageError:
        location = "the end"
        if (kind := self._kind()) is not None:
            token = self._tokens[self._at]
            location = f"{token.group().strip()!r} at character {token.start(kind) + 1}"
        return UsageError(
            f"expected a condition {_EXAMPLES}, got {self._text!r}: {location} is not understood; {meant}"
        )


def said(where: Iterable[Condition]) -> str:
    """The conditions in a sentence."""
    return " and ".join(dict.fromkeys(condition.text for condition in where))


def bound(where: Iterable[Condition], layout: Layout, file: str | None) -> tuple[Condition, ...]:
    """The conditions with the file's own names of columns, and what their cells are read as. Raises
    `UnknownColumnError` for a column that is not there, `UsageError` for one that has no cell of its own a row.
    """
    prefix = f"{file}: " if file else ""
    feeds = {column: feed for feed in layout.feeds.values() for column in feed.columns}
    out = []
    for condition in where:
        theirs = layout.where.get(condition.column)
        if theirs is None:
            raise no_such_column(condition, layout.columns, prefix)
        refuse_columns(condition, layout.where, prefix)
        kind: Kind = feeds[theirs].kind if theirs in feeds else "any"
        if kind not in Condition.allowed:
            text = f"{prefix}the column {condition.column} holds lists, which {condition.text!r} cannot be asked of"
            raise UsageError(text)
        out.append(replace(condition, column=theirs, kind="any" if kind == "raw" else kind))
    return tuple(out)


def refuse_columns(condition: Condition, columns: Iterable[str], prefix: str) -> None:
    """Raise `UsageError` where a value is the name of a column: cells are not compared with other cells."""
    column = next(
        (value.text for value in condition.values if not value.quoted and value.text in columns),
        None,
    )
    if column is not None:
        raise UsageError(
            f"{prefix}{column} is a column, and a condition compares a column with values, got {condition.text!r}; "
            f"put it in quotes where the text is meant: '{column}'"
        )


def no_such_column(condition: Condition, columns: Sequence[str], prefix: str) -> UnknownColumnError:
    """The error about a condition on a column that is not there."""
    message = f"{prefix}there is no column {condition.column} for the condition {condition.text!r}"
    return unknown_column(condition.column, message, columns)


def none_left(where: Iterable[Condition], file: str | None, among: str = "") -> InputError:
    """The error where no row is left."""
    return InputError(
        f"rows where {said(where)}",
        got=f"none{among}",
        file=file,
        remedy="check the conditions of --where",
    )


def names_in(where: Iterable[Condition], mapping: Mapping[str, str] | None) -> list[Condition]:
    """The conditions with the file's own names of columns, as far as renaming alone tells them, before it is opened."""
    renamed = dict(mapping or {})
    theirs = {ours: name for name, ours in renamed.items()}
    out = []
    for condition in where:
        field = FIELDS.get(renamed.get(condition.column, condition.column))
        kind = None if field is None else field.kind
        out.append(
            replace(condition, column=theirs.get(condition.column, condition.column), kind=kind)
        )
    return out
