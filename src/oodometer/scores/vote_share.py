"""Vote share: share of correctness discriminators (or judges) that say Correct."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..predictions import Predictions
from ..registry import register
from .base import Score


def vote_share(votes: Array) -> Array:
    """mean_j [judge j says Correct] of votes with axes (judge, sample); shape (sample,), in [0, 1].

    Source: Yao and Koller (2024), whose two voting rules are its extremes 1 and > 0.

    >>> vote_share(np.array([[1, 0], [1, 1]])).tolist()
    [1.0, 0.5]
    """
    out: Array = np.mean(votes > 0, axis=0)
    return out


@final
@register("score")
class VoteShare(Score):
    """Score mean_j [vote_j = Correct], shape (sample,), in [0, 1]; needs `votes`; `NotApplicable` without.

    Source: Yao and Koller (2024).

    >>> VoteShare()(Predictions.from_arrays(votes=[[True, False], [True, True]])).tolist()
    [1.0, 0.5]
    """

    name = "vote_share"
    needs = ("votes",)
    citation = "yao2024"
    is_probability = True

    def _score(self, record: Predictions) -> Array:
        assert record.votes is not None
        return vote_share(record.votes)
