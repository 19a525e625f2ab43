"""Audit: what the page of a few labels needs besides its view and charts: what the test sees, what to label next."""

from __future__ import annotations

import shlex
from typing import Any

from ..results.values import counted
from .charts.base import Result
from .charts.by_category import chosen_first
from .charts.curves import expected, halving, today, width_steps
from .numbers import best, finite, number, percent, points, reference

DROPPED = ("--report", "--json", "--suggest", "--out", "--save")
MORE = 20  # rows to suggest where the curve names no number


def power(result: Result) -> str:
    """Which accuracies so many labels would have noticed, so that nobody takes silence for proof."""
    noticed = result.get("noticeable") or {}
    below, above = finite(noticed.get("below")), finite(noticed.get("above"))
    labels, share = finite(result.get("labels")), finite(noticed.get("power"))
    if not labels or share is None:
        return ""
    often, many = f"{number(round(share * 10))} times in 10", counted(int(labels), "label")
    ends = [f"below {percent(below)}"] if below is not None else []
    ends += [f"above {percent(above)}"] if above is not None else []
    if not ends:
        return f"No accuracy at all would be refuted {often} by {many}: label more for a test that can."
    return f"With {many} this test refutes {often} only where the truth lies {' or '.join(ends)}."


def next_command(result: Result) -> dict[str, Any] | None:
    """How many rows to label next and the command that draws them: this one again, with `--suggest`."""
    argv = result.get("argv")
    if result.get("suggested"):
        return None
    try:
        words = [str(part) for part in argv] if isinstance(argv, list | tuple) else shlex.split(str(argv or ""))
    except ValueError:
        words = []
    flags: list[str] = []
    skip = False
    for word in words:
        if not skip and word.partition("=")[0] not in DROPPED:
            flags.append(word)
        skip = not skip and word in DROPPED
    half, labels = halving(result), int(finite(result.get("labels")) or 0)
    rows = finite((result.get("target") or {}).get("rows")) or MORE
    more = half - labels if half is not None else min(max(labels, MORE), int(rows) - labels)
    if more < 1:
        return None
    line = shlex.join([*flags, "--suggest", str(more), "--out", "next.csv"]) if words else ""
    return {"line": line, "more": more, "half": half is not None}


def context(result: Result) -> dict[str, Any]:
    """Names for the template."""
    estimates, suggested = chosen_first(result), len(result.get("suggested") or [])
    for estimate in estimates:
        estimate["reference"] = reference(str(estimate["citation"])) if estimate.get("citation") else None
    width = expected(result, (finite(result.get("labels")) or 0) + suggested) if suggested else None
    return {
        "audited": best(result.get("estimate")),
        "claim": best(result.get("headline")),
        "power": power(result),
        "estimates": estimates,
        "steps": width_steps(result),
        "next": next_command(result),
        "next_width": "" if width is None else points(width),  # once the suggested rows are labelled, too
        "today": today(result),
    }
