"""Negative entropy: sum_k p_k log p_k, never above 0."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array, Ragged
from ..kernels import entropy_sums
from ..predictions import Predictions
from ..registry import register
from .base import Score


def negative_entropy(probabilities: Array) -> Array:
    """sum_k p_k log p_k (nats) of probabilities with axes (sample, class); shape (sample,), in [-log K, 0].

    A zero probability adds nothing (p log p -> 0). Source: Garg et al. (2022), where it beats max probability.

    >>> import numpy as np
    >>> negative_entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4).tolist()
    [-0.6931, 0.0]
    """
    return entropy_sums(probabilities)


def negative_entropy_of_rows(probabilities: Ragged) -> Array:
    """`negative_entropy` of rows of different lengths; shape (sample,).

    >>> negative_entropy_of_rows(Ragged.from_rows([[0.5, 0.5], [1.0, 0.0, 0.0]])).round(4).tolist()
    [-0.6931, 0.0]
    """
    p = probabilities.values
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    return np.minimum(Ragged(p * logs, probabilities.offsets).sums(), 0.0)


@final
@register("score")
class NegativeEntropy(Score):
    """Score sum_k p_k log p_k, shape (sample,), nats, at most 0; needs `probabilities` or `candidate_scores`.

    Of candidates it is that of their softmax, and not divided by the logarithm of their number: exp(-score) is the
    effective number of candidates, which a further hopeless one does not change, and a guess between ten is less
    likely right than one between two. Raises `NotApplicable` without them. Source: Garg et al. (2022).

    >>> NegativeEntropy()(Predictions.from_probabilities([[1.0, 0.0]])).tolist()
    [0.0]
    """

    name = "negative_entropy"
    needs = ("probabilities|candidate_scores",)
    citation = "garg2022"

    def _score(self, record: Predictions) -> Array:
        if record.candidate_scores is not None:
            ragged: Array = record.derived(
                "negative_entropy", lambda: negative_entropy_of_rows(record.candidate_probabilities)
            )
            return ragged
        assert record.probabilities is not None
        probabilities = record.probabilities
        made: Array = record.derived("negative_entropy", lambda: negative_entropy(probabilities))
        return made
