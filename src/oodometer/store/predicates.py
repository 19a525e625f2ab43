"""Predicates: of which cells of a column, or of which folders of files, a condition is true."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array
from ..errors import InputError, UsageError
from .cells import coded_cells, dictionary, first_true, lone_cell, numbers_of, plain, truth_cells
from .times import iso_times, time_cells
from .where import ISO, NUMBER, Condition, Value

_TRUTHS = {"true": True, "false": False}
# dates as people write them, which cannot be told apart from one another: 1.2.2026, 2026/02/01, 20260201, Feb 1
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_OTHER_DATE = re.compile(
    rf"[0-9]{{1,4}}([./-])[0-9]{{1,2}}(?:\1[0-9]{{1,4}})?(?:[T ].*)?|(?:.*[0-9 ])?(?:{_MONTHS})[a-z]*[. ]*[0-9].*"
    rf"|[0-9]{{1,2}}[. -]*(?:{_MONTHS}).*|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}.*|now|today|yesterday|tomorrow",
    re.IGNORECASE,
)


def matches(
    array: Any,
    condition: Condition,
    text: bool = False,
    written_as: Any = None,
    comma: bool = False,
) -> Array:
    """Where a condition is true, shape (sample,): nowhere where the cell is empty. ``text`` says that the format writes
    all cells as text, ``written_as`` what their column is then, ``comma`` that its numbers have a decimal comma. Texts
    are compared once for each distinct one. Raises `UsageError` for a value of another type than the column, and
    `InputError` for a cell that is no date where the others are.
    """
    array, kind, column = plain(array), condition.kind, condition.column
    if kind == "time":
        return _compared(time_cells(array, column, condition.times), condition)
    if kind == "truth":
        verdicts = truth_cells(array, column)
        return _compared(verdicts == 1, condition) & ~np.isnan(verdicts)
    if kind == "class" and text:
        coded = dictionary(array, column, text)
        names = [None if value is None else str(value) for value in coded.values]
        return _classes(names, condition, text)[coded.codes]
    array = _typed(array, pa.float64() if kind == "number" else written_as, text, comma)
    if pt.is_null(array.type):
        return np.zeros(len(array), dtype=bool)
    if pt.is_timestamp(array.type) or pt.is_date(array.type):
        return _compared(time_cells(array, column, condition.times), condition)
    if pt.is_dictionary(array.type) or pt.is_string(array.type) or pt.is_large_string(array.type):
        return _of_texts(array, condition, text)
    return _of_numbers(array, condition)


def _typed(array: Any, kind: Any, text: bool, comma: bool) -> Any:
    """Cells that are ready to be compared: codes only of texts, and written cells as those of a type if it is known."""
    if pt.is_dictionary(array.type) and (
        array.dictionary.null_count or not pt.is_string(array.type.value_type)
    ):
        array = array.dictionary_decode()
    if not text or not pt.is_string(array.type) or kind is None or pt.is_string(kind):
        return array
    if comma:
        import pyarrow.compute as pc

        array = pc.replace_substring(array, ",", ".")
    return array.cast(kind)


def _of_texts(array: Any, condition: Condition, text: bool) -> Array:
    """Where a condition is true of texts, each distinct one of which is compared once."""
    codes, distinct = coded_cells(array)
    if condition.kind == "class":
        return _classes(distinct.to_pylist(), condition, text)[codes]
    try:
        return np.append(_texts(distinct, condition), False)[codes]
    except InputError as error:
        error.row = None if error.row is None else first_true(codes == error.row - 1) + 1
        raise error.at() from None


def _of_numbers(array: Any, condition: Condition) -> Array:
    """Where a condition is true of numbers or truth values."""
    if pt.is_decimal(array.type) or pt.is_float16(array.type):
        array = array.cast(pa.float64())
    is_truth = pt.is_boolean(array.type)
    if not (pt.is_integer(array.type) or pt.is_floating(array.type) or is_truth):
        refused = f"cells of type {array.type}, which {condition.text!r} cannot be asked of"
        raise UsageError(f"the column {condition.column} holds {refused}")
    valid = numbers_of(array.is_valid().cast(pa.uint8())) > 0
    cells = numbers_of(array.cast(pa.uint8()) if is_truth else array, 0)
    if is_truth and condition.kind != "number":
        cells = cells > 0
    return _compared(cells, condition) & valid


def _compared(cells: Array, condition: Condition) -> Array:
    """Of which numbers, truth values or times a condition is true; of none that is NaN or NaT."""
    values = [_value(value, cells.dtype, condition) for value in condition.values]
    if condition.sign == "is_in":
        out: Array = np.any([cells == value for value in values], axis=0)
    else:
        out = getattr(np, condition.sign)(cells, values[0])
    return out & (cells == cells) if cells.dtype.kind in "fM" else out


def _value(value: Value, kind: Any, condition: Condition) -> Any:
    """A value to compare numbers, truth values or times with; `UsageError` where it is another."""
    number = value.number
    if kind.kind == "b":
        truth = _TRUTHS.get(value.text.lower()) if number not in (0, 1) else bool(number)
        if truth is None or value.quoted:
            raise _another(
                condition, "true and false", value, "; write it as true or false, without quotes"
            )
        return np.bool_(truth)
    if kind.kind == "M":
        if (time := value.time(condition.times.zone)) is None:
            raise _another(
                condition,
                "times",
                value,
                "; write them as ISO 8601, 2026-01-31 or 2026-01-31T12:00:00",
            )
        return time
    if number is None:
        raise _another(condition, "numbers", value)
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            return kind.type(number)  # 0.7 of a column of 32 bits is its own 0.7
    if isinstance(number, int) and not -(2**63) <= number < (2**64 if kind == np.uint64 else 2**63):
        raise _another(condition, "numbers of 64 bits", value)
    return number


def _classes(names: list[str | None], condition: Condition, text: bool) -> Array:
    """Of which distinct class names a condition is true, and False behind them, for an empty cell."""
    if condition.ordered:
        are_integers = all(name is None or re.fullmatch("-?[0-9]+", name) for name in names)
        if condition.values[0].number is None or not are_integers:
            raise UsageError(
                f"classes that are texts are compared by = and != and in, got {condition.text!r}"
            )
        numbers = np.array([0 if name is None else int(name) for name in names], dtype=np.int64)
        out = _compared(numbers, condition)
    else:
        values = pa.concat_arrays([lone_cell(value.text) for value in condition.values])
        accepted = {
            None if name is None else str(name)
            for name in dictionary(values, condition.column, text).values
        }
        out = np.array(
            [(name in accepted) != (condition.sign == "not_equal") for name in names], dtype=bool
        )
    return np.append(out & np.array([name is not None for name in names], dtype=bool), False)


def _texts(cells: Any, condition: Condition) -> Array:
    """Of which distinct texts a condition is true: of dates as dates, of true and false in any case of letters."""
    texts = cells.to_pylist()
    import pyarrow.compute as pc

    bare, zone = pc.utf8_trim_whitespace(cells), condition.times.zone
    times = iso_times(pc.if_else(pc.match_substring_regex(bare, f"^{ISO}$"), bare, ""), zone)
    dated = ~np.isnat(times)
    if condition.ordered:
        [value] = condition.values
        compare = getattr(np, condition.sign)
        if (time := value.time(zone)) is None:
            _refuse_others(texts, dated, condition, value, bool(dated.any()))
            return np.array(compare(np.array(texts, dtype=object), value.text), dtype=bool)
        if not dated.all():
            row = first_true(~dated)
            expected = f"a date or time in ISO 8601, which {condition.text!r} asks of every cell"
            remedy = (
                "write the column as 2026-01-31 or 2026-01-31T12:00:00, empty where there is none"
            )
            raise InputError(
                expected, got=repr(texts[row]), row=row + 1, column=condition.column, remedy=remedy
            )
        return np.array(compare(times, time), dtype=bool)
    out = np.zeros(len(texts), dtype=bool)
    for value in condition.values:
        if (time := value.time(zone)) is None:
            _refuse_others(texts, dated, condition, value, dated=False)
        else:
            out |= times == time
        literal = value.text.lower() if value.text.lower() in _TRUTHS else value.text
        same = [
            text == literal or (literal in _TRUTHS and text.lower() == literal) for text in texts
        ]
        out |= np.array(same, dtype=bool)
    return ~out if condition.sign == "not_equal" else out


def _refuse_others(
    texts: list[str], are_dates: Array, condition: Condition, value: Value, dated: bool
) -> None:
    """Raise `UsageError` for a number, or for a date that is not in ISO 8601 or stands beside cells that are dates."""
    if value.number is not None:
        sample = next((repr(text) for text in texts if not NUMBER.fullmatch(text.strip())), "")
        example = f" such as {sample}" if sample else ""
        rewritten = condition.text.replace(value.text, f"'{value.text}'", 1)
        quoted = value.text if value.text in condition.column else rewritten
        raise _another(condition, f"texts{example}", value, f"; put a text in quotes: {quoted}")
    if dated or (
        _OTHER_DATE.fullmatch(value.text.strip()) and (condition.ordered or are_dates.any())
    ):
        cells = "dates" if are_dates.any() else "texts that are no dates in ISO 8601"
        raise _another(
            condition, cells, value, "; write dates as 2026-01-31 or 2026-01-31T12:00:00"
        )


def _another(condition: Condition, cells: str, value: Value, remedy: str = "") -> UsageError:
    column, text = condition.column, condition.text
    return UsageError(
        f"the column {column} holds {cells}, got {value.text!r} in the condition {text!r}{remedy}"
    )


def may_match(where: Iterable[Condition], values: Mapping[str, Any]) -> bool:
    """Whether conditions may be true of rows in a folder that says these values; what it does not say may always be."""
    return all(
        matches(lone_cell(values[condition.column]), condition)[0]
        for condition in where
        if condition.column in values
    )
