"""Methods: every method's estimate as a dot with its interval, beside the reference accuracy and, if known, the truth."""

from __future__ import annotations

from typing import Any

from ..numbers import best
from ..theme import ACCENT, QUIET, REFERENCE, TRUTH, specification
from ..words import methods_caption, methods_title
from .base import Figure, Result
from .dots import dots, entry, unique

__all__ = ["figure", "is_headline", "ordered"]


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


def figure(result: Result) -> Figure | None:
    """Dot-and-interval chart of all methods, the headline on top of the order in colour."""
    estimates, headline = ordered(result), best(result.get("headline"))
    if headline and not any(is_headline(one, headline) for one in estimates):
        estimates = [headline, *estimates]
    if not estimates:
        return None
    names = unique(_name(one, estimates) for one in estimates)
    rows = [
        entry(
            name,
            one,
            color=ACCENT if headline and is_headline(one, headline) else QUIET,
            assumes=one.get("assumes") or "",
        )
        for name, one in zip(names, estimates, strict=True)
    ]
    reference, truth = result.get("reference") or {}, best((result.get("target") or {}).get("accuracy"))
    lines = [("reference", reference.get("accuracy"), REFERENCE, True), ("truth", truth.get("value"), TRUTH, False)]
    title = methods_title(result)
    chart, height = dots(rows, lines=lines, title="accuracy on the target")
    return Figure("methods", title, methods_caption(result), specification(chart, height=height, alt_text=title))


def _name(one: Result, among: list[dict[str, Any]]) -> str:
    """The method's name, with its score where the method stands in the chart more than once."""
    method = str(one.get("method") or "estimate")
    repeated = sum(other.get("method") == one.get("method") for other in among) > 1
    return f"{method} ({one['score']})" if repeated and one.get("score") else method
