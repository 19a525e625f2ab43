"""Thresholds of judges: the P(Correct) from which each accepts, so that it accepts as often as the model is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..intervals import check_level
from .base import check_verdicts

HALF = 0.5
"""The paper's threshold."""

_LEAST = float(np.finfo(np.float32).tiny)  # an empty output has P = 0 and is never accepted


@dataclass(frozen=True, eq=False)
class AcceptanceThresholds:
    """Judge j accepts where P(Correct) >= ``values[j]``; all float64, shape (judge,).

    ``strict`` and ``lenient`` are what the number of labelled rows leaves open: with a chance of at least
    1 - (1 - level) / 2 each, a judge accepts new outputs of the same kind no more often than the share right / rows
    from ``strict`` on, and no less often from ``lenient`` on. ``rows`` were labelled, ``right`` of them right.
    """

    values: Array
    strict: Array
    lenient: Array
    rows: int
    right: int
    level: float

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """A plain mapping, ready for JSON; ``names`` are those of the judges."""
        ends = zip(names, self.values, self.strict, self.lenient, strict=True)
        by_judge = [{"judge": n, "value": float(v), "strict": float(s), "lenient": float(k)} for n, v, s, k in ends]
        return {"rows": self.rows, "right": self.right, "level": self.level, "by_judge": by_judge}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> AcceptanceThresholds:
        """What `to_dict` told.

        >>> found = fit_thresholds(np.array([[0.9, 0.8, 0.4]]), [1, 0, 0])
        >>> AcceptanceThresholds.from_dict(found.to_dict(["judge"])).values == found.values
        array([ True])
        """
        ends = [np.array([float(row[name]) for row in told["by_judge"]]) for name in ("value", "strict", "lenient")]
        value, strict, lenient = ends
        return cls(value, strict, lenient, int(told["rows"]), int(told["right"]), float(told["level"]))


def fit_thresholds(probabilities: Array, correct: Any, level: float = 0.95) -> AcceptanceThresholds:
    """The thresholds under which each judge accepts as many labelled outputs as are right.

    Of n outputs, r of them right, judge j accepts the r with the largest P: t_j lies in the middle between the r-th and
    the next. So on these rows "all accept" <= accuracy <= "some accept", whatever the judges are worth; elsewhere the
    bounds part where the judges do. Equal P leave another number than r: the nearest one, the lower of two. A judge
    that only says 0 or 1 has no threshold to set, and keeps 0.5.

    The slack is that of order statistics: the share that is accepted from the k-th largest P on is Beta(k, n - k + 1)
    distributed, whatever the distribution of P. ``strict`` accepts the most k with P(Binomial(n, r / n) < k) at most
    (1 - level) / 2, ``lenient`` the fewest k with P(Binomial(n, r / n) >= k) at most that; with few rows none and all.

    ``probabilities`` have axes (judge, sample), ``correct`` (sample,). Raises `InputError` for probabilities outside
    [0, 1], and where all outputs are right or none is: then no threshold follows. Source: Garg et al. (2022), ATC, for
    a judge's probability in the place of confidence; David and Nagaraja (2003), section 7.1, for the slack.

    >>> found = fit_thresholds(np.array([[0.9, 0.8, 0.4, 0.1], [0.6, 0.7, 0.2, 0.3]]), [1, 1, 0, 1])
    >>> found.values.round(2).tolist()
    [0.25, 0.25]
    """
    check_level(level)
    said = np.asarray(probabilities, dtype=np.float64)
    rows = said.shape[1]
    verdicts = check_verdicts(correct, rows, one_class=True)
    right = int(verdicts.sum())
    if right in (0, rows):
        raise InputError(
            "labelled outputs of which some are right and some are wrong, to set the judges' thresholds on",
            got=f"{right:,} of {rows:,} right",
            remedy="label more, or leave the thresholds at 0.5",
        )
    outside = ~((said >= 0) & (said <= 1))
    if outside.any():
        judge, row = (int(place) for place in np.argwhere(outside)[0])
        raise InputError(
            "probabilities of being right from 0 to 1",
            got=repr(float(said[judge, row])),
            row=row + 1,
            remedy="give the judges' own probabilities",
        )
    from scipy.stats import binom

    below = binom.cdf(np.arange(rows + 1), rows, right / rows)  # P(Binomial <= k)
    least = (1 - level) / 2
    few = int(np.searchsorted(below, least, "right"))  # the most k with P(Binomial <= k - 1) <= least
    many = min(int(np.searchsorted(-(1 - np.concatenate([[0.0], below])), -least, "left")), rows + 1)
    falling = -np.sort(-said, axis=1)
    firm = [set(one) <= {0.0, 1.0} for one in falling.tolist()]

    def accepting(count: int, side: int) -> Array:
        return np.array(
            [HALF if rule else _accepting(one, count, side) for one, rule in zip(falling, firm, strict=True)]
        )

    return AcceptanceThresholds(accepting(right, 0), accepting(few, -1), accepting(many, 1), rows, right, level)


def _accepting(falling: Array, count: int, side: int) -> float:
    """A threshold that accepts ``count`` of these P, or with equal ones no more (-1), no fewer (1), nearest (0)."""
    rows = len(falling)
    if 0 < count < rows and falling[count - 1] == falling[count]:
        fewer = int(np.count_nonzero(falling > falling[count]))
        more = int(np.count_nonzero(falling >= falling[count]))
        nearest = fewer if count - fewer <= more - count else more
        count = {-1: fewer, 0: nearest, 1: more}[side]
    if count == 0:
        return float(np.nextafter(1.0, 2.0))
    if count >= rows:  # more than all: everything that is not empty
        return _LEAST if count > rows else max(float(falling[-1]) / 2, _LEAST)
    return max(float((falling[count - 1] + falling[count]) / 2), _LEAST)
