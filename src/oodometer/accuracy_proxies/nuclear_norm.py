"""Nuclear norm and softmax correlation: how confident and diverse the matrix of probabilities is."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..predictions import Predictions
from ..registry import register
from .base import Ranker, State

_CHUNK_ROWS = 8192


class GramRanker(Ranker):
    """What rankers share that read P^T P."""

    needs = ("probabilities",)

    def summarize(self, batch: Predictions) -> State:
        """Rows and P^T P in float64, shape (class, class), worked out once a record."""
        assert batch.probabilities is not None
        probabilities = batch.probabilities

        def make() -> Array:
            total = np.zeros((probabilities.shape[1],) * 2)
            for start in range(0, len(probabilities), _CHUNK_ROWS):
                part = probabilities[start : start + _CHUNK_ROWS].astype(np.float64)
                total += part.T @ part
            return total

        return {"rows": len(batch), "gram": batch.derived("gram", make)}


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
class NuclearNorm(GramRanker):
    """||P||_* / sqrt(min(N, K) N): 1 where every row is certain and all classes are predicted equally often.

    P holds the class probabilities, shape (sample, class). With fewer rows than classes it rises with the rows; compare
    records of equal length then. Falls when the target's classes are uneven, whatever the accuracy. `NotApplicable`
    without `probabilities`. Source: Deng et al. (2023).

    >>> NuclearNorm().score(Predictions.from_probabilities([[1.0, 0.0], [0.0, 1.0]]))
    1.0
    """

    name = "nuclear-norm"
    citation = "deng2023"

    def finish(self, state: State) -> float:
        """The norm, divided by the largest that it can be."""
        return nuclear_norm(state["gram"], state["rows"])


def softmax_correlation(gram: Array, prior: Array) -> float:
    """cos(C, R), C = P^T P / N, R = diag(prior): sum_k C_kk R_kk / (||C|| ||R||), in [0, 1]; N cancels.

    Source: Tu et al. (2024).

    >>> softmax_correlation(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([0.5, 0.5])).__round__(4)
    0.7071
    """
    norm = float(np.linalg.norm(gram) * np.linalg.norm(prior))
    return float(np.diagonal(gram) @ prior) / norm


@final
@register("ranker")
class SoftmaxCorrelation(GramRanker):
    """cos(P^T P / N, diag(prior)): 1 where every row is certain and the predicted classes come as often as expected.

    The prior is that of the reference's labels where the ranker was fitted on some, else even. (The paper takes it from
    a zero-shot model.) `NotApplicable` without `probabilities`. Source: Tu et al. (2024).

    >>> SoftmaxCorrelation().score(Predictions.from_probabilities([[1.0, 0.0], [0.0, 1.0]])).__round__(12)
    1.0
    """

    name = "softmax-correlation"
    citation = "tu2024"

    def __init__(self) -> None:
        self._prior: Array | None = None

    def _fit(self, reference: Predictions) -> None:
        if reference.label is not None and (reference.label >= 0).any():
            label = reference.label[reference.label >= 0]
            self._prior = np.bincount(label, minlength=reference.num_classes) / len(label)

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record does not suffice, or None."""
        why = super().why_not(record)
        if why is None and self._prior is not None and record.num_classes != len(self._prior):
            return f"needs the {len(self._prior)} classes of the reference, got {record.num_classes}"
        return why

    def finish(self, state: State) -> float:
        """The cosine."""
        classes = len(state["gram"])
        prior = np.full(classes, 1 / classes) if self._prior is None else self._prior
        return softmax_correlation(state["gram"], prior)
