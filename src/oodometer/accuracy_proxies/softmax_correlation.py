"""Softmax correlation: how much the class-class matrix of the probabilities looks like that of a sure model."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..predictions import Predictions
from ..registry import register
from .base import Ranker, State
from .gram import gram_of


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
class SoftmaxCorrelation(Ranker):
    """cos(P^T P / N, diag(prior)): 1 where every row is certain and the predicted classes come as often as expected.

    The prior is that of the reference's labels where the ranker was fitted on some, else even. (The paper takes it from
    a zero-shot model.) `NotApplicable` without `probabilities`. Source: Tu et al. (2024).

    >>> SoftmaxCorrelation().score(Predictions.from_probabilities([[1.0, 0.0], [0.0, 1.0]])).__round__(12)
    1.0
    """

    name = "softmax-correlation"
    needs = ("probabilities",)
    citation = "tu2024"

    def __init__(self) -> None:
        self._prior: Array | None = None

    def _fit(self, reference: Predictions) -> None:
        if reference.label is not None and (reference.label >= 0).any():
            known = reference.label[reference.label >= 0]
            self._prior = np.bincount(known, minlength=reference.num_classes) / len(known)

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record does not suffice, or None."""
        why = super().why_not(record)
        if why is None and self._prior is not None and record.num_classes != len(self._prior):
            return f"needs the {len(self._prior)} classes of the reference, got {record.num_classes}"
        return why

    def summarize(self, batch: Predictions) -> State:
        """Rows and P^T P."""
        return {"rows": len(batch), "gram": gram_of(batch)}

    def finish(self, state: State) -> float:
        """The cosine."""
        classes = len(state["gram"])
        prior = np.full(classes, 1 / classes) if self._prior is None else self._prior
        return softmax_correlation(state["gram"], prior)
