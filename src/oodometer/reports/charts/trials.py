"""Trials: the table of a backtest as its charts and its page read it, and what the families are called."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from ...results.backtest import family_name as called
from ..numbers import finite, short
from .base import Result

MEANINGS = {
    "none": "a random part of the reference",
    "class_prior": "other shares of the true classes",
    "clusters": "other shares of clusters of features or probabilities",
    "tilt": "rows far along a direction of the inputs become more common",
    "confidence_tilt": "unsure rows become more common, or less",
    "logit_noise": "noise on the logits",
    "logit_temperature": "the model becomes more or less sure, and no better or worse",
    "groups": "one of your own groups becomes the target, or half of it",
    "periods": "one stretch of your own time becomes the target, or half of it",
}
LEADERS = 3  # methods drawn against severity, besides the reference accuracy


def family_name(name: Any) -> str:
    """A family as the page calls it.

    >>> family_name("class_prior"), family_name("my_shift")
    ('class shares', 'my shift')
    """
    return short(called(str(name)), 16)


def usable(result: Result) -> list[dict[str, Any]]:
    """Rows of the table that have an error."""
    return [dict(row) for row in result.get("rows") or [] if finite(row.get("error")) is not None]


def ranked(result: Result) -> list[dict[str, Any]]:
    """Methods over all families, the smallest error first."""
    found = [dict(row) for row in result.get("overall") or [] if finite(row.get("error")) is not None]
    return sorted(found, key=lambda row: row["error"])


def by_family(result: Result, name: str) -> dict[tuple[str, str], float]:
    """Mean over severities of a column of the table, by method and family.

    >>> rows = [{"method": "atc", "family": "tilt", "error": e} for e in (0.01, 0.03)]
    >>> by_family({"rows": rows}, "error")
    {('atc', 'tilt'): 0.02}
    """
    found: dict[tuple[str, str], list[float]] = {}
    for row in usable(result):
        value = finite(row.get(name))
        if value is not None:
            found.setdefault((str(row.get("method")), str(row.get("family"))), []).append(value)
    return {key: fmean(values) for key, values in found.items()}


def families(result: Result) -> list[str]:
    """Families in which any method answered, in their order."""
    seen = {str(row.get("family")) for row in usable(result)}
    return [str(name) for name in result.get("families") or sorted(seen) if str(name) in seen]


def leaders(result: Result) -> list[str]:
    """The best methods, and the reference accuracy to judge them by."""
    names = [str(row.get("method")) for row in ranked(result)]
    found = [name for name in names if name != "source"][:LEADERS]
    return [*found, "source"] if "source" in names else found
