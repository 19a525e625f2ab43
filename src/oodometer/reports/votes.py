"""Votes: what the pages of estimates and of labelled data say of judges, besides charts."""

from __future__ import annotations

from typing import Any

from .charts.base import Result
from .charts.by_category import agreement, panel
from .numbers import best, finite

RULES = {
    "any-incorrect": "all judges accept (lower bound)",
    "any-correct": "some judge accepts (upper bound)",
    "majority": "more than half accept",
    "single": "the first judge alone",
}
MOST_JUDGES = 20  # in the table of single judges


def context(result: Result) -> dict[str, Any] | None:
    """Names for the section on votes; None where the result has none.

    >>> context({}) is None
    True
    """
    found = panel(result)
    if found is None:
        return None
    table, one = result.get("votes") or {}, found["judges"] == 1
    shown = {"single": "the judge"} if one else RULES
    rules = [(shown[str(row["rule"])], row) for row in table.get("rules") or [] if str(row.get("rule")) in shown]
    return {
        "judges": found["judges"],
        "bounds": [
            {**one, "name": agreement(one["agree"], found["judges"]), "inside": one.get("inside")}
            for one in found["bounds"]
        ],
        "ladder": [one for one in found["ladder"] if best(one.get("share"))],
        "rules": rules,
        "by_judge": [row for row in table.get("by_judge") or [] if best(row.get("accepted"))][:MOST_JUDGES],
        "by_number": [row for row in table.get("by_number") or [] if finite(row.get("judges"))],
        "subsets": [row for row in table.get("subsets") or [] if best(row.get("gold"))],
        "reference": found["reference"],
    }
