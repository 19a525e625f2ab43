"""Where conditions hold: cells of a column, and what the folders of a file say, asked one condition at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array
from ..errors import InputError, UsageError
from .cells import dictionary, first_true, numbers_of, plain, time_cells, truth_cells
from .where import ISO, NUMBER, ZONED, Condition, Value

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
