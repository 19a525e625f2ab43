"""Backtest: what the page of simulated shifts needs besides charts: the winner in words, the tables."""

from __future__ import annotations

from typing import Any

from ..results.backtest import family_name
from .charts.base import Result
from .charts.trials import MEANINGS, by_family, families, leaders, ranked, usable
from .numbers import finite, percent, points, short

FAR_BELOW = 2.0  # standard errors of a share of trials


def sentence(result: Result) -> str:
    """Which method would have been right, and how far off it would have been to report the reference accuracy."""
    order = ranked(result)
    if not order:
        return "No method could answer on the shifts that could be simulated; the reasons are listed below."
    best = order[0]
    count = len(families(result))
    text = f"On targets simulated from this reference, in {count} famil{'y' if count == 1 else 'ies'} of shifts, "
    text += f"{short(best.get('method'), 40)} was closest to the truth: off by {points(best['error'])} on average"
    source = next((row for row in order if row.get("method") == "source"), None)
    if source is not None and source is not best:
        text += f", where reporting the reference accuracy would have been off by {points(source['error'])}"
    trials, cases = finite(result.get("trials")), finite(best.get("cases"))
    if trials and cases and cases < trials:
        text += f". It could answer in {cases:.0f} of {trials:.0f} trials"
    return text + "."


def _coverage(result: Result) -> list[dict[str, Any]]:
    """A row for each method: share of trials that its interval held, by family, and whether that is far too low."""
    level = finite(result.get("level")) or 0.95
    held, columns = by_family(result, "coverage"), families(result)
    cases: dict[tuple[str, str], float] = {}
    for row in usable(result):
        key = (str(row.get("method")), str(row.get("family")))
        cases[key] = cases.get(key, 0.0) + (finite(row.get("cases")) or 0.0)
    out = []
    for one in ranked(result):
        cells = []
        for family in columns:
            key = (str(one.get("method")), family)
            share, count = held.get(key), cases.get(key, 0.0)
            error = (level * (1 - level) / count) ** 0.5 if count else 1.0
            cells.append({"share": share, "low": share is not None and share < level - FAR_BELOW * error})
        out.append({**one, "cells": cells})
    return out


def context(result: Result) -> dict[str, Any]:
    """Names for the template."""
    names = families(result)
    rows = _coverage(result)
    total = sum(cell["share"] is not None for row in rows for cell in row["cells"])
    low = sum(cell["low"] for row in rows for cell in row["cells"])
    level = percent(result.get("level") or 0.95, 0)
    return {
        "sentence": sentence(result),
        "best": next(iter(ranked(result)), None),
        "families": [{"name": family_name(n), "key": n, "means": MEANINGS.get(n, "")} for n in names],
        "coverage": rows,
        "coverage_title": f"Intervals called {level} held the truth far less often in {low} of {total} cells"
        if low
        else f"Intervals called {level} held the truth about as often as they say",
        "leaders": leaders(result),
    }
