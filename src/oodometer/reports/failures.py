"""Failures: the failure cases of curves as a table and as sentences, and the findings about pairs of models."""

from __future__ import annotations

from typing import Any

from .charts.base import Result
from .charts.models import names, part, score
from .numbers import finite, percent, points

CASES = {
    "start": "rises at the start",
    "middle": "in the middle",
    "end": "at the end",
    "often": "often",
    "strong": "strongly",
    "plateau": "plateau",
}
"""Cases of one curve, in the order of the columns."""
KINDS = {
    "auc_against_coverage_at_risk": ("answers more", "high"),
    "tail": ("first rows", "high"),
    "auc_against_disca": ("DiSCA", "low"),
    "contested": ("DiSCA alone", "quiet"),
}
"""Findings about two models: words and style of the badge, the weightiest first."""


def size(case: Result) -> str:
    """The number that shows a case.

    >>> size({"name": "start", "rise": 0.052}).replace(chr(160), " "), size({"name": "often", "rises": 23})
    ('5.2 points', '23 times')
    """
    name = case.get("name")
    if name == "often":
        return f"{case.get('rises')} times"
    if name == "plateau":
        width = finite(case.get("width"))
        return "" if width is None else f"{percent(width, 0)} wide"
    rise = finite(case.get("rise"))
    return "" if rise is None else points(rise)


def cases(found: Any) -> list[dict[str, Any]]:
    """Cases that were seen on one curve, with their number and their sentence."""
    return [{**case, "size": size(case)} for case in found or [] if case.get("seen")]


def matrix(result: Result, domain: str) -> dict[str, Any] | None:
    """A row for each model and a cell for each case, and the sentences of those that were seen."""
    called, rows, told = names(result), [], []
    for model in result.get("models") or []:
        table = part(model, domain).get("failure_cases")
        if not table:
            continue
        name = called[str(model.get("name"))]
        seen = {str(case.get("name")): case for case in cases(table)}
        rows.append({"name": name, "cells": [seen.get(case) for case in CASES]})
        told += [{"model": name, **case} for case in seen.values()]
    if not rows:
        return None
    struck = sum(any(row["cells"]) for row in rows)
    return {"rows": rows, "told": told, "struck": struck, "free": len(rows) - struck}


def pairs(result: Result, domain: str) -> list[dict[str, Any]]:
    """Findings about two models, each with its badge; those that DiSCA alone supports come last."""
    out = []
    by_name = {str(one.get("name")): one for one in result.get("models") or []}
    for finding in result.get("findings") or []:
        kind = str(finding.get("name"))
        if finding.get("domain") != domain or kind not in KINDS:
            continue
        pair = [score(by_name.get(str(name)) or {}, domain, "coverage_at_risk") for name in finding.get("models") or []]
        # contested: the model that AUC prefers also answers more at the accepted risk
        if kind == "auc_against_disca" and len(pair) == 2 and all(pair) and pair[0]["value"] > pair[1]["value"]:
            kind = "contested"
        badge, style = KINDS[kind]
        out.append({**finding, "kind": kind, "badge": badge, "style": style})
    return sorted(out, key=lambda one: (list(KINDS).index(one["kind"]), -(finite(one.get("share")) or 0.0)))
