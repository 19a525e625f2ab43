"""Maximum probability (MaxProb, confidence): max_k p_k."""

from __future__ import annotations

from typing import final

from ..arrays import Array
from ..kernels import top_two
from ..predictions import Predictions
from ..registry import register
from .base import Score


def max_probability(probabilities: Array) -> Array:
    """max_k p_k of probabilities with axes (sample, class); shape (sample,), in [1/K, 1].

    Source: Hendrycks and Gimpel (2017).

    >>> import numpy as np
    >>> max_probability(np.array([[0.2, 0.8], [0.5, 0.5]])).tolist()
    [0.8, 0.5]
    """
    return top_two(probabilities).first


@final
@register("score")
class MaxProbability(Score):
    """Score max_k p_k, shape (sample,); needs `probabilities`, or `candidate_scores`, whose softmax over the candidates
    of each sample it then takes; raises `NotApplicable` without them.

    Where the prediction is not the class of highest probability (a decision at another threshold, or a calibrator that
    moved the argmax) it is the probability of the class that was predicted.
    Source: Hendrycks and Gimpel (2017).

    >>> MaxProbability()(Predictions.from_probabilities([[0.2, 0.8]])).tolist()
    [0.8]
    """

    name = "max_probability"
    needs = ("probabilities|candidate_scores",)
    citation = "hendrycks2017"
    is_probability = True

    def _score(self, record: Predictions) -> Array:
        if record.probabilities is None:  # among candidates
            return record.top.first
        if record.calibrated is None and record.is_argmax:
            return record.top.first
        return record.own_probability
