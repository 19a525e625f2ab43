"""Where: conditions on rows such as "day >= 2026-11-01 and score < 0.5", and the columns that they are about.

    where      = condition { "and" condition }
    condition  = column ( "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) value
               | column [ "not" ] "in" "(" value { "," value } ")"
    column     = word | a name in double quotes
    value      = number | date or time in ISO 8601 | word | a text in single or double quotes

A word is letters, digits and ``_ . : + - / @``. Anything else is refused at the character where it stands. No condition
holds of an empty cell (null, NaN). Cells that are dates, as times or as text, are compared with dates alone; a time
without a zone is one of UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array
from ..errors import InputError, UnknownColumnError, UsageError, near_names
from ..fields import FIELDS
from .cells import dictionary, first_true, numbers_of, plain, time_cells, truth_cells
from .columns import Kind, Layout

_SIGNS = {"=": "equal", "==": "equal", "!=": "not_equal", "<>": "not_equal"}
_SIGNS |= {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
ISO = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}(?::[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?)?"
)
ZONED = r":.*(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)$"
_DATE = re.compile(ISO)
_TOKEN = re.compile(
    rf"""\s*(?:(?P<single>'(?:[^']|'')*')|(?P<double>"(?:[^"]|"")*")|(?P<date>{ISO}(?![\w.:+/@-]))
    |(?P<word>[\w.:+/@-]+)|(?P<sign>[<>=!]+)|(?P<mark>[(),])|(?P<other>&+|\|+|\S))""",
    re.VERBOSE,
)
NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|[-+]?\.[0-9]+(?:[eE][-+]?[0-9]+)?")
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

    @property
    def time(self) -> Any:
        """The time of UTC that it is, as a scalar of Arrow; None where it is none in ISO 8601."""
        import pyarrow as pa

        text = self.text.strip()
        if not _DATE.fullmatch(text):
            return None
        try:
            times = pa.array([text]).cast(pa.timestamp("us", tz="UTC" if re.search(ZONED, text) else None))
        except pa.ArrowInvalid:  # the 30th of February
            return None
        return times.cast(pa.timestamp("us"))[0]


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
    """The conditions that are written; a row is left where all hold.

    Raises `UsageError`, with the character from 1, for what is no condition.

    >>> one, other = parse_where("site in (a, 'b, c') and day >= 2026-11-01")
    >>> one.column, one.sign, [value.text for value in one.values], other.text
    ('site', 'is_in', ['a', 'b, c'], 'day >= 2026-11-01')
    >>> parse_where("day > 1 && x < 2")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a condition ... got 'day > 1 && x < 2': '&&' at character 9 is not understood;
    conditions are joined by "and", or by --where given again
    """
    texts = [given] if isinstance(given, str) else list(given or ())
    return tuple(one for text in texts for one in _parsed(text))


def _parsed(text: str) -> list[Condition]:
    """The conditions of one text, from left to right."""
    tokens = [match for match in _TOKEN.finditer(text) if match.lastgroup]
    at = 0

    def refused(meant: str) -> UsageError:
        here = (
            f"{tokens[at].group().strip()!r} at character {tokens[at].start(tokens[at].lastgroup or 0) + 1}"
            if (at < len(tokens))
            else "the end"
        )
        return UsageError(f"expected a condition {_EXAMPLES}, got {text!r}: {here} is not understood; {meant}")

    def word(*words: str) -> bool:
        return at < len(tokens) and (tokens[at]["word"] or tokens[at]["mark"] or "").lower() in words

    def value() -> Value:
        nonlocal at
        kind = tokens[at].lastgroup if at < len(tokens) else None
        if kind not in ("single", "double", "date", "word") or word("and", "or", "not", "in"):
            raise refused("a value is expected: a number, a date such as 2026-11-01, a word, or a text in quotes")
        written, at = tokens[at][kind], at + 1
        if kind in ("single", "double"):
            return Value(written[1:-1].replace(2 * written[0], written[0]), True)
        return Value(written)

    out: list[Condition] = []
    while True:
        first = at
        if at == len(tokens) or tokens[at].lastgroup not in ("word", "double") or word("and", "or", "not"):
            raise refused("the name of a column is expected, in double quotes where it is no single word")
        column = tokens[at]["word"] or tokens[at]["double"][1:-1].replace('""', '"')
        at += 1
        unlike = word("not")
        at += unlike
        if word("in"):
            at += 1
            if not word("("):
                raise refused('values are expected in brackets, "site in (a, b)"')
            values: list[Value] = []
            while not word(")"):
                if values and not word(","):
                    raise refused("a comma or the closing bracket is expected; put texts of other signs in quotes")
                at += 1
                values.append(value())
            at += 1
            sign = "is_in"
        else:
            sign = _SIGNS.get("" if at == len(tokens) or unlike else tokens[at]["sign"] or "", "")
            if not sign:
                raise refused("one of = != < <= > >= in is expected; a column of several words is put in double quotes")
            at += 1
            values = [value()]
        written = " ".join(text[tokens[first].start() : tokens[at - 1].end()].split())
        if unlike:
            out += [Condition(column, "not_equal", (one,), written) for one in values]
        else:
            out.append(Condition(column, sign, tuple(values), written))
        if at == len(tokens):
            return out
        if not word("and"):
            several = "several values of one column are asked for by in (a, b)" if word("or") else None
            joined = 'conditions are joined by "and", or by --where given again'
            quotes = "a text of several words or other signs is put in quotes"
            raise refused(several or (joined if tokens[at]["other"] in ("&", "&&", ";") else f"{joined}; {quotes}"))
        at += 1


def said(where: Iterable[Condition]) -> str:
    """The conditions in a sentence.

    >>> said(parse_where(["a > 1", "b not in (x, y)"]))
    'a > 1 and b not in (x, y)'
    """
    return " and ".join(dict.fromkeys(one.text for one in where))


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
        refuse_columns(one, layout.where, place)
        kind: Kind = feeds[theirs].kind if theirs in feeds else "any"
        if kind not in Condition.allowed:
            raise UsageError(f"{place}the column {one.column} holds lists, which {one.text!r} cannot be asked of")
        out.append(replace(one, column=theirs, kind="any" if kind == "raw" else kind))
    return tuple(out)


def refuse_columns(one: Condition, columns: Iterable[str], place: str) -> None:
    """Raise `UsageError` where a value is the name of a column: cells are not compared with other cells."""
    other = next((value.text for value in one.values if not value.quoted and value.text in columns), None)
    if other is not None:
        raise UsageError(
            f"{place}{other} is a column, and a condition compares a column with values, got {one.text!r}; "
            f"put it in quotes where the text is meant: '{other}'"
        )


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


_TRUTHS = {"true": True, "false": False}
# dates as people write them, which cannot be told apart from one another: 1.2.2026, 2026/02/01, 20260201, Feb 1
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_OTHER_DATE = re.compile(
    rf"[0-9]{{1,4}}([./-])[0-9]{{1,2}}(?:\1[0-9]{{1,4}})?(?:[T ].*)?|(?:.*[0-9 ])?(?:{_MONTHS})[a-z]*[. ]*[0-9].*"
    rf"|[0-9]{{1,2}}[. -]*(?:{_MONTHS}).*|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}.*|now|today|yesterday|tomorrow",
    re.IGNORECASE,
)


def cells_held(array: Any, one: Condition, text: bool = False, written_as: Any = None, comma: bool = False) -> Array:
    """Where a condition holds, shape (sample,): nowhere where the cell is empty.

    ``text`` says that the format writes all cells as text, ``written_as`` what their column is then, and ``comma`` that
    its numbers have a decimal comma. Raises `UsageError` for a value of another type than the column, and `InputError`
    for a cell that is no date where the others are compared as dates.

    >>> from oodometer.store.where import parse_where
    >>> cells_held(pa.array([1, None, 3]), parse_where("x != 1")[0]).tolist()
    [False, False, True]
    >>> cells_held(pa.array(["2026-01-09", "2026-01-10T12:00"]), parse_where("day > 2026-01-10")[0]).tolist()
    [False, True]
    """
    import pyarrow.compute as pc

    cells = _comparable(plain(array), one, text, written_as, comma)
    if pt.is_null(cells.type):
        return np.zeros(len(cells), dtype=bool)
    as_text = pt.is_string(cells.type) or pt.is_large_string(cells.type)
    if as_text and one.kind == "class":
        if one.ordered:
            whole = pc.all(pc.match_substring_regex(cells, "^-?[0-9]+$")).as_py()  # true where no cell is there
            if one.values[0].number is None or not whole:
                raise UsageError(f"classes that are texts are compared by = and != and in, got {one.text!r}")
            return cells_held(cells.cast(pa.int64()), replace(one, kind="any"))
        names = dictionary(pa.array([value.text for value in one.values]), one.column, text).values
        found = pc.is_in(cells, value_set=pa.array([None if name is None else str(name) for name in names], cells.type))
        found = pc.invert(found) if one.sign == "not_equal" else found
    elif as_text:
        found = _texts_held(cells, one)
    else:
        values = [_scalar_of(value, cells.type, one) for value in one.values]
        if one.sign == "is_in":
            found = pc.is_in(cells, value_set=pa.array([value.as_py() for value in values], cells.type))
        else:
            found = getattr(pc, one.sign)(cells, values[0])
        if pt.is_floating(cells.type):
            found = pc.and_not(found, pc.is_nan(cells))  # as empty as null is
    found = pc.and_(found.fill_null(False), cells.is_valid())
    return np.asarray(numbers_of(found.cast(pa.uint8())) > 0)


def _comparable(array: Any, one: Condition, text: bool, written_as: Any, comma: bool) -> Any:
    """The cells as numbers, texts, truth values or times of UTC."""
    column, kind = one.column, one.kind
    if kind == "time":
        return pa.array(time_cells(array, column))
    if kind == "truth":
        verdicts = truth_cells(array, column)
        return pa.array(verdicts == 1, mask=np.isnan(verdicts))
    if kind == "class" and text:
        coded = dictionary(array, column, text)
        names: Array = np.array([*(None if v is None else str(v) for v in coded.values), None], dtype=object)
        return pa.array(names[coded.codes], pa.string())
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if text and pt.is_string(array.type) and kind == "number":
        written_as = pa.float64()
    if text and pt.is_string(array.type) and written_as is not None and not pt.is_string(written_as):
        if comma:
            import pyarrow.compute as pc

            array = pc.replace_substring(array, ",", ".")
        array = array.cast(written_as)
    if pt.is_boolean(array.type) and kind == "number":
        array = array.cast(pa.uint8())
    if pt.is_timestamp(array.type) or pt.is_date(array.type):
        return pa.array(time_cells(array, column))
    if pt.is_decimal(array.type) or pt.is_float16(array.type):
        return array.cast(pa.float64())
    known = (pt.is_integer, pt.is_floating, pt.is_boolean, pt.is_string, pt.is_large_string, pt.is_null)
    if not any(is_type(array.type) for is_type in known):
        raise UsageError(f"the column {column} holds cells of type {array.type}, which {one.text!r} cannot be asked of")
    return array


def _texts_held(cells: Any, one: Condition) -> Any:
    """Where a condition holds of texts: of those that are dates as dates, of true and false in any case of letters."""
    import pyarrow.compute as pc

    times = _times_of(cells)
    wanted = [value.time for value in one.values]
    if one.ordered:
        [value], [time] = one.values, wanted
        if time is not None:
            lacking = pc.and_(times.is_null(), cells.is_valid())
            if pc.any(lacking).as_py():
                row = first_true(lacking.to_numpy(zero_copy_only=False))
                raise InputError(
                    f"a date or time in ISO 8601, which {one.text!r} asks of every cell",
                    got=repr(cells[row].as_py()),
                    row=row + 1,
                    column=one.column,
                    remedy="write the column as 2026-01-31 or 2026-01-31T12:00:00, empty where there is none",
                )
            return getattr(pc, one.sign)(times, time)
        _refuse_others(cells, times, one, value, dated=times.null_count < len(times))
        return getattr(pc, one.sign)(cells, pa.scalar(value.text, cells.type))
    found = pa.array(np.zeros(len(cells), dtype=bool))
    for value, time in zip(one.values, wanted, strict=True):
        if time is None:
            _refuse_others(cells, times, one, value, dated=False)
        truth = value.text.lower() in _TRUTHS
        same = pc.equal(pc.utf8_lower(cells) if truth else cells, value.text.lower() if truth else value.text)
        if time is not None:
            same = pc.or_(same, pc.equal(times, time).fill_null(False))
        found = pc.or_(found, same)
    return pc.invert(found) if one.sign == "not_equal" else found


def _refuse_others(cells: Any, times: Any, one: Condition, value: Value, dated: bool) -> None:
    """Raise `UsageError` for a number, or for a date that is not in ISO 8601 or stands beside cells that are dates."""
    if value.number is not None:
        other = next((repr(c) for c in cells.drop_null().to_pylist() if not NUMBER.fullmatch(c.strip())), "")
        example = f" such as {other}" if other else ""
        quoted = one.text.replace(value.text, f"'{value.text}'", 1) if value.text not in one.column else value.text
        raise _another(one, f"texts{example}", value, f"; put a text in quotes: {quoted}")
    if dated or (_OTHER_DATE.fullmatch(value.text.strip()) and (one.ordered or times.null_count < len(times))):
        holds = "dates" if times.null_count < len(times) else "texts that are no dates in ISO 8601"
        raise _another(one, holds, value, "; write dates as 2026-01-31 or 2026-01-31T12:00:00")


def _times_of(cells: Any) -> Any:
    """Texts that are dates or times in ISO 8601 as times of UTC, null where they are none."""
    import pyarrow.compute as pc

    texts = pc.utf8_trim_whitespace(cells)
    dates, zoned = pc.match_substring_regex(texts, f"^{ISO}$"), pc.match_substring_regex(texts, ZONED)
    nothing, local, utc = pa.scalar(None, texts.type), pa.timestamp("us"), pa.timestamp("us", tz="UTC")
    try:
        plainly = pc.if_else(pc.and_not(dates, zoned), texts, nothing).cast(local)
        return pc.coalesce(plainly, pc.if_else(pc.and_(dates, zoned), texts, nothing).cast(utc).cast(local))
    except pa.ArrowInvalid:  # a day that is in no calendar: cell by cell
        return pa.array([None if text is None else Value(text).time for text in texts.to_pylist()], local)


def _scalar_of(value: Value, kind: Any, one: Condition) -> Any:
    """A value as a scalar that numbers, truth values or times are compared with; `UsageError` where it is another."""
    number = value.number
    if pt.is_boolean(kind):
        truth = _TRUTHS.get(value.text.lower()) if number not in (0, 1) else bool(number)
        if truth is None or value.quoted:
            raise _another(one, "true and false", value, "; write it as true or false, without quotes")
        return pa.scalar(truth)
    if pt.is_temporal(kind):
        if value.time is None:
            raise _another(one, "times", value, "; write them as ISO 8601, 2026-01-31 or 2026-01-31T12:00:00")
        return value.time
    if number is None:
        raise _another(one, "numbers", value)
    if pt.is_floating(kind):
        return pa.scalar(float(number), kind)  # 0.7 of a column of 32 bits is its own 0.7
    try:
        return pa.scalar(number, kind if pt.is_uint64(kind) and isinstance(number, int) and number >= 0 else None)
    except (pa.ArrowException, OverflowError):
        raise _another(one, "numbers of 64 bits", value) from None


def _another(one: Condition, holds: str, value: Value, remedy: str = "") -> UsageError:
    return UsageError(
        f"the column {one.column} holds {holds}, got {value.text!r} in the condition {one.text!r}{remedy}"
    )


def partition_holds(where: Iterable[Condition], values: Mapping[str, Any]) -> bool:
    """Whether rows in a folder that says these values may be left; what it does not say may always be.

    >>> from oodometer.store.where import parse_where
    >>> [partition_holds([one], {"day": "2026-11-01"}) for one in parse_where(["day > 2026-10-31", "day = x", "a = b"])]
    [True, False, True]
    """
    return all(
        bool(cells_held(pa.array([value], pa.int64() if isinstance(value, int) else pa.string()), one)[0])
        for one in where
        if one.column in values
        for value in [values[one.column]]
    )
