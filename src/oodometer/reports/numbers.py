"""Numbers: how a fraction, a count or a range is written on the page."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..citations import BIBTEX
from ..plain import Json, Plain
from ..results import percent as in_words

ACCENTS = {
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    '"': "\u0308",
    "~": "\u0303",
    "c": "\u0327",
    "v": "\u030c",
}
LETTERS = {
    "l": "ł",
    "L": "Ł",
    "o": "ø",
    "O": "Ø",
    "ss": "ß",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "aa": "å",
    "AA": "Å",
    "i": "i",
}
MOST_AUTHORS = 3


@dataclass(frozen=True, slots=True)
class Reference:
    """Author, title, place and year of one entry; empty strings where the entry is unknown."""

    key: str
    authors: str = ""
    title: str = ""
    place: str = ""
    year: str = ""


def reference(key: str) -> Reference:
    """What stands under a key, of more than three authors the first; a key without an entry comes back bare."""

    def field(name: str) -> str:
        match = re.search(
            rf"^\s*{name}\s*=\s*\{{(.*)\}},?$", BIBTEX.get(key, ""), flags=re.MULTILINE
        )
        # Accents of LaTeX to letters; braces are dropped.
        text, letters = match[1] if match else "", "|".join(LETTERS)
        text = re.sub(
            r"\{?\\(" + letters + r")(?![A-Za-z])\s?\}?", lambda letter: LETTERS[letter[1]], text
        )
        text = re.sub(
            r"\{?\\(['`^\"~cv])\s?\{?([A-Za-z])\}?\}?",
            lambda sign: sign[2] + ACCENTS[sign[1]],
            text,
        )
        text = re.sub(r"[{}]", "", unicodedata.normalize("NFC", text))
        return text.replace("\\&", "&").replace("--", "\N{EN DASH}").strip()

    names = [name.split(",")[0].strip() for name in field("author").split(" and ") if name.strip()]
    authors = " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
    authors = f"{names[0]} et al." if len(names) > MOST_AUTHORS else authors
    venue = field("booktitle") or field("journal") or field("howpublished")
    return Reference(key, authors, field("title"), venue, field("year"))


SPACE = "\N{NO-BREAK SPACE}"
DASH = "\N{EN DASH}"
MISSING = DASH
LEAST_WIDTH = 0.004  # an interval narrower than this needs a second decimal


def finite(value: Any) -> float | None:
    """The number as a float, or None where there is none (absent, NaN, infinite, text)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def best(interval: Any) -> Json:
    """The mapping itself if it holds a finite ``value``, else an empty one: absent and null are one case."""
    if isinstance(interval, Mapping) and finite(interval.get("value")) is not None:
        return dict(interval)
    return {}


def digits(interval: Plain) -> int:
    """Decimals of a percentage: 1, or 2 where the interval is so narrow that one would hide it."""
    lower, upper = finite(interval.get("lower")), finite(interval.get("upper"))
    return 2 if lower is not None and upper is not None and 0 < upper - lower < LEAST_WIDTH else 1


def percent(value: Any, decimals: int = 1) -> str:
    """A fraction as a percentage."""
    number_ = finite(value)
    return MISSING if number_ is None else in_words(number_, decimals, space=SPACE)


def percent_range(lower: Any, upper: Any, decimals: int = 1) -> str:
    """Two fractions as a range of percentages."""
    low, high = finite(lower), finite(upper)
    if low is None or high is None:
        return MISSING
    return f"{low * 100 + 0.0:.{decimals}f}{DASH}{percent(high, decimals)}"


def points(difference: float) -> str:
    """A difference of two fractions in percentage points, without its sign."""
    return f"{abs(difference) * 100:.1f}{SPACE}points"


def number(value: Any, decimals: int = 3) -> str:
    """A plain number with a fixed count of decimals; whole numbers with thousands separators."""
    number_ = finite(value)
    if number_ is None:
        return MISSING
    if isinstance(value, int):
        return f"{value:,}"
    if number_ != 0 and abs(number_) < 10.0**-decimals:
        return f"{number_:.1e}"
    return f"{number_:,.0f}" if abs(number_) >= 1000 else f"{number_:.{decimals}f}"


def threshold(value: Any) -> str:
    """A threshold of confidence: three decimals, and more where they would read as 1."""
    number_, decimals = finite(value), 3
    if number_ is None:
        return MISSING
    while number_ < 1 and round(number_, decimals) == 1 and decimals < 9:
        decimals += 1
    return f"{number_:.{decimals}f}"


def given(value: Any) -> str:
    """A share that a person chose, as a percentage with all its digits and no more."""
    number_ = finite(value)
    return MISSING if number_ is None else in_words(number_, None, space=SPACE)


def rows_text(count: Any) -> str:
    """A count of rows in words."""
    value = finite(count)
    if value is None:
        return "rows"
    return f"{value:,.0f} row{'' if value == 1 else 's'}"


def basename(path: Any) -> str:
    """The last part of a path of either kind of system."""
    return str(path).rstrip("/\\").replace("\\", "/").rpartition("/")[2] or str(path)


def short(text: Any, most: int = 60) -> str:
    """Text on one line and cut to a sane length."""
    line = " ".join(str(text).encode("utf-8", "replace").decode("utf-8").split()) or "(empty)"
    return line if len(line) <= most else line[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


Result = Plain
EQUAL = 0.0005  # differences below this read as none


def sentence(text: Any) -> str:
    """A clause as the end of a sentence: one full stop, no space around."""
    text = _quoted(" ".join(str(text or "").split()))
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


# a first word with one of these inside is a file, a column or a path
_OF_NAMES = re.compile(r"\S*[._/\\]\w")


def capital(text: str) -> str:
    """The same with a capital at the start; a name that a user wrote stays as it is.

    >>> capital("one row"), capital("reference.csv: one row"), capital("y_pred is read")
    ('One row', 'reference.csv: one row', 'y_pred is read')
    """
    text = _quoted(text)
    return text if _OF_NAMES.match(text) else text[:1].upper() + text[1:]


def _quoted(text: str) -> str:
    """Code between backticks as people quote it; a page is no terminal."""
    return re.sub(
        "`([^`]*)`", "\N{LEFT DOUBLE QUOTATION MARK}\\1\N{RIGHT DOUBLE QUOTATION MARK}", text
    )


def difference(value: Any, other: Any, name: str) -> str:
    """How far a fraction lies from another, in words; empty where one is unknown."""
    item, two = finite(value), finite(other)
    if item is None or two is None:
        return ""
    gap = round(item, 3) - round(two, 3)
    if abs(gap) < EQUAL:
        return f"the same as {name}"
    return f"{points(gap)} {'below' if gap < 0 else 'above'} {name}"


def apart(value: float, other: float) -> str:
    """The difference of two fractions as they stand on the page, in points with its sign."""
    gap = round(round(value, 3) - round(other, 3), 3)
    return ("\N{MINUS SIGN}" if gap < 0 else "+" if gap > 0 else "") + points(gap)


def measured(result: Result) -> str:
    """Accuracy, said to be estimated unless labels gave it."""
    return "accuracy" if result.get("command") == "evaluate" else "estimated accuracy"


def fall_text(fell: Result) -> str:
    """What is said of a part's fall, for a cell: the share of public shifts like it that fell, and an alarm."""
    likely = finite(fell.get("p"))
    if not fell or likely is None:
        return ""
    return f"{'alarm' if fell.get('alarm') else fell.get('verdict')} ({percent(likely, 0)})"
