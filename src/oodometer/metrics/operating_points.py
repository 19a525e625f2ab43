"""Operating points: the threshold that keeps a required accuracy, with a bound that survives having chosen it here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ..errors import NotApplicable, UsageError
from ..intervals import clopper_pearson
from ..registry import register
from .base import checked_pair
from .groups import Groups
from .ranks import RankMetric, Ranks
from .spread import clopper_pearson_many

__all__ = ["OperatingPoints", "operating_point"]

_FEWEST, _MOST = 5, 100  # thresholds that are tested
_ROWS_A_TEST = 100
_FIXED = tuple(i / 10 for i in range(1, 10))  # thresholds tested besides, for confidences of few levels


def operating_point(confidence: Any, correct: Any, accuracy: float = 0.95, level: float = 0.95) -> dict[str, Any]:
    """The largest coverage at which the selective accuracy is, at the ``level``, proved to be at least ``accuracy``.

    Learn then Test with Bonferroni's correction. The tests are fixed before a verdict is looked at: n / 100 (5 to 100)
    coverages in equal steps, each with the confidence that follows its last rank as its threshold, and the thresholds
    0.1, ..., 0.9 (for confidences of few levels, whose ties leave no rank between). Given its threshold, the samples
    above it are independent draws of what it answers, so with m answered, h correct and J tests in all

        lower_j = Beta^-1((1 - level) / J; h, m - h + 1)

    is an exact one-sided bound, and all J hold together with probability ``level``. The answer is the test of the
    largest coverage with lower_j >= accuracy; the bound is valid although the data chose it. Testing in a fixed order
    needs no division by J, but its start would have to be fixed without the data, and a wrong start proves nothing.

    Returns ``accuracy`` (required), ``coverage`` (an interval), ``threshold`` (answer what is at least as confident),
    ``selective_accuracy`` (observed, with the corrected lower bound; its upper end is 1), ``answered``, ``tests``;
    ``coverage`` and what follows are None, and ``why`` is given, where nothing is proved. ``observed`` is the largest
    coverage that reached the accuracy here, without proof. The kind is exact, for data drawn like these.

    Arguments and errors as in `area_under_accuracy_coverage`; `UsageError` for an accuracy outside (0, 1). Source:
    Angelopoulos et al. (2025).

    >>> found = operating_point([0.9] * 400 + [0.6] * 100, [1] * 400 + [0, 1] * 50, accuracy=0.95)
    >>> found["coverage"]["value"], found["threshold"] > 0.6, round(found["selective_accuracy"]["lower"], 3)
    (0.8, True, 0.986)
    """
    return _point(Ranks.of(*checked_pair(confidence, correct)).groups, _checked(accuracy), level, fixed=True)


def _checked(accuracy: float) -> float:
    if not 0 < accuracy < 1:
        raise UsageError(f"expected a required accuracy between 0 and 1, got {accuracy}; percents are divided by 100")
    return float(accuracy)


def _point(groups: Groups, accuracy: float, level: float, fixed: bool) -> dict[str, Any]:
    n = groups.rows
    by_rank = int(np.clip(n // _ROWS_A_TEST, _FEWEST, _MOST))
    # the group whose confidence is the threshold: what is above it is answered; the last of these tests answers all
    ranks = np.ceil(np.arange(1, by_rank + 1) * (n / by_rank) - 1e-9)
    at = np.searchsorted(groups.answered, np.minimum(ranks + 1, n))
    thresholds = np.nextafter(groups.highest[at].astype(np.float64), np.inf)
    above = at - 1
    thresholds[-1], above[-1] = min(0.0, float(groups.lowest[-1])), len(groups.answered) - 1
    if fixed:
        stated = np.array(_FIXED)
        down = len(groups.answered) - np.searchsorted(groups.lowest[::-1], stated.astype(groups.lowest.dtype)) - 1
        thresholds, above = np.concatenate([thresholds, stated]), np.concatenate([above, down])
    tests = len(thresholds)
    trials = np.where(above >= 0, groups.answered[above], 0.0)
    hits = np.where(above >= 0, groups.right[above], 0.0)
    # both tails of a two-sided interval at this level are (1 - level) / tests
    lower, _ = clopper_pearson_many(hits, trials, 1 - 2 * (1 - level) / tests)
    proved = np.flatnonzero((lower >= accuracy) & (trials > 0))
    reached = np.flatnonzero(groups.right >= accuracy * groups.answered - 1e-9)
    out: dict[str, Any] = {
        "accuracy": accuracy,
        "level": level,
        "kind": "exact",
        "tests": tests,
        "observed": {
            "coverage": float(groups.answered[reached[-1]]) / n if len(reached) else 0.0,
            "threshold": float(groups.lowest[reached[-1]]) if len(reached) else None,
        },
        "coverage": None,
        "threshold": None,
        "answered": None,
        "selective_accuracy": None,
        "why": None,
    }
    if not len(proved):
        out["why"] = _why(groups, accuracy, level, tests, len(reached) > 0)
        return out
    j = proved[trials[proved].argmax()]
    m, h = float(trials[j]), float(hits[j])
    ends = clopper_pearson(m, n, level)
    return out | {
        "coverage": {"value": m / n, "lower": ends[0], "upper": ends[1], "level": level, "kind": "exact"},
        "threshold": float(thresholds[j]),
        "answered": int(m),
        "selective_accuracy": {
            "value": h / m,
            "lower": float(lower[j]),
            "upper": 1.0,
            "level": level,
            "kind": "exact",
        },
    }


def _why(groups: Groups, accuracy: float, level: float, tests: int, reached: bool) -> str:
    least = math.ceil(math.log((1 - level) / tests) / math.log(accuracy))
    if groups.rows < least:
        return f"needs at least {least} rows to prove {accuracy:g} at the level {level:g}; there are {groups.rows}"
    if not reached:
        return f"no part of the rows, the most confident first, is {accuracy:g} accurate"
    return f"some part reaches {accuracy:g}, but none by enough to prove it at the level {level:g}"


@final
@register("metric")
class OperatingPoints(RankMetric[list[dict[str, Any]]]):
    """A table, one row for each ``required`` accuracy (0.9, 0.95, 0.99), with the columns of `operating_point`.

    All rows hold together at the level, since they read the same corrected bounds.

    >>> from oodometer import Predictions
    >>> r = Predictions.from_confidence([0.9] * 50, correct=[1] * 50)
    >>> OperatingPoints(required=(0.95,)).compute(r)[0]["why"]
    'needs at least 110 rows to prove 0.95 at the level 0.95; there are 50'
    """

    name = "operating_points"
    bigger_is_better = None
    citation = "angelopoulos2025"
    gives = "table"

    def __init__(self, required: Sequence[float] = (0.9, 0.95, 0.99)) -> None:
        self.required = tuple(_checked(a) for a in required)

    def finish(self, state: Ranks, level: float = 0.95, seed: int = 0) -> list[dict[str, Any]]:
        """The table."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        fixed = state.exact and not state.signed  # the fixed thresholds are confidences, and a bin may straddle one
        return [_point(state.groups, accuracy, level, fixed) for accuracy in self.required]
