"""Sequence probability: product of the token probabilities of the output, its mean and its weakest token."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array, Ragged
from ..predictions import Predictions
from ..registry import register
from .base import Score

_LEAST = float(np.log(np.finfo(np.float64).tiny))  # of an empty output: the least sure, and still a number


def sequence_probability(token_logprobs: Ragged) -> Array:
    """exp(sum of token log-probabilities) of each sequence, shape (sample,), in [0, 1]; 0 for an empty one.

    An empty product is 1, but nothing was said that the model could be sure of, and what ended it is not in the list.

    Source: Yao and Koller (2024), where it is the confidence baseline.

    >>> sequence_probability(Ragged.from_rows([[np.log(0.5), np.log(0.5)]])).round(3).tolist()
    [0.25]
    """
    return np.minimum(np.exp(token_logprobs.sums()), 1.0) * (token_logprobs.lengths > 0)


@final
@register("score")
class SequenceProbability(Score):
    """Score exp(sum_t log p_t), shape (sample,), in [0, 1]; needs `token_logprobs`.

    Falls with the length of the output. `NotApplicable` without token log-probabilities. Source: Yao and Koller (2024).

    >>> p = Predictions.from_arrays(token_logprobs=[[-0.1, -0.1], [-2.0]])
    >>> SequenceProbability()(p).round(3).tolist()
    [0.819, 0.135]
    """

    name = "sequence_probability"
    needs = ("token_logprobs",)
    citation = "yao2024"
    is_probability = True

    def _score(self, record: Predictions) -> Array:
        assert record.token_logprobs is not None
        return sequence_probability(record.token_logprobs)


@final
@register("score")
class SequenceMeanLogprob(Score):
    """Score (1/T) sum_t log p_t, shape (sample,), at most 0, not dependent on length; needs `token_logprobs`.

    An empty output scores -708, the logarithm of the smallest number. `NotApplicable` without the field. Source: Yao
    and Koller (2024).

    >>> SequenceMeanLogprob()(Predictions.from_arrays(token_logprobs=[[-1.0, -3.0]])).tolist()
    [-2.0]
    """

    name = "sequence_mean_logprob"
    needs = ("token_logprobs",)
    citation = "yao2024"

    def _score(self, record: Predictions) -> Array:
        assert record.token_logprobs is not None
        lengths = record.token_logprobs.lengths
        return np.where(lengths > 0, record.token_logprobs.sums() / np.maximum(lengths, 1), _LEAST)


@final
@register("score")
class SequenceMinLogprob(Score):
    """Score min_t log p_t, the weakest token, shape (sample,), at most 0; needs `token_logprobs`.

    An empty output scores -708, the logarithm of the smallest number. `NotApplicable` without the field. Source: Yao
    and Koller (2024).

    >>> SequenceMinLogprob()(Predictions.from_arrays(token_logprobs=[[-1.0, -3.0]])).tolist()
    [-3.0]
    """

    name = "sequence_min_logprob"
    needs = ("token_logprobs",)
    citation = "yao2024"

    def _score(self, record: Predictions) -> Array:
        assert record.token_logprobs is not None
        return np.where(record.token_logprobs.lengths > 0, record.token_logprobs.minima(), _LEAST)
