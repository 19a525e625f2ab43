"""Seeds: the trainings of a task from several seeds as one, each number with the spread of rows and of trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...intervals import normal_quantile

_NAMES = ("method", "agree")
"""What names a row of a list: a method of the study, or how many judges must agree."""


def trainings(result: Mapping[str, Any], task: str) -> list[Mapping[str, Any]]:
    """All trainings of a task, the first seed first."""
    others = result.get("replicates", {}).get(task, {})
    return [result["tasks"][task], *(others[seed] for seed in sorted(others, key=int))]


def pooled(several: Sequence[Any]) -> Any:
    """One of several structures of the same form: numbers with an interval become their mean, with an interval.

    With m trainings, standard errors s_i of the rows and a standard deviation d between trainings, the standard error
    is sqrt(mean(s_i^2) + d^2 / m): the rows are the same in every training, so their part does not shrink. True and
    false become what most say, false where as many do. Rows are matched by method or number of judges. All else is
    taken from the first, and so is what only the first has.

    >>> one = {"value": 0.4, "lower": 0.3, "upper": 0.5, "level": 0.95}
    >>> found = pooled([one, {**one, "value": 0.6, "lower": 0.5, "upper": 0.7}])
    >>> found["value"], round(found["lower"], 3)
    (0.5, 0.28)
    >>> pooled([{"inside": True, "rows": 7}, {"inside": False, "rows": 7}])
    {'inside': False, 'rows': 7}
    """
    first = several[0]
    if len(several) == 1:
        return first
    if isinstance(first, Mapping):
        if {"value", "lower", "upper", "level"} <= set(first):
            return _number(several)
        told = [one for one in several if isinstance(one, Mapping)]
        return {key: pooled([one[key] for one in told if key in one]) for key in first}
    if isinstance(first, list | tuple):
        return _rows(several)
    if isinstance(first, bool):
        return 2 * sum(several) > len(several)
    return first


def _rows(several: Sequence[Any]) -> Any:
    """Rows that are named, pooled by their names, since a training may lack one; others as the first has them."""
    first = several[0]
    key = next((name for name in _NAMES if first and isinstance(first[0], Mapping) and name in first[0]), None)
    if key is None:
        return first
    named = [{row[key]: row for row in rows} for rows in several]
    return [pooled([rows[row[key]] for rows in named if row[key] in rows]) for row in first]


def _number(several: Sequence[Any]) -> Any:
    known = [one for one in several if isinstance(one, Mapping)]
    values = np.array([one["value"] for one in known])
    quantile = normal_quantile(known[0]["level"])
    arms = np.array([[one["value"] - one["lower"], one["upper"] - one["value"]] for one in known])
    spread = float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0
    below, above = np.sqrt(np.square(arms / quantile).mean(axis=0) + spread) * quantile
    middle = float(values.mean())
    return {**known[0], "value": middle, "lower": middle - float(below), "upper": middle + float(above)}
