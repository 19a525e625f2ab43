"""Operating points: the threshold that keeps a required accuracy, with a proof that survives having chosen it here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable, UsageError
from ..intervals import clopper_pearson
from ..registry import register
from ..results.values import percent
from .base import checked_pair
from .fixed_sequence import binomial_tails, fewest_rows, parts_of, rejected, rows_set_aside, starts_of
from .groups import Groups
from .ranks import RankMetric, Ranks
from .spread import generator


def operating_point(confidence: Any, correct: Any, accuracy: float = 0.95, level: float = 0.95) -> dict[str, Any]:
    """The largest coverage at which the selective accuracy is, at the ``level``, proved to be at least ``accuracy``.

    Learn then Test by fixed sequences. n / 25 rows (5 to 100), drawn at random with a fixed seed, give their
    confidences and the middles between them as thresholds, and one more answers all; the other rows test them. From
    strict to lenient, with m answered and h of them correct, "the accuracy is below the required one" is rejected where

        P(X >= h) <= the part of 1 - level that rests here, X ~ Binomial(m, accuracy).

    That level starts in equal parts at five thresholds, and a part goes on to the next threshold where it rejects.
    All rejections hold together with probability ``level``, so the most lenient of them, which is the answer, is valid
    although it was looked for. Nothing is assumed of how accuracy and confidence belong together.

    Returns ``accuracy`` (required), ``coverage`` (an interval), ``threshold`` (answer what is at least as confident),
    ``selective_accuracy`` (observed; its lower end is what is proved, the required accuracy, its upper end is 1),
    ``answered``, ``tests`` (thresholds tested), ``set_aside`` (rows that gave them); ``coverage`` and what follows are
    None, and ``why`` is given, where nothing is proved. ``observed`` is the largest coverage that reached the accuracy
    here, without proof. The kind is exact, for data drawn like these.

    Arguments and errors as in `area_under_accuracy_coverage`; `UsageError` for an accuracy outside (0, 1). Source:
    Angelopoulos et al. (2025); Bauer (1991).

    >>> found = operating_point([0.9] * 400 + [0.6] * 100, [1] * 400 + [0, 1] * 50, accuracy=0.95)
    >>> found["coverage"]["value"], found["threshold"] > 0.6, found["selective_accuracy"]["lower"]
    (0.8, True, 0.95)
    """
    return _points(Ranks.of(*checked_pair(confidence, correct)).groups, (_checked(accuracy),), level)[0]


def _checked(accuracy: float) -> float:
    if not 0 < accuracy < 1:
        raise UsageError(f"expected a required accuracy between 0 and 1, got {accuracy}; percents are divided by 100")
    return float(accuracy)


@dataclass(frozen=True)
class _Tests:
    """Thresholds, strict to lenient and the last answers all; what each answers; the samples among it that test it."""

    values: Array
    wanted: Array
    at: Array  # the last group that each answers
    hits: Array
    trials: Array
    set_aside: int

    @classmethod
    def of(cls, groups: Groups, between: bool, seed: int) -> _Tests:
        """Rows set aside at random, whatever the order or the batches of the file, and ``between`` two the middle."""
        ranks = generator(seed, "operating_points").choice(groups.rows, rows_set_aside(groups.rows), replace=False)
        gave = np.searchsorted(groups.answered, ranks, side="right")
        right = ranks - groups.before[gave] < groups.correct[gave]  # a random place in its group, the right ones first
        lowest = groups.lowest.astype(np.float64)
        values = np.sort(lowest[gave])
        if between:  # by chance two may lie far from each other
            values = np.sort(np.append(values, values[:-1] + np.diff(values) / 2))
        values, wanted = np.unique(np.append(-values[::-1], np.inf), return_inverse=True)
        at = len(lowest) - 1 - np.searchsorted(lowest[::-1], -values)
        gone = np.searchsorted(np.sort(gave), at, side="right")
        gone_right = np.searchsorted(np.sort(gave[right]), at, side="right")
        values = np.append(-values[:-1], min(0.0, float(lowest[-1])))
        return cls(values, wanted, at, groups.right[at] - gone_right, groups.answered[at] - gone, len(gave))


def _points(
    groups: Groups, accuracies: Sequence[float], level: float, between: bool = True, seed: int = 0
) -> list[dict[str, Any]]:
    required, n = sorted(set(accuracies)), groups.rows
    tests = _Tests.of(groups, between, seed)
    tested = n - tests.set_aside
    parts, starts = parts_of(required, tested, 1 - level), np.zeros((len(required), len(tests.at)))
    for row, accuracy, part in zip(starts, required, parts, strict=True):
        np.add.at(row, tests.wanted, starts_of(accuracy, len(tests.wanted), tested, part or 1 - level))
    answered, right = groups.answered[tests.at], groups.right[tests.at]
    # what is proved must also be seen on all rows, those set aside included
    short = right < np.array(required)[:, None] * answered
    proved = rejected(np.where(short, 1.0, binomial_tails(tests.hits, tests.trials, required)), starts, parts)
    out = []
    for accuracy in accuracies:
        seen, found = _observed(groups, accuracy), np.flatnonzero(proved[required.index(accuracy)])
        told = {"accuracy": accuracy, "level": level, "kind": "exact", "tests": len(tests.at)}
        told |= {"set_aside": tests.set_aside, "observed": seen}
        if not len(found):
            told |= dict.fromkeys(("coverage", "threshold", "answered", "selective_accuracy"))
            out.append(told | {"why": _why(n, accuracy, level, seen["threshold"] is not None)})
            continue
        m, h = float(answered[found[-1]]), float(right[found[-1]])
        ends, common = clopper_pearson(m, n, level), {"level": level, "kind": "exact"}
        told |= {
            "coverage": {"value": m / n, "lower": ends[0], "upper": ends[1], **common},
            "threshold": float(tests.values[found[-1]]),
            "answered": int(m),
            "selective_accuracy": {"value": h / m, "lower": accuracy, "upper": 1.0, **common},
            "why": None,
        }
        out.append(told)
    return out


def _observed(groups: Groups, accuracy: float) -> dict[str, Any]:
    reached = np.flatnonzero(groups.right >= accuracy * groups.answered - 1e-9)
    return {
        "coverage": float(groups.answered[reached[-1]]) / groups.rows if len(reached) else 0.0,
        "threshold": float(groups.lowest[reached[-1]]) if len(reached) else None,
    }


def _why(rows: int, accuracy: float, level: float, reached: bool) -> str:
    least = fewest_rows(accuracy, 1 - level)
    if rows < least:
        return f"needs at least {least} rows to prove {accuracy:g} at the level {level:g}; there are {rows}"
    if not reached:
        return f"no part of the rows, the most confident first, is {accuracy:g} accurate"
    what = f"a threshold reaches {percent(accuracy, None)} here"
    return f"{what}, but there are too few rows to confirm it at {percent(level, None)}"


@final
@register("metric")
class OperatingPoints(RankMetric[list[dict[str, Any]]]):
    """A table, one row for each ``required`` accuracy (0.9, 0.95, 0.99), with the columns of `operating_point`.

    All rows hold together at the level, which the accuracies share: each starts with an equal part, an accuracy that
    is proved for all rows gives its part on to the next higher one, and a threshold proved for a higher accuracy is
    proved for a lower one.

    >>> from oodometer import Predictions
    >>> r = Predictions.from_confidence([0.9] * 50, correct=[1] * 50)
    >>> OperatingPoints(required=(0.95,)).compute(r)[0]["why"]
    'needs at least 64 rows to prove 0.95 at the level 0.95; there are 50'
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
        # a bin of a histogram may straddle what lies between two confidences
        return _points(state.groups, self.required, level, state.exact, seed)
