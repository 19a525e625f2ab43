"""Nuclear norm: sum of the singular values of the matrix of probabilities, confident and diverse at once."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..predictions import Predictions
from ..registry import register
from .base import Ranker, State
from .gram import gram_of


def nuclear_norm(gram: Array, rows: int) -> float:
    """||P||_* / sqrt(min(N, K) N) in [0, 1], from P^T P of shape (class, class): singular values are square roots.

    Source: Deng et al. (2023).

    >>> nuclear_norm(np.array([[2.0, 0.0], [0.0, 2.0]]), 4)
    1.0
    """
    rank = min(rows, len(gram))
    # beyond the rank there is rounding alone, which square roots would make large
    squares = np.linalg.eigvalsh(gram)[len(gram) - rank :]
    return float(np.sqrt(np.maximum(squares, 0.0)).sum() / np.sqrt(rank * rows))


@final
@register("ranker")
class NuclearNorm(Ranker):
    """||P||_* / sqrt(min(N, K) N): 1 where every row is certain and all classes are predicted equally often.

    P holds the class probabilities, shape (sample, class). With fewer rows than classes it rises with the rows; compare
    records of equal length then. Falls when the target's classes are uneven, whatever the accuracy. `NotApplicable`
    without `probabilities`. Source: Deng et al. (2023).

    >>> NuclearNorm().score(Predictions.from_probabilities([[1.0, 0.0], [0.0, 1.0]]))
    1.0
    """

    name = "nuclear-norm"
    needs = ("probabilities",)
    citation = "deng2023"

    def summarize(self, batch: Predictions) -> State:
        """Rows and P^T P."""
        return {"rows": len(batch), "gram": gram_of(batch)}

    def finish(self, state: State) -> float:
        """The norm, divided by the largest that it can be."""
        return nuclear_norm(state["gram"], state["rows"])
