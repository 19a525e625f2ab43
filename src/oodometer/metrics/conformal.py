"""Conformal risk control: a threshold whose expected loss on the next row is at most the one that is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..errors import InputError, UsageError
from ..intervals import clopper_pearson
from ..plain import Json
from ..predictions import Predictions as Predictions  # for the examples
from ..registry import register
from .base import checked_pair
from .ranks import Groups, RankMetric, Ranks

ASSUMES = "new rows are exchangeable with these (as drawn from one source, in any order)"


def conformal_risk_control(losses: Any, risk: float, bound: float = 1.0) -> int | None:
    """The first of some ever more careful settings at which the expected loss of a new row is at most ``risk``.

    The smallest j with (n / (n + 1)) mean_i L_i(j) + bound / (n + 1) <= risk, L_i(j) the loss of row i at setting j.
    Then E[L_new(j)] <= risk, on average over these rows and the new one, where both are exchangeable; at more than one
    row the correction bound / (n + 1) is what a plain mean lacks.

    losses : of each row at each setting, shape (sample, setting), from 0 to ``bound``, in no row growing from a setting
        to the next; `InputError` otherwise. The most careful setting must have no loss at all, as one that answers
        nothing: it need not be among them.
    risk : the expected loss that is allowed, above 0 and below ``bound``; `UsageError` outside.
    bound : the largest possible loss.

    Returns the position of the setting, or None where none of them is careful enough.

    Source: Angelopoulos et al. (2024).

    >>> losses = np.repeat([[1, 1, 0], [1, 0, 0], [0, 0, 0]], [1, 1, 17], axis=0)  # 2, 1 and 0 of 19 rows
    >>> conformal_risk_control(losses, 0.15), conformal_risk_control(losses, 0.1), conformal_risk_control(losses, 0.04)
    (0, 1, None)
    """
    table = np.asarray(losses, dtype=np.float64)
    if not 0 < risk < bound:
        raise UsageError(
            f"expected a risk above 0 and below the largest loss {bound:g}, got {risk}"
        )
    if table.ndim != 2 or not table.size:
        raise InputError("losses of shape (sample, setting)", got=f"shape {table.shape}")
    if not ((table >= 0) & (table <= bound)).all():
        raise InputError(f"losses from 0 to {bound:g}", got="others", remedy="name the bound")
    if (np.diff(table, axis=1) > 0).any():
        row = int((np.diff(table, axis=1) > 0).any(axis=1).argmax()) + 1
        remedy = "order settings from careless to careful; take the running minimum otherwise"
        raise InputError("losses that never grow", got="one that does", row=row, remedy=remedy)
    enough = np.flatnonzero(table.sum(axis=0) + bound <= risk * (len(table) + 1) + 1e-9)
    return int(enough[0]) if len(enough) else None


def conformal_threshold(
    confidence: Any, correct: Any, risk: float = 0.05, level: float = 0.95
) -> Json:
    """The lowest threshold at which a new row is answered wrongly with probability ``risk`` at most.

    The loss of a row is 1 where it is answered and wrong, so that it is bounded and falls with the threshold:
    conformal risk control, (w + 1) / (n + 1) <= risk, w the wrong answers among all n rows. It bounds wrong answers
    among *all* rows, on average; `operating_point` bounds them among those answered, with a probability.

    confidence, correct : as in `area_under_accuracy_coverage`, as are their errors.
    risk : P(answered and wrong) that is allowed, in (0, 1); `UsageError` outside.
    level : nominal coverage of the interval of ``coverage``.

    Returns ``risk``, ``threshold`` (answer what is at least as confident), ``coverage`` (an interval), ``answered``,
    ``observed`` (wrong answers / n here), ``assumes``; threshold and coverage are None, and ``why`` is given, where no
    row may be answered.

    Source: Angelopoulos et al. (2024).

    >>> found = conformal_threshold([0.9] * 80 + [0.6] * 19, [1] * 80 + [0, 1] * 9 + [0], risk=0.05)
    >>> found["threshold"], round(found["coverage"]["value"], 3), found["observed"]
    (0.9, 0.808, 0.0)
    """
    groups = Ranks.of(*checked_pair(confidence, correct)).groups
    return _controlled(groups, _checked(risk), level)


def _checked(risk: float) -> float:
    if not 0 < risk < 1:
        raise UsageError(
            f"expected a risk between 0 and 1, got {risk}; percents are divided by 100"
        )
    return float(risk)


def _controlled(groups: Groups, risk: float, level: float) -> Json:
    rows, wrong = groups.rows, np.asarray(groups.wrong)
    groups_in = int(np.searchsorted(wrong, risk * (rows + 1) - 1 + 1e-9, side="right"))
    out: Json = {"risk": risk, "level": level, "kind": "exact", "assumes": ASSUMES, "why": None}
    if not groups_in:
        fewest = int(np.ceil(1 / risk - 1e-9)) - 1
        why = f"needs at least {fewest} rows, there are {rows}" if rows < fewest else ""
        why = why or "already the most confident rows are wrong too often"
        return out | {
            "threshold": None,
            "coverage": None,
            "answered": 0,
            "observed": 0.0,
            "why": why,
        }
    answered = float(groups.answered[groups_in - 1])
    lower, upper = clopper_pearson(answered, rows, level)
    ends = {
        "value": answered / rows,
        "lower": lower,
        "upper": upper,
        "level": level,
        "kind": "exact",
    }
    return out | {
        "threshold": float(groups.lowest[groups_in - 1]),
        "coverage": ends,
        "answered": int(answered),
        "observed": float(wrong[groups_in - 1]) / rows,
    }


@register("metric")
class ConformalRisk(RankMetric[list[dict[str, Any]]]):
    """A table, one row for each of the ``risks`` (0.01, 0.05, 0.1; ``conformal_risk:0.02``) as `conformal_threshold`.

    Each row holds on its own, on average over samples of rows that are exchangeable with new ones. Source: Angelopoulos
    et al. (2024).

    >>> r = Predictions.from_confidence([0.9] * 50, correct=[1] * 50)
    >>> [row["threshold"] for row in ConformalRisk(risks=(0.01, 0.02)).compute(r)]
    [None, 0.9]
    """

    name = "conformal_risk"
    bigger_is_better = None
    citation = "angelopoulos2024"
    gives = "table"

    def __init__(self, risks: Sequence[float] = (0.01, 0.05, 0.1)) -> None:
        self.risks = tuple(_checked(risk) for risk in risks)

    @classmethod
    def from_argument(cls, argument: str) -> Self:
        """The metric with the risk after the colon, or several between commas."""
        try:
            return cls([float(part) for part in argument.split(",")])
        except ValueError:
            raise UsageError(
                f"expected a risk such as conformal_risk:0.05, got {argument!r}"
            ) from None

    def _finish(self, state: Ranks, level: float, seed: int) -> list[Json]:
        return [_controlled(state.groups, risk, level) for risk in self.risks]
