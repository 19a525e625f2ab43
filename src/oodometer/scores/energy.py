"""Energy: logsumexp of the logits (the negative free energy, so that larger = more likely correct)."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..predictions import Predictions
from ..registry import register
from .base import Score


def energy(logits: Array) -> Array:
    """log sum_k exp(z_k) of logits with axes (sample, class); shape (sample,), stable for large logits.

    Source: Liu et al. (2020), with the sign turned so that larger = more likely correct.

    >>> energy(np.array([[1000.0, 1000.0]])).round(3).tolist()
    [1000.693]
    """
    highest = logits.max(axis=1)
    out: Array = highest + np.log(np.exp(logits - highest[:, None]).sum(axis=1))
    return out


@final
@register("score")
class Energy(Score):
    """Score logsumexp(z), shape (sample,); needs `logits`; raises `NotApplicable` without them.

    Log-probabilities given as logits make it constant 0 and useless; raw logits are wanted. Source: Liu et al. (2020).

    >>> Energy()(Predictions.from_logits([[0.0, 0.0]])).round(4).tolist()
    [0.6931]
    """

    name = "energy"
    needs = ("logits",)
    citation = "liu2020"

    def _score(self, record: Predictions) -> Array:
        assert record.logits is not None
        return energy(record.logits)
