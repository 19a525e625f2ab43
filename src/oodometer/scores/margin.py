"""Margin: best minus second best probability."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..kernels import top_two
from ..predictions import Predictions
from ..registry import register
from .base import Score


def margin(probabilities: Array) -> Array:
    """p_(1) - p_(2) of probabilities with axes (sample, class); shape (sample,), in [0, 1].

    Source: margin confidence as compared by Hendrycks and Gimpel (2017).

    >>> import numpy as np
    >>> margin(np.array([[0.2, 0.5, 0.3]])).round(3).tolist()
    [0.2]
    """
    top = top_two(probabilities)
    out: Array = top.first - top.second
    return out


@final
@register("score")
class Margin(Score):
    """Score p_(1) - p_(2), shape (sample,), in [0, 1]; needs `probabilities`, or `candidate_scores` (their softmax over
    the candidates of each sample); `NotApplicable` without them. Where the prediction is not the class of highest
    probability it is the predicted class' probability minus the highest of the others, in [-1, 1].

    Source: Hendrycks and Gimpel (2017).

    >>> Margin()(Predictions.from_probabilities([[0.75, 0.25]])).tolist()
    [0.5]
    """

    name = "margin"
    needs = ("probabilities|candidate_scores",)
    citation = "hendrycks2017"

    def _score(self, record: Predictions) -> Array:
        def made() -> Array:
            top = record.top
            if record.is_argmax:
                out: Array = top.first - top.second
                return out
            ahead: Array = record.predicted == top.best
            return np.where(ahead, top.first - top.second, record.own_probability - top.first)

        found: Array = record.derived("margin", made)
        return found
