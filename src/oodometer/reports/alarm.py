"""Alarm: what the top of an estimate's page says of the rules that a scheduler asked about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..results.alarms import WHEN, AlarmRule
from ..results.values import counted
from .charts.base import Result
from .numbers import finite, percent

_MOST_ROWS = 12
_MOST_NAMES = 4


def banner(result: Result) -> dict[str, Any] | None:
    """Title, rules and failing parts of the banner; None where no rule was given.

    >>> rules = [{"metric": "f1", "rule": "below", "amount": 0.8}]
    >>> found = {"rules": rules, "when": "value", "of": "chunk", "judged": 3}
    >>> banner({"alarms": found})["title"], banner({"alarms": found})["rules"], banner({})
    ('No alarm in 3 chunks', ['f1 below 0.8'], None)
    """
    found = result.get("alarms")
    if not isinstance(found, Mapping) or not found.get("rules"):
        return None
    rows = sorted((_row(one) for one in _mappings(found.get("where"))), key=lambda row: bool(row.get("known_since")))
    new_only = found.get("asked") == "new"
    told = {bool(one.get("by_labels")) for one in rows}
    counts = [one for one in rows if not (new_only and one.get("known_since"))]
    return {
        "raised": bool(found.get("raised")),
        "title": _title(
            found, len({one["name"] for one in counts}), len({one["name"] for one in rows}) if new_only else 0
        ),
        "rules": [_rule(one) for one in _mappings(found.get("rules"))],
        "when": WHEN.get(str(found.get("when"))),
        "part": str(found.get("of") or "target"),
        "rows": rows[:_MOST_ROWS],
        "more": max(len(rows) - _MOST_ROWS, 0),
        "with_since": any(one.get("known_since") for one in rows),
        "number": "truth by labels" if told == {True} else "estimate" if True not in told else "number",
        "with_truth": any(one["truth"] is not None for one in rows) and told != {True},
        "by_chance": _few([str(one.get("name")) for one in _mappings(found.get("by_chance"))]),
        "unjudged": _few([str(one) for one in found.get("unjudged") or ()]),
    }


def _mappings(given: Any) -> list[Mapping[str, Any]]:
    return [one for one in given or () if isinstance(one, Mapping)]


def _title(found: Mapping[str, Any], failing: int, all_failing: int) -> str:
    """How many parts raise an alarm; where only new ones count, ``all_failing`` are known or new."""
    part, judged = str(found.get("of") or "target"), found.get("judged")
    everything = (
        "the target" if part == "target" else counted(judged, part) if isinstance(judged, int) else f"all {part}s"
    )
    known = max(all_failing - failing, 0)
    if not found.get("raised"):
        new = "new " if known else ""
        return f"No {new}alarm" if part == "target" else f"No {new}alarm in {everything}" + _known(known)
    return "Alarm" if part == "target" else f"Alarm in {failing} of {everything}" + _known(known)


def _known(many: int) -> str:
    return f", {many} known from earlier runs" if many else ""


def _rule(one: Mapping[str, Any]) -> str:
    amount = finite(one.get("amount"))
    metric, kind = str(one.get("metric")), "drop" if one.get("rule") == "drop" else "below"
    return metric if amount is None else AlarmRule(metric, kind, amount).sentence()  # type: ignore[arg-type]


def _row(one: Mapping[str, Any]) -> dict[str, Any]:
    """A failing part as the table shows it: accuracies in percent, other metrics with their decimals."""
    metric, chance = str(one.get("metric")), finite(one.get("p"))
    sure = "whole interval" if one.get("upper_below") else "" if chance is None else percent(chance, 0)
    truth = one.get("truth") if isinstance(one.get("truth"), Mapping) and metric == "accuracy" else None
    shown = {"name": str(one.get("name")), "metric": metric, "share": metric == "accuracy"}
    return {**one, **shown, "sure": sure, "truth": truth}


def _few(names: list[str]) -> str:
    """The first names, each once, and how many more there are.

    >>> _few(["a", "a", "b"]), _few([*"abcdef"]), _few([])
    ('a, b', 'a, b, c, d and 2 more', '')
    """
    once = list(dict.fromkeys(names))
    return ", ".join(once[:_MOST_NAMES]) + (f" and {len(once) - _MOST_NAMES} more" if len(once) > _MOST_NAMES else "")
