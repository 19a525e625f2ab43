"""Operating points: the threshold that keeps a required accuracy, with a proof that survives having chosen it here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..intervals import clopper_pearson
from ..plain import Json
from ..registry import register
from ..results.values import percent
from .base import checked_pair
from .ranks import Groups, RankMetric, Ranks
from .resampling import generator

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

STARTS = 5
_FEWEST, _MOST = 5, 100  # rows whose confidences become thresholds
_ROWS_A_THRESHOLD = 25
_ROOM = 1.5  # times as many rows as a proof without an error needs, where the first start lies


def rows_set_aside(rows: int) -> int:
    """How many rows give their confidence as a threshold and are no part of a test: n / 25, 5 to 100."""
    return min(int(np.clip(rows // _ROWS_A_THRESHOLD, _FEWEST, _MOST)), rows // 2)


def fewest_rows(accuracy: float, alpha: float) -> int:
    """The number of rows below which not even a file without an error proves the accuracy."""
    rows = needed = _tested(accuracy, alpha)
    while rows - rows_set_aside(rows) < needed:
        rows += 1
    return rows


def _tested(accuracy: float, alpha: float) -> int:
    return math.ceil(math.log(alpha) / math.log(accuracy))


def starts_of(accuracy: float, thresholds: int, rows: int, alpha: float) -> Float[Array, " t"]:
    """What part of an accuracy's level starts at each threshold, strict to lenient; no verdict is read."""
    first = math.ceil(_ROOM * _tested(accuracy, alpha / STARTS) / max(rows, 1) * thresholds) - 1
    first = min(first, thresholds - 1)
    at = first + (thresholds - 1 - first) * np.linspace(0, 1, STARTS) ** 2
    return np.bincount(np.rint(at).astype(int), minlength=thresholds) / STARTS


def parts_of(required: Sequence[float], rows: int, alpha: float) -> Float[Array, " accuracy"]:
    """Equal parts of ``alpha`` for the accuracies that ``rows`` rows can reach, or for all where they reach none."""
    use = np.array([_ROOM * _tested(a, alpha / len(required)) <= rows for a in required])
    use |= not use.any()
    return np.where(use, alpha / use.sum(), 0.0)


def binomial_tails(
    hits: Array, trials: Array, required: Sequence[float]
) -> Float[Array, "accuracy t"]:
    """P(X >= hits) for X ~ Binomial(trials, accuracy), of each required accuracy; 1 where nothing was hit."""
    from scipy.special import betainc

    h, m, a = np.asarray(hits), np.asarray(trials), np.asarray(required)[:, None]
    return np.where(h > 0, betainc(np.maximum(h, 1e-9), m - h + 1, a), 1.0)


def rejected(
    tails: Float[Array, "accuracy t"],
    starts: Float[Array, "accuracy t"],
    parts: Float[Array, " accuracy"],
) -> Bool[Array, "accuracy t"]:
    """Which hypotheses "from threshold t on the accuracy is below a" are rejected, at the level that parts sum to.

    An accuracy's part is laid at its ``starts`` and goes on to the next threshold that rejects, then to the next higher
    accuracy: fixed sequences (Bauer 1991) with fallback (Wiens and Dmitrienko 2005), valid as a sequentially rejective
    procedure (Goeman and Solari 2010). A hypothesis is tested at all that lies there for its own and higher accuracies.
    """
    p, shares, lies = tails.tolist(), starts.tolist(), (starts * parts[:, None]).tolist()
    done = [[False] * tails.shape[1] for _ in p]
    changed = True
    while changed:
        changed, passed = False, 0.0
        for a, part in enumerate(parts.tolist()):
            carried = 0.0
            for t, share in enumerate(shares[a]):
                mass = share * (part + passed) + carried
                if not done[a][t]:
                    level = mass + sum([row[t] for row in lies[a + 1 :]])
                    if level > 0 and p[a][t] <= level:
                        changed = True
                        for lower in range(a + 1):
                            done[lower][t], lies[lower][t] = True, 0.0
                lies[a][t], carried = (0.0, mass) if done[a][t] else (mass, 0.0)
            passed = carried
    return np.array(done)


def operating_point(
    confidence: Any, correct: Any, accuracy: float = 0.95, level: float = 0.95
) -> Json:
    """The largest coverage at which the selective accuracy is, at the ``level``, proved to be at least ``accuracy``.

    Learn then Test by fixed sequences. n / 25 rows (5 to 100), drawn at random with a fixed seed, give their
    confidences and the middles between them as thresholds; the other rows test them. From strict to lenient, with m
    answered and h of them correct, "the accuracy is below the required one" is rejected where

        P(X >= h) <= the part of 1 - level that rests here, X ~ Binomial(m, accuracy).

    That level starts in equal parts at five thresholds, and a part goes on to the next threshold where it rejects. All
    rejections hold together with probability ``level``, so the answer is valid although it was looked for.

    confidence, correct : as in `area_under_accuracy_coverage`, as are their errors.
    accuracy : the one required of what is answered, in (0, 1); `UsageError` outside.
    level : probability with which what is said holds.

    Returns ``accuracy`` (required), ``coverage`` (an interval), ``threshold`` (answer what is at least as confident),
    ``selective_accuracy`` (observed; its lower end is what is proved), ``answered``, ``tests``, ``set_aside`` (rows
    that gave thresholds); ``coverage`` and what follows are None, and ``why`` is given, where nothing is proved;
    ``observed`` is the largest coverage that reached the accuracy here, without proof. The kind is exact.

    Source: Angelopoulos et al. (2025); Bauer (1991).

    >>> found = operating_point([0.9] * 400 + [0.6] * 100, [1] * 400 + [0, 1] * 50, accuracy=0.95)
    >>> found["coverage"]["value"], found["threshold"] > 0.6, found["selective_accuracy"]["lower"]
    (0.8, True, 0.95)
    """
    return _points(
        Ranks.of(*checked_pair(confidence, correct)).groups, (_checked(accuracy),), level
    )[0]


def _checked(accuracy: float) -> float:
    if not 0 < accuracy < 1:
        raise UsageError(
            f"expected a required accuracy between 0 and 1, got {accuracy}; percents are divided by 100"
        )
    return float(accuracy)


def _points(
    groups: Groups, accuracies: Sequence[float], level: float, between: bool = True, seed: int = 0
) -> list[Json]:
    required, n = sorted(set(accuracies)), groups.rows
    # rows set aside at random, whatever the order or the batches of the file, and between two of them the middle, are
    # thresholds, strict to lenient, the last answers all; ``at`` is the last group that each answers
    set_aside, lowest = rows_set_aside(n), groups.lowest.astype(np.float64)
    ranks = generator(seed, "operating_points").choice(n, set_aside, replace=False)
    gave = np.searchsorted(groups.answered, ranks, side="right")
    # random places, in a group the right first
    gave_right = gave[ranks - groups.before[gave] < groups.correct[gave]]
    values = np.sort(lowest[gave])
    if between:  # by chance two may lie far from each other
        values = np.sort(np.append(values, values[:-1] + np.diff(values) / 2))
    values, inverse = np.unique(np.append(-values[::-1], np.inf), return_inverse=True)
    at = len(lowest) - 1 - np.searchsorted(lowest[::-1], -values)
    values = np.append(-values[:-1], min(0.0, float(lowest[-1])))
    tested, answered, right = n - set_aside, groups.answered[at], groups.right[at]
    trials = answered - np.searchsorted(np.sort(gave), at, side="right")  # the rows that test
    hits = right - np.searchsorted(np.sort(gave_right), at, side="right")
    parts, starts = parts_of(required, tested, 1 - level), np.zeros((len(required), len(at)))
    for row, accuracy, part in zip(starts, required, parts, strict=True):
        np.add.at(row, inverse, starts_of(accuracy, len(inverse), tested, part or 1 - level))
    # what is proved must also be seen on all rows, those set aside included
    short = right < np.array(required)[:, None] * answered
    proved = rejected(np.where(short, 1.0, binomial_tails(hits, trials, required)), starts, parts)
    out = []
    for accuracy in accuracies:
        passed = np.flatnonzero(proved[required.index(accuracy)])
        reached = np.flatnonzero(groups.right >= accuracy * groups.answered - 1e-9)
        seen: dict[str, float | None] = {"coverage": 0.0, "threshold": None}
        if len(reached):
            seen = {
                "coverage": float(groups.answered[reached[-1]]) / n,
                "threshold": float(groups.lowest[reached[-1]]),
            }
        point: Json = {
            "accuracy": accuracy,
            "level": level,
            "kind": "exact",
            "tests": len(at),
            "set_aside": set_aside,
            "observed": seen,
        }
        if not len(passed):
            point |= dict.fromkeys(("coverage", "threshold", "answered", "selective_accuracy"))
            if n < (needed := fewest_rows(accuracy, 1 - level)):
                why = f"needs at least {needed} rows to prove {accuracy:g} at the level {level:g}; there are {n}"
            elif not len(reached):
                why = f"no part of the rows, the most confident first, is {accuracy:g} accurate"
            else:
                why = f"a threshold reaches {percent(accuracy, None)} here"
                why += f", but there are too few rows to confirm it at {percent(level, None)}"
            out.append(point | {"why": why})
            continue
        m, h = float(answered[passed[-1]]), float(right[passed[-1]])
        ends, common = clopper_pearson(m, n, level), {"level": level, "kind": "exact"}
        point |= {"coverage": {"value": m / n, "lower": ends[0], "upper": ends[1], **common}}
        point |= {"threshold": float(values[passed[-1]]), "answered": int(m)}
        point |= {
            "selective_accuracy": {"value": h / m, "lower": accuracy, "upper": 1.0, **common},
            "why": None,
        }
        out.append(point)
    return out


@register("metric")
class OperatingPoints(RankMetric[list[dict[str, Any]]]):
    """A table, one row for each ``required`` accuracy (0.9, 0.95, 0.99), with the columns of `operating_point`.

    All rows hold together at the level, which the accuracies share in equal parts; an accuracy that is proved for all
    rows gives its part on to the next higher one.

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

    def _finish(self, state: Ranks, level: float, seed: int) -> list[Json]:
        # a bin of a histogram may straddle what lies between two confidences
        return _points(state.groups, self.required, level, state.exact, seed)
