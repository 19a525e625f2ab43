"""Words: sentences that several parts of a page need; a chart has its own title and caption in its own file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..results.estimation import ASSUMPTIONS
from ..results.fall import points_or_more
from .numbers import best, finite, percent, percent_range, points, rows_text

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


def anything_goes(headline: Result) -> bool:
    """Whether the estimate itself says that it knows nothing: no trust, and an interval that holds every accuracy.

    >>> anything_goes({"trust": "none", "lower": 0.0, "upper": 1.0}), anything_goes({"trust": "none", "lower": 0.4})
    (True, False)
    """
    low, high = finite(headline.get("lower")), finite(headline.get("upper"))
    return headline.get("trust") == "none" and low is not None and low <= 0 and high is not None and high >= 1


def headline_sentence(result: Result) -> str:
    """The answer as one would say it aloud.

    >>> result = {"target": {"rows": 50000}, "headline": {"value": 0.832, "lower": 0.791, "upper": 0.868}}
    >>> headline_sentence(result).replace(chr(160), " ")
    'On these 50,000 unlabelled rows the model is right about 83 % of the time; plausible range 79–87 %.'
    >>> truth = {"value": 0.93, "lower": 0.928, "upper": 0.932, "labelled": 50000, "decides": True}
    >>> headline_sentence({**result, "truth": truth}).replace(chr(160), " ")[:92]
    'On these 50,000 labelled rows the model is right 93.0 % of the time; plausible range 92.8–93'
    """
    headline, target = best(result.get("headline")), result.get("target") or {}
    truth = result.get("truth") or {}
    if truth.get("decides"):
        known = rows_text(truth.get("labelled")).replace("rows", "labelled rows").replace("1 row", "1 labelled row")
        span = percent_range(truth.get("lower"), truth.get("upper"), 1)
        text = f"On these {known} the model is right {percent(truth['value'])} of the time; plausible range {span}."
        guess = f" Without labels the estimate is {percent(headline['value'])}." if headline else ""
        return text + guess
    if not headline:
        return "No method could answer on these data; the reasons are listed below."
    rows = rows_text(target.get("rows")).replace("rows", "unlabelled rows").replace("1 row", "1 unlabelled row")
    if target.get("labelled"):
        rows = rows.replace("unlabelled ", "")
    if anything_goes(headline):
        guess = percent(headline["value"], 0)
        text = f"Without labels the accuracy on these {rows} cannot be known: any value is possible."
        return f"{text} The methods guess {guess}."
    narrow = 0 < (finite(headline.get("upper")) or 0) - (finite(headline.get("lower")) or 0) < 0.02
    decimals = 1 if narrow else 0
    span = percent_range(headline.get("lower"), headline.get("upper"), decimals)
    text = f"On these {rows} the model is right about {percent(headline['value'], decimals)} of the time"
    return f"{text}; plausible range {span}." if finite(headline.get("lower")) is not None else f"{text}."


def rests_on(headline: Result) -> str:
    """What must hold for the number to mean anything.

    >>> rests_on({"assumes": "calibrated on the target"})
    'This rests on one assumption: calibrated on the target.'
    """
    if anything_goes(headline):
        return ""
    assumes = sentence(headline.get("assumes"))
    return f"This rests on one assumption: {assumes}" if assumes else ""


def bands_text(headline: Result) -> str:
    """The three bands of a headline in one sentence; empty where it has none.

    >>> ends = {"unchanged": (0.92, 0.94), "half": (0.86, 0.93), "nine_in_ten": (0.75, 0.95)}
    >>> bands = {name: {"lower": low, "upper": high} for name, (low, high) in ends.items()}
    >>> bands_text({"bands": bands}).replace(chr(160), " ").partition(". ")[0]
    'If P(y | x) stood still: 92–94 %'
    """
    bands = headline.get("bands") or {}
    three = [best(bands.get(name)) or bands.get(name) for name in ("unchanged", "half", "nine_in_ten")]
    if not all(three):
        return ""
    still, half, most = (percent_range(one.get("lower"), one.get("upper"), 0) for one in three if one)
    return (
        f"If P(y | x) stood still: {still}. Half of public natural shifts like this one ended in {half}, "
        f"nine in ten in {most}."
    )


def assumed(result: Result) -> list[dict[str, Any]]:
    """Rows of the table of assumptions: what one would believe under each, and what the data say."""
    rows = []
    for name, one in (result.get("assumptions") or {}).items():
        against = one.get("refuted") or one.get("why")
        rows.append(
            {**one, "name": ASSUMPTIONS.get(name, name), "against": against, "chosen": name == result.get("assume")}
        )
    return rows


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


def fell_sentence(result: Result) -> str:
    """Whether the accuracy fell, as one would say it; empty where it was not asked.

    >>> fell = {"by_at_least": 0.03, "p": 0.95, "verdict": "fell", "why": "of 368 public cases 96 % had"}
    >>> fell_sentence({"fell": fell}).replace(chr(160), " ")
    'Did it fall by 3 points or more? Yes: 95 % likely; of 368 public cases 96 % had.'
    """
    fell = result.get("fell") or {}
    likely = finite(fell.get("p"))
    if likely is None:
        return ""
    asked = f"Did it fall by {points_or_more(finite(fell.get('by_at_least')) or 0)}?"
    answer = {"fell": "Yes", "holds": "No"}.get(str(fell.get("verdict")), "That cannot be said")
    why = f"; {fell['why']}" if fell.get("why") else ""
    return sentence(f"{asked} {answer}: {percent(likely, 0)} likely{why}")
