"""Vote counts: the fixed-size state of everything that is said of judges, rows by verdict and number of votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, NotApplicable
from ..intervals import clopper_pearson, normal_quantile
from ..predictions import Predictions
from ..results import Interval
from .spread import clopper_pearson_many
from .vote_rules import count_votes

if TYPE_CHECKING:
    from jaxtyping import Int


MEASURES = ("correct_recall", "correct_precision", "incorrect_recall", "incorrect_precision")


@dataclass(frozen=True, eq=False)
class VoteCounts:
    """Labelled rows counted by what the judges said of them.

    names : the judges. cells : int64, axes (verdict, vote of the first judge, number of judges that say Correct),
    verdict 0 = wrong, 1 = right. accepted : int64, axes (judge, verdict), rows of which each judge says Correct.

    >>> p = Predictions.from_arrays(votes=[[1, 1, 0], [1, 0, 0]], correct=[1, 0, 0])
    >>> VoteCounts.of(p).by_count.tolist(), VoteCounts.of(p).accepted.tolist()
    ([[1, 1, 0], [0, 0, 1]], [[1, 1], [0, 1]])
    """

    names: tuple[str, ...]
    table: Int[Array, "2 2 count"]
    accepted: Int[Array, "judge 2"]

    @classmethod
    def of(cls, batch: Predictions) -> VoteCounts:
        """State of the rows of a record whose truth is known."""
        known = batch.known()
        if known.votes is None:
            raise NotApplicable("needs `votes`")
        votes, right = known.votes, known.verdicts > 0
        judges = len(votes)
        code = (2 * right + (votes[0] > 0)) * (judges + 1) + count_votes(votes)
        table = np.bincount(code, minlength=4 * (judges + 1)).reshape(2, 2, judges + 1)
        each = [np.count_nonzero(votes[:, ~right], axis=1), np.count_nonzero(votes[:, right], axis=1)]
        names = batch.names.get("judge") or tuple(str(j + 1) for j in range(judges))
        return cls(tuple(names), table.astype(np.int64), np.stack(each, axis=1).astype(np.int64))

    def __add__(self, other: VoteCounts) -> VoteCounts:
        """Sum of both, of the same judges."""
        if self.judges != other.judges:
            raise InputError(
                "parts with the same judges",
                got=f"{self.judges} and {other.judges}",
                column="votes",
                remedy="give every row a vote of every judge",
            )
        return VoteCounts(self.names, self.table + other.table, self.accepted + other.accepted)

    @property
    def judges(self) -> int:
        """Number of judges."""
        return len(self.accepted)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.table.sum())

    @cached_property
    def by_count(self) -> Int[Array, "2 count"]:
        """Rows by verdict and number of votes for Correct."""
        out: Array = self.table.sum(axis=1)
        return out

    @cached_property
    def at_least(self) -> Int[Array, "2 count"]:
        """Rows by verdict with at least so many votes for Correct; column 0 holds all rows."""
        out: Array = self.by_count[:, ::-1].cumsum(axis=1)[:, ::-1]
        return out

    @cached_property
    def of_verdict(self) -> Int[Array, 2]:
        """Wrong rows and right rows."""
        out: Array = self.by_count.sum(axis=1)
        return out


def share(part: float, rows: float, level: float) -> Interval | None:
    """A share with the exact interval of Clopper and Pearson; None of no rows.

    >>> share(0, 0, 0.95) is None, share(3, 4, 0.95).value
    (True, 0.75)
    """
    if not rows:
        return None
    low, high = clopper_pearson(part, rows, level)
    return Interval(part / rows, min(low, part / rows), max(high, part / rows), level, "exact")


def discrimination(accepted: Array, of_verdict: Array, level: float) -> list[dict[str, Any]]:
    """What is accepted, recall and precision of Correct and of Incorrect: one mapping for each line of ``accepted``.

    With TC right rows judged Correct, FC wrong ones, TI wrong rows judged Incorrect and FI right ones:
    correct_recall = TC/(TC + FI), correct_precision = TC/(TC + FC), incorrect_recall = TI/(TI + FC),
    incorrect_precision = TI/(TI + FI); None where the divisor is 0. Given the divisor each is binomial, so that the
    intervals of Clopper and Pearson are exact. accepted has axes (line, verdict), of_verdict (verdict,). Source: Yao
    and Koller (2024), section 4.3.

    >>> found = discrimination(np.array([[1, 6]]), np.array([4, 8]), 0.95)[0]
    >>> [round(found[m].value, 3) for m in ("accepted", *MEASURES)]
    [0.583, 0.75, 0.857, 0.75, 0.6]
    """
    wrong, right = accepted[:, 0], accepted[:, 1]
    rejected = of_verdict - accepted
    pairs = {
        "accepted": (wrong + right, np.full(len(accepted), of_verdict.sum())),
        "correct_recall": (right, np.full(len(accepted), of_verdict[1])),
        "correct_precision": (right, wrong + right),
        "incorrect_recall": (rejected[:, 0], np.full(len(accepted), of_verdict[0])),
        "incorrect_precision": (rejected[:, 0], rejected.sum(axis=1)),
    }
    columns: dict[str, Sequence[Interval | None]] = {}
    for name, (hits, trials) in pairs.items():
        lower, upper = clopper_pearson_many(hits, trials, level)
        columns[name] = [
            Interval(h / n, min(float(a), h / n), max(float(b), h / n), level, "exact") if n else None
            for h, n, a, b in zip(hits.tolist(), trials.tolist(), lower, upper, strict=True)
        ]
    return [{name: columns[name][line] for name in pairs} for line in range(len(accepted))]


def paired_gap(total: float, squares: float, rows: int, level: float) -> Interval:
    """Mean of a difference of two numbers on the same rows, from its sum and its sum of squares; asymptotic.

    One squared unit is added to the squares, so that a difference that was never seen to vary is not taken for certain.

    >>> gap = paired_gap(10, 30, 1000, 0.95)
    >>> gap.value, round(gap.lower, 4), round(gap.upper, 4)
    (0.01, -0.0009, 0.0209)
    """
    mean = total / rows
    variance = (max(squares - rows * mean * mean, 0.0) + 1) / (rows + 1) / rows
    half = normal_quantile(level) * variance**0.5
    return Interval(mean, max(mean - half, -1.0), min(mean + half, 1.0), level, "asymptotic")


def absolute(gap: Interval) -> Interval:
    """The size of a signed difference with its interval; one that may be 0 begins there.

    >>> absolute(Interval(-0.1, -0.2, 0.05, 0.95, "asymptotic")).to_dict()["upper"]
    0.2
    """
    ends = sorted((abs(gap.lower), abs(gap.upper)))
    low = 0.0 if gap.lower <= 0 <= gap.upper else ends[0]
    return Interval(abs(gap.value), low, ends[1], gap.level, gap.kind)
