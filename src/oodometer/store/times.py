"""Times: columns of times as people and machines write them, in one form a column, as instants of UTC."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import date
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array
from ..errors import InputError
from ..zones import clock, instants
from .cells import first_true, numbers_of, object_cells, plain, wrong_type
from .columns import IN_UTC, ORDERS, TimeFormat

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES = f"january february march april june july august september sept october november december {' '.join(_MONTHS)}"
_WEEKDAY = re.compile(r"(mon|tues?|wed(nes)?|thu(rs?)?|fri|sat(ur)?|sun)(day)?")
_NUMERIC = r"\d\d?[-/.]\d\d?[-/.]\d{4}"
_DATES = {
    "iso": r"\d{4}[-/.]\d\d?[-/.]\d\d?",
    "year and month": r"\d{4}[-/]\d\d?",
    "basic": r"\d{8}",
    "day/month": _NUMERIC,
    "month/day": _NUMERIC,
    "month name": r"(?:[a-z]+(?:\.,?|,)? +)*\d\d?(?:st|nd|rd|th)?[-/, ]+(?:[a-z]+\.?[-/, ]+)?\d{4}",
}
# At most five groups, and the next letter always tells what goes on: RE2 reads such patterns five times as fast.
_CLOCK = r"(?P<clock>\d\d?(?::\d\d(?::\d\d)?)?)"
_PATTERNS = {
    form: rf"^(?i:(?P<date>{date})(?:(?:t|:|,? +){_CLOCK}(?:[.,](?P<fraction>\d{{1,9}}))?(?P<rest>(?:[ a-z+-].*)?))?)$"
    for form, date in _DATES.items()
}
_PATTERNS["basic"] = (
    _PATTERNS["basic"]
    .replace(_CLOCK, r"(?P<clock>\d{4}(?:\d\d)?)")
    .replace("(?:t|:|,? +)", "[t ]?")
)
# as C and `date` write them
_PATTERNS["year last"] = (
    r"^(?i:(?P<date>(?:[a-z]{3} )?[a-z]{3} +\d\d?) (?P<clock>\d\d:\d\d:\d\d)"
    r"(?P<rest>(?: [a-z+-][\w+-]*)?) (?P<year>\d{4}))$"
)
_REST = re.compile(
    r" ?(?:([ap])\.?m\.? ?)?(z|utc|gmt|(?:utc|gmt)?([+-])(\d\d)(?::?([0-5]\d))?)?(?:\[[\w/+-]+\]| \([a-z ]+\))?",
    re.ASCII,
)
# their digits from 1973 to 2286
_EPOCHS = {"s": (9, 10), "ms": (12, 13), "us": (15, 16), "ns": (18, 19)}
_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_DIGITS = " (8 digits are a day, 14 a second; since 1970, 10 are seconds, 13 milli-, 16 micro-, 19 nanoseconds)"
_EXAMPLES = {
    "year and month": "2026-01",
    "basic": "20260131T120000",
    "month name": "Jan 31, 2026 12:00",
}
_EXAMPLES |= {
    "year last": "Sat Jan 31 12:00:00 2026",
    "day/month": "31/01/2026 12:00",
    "month/day": "01/31/2026 12:00",
}
_REMEDY = "write them as ISO 8601, 2026-01-31T12:00:00"
_DAY, _EPOCH = 86_400_000_000, date(1970, 1, 1).toordinal()
_NO_TIME = np.iinfo(np.int64).min  # NaT


def settled(format: TimeFormat, arrays: Iterable[Any]) -> TimeFormat:
    """The format that the cells of a column tell, from its beginning as far as is needed: of dates such as
    05/01/2026 to the first day above 12.
    """
    import pyarrow.compute as pc

    current = format
    for array in arrays:
        array = _text(array)
        if not current.form:
            if not _is_text(array):
                if array.null_count < len(array):
                    return replace(current, form="typed")
                continue
            first = next(
                (text for text in (cell.as_py() for cell in array) if text is not None), None
            )
            if first is None:
                continue
            form, zoned = _form_of(first, format.order)
            current = replace(current, form=form, zoned=zoned)
        if current.form != "either":
            return current
        pairs = pc.extract_regex(array, r"^(?P<a>\d\d?)[-/.](?P<b>\d\d?)[-/.]\d{4}")
        for at, order in enumerate(ORDERS):
            if (
                pc.max(pairs.field(at).filter(pairs.is_valid()).cast(pa.int32())).as_py() or 0
            ) > 12:
                return replace(current, form=order)
    return current


def _form_of(text: str, order: str) -> tuple[str, bool]:
    """The form of a cell, and whether it has a zone."""
    text = text.strip()
    number = re.fullmatch(r"(\d+)(?:\.\d+)?", text, re.ASCII)
    if number:
        digits = len(number[1])
        dated = re.match(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])", text)
        if digits in (8, 14) and dated and len(text) == digits:
            return "basic", False
        if digits == 12 and dated and int(text[8:10]) < 24 and int(text[10:12]) < 60:
            return "?", False  # a day and a minute, or milliseconds
        return next((unit for unit, of in _EPOCHS.items() if digits in of), "?"), False
    for form, pattern in _PATTERNS.items():
        if match := re.match(pattern, text, re.ASCII):
            zoned = (_rest(match["rest"] or "") or (0, _NO_TIME))[1] != _NO_TIME
            return form if form not in ORDERS else order if order in ORDERS else "either", zoned
    return "?", False


def _is_text(array: Any) -> bool:
    return bool(pt.is_string(array.type) or pt.is_large_string(array.type))


def _text(array: Any) -> Any:
    """The cells of a column: numbers as texts, texts without blanks around them, all else as it is."""
    array = plain(array, coded=False)
    if pt.is_floating(array.type) or pt.is_decimal(array.type):
        import pyarrow.compute as pc

        array = array.cast(pa.float64())
        # not NaN either
        array = pc.if_else(pc.less(pc.abs(array), 1e18 * 9), array, pa.scalar(None, pa.float64()))
        # as pandas keeps integers beside nulls
        are_integers = pc.all(pc.equal(pc.floor(array), array)).as_py()
        array = array.cast(pa.int64() if are_integers else pa.decimal128(38, 6))
    if pt.is_integer(array.type) or pt.is_decimal(array.type):
        return array.cast(pa.string())
    if _is_text(array):
        import pyarrow.compute as pc

        return pc.utf8_trim_whitespace(array)
    return array


def _parsed(array: Any, form: str) -> tuple[Array, Array, Array]:
    """Texts in a form with parts: microseconds of the clock that they show, those of their offsets (`_NO_TIME` where
    there is none), and which texts are right. Each day, time of day and zone is read once, however many rows have it.
    """
    import pyarrow.compute as pc

    cells = pc.extract_regex(array, _PATTERNS[form])
    names = [cells.type.field(i).name for i in range(cells.type.num_fields)]
    texts = {name: pc.fill_null(cells.field(i), "") for i, name in enumerate(names)}

    def joined(*both: Any) -> Any:
        return pc.binary_join_element_wise(*both, pa.scalar(" ", array.type))

    if form == "year last":
        texts |= {"date": joined(texts["date"], texts["year"]), "fraction": None}

    def read(name: str, reader: Callable[[str], Any], none: Any = _NO_TIME) -> Array:
        """What a reader gives of each text, ``none`` where it gives None."""
        coded = texts[name].dictionary_encode()
        table = [
            none if (value := reader(text)) is None else value
            for text in coded.dictionary.to_pylist()
        ]
        return np.array(table or [none], np.int64)[numbers_of(coded.indices)]

    days = read("date", partial(_day, form=form))
    (half, offsets) = read("rest", _rest, (_NO_TIME, 0)).T
    try:  # of times of the day there may be as many as rows
        stamps = joined(pa.scalar("1970-01-01", array.type), texts["clock"])
        stamps.slice(0, 1).cast(pa.timestamp("s"))  # that of many fails slowly
        seconds = numbers_of(stamps.cast(pa.timestamp("s")).cast(pa.int64()))
    except pa.ArrowInvalid:
        seconds = read("clock", _clock)
    right = numbers_of(cells.is_valid().cast(pa.uint8())) > 0
    right &= (days != _NO_TIME) & (seconds != _NO_TIME) & (half != _NO_TIME)
    hour = seconds // 3600
    right &= (half == 0) | ((hour >= 1) & (hour <= 12))
    seconds = np.where(half == 0, seconds, seconds - 43_200 * (hour == 12) + 43_200 * (half == 2))
    times = _DAY * days + 1_000_000 * seconds
    if (fraction := texts["fraction"]) is not None:
        micros = numbers_of(
            pc.utf8_slice_codeunits(pc.utf8_rpad(fraction, 6, "0"), 0, 6).cast(pa.int64())
        )
        times = times + micros
        right = right & ((micros == 0) | (numbers_of(pc.utf8_length(texts["clock"])) > 5))
    return times, offsets, right


@lru_cache(1 << 16)
def _day(text: str, form: str) -> int | None:
    """Days from 1970 to a date; None where there is none."""
    if not text:
        return None
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if form == "basic":
        numbers = [int(text[:4]), int(text[4:6]), int(text[6:])]
    elif form == "year and month":
        numbers.append(1)  # its first day
    elif form == "day/month":
        numbers.reverse()
    elif form == "month/day":
        numbers = [numbers[2], *numbers[:2]]
    elif form != "iso":
        words = [
            word
            for word in re.findall(r"[a-z]+", text.lower())
            if word not in ("st", "nd", "rd", "th")
        ]
        months = [word for word in words if word in _NAMES.split()]
        if len(months) != 1 or any(
            not _WEEKDAY.fullmatch(word) for word in words if word not in months
        ):
            return None
        numbers = [numbers[1], _MONTHS.index(months[0][:3]) + 1, numbers[0]]
    try:
        return date(*numbers).toordinal() - _EPOCH
    except ValueError:
        return None


@lru_cache(1 << 17)
def _clock(text: str) -> int | None:
    """Seconds of a time of day; None where there is none."""
    hour, minute, second = [*map(int, re.findall(r"\d\d?", text)), 0, 0, 0][:3]
    return 3600 * hour + 60 * minute + second if hour < 24 and minute < 60 and second < 60 else None


@lru_cache(1 << 12)
def _rest(text: str) -> tuple[int, int] | None:
    """1 for am, 2 for pm, else 0, and the microseconds of an offset such as +01:00, `_NO_TIME` without one."""
    match = _REST.fullmatch(text.lower())
    if match is None or int(match[4] or 0) > 23:
        return None
    minutes = 60 * int(match[4] or 0) + int(match[5] or 0)
    offset = 60_000_000 * (-minutes if match[3] == "-" else minutes)
    return ("ap".find(match[1] or "-") + 1, offset if match[2] else _NO_TIME)


def _instants(wall: Array, offsets: Array, zone: str) -> Array:
    """Instants at which clocks with these offsets showed these times, and that of the zone where there is none."""
    has_offset = offsets != _NO_TIME
    out: Array = wall - np.where(has_offset, offsets, 0).astype("timedelta64[us]")
    return out if has_offset.all() else np.where(has_offset, out, instants(wall, zone))


def iso_times(array: Any, zone: str) -> Array:
    """Texts in ISO 8601 as instants, NaT where one is no time."""
    times, offsets, right = _parsed(array, "iso")
    return _instants(np.where(right, times, _NO_TIME).view("datetime64[us]"), offsets, zone)


def any_cells(array: Any, column: str, zone: str = "") -> Array:
    """Cells of a column of any type: numbers, objects, or times as a clock shows them, that of ``zone`` where they have
    one.
    """
    array = plain(array, coded=False)
    if pt.is_timestamp(array.type) or pt.is_date(array.type):
        return clock(
            time_cells(array, column), zone if getattr(array.type, "tz", None) is not None else ""
        )
    simple = pt.is_integer(array.type) or pt.is_boolean(array.type) or pt.is_floating(array.type)
    return numbers_of(array) if simple and not array.null_count else object_cells(array)


def time_cells(array: Any, column: str, format: TimeFormat = IN_UTC) -> Array:
    """Times as instants of UTC, datetime64[us], floored; NaT where a cell is empty. `InputError` names a bad row."""
    array = _text(array)
    if pt.is_null(array.type) or array.null_count == len(array):
        return np.full(len(array), "NaT", dtype="datetime64[us]")
    if not _is_text(array):
        return _typed_times(array, column, format)
    format = format if format.form else settled(format, [array])
    valid = numbers_of(array.is_valid().cast(pa.uint8())) > 0
    if format.form == "?":
        digits = str(array[first_true(valid)]).isdecimal()
        raise _fault(array, valid, column, f"a timestamp{_DIGITS if digits else ''}")
    if format.form == "either":
        expected = "a day above 12 in some row, which tells days from months"
        remedy = f"say which stands first: --map {column}=time:day/month or --map {column}=time:month/day"
        raise _fault(array, valid, column, expected, remedy)
    if format.form in _EPOCHS:
        return _times_since_1970(array, valid, column, format.form)
    if format.form in ("iso", "typed"):
        kind = pa.timestamp("us", tz="UTC") if format.zoned else pa.timestamp("us")
        # else in letters that Arrow does not read, or some cell is none
        with suppress(pa.ArrowInvalid):
            array.slice(first_true(valid), 1).cast(kind)  # that of many fails slowly
            return time_cells(array.cast(kind), column, format)
        format = replace(format, form="iso")
    return _written_times(array, valid, column, format)


def _fault(array: Any, bad: Array, column: str, expected: str, remedy: str = _REMEDY) -> InputError:
    """The error for the first bad cell."""
    at = first_true(bad)
    return InputError(
        expected, got=repr(array[at].as_py()), row=at + 1, column=column, remedy=remedy
    )


def _typed_times(array: Any, column: str, format: TimeFormat) -> Array:
    """Timestamps and days of Arrow as instants."""
    if not (pt.is_timestamp(array.type) or pt.is_date(array.type)):
        raise wrong_type(array, column, "timestamps", _REMEDY)
    array = array.cast(pa.timestamp("us")) if pt.is_date(array.type) else array
    cells = numbers_of(array.cast(pa.int64()), _NO_TIME)
    if (unit := array.type.unit) != "us":
        micros = cells // 1000 if unit == "ns" else cells * {"s": 1_000_000, "ms": 1000}[unit]
        cells = np.where(cells == _NO_TIME, _NO_TIME, micros)
    offsets = np.full(len(cells), _NO_TIME if array.type.tz is None else 0)
    return _clock_times(cells.view("datetime64[us]"), offsets, format, column, array)


def _times_since_1970(array: Any, valid: Array, column: str, form: str) -> Array:
    """Numbers of seconds, or of parts of one, as instants."""
    import pyarrow.compute as pc

    shortest, longest = _EPOCHS[form]
    right = pc.match_substring_regex(
        pc.fill_null(array, ""), rf"^\d{{{shortest},{longest}}}(?:\.\d*)?$"
    )
    if (bad := valid & (numbers_of(right.cast(pa.uint8())) == 0)).any():
        expected = (
            f"{_UNITS[form]} since 1970 ({shortest} or {longest} digits), as in the rows before"
        )
        raise _fault(array, bad, column, expected)
    full = pc.fill_null(array, "0")
    integers, parts = (pc.replace_substring_regex(full, p, "") for p in (r"\..*", r"^\d+\.?"))
    out, places = numbers_of(integers.cast(pa.int64())), {"s": 6, "ms": 3}.get(form, 0)
    out = out * 10**places if form != "ns" else out // 1000
    if places:
        parts = pc.utf8_slice_codeunits(pc.utf8_rpad(parts, places, "0"), 0, places)
        out = out + numbers_of(parts.cast(pa.int64()))
    return np.where(valid, out, _NO_TIME).view("datetime64[us]")


def _written_times(array: Any, valid: Array, column: str, format: TimeFormat) -> Array:
    """Texts of one form as instants; `InputError` for one that is no time, or has a zone where others have none."""
    form = format.form
    times, offsets, right = _parsed(array, form)
    if (bad := valid & ~right).any():
        example = f" such as {_EXAMPLES[form]}" if form in _EXAMPLES else ""
        raise _fault(array, bad, column, f"a timestamp{example}")
    is_zoned = offsets != _NO_TIME
    is_open = not format.zone and format.order != "UTC"
    if is_open and (bad := valid & (is_zoned != format.zoned)).any():
        with_or_without = "with" if format.zoned else "without"
        expected = f"a timestamp {with_or_without} a zone, as in the rows before"
        remedy = (
            f"write all of them so; if those without are of UTC, say so: --map {column}=time:UTC"
        )
        raise _fault(array, bad, column, expected, remedy)
    wall = np.where(valid, times, _NO_TIME).view("datetime64[us]")
    return _clock_times(wall, offsets, format, column, array)


def _clock_times(wall: Array, offsets: Array, format: TimeFormat, column: str, array: Any) -> Array:
    """As `_instants`; `InputError` for a time that the clock of the zone never showed, except midnight, which may stand
    for the day.
    """
    zone = "" if format.order == "UTC" else format.zone
    out = _instants(wall, offsets, zone)
    if zone not in ("", "UTC"):
        never = (offsets == _NO_TIME) & (clock(out, zone) != wall) & ~np.isnat(wall)
        if (never := never & (wall.view(np.int64) % _DAY != 0)).any():
            at = first_true(never)
            expected = f"a time that the clock of {zone} showed (it was put forward then)"
            remedy = f"if these are times of UTC, say so: --map {column}=time:UTC; else write their offsets"
            raise InputError(
                expected, got=str(array[at].as_py()), row=at + 1, column=column, remedy=remedy
            )
    return out
