"""Numbers: how a fraction, a count or a range is written on the page."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..citations import BIBTEX
from ..results import percent as in_words
from ..results.alarms import points_or_more

ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "c": "\u0327", "v": "\u030c"}
LETTERS = {"l": "ł", "L": "Ł", "o": "ø", "O": "Ø", "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "aa": "å", "AA": "Å",
           "i": "i"}  # fmt: skip
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
    """What stands under a key, of more than three authors the first; a key without an entry comes back bare.

    >>> reference("guo2017").title, reference("guo2017").authors, reference("guo2017").place
    ('On Calibration of Modern Neural Networks', 'Guo et al.', 'ICML')
    >>> reference("nobody1900").title
    ''
    """

    def field(name: str) -> str:
        match = re.search(rf"^\s*{name}\s*=\s*\{{(.*)\}},?$", BIBTEX.get(key, ""), flags=re.MULTILINE)
        # Accents of LaTeX to letters; braces are dropped.
        text, letters = match[1] if match else "", "|".join(LETTERS)
        text = re.sub(r"\{?\\(" + letters + r")(?![A-Za-z])\s?\}?", lambda letter: LETTERS[letter[1]], text)
        text = re.sub(r"\{?\\(['`^\"~cv])\s?\{?([A-Za-z])\}?\}?", lambda sign: sign[2] + ACCENTS[sign[1]], text)
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
    """The number as a float, or None where there is none (absent, NaN, infinite, text).

    >>> finite(1), finite(None), finite(float("nan")), finite("0.5"), finite(True)
    (1.0, None, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def best(interval: Any) -> dict[str, Any]:
    """The mapping itself if it holds a finite ``value``, else an empty one: absent and null are one case.

    >>> best({"value": 0.5}), best({"value": None}), best(None)
    ({'value': 0.5}, {}, {})
    """
    if isinstance(interval, Mapping) and finite(interval.get("value")) is not None:
        return dict(interval)
    return {}


def digits(interval: Mapping[str, Any]) -> int:
    """Decimals of a percentage: 1, or 2 where the interval is so narrow that one would hide it.

    >>> digits({"lower": 0.8, "upper": 0.9}), digits({"lower": 0.9, "upper": 0.902}), digits({})
    (1, 2, 1)
    """
    lower, upper = finite(interval.get("lower")), finite(interval.get("upper"))
    return 2 if lower is not None and upper is not None and 0 < upper - lower < LEAST_WIDTH else 1


def percent(value: Any, decimals: int = 1) -> str:
    """A fraction as a percentage.

    >>> percent(0.8317).replace(SPACE, " "), percent(0.8317, 0).replace(SPACE, " ")
    ('83.2 %', '83 %')
    """
    number_ = finite(value)
    return MISSING if number_ is None else in_words(number_, decimals, space=SPACE)


def percent_range(lower: Any, upper: Any, decimals: int = 1) -> str:
    """Two fractions as a range of percentages.

    >>> percent_range(0.791, 0.872).replace(SPACE, " "), percent_range(0.791, 0.872, 0).replace(SPACE, " ")
    ('79.1–87.2 %', '79–87 %')
    """
    low, high = finite(lower), finite(upper)
    if low is None or high is None:
        return MISSING
    return f"{low * 100 + 0.0:.{decimals}f}{DASH}{percent(high, decimals)}"


def points(difference: float) -> str:
    """A difference of two fractions in percentage points, without its sign.

    >>> points(-0.078).replace(SPACE, " "), points(0.01).replace(SPACE, " ")
    ('7.8 points', '1.0 points')
    """
    return f"{abs(difference) * 100:.1f}{SPACE}points"


def number(value: Any, decimals: int = 3) -> str:
    """A plain number with a fixed count of decimals; whole numbers with thousands separators.

    >>> number(0.03417), number(50000), number(None), number(0.00002), number(12345.678)
    ('0.034', '50,000', '–', '2.0e-05', '12,346')
    """
    number_ = finite(value)
    if number_ is None:
        return MISSING
    if isinstance(value, int):
        return f"{value:,}"
    if number_ != 0 and abs(number_) < 10.0**-decimals:
        return f"{number_:.1e}"
    return f"{number_:,.0f}" if abs(number_) >= 1000 else f"{number_:.{decimals}f}"


def threshold(value: Any) -> str:
    """A threshold of confidence: three decimals, and more where they would read as 1.

    >>> threshold(0.87), threshold(0.99997), threshold(1.0)
    ('0.870', '0.99997', '1.000')
    """
    number_, decimals = finite(value), 3
    if number_ is None:
        return MISSING
    while number_ < 1 and round(number_, decimals) == 1 and decimals < 9:
        decimals += 1
    return f"{number_:.{decimals}f}"


def given(value: Any) -> str:
    """A share that a person chose, as a percentage with all its digits and no more.

    >>> given(0.95).replace(SPACE, " "), given(0.995).replace(SPACE, " ")
    ('95 %', '99.5 %')
    """
    number_ = finite(value)
    return MISSING if number_ is None else in_words(number_, None, space=SPACE)


def rows_text(count: Any) -> str:
    """A count of rows in words.

    >>> rows_text(1), rows_text(50000)
    ('1 row', '50,000 rows')
    """
    whole = finite(count)
    if whole is None:
        return "rows"
    return f"{whole:,.0f} row{'' if whole == 1 else 's'}"


def basename(path: Any) -> str:
    """The last part of a path of either kind of system.

    >>> basename("/data/ref.csv"), basename("C:\\\\data\\\\ref.csv"), basename("-")
    ('ref.csv', 'ref.csv', '-')
    """
    return str(path).rstrip("/\\").replace("\\", "/").rpartition("/")[2] or str(path)


def short(text: Any, most: int = 60) -> str:
    """Text on one line and cut to a sane length.

    >>> short("a  b"), short("x" * 99, 5), short("")
    ('a b', 'xxxx…', '(empty)')
    """
    line = " ".join(str(text).encode("utf-8", "replace").decode("utf-8").split()) or "(empty)"
    return line if len(line) <= most else line[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


Result = Mapping[str, Any]
EQUAL = 0.0005  # differences below this read as none


def sentence(text: Any) -> str:
    """A clause as the end of a sentence: one full stop, no space around.

    >>> sentence(" no  shift "), sentence("Why not?"), sentence(None)
    ('no shift.', 'Why not?', '')
    """
    text = _quoted(" ".join(str(text or "").split()))
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def capital(text: str) -> str:
    """The same with a capital at the start.

    >>> capital("the methods disagree."), capital("")
    ('The methods disagree.', '')
    """
    text = _quoted(text)
    return text[:1].upper() + text[1:]


def _quoted(text: str) -> str:
    """Code between backticks as people quote it; a page is no terminal."""
    return re.sub("`([^`]*)`", "\N{LEFT DOUBLE QUOTATION MARK}\\1\N{RIGHT DOUBLE QUOTATION MARK}", text)


def difference(value: Any, other: Any, name: str) -> str:
    """How far a fraction lies from another, in words; empty where one is unknown.

    >>> difference(0.832, 0.91, "the reference").replace(chr(160), " ")
    '7.8 points below the reference'
    >>> difference(0.91, 0.91, "the reference")
    'the same as the reference'
    """
    item, two = finite(value), finite(other)
    if item is None or two is None:
        return ""
    gap = round(item, 3) - round(two, 3)
    if abs(gap) < EQUAL:
        return f"the same as {name}"
    return f"{points(gap)} {'below' if gap < 0 else 'above'} {name}"


def signed_points(gap: float) -> str:
    """A difference of two fractions in points with its sign.

    >>> signed_points(-0.078).replace(chr(160), " "), signed_points(0.0).replace(chr(160), " ")
    ('−7.8 points', '0.0 points')
    """
    rounded = round(gap, 3)
    return ("\N{MINUS SIGN}" if rounded < 0 else "+" if rounded > 0 else "") + points(gap)


def apart(value: float, other: float) -> str:
    """`signed_points` of two fractions as they stand on the page, so that a reader's own subtraction agrees.

    >>> apart(0.94762, 0.95333).replace(chr(160), " ")  # 94.8 % and 95.3 %
    '−0.5 points'
    """
    return signed_points(round(value, 3) - round(other, 3))


def measured(result: Result) -> str:
    """Accuracy, said to be estimated unless labels gave it."""
    return "accuracy" if result.get("command") == "evaluate" else "estimated accuracy"


def fall_text(fell: Result) -> str:
    """What is said of a part's fall, for a cell: the share of public shifts like it that fell, and an alarm.

    >>> fall_text({"p": 0.86, "alarm": True, "verdict": "fell"}).replace(chr(160), " "), fall_text({})
    ('alarm (86 %)', '')
    """
    likely = finite(fell.get("p"))
    if not fell or likely is None:
        return ""
    word = "alarm" if fell.get("alarm") else fell.get("verdict")
    return f"{word} ({percent(likely, 0)})"


def alarms(parts: Sequence[Result], name: str) -> str:
    """How many of the parts raised an alarm of a fall.

    >>> alarms([{"fell": {"by_at_least": 0.01, "alarm": True}}, {"fell": {"by_at_least": 0.01}}], "chunk")
    '1 of 2 chunks raised an alarm: a fall of 1 point or more'
    """
    requested = [part["fell"] for part in parts if part.get("fell")]
    many = sum(bool(item.get("alarm")) for item in requested)
    margin = points_or_more(finite(requested[0].get("by_at_least")) or 0 if requested else 0)
    plural = "" if len(requested) == 1 else "s"
    return f"{many} of {len(requested)} {name}{plural} raised an alarm: a fall of {margin}"
