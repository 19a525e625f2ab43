"""Models: how a comparison's charts and tables name, order and colour the models, and where their numbers lie."""

from __future__ import annotations

from typing import Any

from ..numbers import best, finite, short
from ..theme import ACCENT, QUIET, REFERENCE, TRUTH
from .base import Result
from .dots import unique

MOST = 10  # models in a chart; beyond it lines can no longer be told apart
WIDEST = 28  # characters of a name
DOMAINS = {"in_domain": "in domain", "out_of_domain": "out of domain"}
"""Domains of a comparison in words."""
WHERE = {"in_domain": "rankings", "out_of_domain": "rankings_out_of_domain", "target": "rankings_target"}
"""Where the rankings of a domain stand."""


def domains(result: Result) -> list[str]:
    """Domains in which any model was judged."""
    return [name for name in DOMAINS if any(part(one, name) for one in result.get("models") or [])]


def part(model: Result, domain: str) -> dict[str, Any]:
    """What was found for a model in a domain; empty where it was not judged there."""
    return dict(model.get(domain) or {})


def score(model: Result, domain: str, metric: str) -> dict[str, Any]:
    """A metric of a model with its interval; empty where there is none."""
    return best((part(model, domain).get("metrics") or {}).get(metric))


def rankings(result: Result, domain: str = "in_domain") -> dict[str, list[dict[str, Any]]]:
    """Rankings of a domain, metric to rows, best first; rows without a number are left out."""
    found = result.get(WHERE[domain]) or {}
    rows = {str(name): [one for row in each or [] if (one := best(row))] for name, each in found.items()}
    return {name: each for name, each in rows.items() if each}


def names(result: Result) -> dict[str, str]:
    """A short name for each model, told apart by a number where two are alike.

    >>> names({"models": [{"name": "x" * 40 + "1"}, {"name": "x" * 40 + "2"}]})["x" * 40 + "2"][-6:]
    'x… (2)'
    """
    given = [str(one.get("name")) for one in result.get("models") or []]
    return dict(zip(given, unique(short(one, WIDEST) for one in given), strict=True))


def required(result: Result) -> float | None:
    """The accuracy to speak about first: the tolerance of DiSCA where it is required, else the highest one.

    >>> required({"settings": {"require": [0.9, 0.95, 0.99], "tolerance": 0.95}}), required({})
    (0.95, None)
    """
    settings = result.get("settings") or {}
    wanted = [one for each in settings.get("require") or [] if (one := finite(each)) is not None]
    tolerance = finite(settings.get("tolerance"))
    return tolerance if tolerance in wanted else max(wanted, default=None)


def point(model: Result, domain: str, accuracy: float) -> dict[str, Any]:
    """The operating point of a model for a required accuracy; empty where none was looked for."""
    rows = part(model, domain).get("operating_points") or []
    return next((dict(row) for row in rows if row.get("accuracy") == accuracy), {})


def leader(result: Result) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The model that may answer most and its operating point, for the accuracy to speak about first.

    First that of `required` is tried, then lower ones, then higher ones; of equal coverages the more accurate one wins.
    """
    first = required(result)
    wanted = [x for each in (result.get("settings") or {}).get("require") or [] if (x := finite(each))]
    lower = sorted((x for x in wanted if first is not None and x < first), reverse=True)
    for accuracy in [first, *lower, *sorted(x for x in wanted if first is not None and x > first)]:
        found = [
            (one, at)
            for one in result.get("models") or []
            if accuracy is not None and best((at := point(one, "in_domain", accuracy)).get("coverage"))
        ]
        if found:
            return max(
                found,
                key=lambda pair: (pair[1]["coverage"]["value"], pair[1]["selective_accuracy"]["value"]),
            )
    return None


def order(result: Result) -> list[str]:
    """Models from the best to the worst, by AUC where it is there, else by accuracy, else as given."""
    given = [str(one.get("name")) for one in result.get("models") or []]
    found = rankings(result)
    ranked = [str(row.get("model")) for row in found.get("auc_coverage") or found.get("accuracy") or []]
    kept = [name for name in dict.fromkeys(ranked) if name in given]
    return [*kept, *(name for name in given if name not in kept)]


def colors(result: Result) -> dict[str, str]:
    """Three models in colour, the others quiet: what may answer most, the best by AUC, the best by DiSCA."""
    led, found = leader(result), rankings(result)
    heads = [str(led[0].get("name"))] if led else []
    heads += [str(found[name][0].get("model")) for name in ("auc_coverage", "disca", "accuracy") if name in found]
    ordered = order(result)
    shown = [name for name in dict.fromkeys([*heads, *ordered]) if name in ordered]
    bright = dict(zip(shown, (ACCENT, REFERENCE, TRUTH), strict=False))
    return {name: bright.get(name, QUIET) for name in ordered}


def drawn(result: Result) -> list[dict[str, Any]]:
    """Models that charts show, the best first: those in colour, and others as far as there is room."""
    ordered, tones = order(result), colors(result)
    kept = [name for name in ordered if tones[name] != QUIET]
    kept += [name for name in ordered if tones[name] == QUIET][: max(MOST - len(kept), 0)]
    by_name = {str(one.get("name")): dict(one) for one in result.get("models") or []}
    return [by_name[name] for name in ordered if name in kept]
