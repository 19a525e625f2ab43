"""One case (a reference, a target, the truth) and what many cases amount to: error, bias, coverage, width."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import oodometer
from oodometer import Predictions

LEVEL = 0.9
HEADLINE = "headline"
DIGITS = 7

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Case:
    """Estimates (value, lower, upper) by method on one target, and its true accuracy."""

    set: str
    shift: str
    name: str
    rows: int
    truth: float
    trust: str
    estimates: dict[str, Triple]

    def to_dict(self) -> dict[str, Any]:
        """A plain mapping with numbers of seven digits."""
        found = {m: [round(x, DIGITS) for x in three] for m, three in self.estimates.items()}
        return {"set": self.set, "shift": self.shift, "case": self.name, "rows": self.rows,
                "truth": round(self.truth, DIGITS), "trust": self.trust, "estimates": found}  # fmt: skip


def run_methods(
    reference: Predictions, target: Predictions, methods: Sequence[str], level: float = LEVEL
) -> dict[str, Triple]:
    """Every method on one pair through `oodometer.estimate`, without diagnosis and backtest: no headline."""
    found = oodometer.estimate(reference, target, methods=methods, level=level, diagnosis=False)
    if found.skipped:
        raise RuntimeError(f"a method did not apply: {found.skipped}")
    return {e.method: (e.value, e.lower, e.upper) for e in found.estimates}


def run_case(
    reference: Predictions, target: Predictions, methods: Sequence[str], level: float = LEVEL
) -> tuple[dict[str, Triple], str]:
    """Every method and the headline on one pair through `oodometer.estimate`, and the headline's trust."""
    found = oodometer.estimate(reference, target, methods=methods, level=level)
    if found.skipped:
        raise RuntimeError(f"a method did not apply: {found.skipped}")
    out = {e.method: (e.value, e.lower, e.upper) for e in found.estimates}
    head = found.headline.interval
    return {**out, HEADLINE: (head.value, head.lower, head.upper)}, found.headline.trust


@dataclass(frozen=True)
class Line:
    """What one method did over several cases; all but `cases` and `coverage` in points of accuracy."""

    method: str
    cases: int
    mae: float
    bias: float
    worst: float
    coverage: float
    width: float

    def to_dict(self) -> dict[str, Any]:
        """A plain mapping."""
        figures = {k: round(getattr(self, k), 4) for k in ("mae", "bias", "worst", "coverage", "width")}
        return {"method": self.method, "cases": self.cases, **figures}


def lines_of(cases: Sequence[Case]) -> list[Line]:
    """One line for each method, in the order of the first case."""
    return [line_of(method, [(c.estimates[method], c.truth) for c in cases]) for method in cases[0].estimates]


def line_of(method: str, results: Sequence[tuple[Triple, float]]) -> Line:
    """Mean absolute error, bias, worst error, coverage and width of estimates beside their truths.

    >>> line_of("ac", [((0.9, 0.8, 1.0), 0.85), ((0.7, 0.6, 0.8), 0.9)]).coverage
    0.5
    """
    gaps = [100 * (value - truth) for (value, _, _), truth in results]
    inside = [low - 1e-12 <= truth <= high + 1e-12 for (_, low, high), truth in results]
    widths = [100 * (high - low) for (_, low, high), _ in results]
    n = len(results)
    return Line(
        method, n, sum(map(abs, gaps)) / n, sum(gaps) / n, max(map(abs, gaps)), sum(inside) / n, sum(widths) / n
    )


def grouped(cases: Iterable[Case], key: Callable[[Case], Any]) -> dict[Any, list[Case]]:
    """Cases by a key, in order of appearance."""
    out: dict[Any, list[Case]] = {}
    for case in cases:
        out.setdefault(key(case), []).append(case)
    return out


def median_rows(cases: Sequence[Case]) -> int:
    """Median number of target rows."""
    return int(median(c.rows for c in cases))
