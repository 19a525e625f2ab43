"""Decisions: predictions that are not the class of highest probability, and what is to be said of them."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..predictions import Predictions
from ..results import percent


def rows_decided(record: Predictions) -> int:
    """Rows whose prediction is not the class of highest probability.

    >>> rows_decided(Predictions.from_probabilities([[0.4, 0.6]] * 9, prediction=[1] * 8 + [0]))
    1
    """
    return 0 if record.is_argmax else int(np.sum(record.own_probability < record.top.first - 1e-6))


def decided_warning(share: float, whose: str) -> str:
    """What is to be said where predictions are decisions in a share of the rows."""
    text = f"in {percent(share)} of {whose} rows `prediction` is not the class of highest probability: "
    return text + "accuracy is computed from `prediction`"


def check_rule(batch: Predictions, is_argmax: bool) -> None:
    """Raise `InputError` where a target follows another rule than its reference: decisions there, the argmax here.

    >>> decided = Predictions.from_probabilities([[0.4, 0.6]] * 9, prediction=[1] * 8 + [0])
    >>> check_rule(decided, is_argmax=False)
    >>> check_rule(decided, is_argmax=True)
    Traceback (most recent call last):
    oodometer.errors.InputError: row 9: column prediction: expected the class of highest probability, as in the ...
    """
    if batch.probabilities is None:
        return
    if not is_argmax and batch.prediction is None:
        raise InputError(
            "`prediction` as in the reference, whose predictions are decisions, not the class of highest probability",
            got="probabilities alone",
            file=batch.source,
            remedy="add the column to the target, or leave it out of the reference to judge the argmax of both",
        )
    if is_argmax and not batch.is_argmax:
        row = int(np.argmax(batch.own_probability < batch.top.first - 1e-6))
        raise InputError(
            "the class of highest probability, as in the reference",
            got=f"a decision for one of {batch.own_probability[row]:.4g}",
            file=batch.source,
            row=batch.first_row + row + 1,
            column="prediction",
            remedy="give the decisions of the reference, too, or leave `prediction` out to judge the argmax of both",
        )


def decisions_said(record: Predictions, whose: str) -> list[str]:
    """What is to be said of a record whose predictions are decisions: how many, and the threshold that explains them.

    >>> p = [[0.7, 0.3], [0.45, 0.55], [0.2, 0.8]]
    >>> print(*decisions_said(Predictions.from_probabilities(p, prediction=[0, 0, 1]), "reference"))
    in 33.3 % of the reference's rows `prediction` is not the class of highest probability: accuracy is computed \
from `prediction`; a threshold of 0.55 to 0.8 on the probability of class 1 explains it
    """
    if record.is_argmax or record.probabilities is None or record.prediction is None:
        return []
    text = decided_warning(rows_decided(record) / len(record), f"the {whose}'s")
    if record.num_classes == 2:
        p, yes = record.probabilities[:, 1], record.prediction == 1
        low, high = (float(p[~yes].max()) if not yes.all() else 0.0), (float(p[yes].min()) if yes.any() else 1.0)
        name = (record.classes or (0, 1))[1]
        if low < high:
            text += f"; a threshold of {low:.3g} to {high:.3g} on the probability of class {name} explains it"
        else:
            text += f"; no threshold on the probability of class {name} explains it"
    return [text]
