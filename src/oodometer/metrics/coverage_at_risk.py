"""Coverage at risk: how much may be answered if at most so many of the answers may be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable, UsageError
from ..registry import register
from .base import Measure, checked_pair, measure
from .groups import Groups
from .ranks import RankMetric, Ranks
from .resampling import RankBins, interval_of, resampled
from .spread import FEW_ROWS

RISKS = (0.01, 0.02, 0.05, 0.1, 0.2)
_BLOCK = 1024


def coverage_at_risk(confidence: Any, correct: Any, risk: float = 0.05, *, first: bool = False) -> float:
    """The largest coverage whose selective risk, errors / answered, is at most ``risk``; 0 where there is none.

    Only coverages that a threshold can reach count: samples of equal confidence are answered together. A curve may
    cross the risk more than once; the **largest** coverage is beyond every later crossing. ``first=True`` gives the
    largest coverage before the risk is exceeded for the **first** time, the most confident first.

    Arguments and errors as in `area_under_accuracy_coverage`; `UsageError` for a risk outside [0, 1). Source: Geifman
    and El-Yaniv (2017).

    >>> c, y = [0.9, 0.8, 0.7, 0.6, 0.5], [1, 0, 1, 1, 1]
    >>> coverage_at_risk(c, y, 0.2), coverage_at_risk(c, y, 0.2, first=True)
    (1.0, 0.2)
    """
    groups = Ranks.of(*checked_pair(confidence, correct)).groups
    at = _crossings(groups, _checked(risk))[1 if first else 0]
    return float(groups.answered[at]) / groups.rows if at >= 0 else 0.0


def _checked(risk: float) -> float:
    if not 0 <= risk < 1:
        raise UsageError(f"expected a risk from 0 to below 1, a share of wrong answers, got {risk}; 0.05 is usual")
    return float(risk)


def _crossings(groups: Groups, risk: float) -> tuple[int, int]:
    """Numbers of the last group with errors <= risk * answered, and before the first with more; or -1."""
    answered, wrong = groups.answered, groups.wrong
    start = np.arange(0, len(answered), _BLOCK)
    end = np.minimum(start + _BLOCK, len(answered))
    bound = 1e-9
    last = -1
    for block in np.flatnonzero(wrong[start] <= risk * answered[end - 1] + bound)[::-1]:
        part = slice(start[block], end[block])
        kept = np.flatnonzero(wrong[part] <= risk * answered[part] + bound)
        if len(kept):
            last = int(start[block] + kept[-1])
            break
    first = len(answered) - 1
    for block in np.flatnonzero(wrong[end - 1] > risk * answered[start] + bound):
        part = slice(start[block], end[block])
        over = np.flatnonzero(wrong[part] > risk * answered[part] + bound)
        if len(over):
            first = int(start[block] + over[0]) - 1
            break
    return last, first


def replicated_coverage_at_risk(bins: RankBins, risk: float, *, first: bool = False) -> Array:
    """The same for every replicate, to the nearest end of a cell; shape (replicate,)."""
    within = bins.wrong <= risk * bins.answered + 1e-9
    within &= bins.answered > 0
    if first:
        over = ~within & (bins.answered > 0)
        at = np.where(over.any(axis=1), over.argmax(axis=1), within.shape[1]) - 1
    else:
        at = within.shape[1] - 1 - within[:, ::-1].argmax(axis=1)
        at = np.where(within.any(axis=1), at, -1)
    reached = np.take_along_axis(bins.answered, np.maximum(at, 0)[:, None], axis=1)[:, 0]
    out: Array = np.where(at >= 0, reached / bins.rows, 0.0)
    return out


@final
@register("metric")
class CoverageAtRisk(RankMetric[Measure]):
    """Coverage at ``risk`` (0.05); ``by_risk`` has it at 0.01, 0.02, 0.05, 0.1, 0.2, the first crossing, the threshold.

    The interval comes from a seeded bootstrap over at most 512 cells of ranks (so its ends are read to 0.2 % of
    coverage) and is empirical: the coverage jumps where the curve runs along the risk. Larger is better.

    >>> from oodometer import Predictions
    >>> found = CoverageAtRisk(risk=0.4).compute(Predictions.from_confidence([0.9, 0.8, 0.7], correct=[1, 0, 1]))
    >>> found.value, round(found.extras["first"], 3), found.extras["threshold"]
    (1.0, 0.333, 0.7)
    """

    name = "coverage_at_risk"
    bigger_is_better = True
    citation = "geifman2017"

    def __init__(self, risk: float = 0.05, risks: Sequence[float] = RISKS) -> None:
        self.risk, self.risks = _checked(risk), tuple(_checked(r) for r in risks)

    def finish(self, state: Ranks, level: float = 0.95, seed: int = 0) -> Measure:
        """Coverage and interval; ``first``, ``threshold`` and ``by_risk`` as extras."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        groups = state.groups
        again = resampled(groups, seed)
        rows = [_row(groups, again, risk, level) for risk in dict.fromkeys((*self.risks, self.risk))]
        own = next(row for row in rows if row["risk"] == self.risk)
        return measure(
            own["value"],
            (own["lower"], own["upper"]),
            level,
            "empirical",
            risk=self.risk,
            first=own["first"],
            threshold=own["threshold"],
            by_risk=sorted(rows, key=lambda row: row["risk"]),
        )


def _row(groups: Groups, again: RankBins, risk: float, level: float) -> dict[str, Any]:
    last, first = _crossings(groups, risk)
    value = float(groups.answered[last]) / groups.rows if last >= 0 else 0.0
    lower, upper = interval_of(value, replicated_coverage_at_risk(again, risk), level)
    lower, upper = max(lower, 0.0), min(upper, 1.0)
    if groups.rows < FEW_ROWS:
        lower, upper = 0.0, 1.0
    return {
        "risk": risk,
        "value": value,
        "lower": lower,
        "upper": upper,
        "threshold": float(groups.lowest[last]) if last >= 0 else None,
        "first": float(groups.answered[first]) / groups.rows if first >= 0 else 0.0,
    }
