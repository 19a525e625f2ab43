"""Backtest: what the page of simulated shifts needs besides charts: the tables."""

from __future__ import annotations

from typing import Any

from .charts.base import Result
from .charts.by_category import MEANINGS, by_family, families, family_name, leaders, ranked, usable
from .numbers import finite, percent

FAR_BELOW = 2.0  # standard errors of a share of trials


def context(result: Result) -> dict[str, Any]:
    """Names for the template."""
    # a row for each method: the share of trials that its interval held, by family, and whether that is far too low
    nominal, names = finite(result.get("level")) or 0.95, families(result)
    held, rows = by_family(result, "coverage"), []
    cases: dict[tuple[str, str], float] = {}
    for row in usable(result):
        key = (str(row.get("method")), str(row.get("family")))
        cases[key] = cases.get(key, 0.0) + (finite(row.get("cases")) or 0.0)
    for one in ranked(result):
        cells = []
        for family in names:
            key = (str(one.get("method")), family)
            share, count = held.get(key), cases.get(key, 0.0)
            error = (nominal * (1 - nominal) / count) ** 0.5 if count else 1.0
            cells.append({"share": share, "low": share is not None and share < nominal - FAR_BELOW * error})
        rows.append({**one, "cells": cells})
    total = sum(cell["share"] is not None for row in rows for cell in row["cells"])
    low = sum(cell["low"] for row in rows for cell in row["cells"])
    level = percent(result.get("level") or 0.95, 0)
    return {
        "best": next(iter(ranked(result)), None),
        "families": [{"name": family_name(n), "key": n, "means": MEANINGS.get(n, "")} for n in names],
        "coverage": rows,
        "coverage_title": f"Intervals called {level} held the truth far less often in {low} of {total} cells"
        if low
        else f"Intervals called {level} held the truth about as often as they say",
        "leaders": leaders(result),
    }
