"""Methods: the estimate of every method as a dot with its interval, beside the reference accuracy and the truth."""

from __future__ import annotations

from typing import Any

from ..numbers import best, finite, percent
from ..theme import ACCENT, QUIET, REFERENCE, TRUTH, specification
from ..words import difference
from .base import Figure, Result
from .dots import dots, entry, unique


def is_headline(estimate: Result, headline: Result) -> bool:
    """Whether this estimate is the one that became the headline.

    >>> is_headline({"method": "atc", "value": 0.8}, {"method": "atc", "value": 0.8})
    True
    """
    same = estimate.get("method") == headline.get("method") and estimate.get("value") == headline.get("value")
    return bool(same)


def ordered(result: Result) -> list[dict[str, Any]]:
    """Estimates from the highest to the lowest; those without a value are left out."""
    found = [one for estimate in result.get("estimates") or [] if (one := best(estimate))]
    return sorted(found, key=lambda one: -float(one["value"]))


def with_headline(result: Result) -> list[dict[str, Any]]:
    """The same, and the headline before them all where it is no single method but made from several."""
    estimates, headline = ordered(result), best(result.get("headline"))
    if headline and not any(is_headline(one, headline) for one in estimates):
        return [{"score": headline.get("method"), **headline, "method": "headline"}, *estimates]
    return estimates


def figure(result: Result) -> Figure | None:
    """Dot-and-interval chart of all methods, the headline in colour."""
    estimates, headline = with_headline(result), best(result.get("headline"))
    if not estimates:
        return None
    names = unique(_name(one, estimates) for one in estimates)
    rows = [
        entry(
            name,
            one,
            color=ACCENT if headline and _is_shown(one, headline) else QUIET,
            assumes=one.get("assumes") or "",
        )
        for name, one in zip(names, estimates, strict=True)
    ]
    reference, truth = result.get("reference") or {}, best((result.get("target") or {}).get("accuracy"))
    lines = [
        ("reference", reference.get("accuracy"), REFERENCE, True),
        ("truth", truth.get("value"), TRUTH, False),
    ]
    finding = title(result)
    chart, height = dots(rows, lines=lines, title="accuracy on the target")
    return Figure("methods", finding, caption(result), specification(chart, height=height, alt_text=finding))


def _is_shown(one: Result, headline: Result) -> bool:
    return one.get("method") == "headline" or is_headline(one, headline)


def _name(one: Result, among: list[dict[str, Any]]) -> str:
    """The method's name, with its score where the method stands in the chart more than once."""
    method = str(one.get("method") or "estimate")
    repeated = sum(other.get("method") == one.get("method") for other in among) > 1
    return f"{method} ({one['score']})" if repeated and one.get("score") else method


def title(result: Result) -> str:
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


def caption(result: Result) -> str:
    """How many methods answered and how far apart they are."""
    values = [one["value"] for estimate in result.get("estimates") or [] if (one := best(estimate))]
    if len(values) < 2:
        return "The dot is the estimate, the bar its interval."
    text = f"{len(values)} methods answer between {percent(min(values))} and {percent(max(values))}. "
    return text + "Each rests on an assumption of its own, so the spread between them often says more than one bar."
