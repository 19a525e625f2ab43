"""Words: the sentences of a page, each made from a result; titles state what was found, captions how to read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .numbers import best, finite, percent, percent_range, points, rows_text, threshold

__all__ = ["capital", "chunks_caption", "chunks_title", "confidence_caption", "confidence_title", "difference", "headline_sentence"]
__all__ += ["methods_caption", "methods_title", "reliability_caption", "reliability_title", "rests_on"]
__all__ += ["risk_coverage_caption", "risk_coverage_title", "severity_caption", "severity_title", "slices_caption"]
__all__ += ["sentence", "signed_points", "slices_title"]

Result = Mapping[str, Any]
EQUAL = 0.0005  # differences below this read as none


def sentence(text: Any) -> str:
    """A clause as the end of a sentence: one full stop, no space around.

    >>> sentence(" no  shift "), sentence("Why not?"), sentence(None)
    ('no shift.', 'Why not?', '')
    """
    text = " ".join(str(text or "").split())
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def capital(text: str) -> str:
    """The same with a capital at the start.

    >>> capital("the methods disagree."), capital("")
    ('The methods disagree.', '')
    """
    return text[:1].upper() + text[1:]


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


def headline_sentence(result: Result) -> str:
    """The answer as one would say it aloud.

    >>> result = {"target": {"rows": 50000}, "headline": {"value": 0.832, "lower": 0.791, "upper": 0.868}}
    >>> headline_sentence(result).replace(chr(160), " ")
    'On these 50,000 unlabelled rows the model is right about 83 % of the time; plausible range 79–87 %.'
    """
    headline, target = best(result.get("headline")), result.get("target") or {}
    if not headline:
        return "No method could answer on these data; the reasons are listed below."
    rows = rows_text(target.get("rows")).replace("rows", "unlabelled rows").replace("1 row", "1 unlabelled row")
    if target.get("labelled"):
        rows = rows.replace("unlabelled ", "")
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
    assumes = sentence(headline.get("assumes"))
    return f"This rests on one assumption: {assumes}" if assumes else ""


def methods_title(result: Result) -> str:
    """The estimate against the reference, saying so where the interval cannot tell the two apart."""
    headline, accuracy = best(result.get("headline")), (result.get("reference") or {}).get("accuracy")
    if not headline:
        return "What each method says"
    gap = difference(headline["value"], accuracy, "the reference")
    text = f"Estimated accuracy is {percent(headline['value'])}"
    low, high = finite(headline.get("lower")), finite(headline.get("upper"))
    inside = low is not None and high is not None and gap and low <= (finite(accuracy) or 0) <= high
    if inside and not gap.startswith("the same"):
        return f"{text} \N{EM DASH} {gap}, a difference within the range of the estimate"
    return f"{text} \N{EM DASH} {gap}" if gap else text


def methods_caption(result: Result) -> str:
    """How many methods answered and how far apart they are."""
    values = [one["value"] for estimate in result.get("estimates") or [] if (one := best(estimate))]
    if len(values) < 2:
        return "The dot is the estimate, the bar its interval."
    text = f"{len(values)} methods answer between {percent(min(values))} and {percent(max(values))}. "
    return text + "Each rests on an assumption of its own, so the spread between them often says more than one bar."


def risk_coverage_title(result: Result) -> str:
    """Above which threshold the wished accuracy is reached."""
    curve = result.get("risk_coverage") or {}
    estimated = "estimated accuracy" if str(curve.get("y_name") or "").startswith("estimated") else "accuracy"
    answers = curve.get("answers") or []
    for one in answers:
        if finite(one.get("threshold")) is not None:
            coverage = finite(one.get("coverage")) or 0
            kept = f"that keeps {percent(coverage, 0 if coverage >= 0.1 else 1)} of the rows"
            reached = f"{estimated} is at least {percent(one.get('accuracy'), 0)}; {kept}"
            return f"Above confidence {threshold(one['threshold'])}, {reached}"
    if answers:
        return f"No threshold reaches {estimated} of {percent(answers[0].get('accuracy'), 0)}"
    ends = [value for value in curve.get("y") or [] if finite(value) is not None]
    if not ends:
        return "Accuracy against coverage"
    text = f"{estimated} goes from {percent(ends[0])} on the most confident rows to {percent(ends[-1])} on all"
    return capital(text)


def risk_coverage_caption(result: Result) -> str:
    """How to read the curve, and the threshold at which even the lower end of the band is high enough."""
    curve = result.get("risk_coverage") or {}
    text = f"{(curve.get('y_name') or 'accuracy').capitalize()} of the rows that stay when the least confident are left out"
    text += ", with its band."
    for one in curve.get("answers") or []:
        if finite(one.get("threshold")) is None:
            continue
        if finite(one.get("safe_threshold")) is None:
            text += f" The lower end of the band reaches {percent(one.get('accuracy'), 0)} at no threshold."
        else:
            safe = f"confidence {threshold(one['safe_threshold'])}, keeping {percent(one.get('safe_coverage'))}"
            text += f" For the lower end of the band to reach {percent(one.get('accuracy'), 0)}, take {safe}."
    return text


def reliability_title(result: Result) -> str:
    """Whether confidence on the labelled rows is too high, too low or right, weighted by rows."""
    table = result.get("reliability") or {}
    pairs = zip(table.get("confidence") or [], table.get("accuracy") or [], table.get("rows") or [], strict=False)
    known = [row for row in pairs if all(finite(value) is not None for value in row)]
    rows = sum(row[2] for row in known)
    if not rows:
        return "Confidence against accuracy"
    gap = sum((confidence - accuracy) * count for confidence, accuracy, count in known) / rows
    where = "" if result.get("command") == "evaluate" else " on the reference"
    if abs(gap) < 0.01:
        return f"The model's confidence is about right{where}"
    side = "overconfident" if gap > 0 else "underconfident"
    return f"The model is {side}{where}, by {points(gap)} on average"


def reliability_caption(result: Result) -> str:
    """How to read the diagram."""
    del result
    return (
        "Accuracy in bins of confidence; larger dots hold more rows. Below the dashed line the model claims more than it "
        "delivers."
    )


def confidence_title(result: Result) -> str:
    """How many rows of each side are confident: the share in the bins from about 0.9 upwards."""
    table = result.get("confidence") or {}
    edges = table.get("edges") or []
    if len(edges) < 2:
        return "Confidence of the model"
    start = min(range(len(edges) - 1), key=lambda index: abs(edges[index] - 0.9))
    target, reference = (sum((table.get(name) or [])[start:]) for name in ("target", "reference"))
    at_least = f"a confidence of at least {percent(edges[start], 0)}"
    return f"{percent(target, 0)} of the target rows have {at_least}, against {percent(reference, 0)} of the reference"


def confidence_caption(result: Result) -> str:
    """How to read the histograms."""
    del result
    return "Share of the rows in each bin of confidence. A model can stay confident while its accuracy falls."


def chunks_title(result: Result) -> str:
    """The lowest chunk, and how many lie wholly below the reference."""
    chunks = [one for one in result.get("chunks") or [] if best(one.get("headline"))]
    accuracy = finite((result.get("reference") or {}).get("accuracy"))
    lowest = min(chunks, key=lambda one: float(one["headline"]["value"]))
    text = f"Lowest in the chunk from {lowest.get('start')}: {percent(lowest['headline']['value'])}"
    if accuracy is None:
        return text
    below = sum((finite(one["headline"].get("upper")) or 1) < accuracy for one in chunks)
    return f"{text}; {below} of {len(chunks)} chunks lie wholly below the reference"


def chunks_caption(result: Result) -> str:
    """How to read the chunks."""
    known = any(best(one.get("truth")) for one in result.get("chunks") or [])
    truth = " Diamonds are the accuracy where labels are known." if known else ""
    return f"Estimated accuracy of each chunk of time with its interval.{truth}"


def slices_title(result: Result) -> str:
    """The worst slice against all rows."""
    slices = [one for one in result.get("slices") or [] if best(one.get("headline"))]
    worst = min(slices, key=lambda one: float(one["headline"]["value"]))
    name = " ".join(str(worst.get("value")).split())
    name = name if len(name) <= 60 else name[:59] + "\N{HORIZONTAL ELLIPSIS}"
    gap = difference(worst["headline"]["value"], best(result.get("headline")).get("value"), "all rows together")
    text = f"Weakest slice: {name}, about {percent(worst['headline']['value'])}"
    return f"{text} \N{EM DASH} {gap}" if gap else text


def slices_caption(result: Result, shown: int) -> str:
    """How many slices there are; the coloured ones are the ones to look at."""
    slices = [one for one in result.get("slices") or [] if best(one.get("headline"))]
    by = next((str(one["by"]) for one in slices if one.get("by")), "slice")
    count = f"The {shown} weakest of {len(slices)} slices" if shown < len(slices) else f"All {len(slices)} slices"
    return f"{count} by {by}, the weakest first; in colour where the whole interval lies below the estimate of all rows."


def severity_title(result: Result) -> str:
    """The largest error of the estimate, and how often its interval held the truth."""
    pairs = [
        (headline, truth)
        for step in result.get("steps") or []
        if (headline := best(step.get("headline"))) and (truth := best(step.get("truth")))
    ]
    if not pairs:
        return "The estimate as the shift grows"
    worst = max(abs(headline["value"] - truth["value"]) for headline, truth in pairs)
    held = sum(
        (finite(one.get("lower")) or 0) <= truth["value"] <= (1 if finite(one.get("upper")) is None else one["upper"])
        for one, truth in pairs
    )
    text = f"The estimate stays within {points(worst)} of the truth"
    return f"{text}; its interval holds the truth at {held} of {len(pairs)} steps"


def severity_caption(result: Result) -> str:
    """What the lines are."""
    del result
    return "The band is the interval of the estimate; thin lines are the single methods. Hover over a line to single it out."
