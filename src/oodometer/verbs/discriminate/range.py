"""Range of judges: for which accuracies their bounds would hold the truth, if they erred as on held-out pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...results import Interval, percent


def holds_between(ladder: Sequence[Mapping[str, Any]], agree: int) -> dict[str, Interval] | None:
    """The accuracies ``lowest`` to ``highest`` between which the bounds of k-of-n voting hold the truth.

    A rule that accepts the share f of wrong outputs and rejects the share r of right ones accepts a (1 - r) + (1 - a) f
    of outputs of accuracy a. That is at most a from a = f / (f + r) upwards, and at least a from there downwards: so
    the lower bound holds above the crossing of its rule, the upper bound below that of its own. A rule that never errs
    holds everywhere. The more judges agree, the lower f and the higher r: ``lowest`` is never above ``highest``.

    ``ladder`` has a mapping for each "at least j judges accept" with ``correct_recall`` and ``incorrect_recall``. The
    intervals take f and r at the ends of theirs; conditional, as f and r carry over only if the judges err on new
    outputs as on these. None where there were no right rows or no wrong ones. Source: Rogan and Gladen (1978) for the
    share that a fallible test accepts.

    >>> def rule(recall, other):
    ...     some, more = (Interval(x, x, x, 0.95, "conditional") for x in (recall, other))
    ...     return {"correct_recall": some, "incorrect_recall": more}
    >>> found = holds_between([rule(0.95, 0.8), rule(0.8, 0.95)], 2)  # some judge accepts, both accept
    >>> round(found["lowest"].value, 2), round(found["highest"].value, 2)
    (0.2, 0.8)
    """
    lower, upper = ladder[agree - 1], ladder[len(ladder) - agree]
    low, high = _crossing(lower, 0.0), _crossing(upper, 1.0)
    return None if low is None or high is None else {"lowest": low, "highest": high}


def _crossing(row: Mapping[str, Any], sound: float) -> Interval | None:
    """f / (f + r) of a rule; ``sound`` where it never errs."""
    right, wrong = row["correct_recall"], row["incorrect_recall"]
    if right is None or wrong is None:
        return None

    def share(accepted: float, rejected: float) -> float:
        both = accepted + rejected
        return accepted / both if both > 0 else sound

    value = share(1 - wrong.value, 1 - right.value)
    ends = share(1 - wrong.upper, 1 - right.lower), share(1 - wrong.lower, 1 - right.upper)
    return Interval(value, min(value, *ends), max(value, *ends), right.level, "conditional")


def outside(ladder: Sequence[Mapping[str, Any]], value: float, agree: int) -> list[str]:
    """A warning where an estimate lies outside the range in which the bounds would hold.

    Surely outside, the range's own intervals included, or perhaps: few held-out pairs say little of rare errors.
    """
    holds = holds_between(ladder, agree)
    if holds is None:
        return []
    low, high = holds["lowest"], holds["highest"]
    if low.value <= value <= high.value:
        return []
    if low.lower <= value <= high.upper:
        return [
            "too few pairs were held out to say whether these bounds hold the truth if the judges err as on those: "
            f"they do for accuracies from {_told(low)} to {_told(high)}; hold out more (--dev)"
        ]
    return [
        "if the judges err here as on their held-out pairs, these bounds hold the truth for accuracies from "
        f"{_told(low)} to {_told(high)} only"
    ]


def _told(one: Interval) -> str:
    return f"{percent(one.value)} [{percent(one.lower)}, {percent(one.upper)}]"
