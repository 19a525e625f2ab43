"""First judge: a training of judges ends after the first one where that is no better than a coin."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

from ...arrays import Array
from ...discriminators import Discriminator
from ...errors import WorkError
from ...metrics.one_vs_rest import roc_auc
from .pairs import Pairs

POOR = 0.6
"""Area under the ROC curve below which a judge is of no use."""


def stop_at_a_coin(judge: Discriminator, held: Pairs, judges: int) -> None:
    """Raise `WorkError` where the first of several judges is surely of no use; else do nothing.

    It is where the upper 95 % limit of its area under the ROC curve on the held-out pairs is below `POOR`; with few of
    them nothing is sure, and all judges are trained. What it says at 0.5 does not count: thresholds can be set later.
    """
    right = held.correct > 0
    if not (right.any() and (~right).any()):
        return
    area, upper = ranks_above(judge.probabilities(held.inputs, held.outputs), right)
    if upper < POOR:
        raise WorkError(
            f"the first of {judges} judges is no better than a coin: P(Correct) of a right held-out output is above "
            f"that of a wrong one in {100 * area:.0f} % of the cases, at most in {100 * upper:.0f} %; train longer "
            "(--epochs), on more mistakes or from a pretrained model (--source); in Python pretraining=20 may help, "
            "and all_judges=True goes on all the same"
        )


def ranks_above(said: Any, right: Array, level: float = 0.95) -> tuple[float, float]:
    """Area under the ROC curve, and its upper limit by the variance that Mann and Whitney (1947) give without effect.

    ``said`` are P(Correct), ``right`` says which outputs are; both of shape (sample,). Equal P count one half.

    >>> import numpy as np
    >>> area, upper = ranks_above([0.9, 0.6, 0.6, 0.1], np.array([True, True, False, False]))
    >>> area, round(upper, 2)
    (0.875, 1.0)
    """
    some, others = int(right.sum()), int((~right).sum())
    area = roc_auc(right, said)
    error = float(((some + others + 1) / (12 * some * others)) ** 0.5)
    return area, min(area + NormalDist().inv_cdf(level) * error, 1.0)
