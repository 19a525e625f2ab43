"""Words: sentences that several parts of a page need; a chart has its own title and caption in its own file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..results.fall import points_or_more
from .numbers import finite, percent, points

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
    one, two = finite(value), finite(other)
    if one is None or two is None:
        return ""
    gap = round(one, 3) - round(two, 3)
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
    asked = [one["fell"] for one in parts if one.get("fell")]
    many = sum(bool(one.get("alarm")) for one in asked)
    margin = points_or_more(finite(asked[0].get("by_at_least")) or 0 if asked else 0)
    plural = "" if len(asked) == 1 else "s"
    return f"{many} of {len(asked)} {name}{plural} raised an alarm: a fall of {margin}"
