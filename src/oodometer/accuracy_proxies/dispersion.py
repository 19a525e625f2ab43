"""Dispersion: how far apart the features of the predicted classes lie."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..predictions import Predictions
from ..registry import register
from .base import Ranker, State


def dispersion(counts: Array, sums: Array) -> float:
    """log(sum_j (n_j/N) |mu_j - mu|^2 / (K - 1)) over predicted classes j; counts (class,), sums (class, feature).

    The paper weighs with n_j, which adds log N: records of different lengths would not compare. Where all rows fall
    into one class the logarithm is that of the smallest positive number. Source: Xie et al. (2023).

    >>> dispersion(np.array([1, 1]), np.array([[0.0, 0.0], [2.0, 0.0]]))
    0.0
    """
    rows = counts.sum()
    full = counts > 0
    away = sums[full] / counts[full, None] - sums.sum(axis=0) / rows
    between = float((counts[full] / rows) @ np.square(away).sum(axis=1)) / max(len(counts) - 1, 1)
    return float(np.log(max(between, np.finfo(np.float64).tiny)))


@final
@register("ranker")
class Dispersion(Ranker):
    """log of the between-class scatter of `features`, classes as predicted: log(sum_j (n_j/N) |mu_j - mu|^2 / (K - 1)).

    Its scale is that of the features, so that it orders data sets of one model, not models. Needs `features` and
    predicted classes, `NotApplicable` without. Source: Xie et al. (2023), with shares n_j/N for counts n_j.

    >>> Dispersion().score(Predictions.from_arrays(features=[[0.0], [2.0]], prediction=[0, 1]))
    0.0
    """

    name = "dispersion"
    needs = ("class", "features", "prediction|probabilities|members")
    citation = "xie2023"
    across_models = False

    def summarize(self, batch: Predictions) -> State:
        """Rows and summed features of each predicted class."""
        from scipy.sparse import csr_array

        assert batch.features is not None
        rows, classes = len(batch), batch.num_classes
        member = csr_array((np.ones(rows), batch.predicted, np.arange(rows + 1)), shape=(rows, classes))
        return {
            "rows": rows,
            "counts": np.bincount(batch.predicted, minlength=classes),
            "sums": member.T @ batch.features.astype(np.float64),
        }

    def finish(self, state: State) -> float:
        """The logarithm of the scatter."""
        return dispersion(state["counts"], state["sums"])
