"""Vote rules: how the verdicts of several judges on one output become one, from "all agree" to "any one of them"."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..errors import UsageError

RULES = ("any-incorrect", "any-correct", "majority", "single")


def agreements(judges: int) -> list[int]:
    """Every k for which k-of-n voting makes two-sided bounds, from n (the widest) down to a bare majority.

    "At least k say Correct" is rarer than "at least n - k + 1 do" only where 2k > n; for k = (n + 1)/2 the two are one.

    >>> agreements(5), agreements(4), agreements(1)
    ([5, 4, 3], [4, 3], [1])
    """
    return list(range(judges, judges // 2, -1))


def check_agree(agree: int | None, judges: int) -> int:
    """The k of k-of-n voting: all judges by default; `UsageError` where it is no majority of them.

    >>> check_agree(None, 5), check_agree(4, 5)
    (5, 4)
    """
    if agree is None:
        return judges
    if agree not in agreements(judges):
        least = judges // 2 + 1
        span = f"{least} to {judges}" if least < judges else f"{judges}"
        raise UsageError(
            f"expected agree to be a majority of the {judges} judges, {span}, got {agree}; with fewer the lower bound "
            "would lie above the upper one"
        )
    return agree


def least_votes(rule: str, judges: int) -> int:
    """How many judges must say Correct for the rule to say so: n, 1, or more than half; `UsageError` for other rules.

    "any-incorrect" (one Incorrect wins) makes the lower bound of Yao and Koller, "any-correct" the upper one; under
    "majority" a tie counts as Incorrect. "single", the first judge alone, is no count.

    >>> [least_votes(rule, 5) for rule in RULES[:3]], least_votes("majority", 4)
    ([5, 1, 3], 3)
    """
    counts = {"any-incorrect": judges, "any-correct": 1, "majority": judges // 2 + 1}
    if rule not in counts:
        raise UsageError(f"expected a rule of {', '.join(counts)}, got {rule!r}")
    return counts[rule]


def count_votes(votes: Array) -> Array:
    """How many judges say Correct, of votes with axes (judge, sample); int64, shape (sample,).

    >>> count_votes(np.array([[1, 0], [1, 1]], dtype=np.int8)).tolist()
    [2, 1]
    """
    out: Array = votes.sum(axis=0, dtype=np.int64)
    return out


def judged_correct(votes: Array, rule: str | int = "any-incorrect") -> Array:
    """Whether the judges together say Correct; votes have axes (judge, sample), the result is bool, (sample,).

    ``rule`` is one of `RULES`, or a number k: at least k judges say Correct. Source: Yao and Koller (2024), whose
    ensemble_incorrect is "any-incorrect" and whose ensemble_correct is "any-correct".

    >>> v = np.array([[1, 1, 0], [1, 0, 0]], dtype=np.int8)
    >>> judged_correct(v).tolist(), judged_correct(v, "any-correct").tolist(), judged_correct(v, 1).tolist()
    ([True, False, False], [True, True, False], [True, True, False])
    """
    if rule == "single":
        first: Array = votes[0] > 0
        return first
    judges = len(votes)
    least = rule if isinstance(rule, int) else least_votes(rule, judges)
    if not 1 <= least <= judges:
        raise UsageError(f"expected a number of judges from 1 to {judges}, got {least}")
    out: Array = count_votes(votes) >= least
    return out
