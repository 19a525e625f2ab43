"""Dispersion of features and of energies (MDE): how far apart the samples of one model lie."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, present
from ..errors import NotApplicable, UsageError
from ..predictions import Predictions
from ..registry import register
from ..scores import energy
from .base import Ranker, State


@register("ranker")
class MetaDistributionEnergy(Ranker):
    """log mean_i exp(E_i) - mean_i E_i, E_i = -T logsumexp(z_i/T), at least 0, 0 where all energies are equal.

    The paper takes -mean_i log softmax(E)_i, the same plus log N, which grows with the number of rows; here the log N
    is left out. A target whose samples are all equally hard has 0 whatever its accuracy. Its scale is that of the
    logits, so that it orders data sets of one model, not models. `NotApplicable` without `logits`, or when
    they are log-probabilities, whose energy is constant. Source: Peng et al. (2024).

    temperature : T.

    >>> round(MetaDistributionEnergy().score(Predictions.from_logits([[9.0, 0.0], [1.0, 0.0]])), 3)
    3.151
    """

    name = "mde"
    needs = ("logits",)
    citation = "peng2024"
    across_models = False

    def __init__(self, *, temperature: float = 1.0) -> None:
        if not temperature > 0:
            raise UsageError(f"expected a temperature above 0, got {temperature}; 1 is the paper's")
        self._temperature = temperature

    def summarize(self, batch: Predictions) -> State:
        """Rows, summed energy, logarithm of the summed exponentials, and the largest distance of an energy from 0."""
        from scipy.special import logsumexp

        energies = -self._temperature * energy(
            present(batch.logits).astype(np.float64) / self._temperature
        )
        state = {"rows": len(batch), "total": float(energies.sum())}
        return state | {
            "log_sum": float(logsumexp(energies)),
            "largest": float(np.abs(energies).max()),
        }

    def merge(self, a: State, b: State) -> State:
        """Two states as one."""
        log_sum = float(np.logaddexp(a["log_sum"], b["log_sum"]))
        largest = max(a["largest"], b["largest"])
        return super().merge(a, b) | {"log_sum": log_sum, "largest": largest}

    def finish(self, state: State) -> float:
        """Logarithm of the mean exponential, minus the mean."""
        rows = state["rows"]
        if self._temperature == 1.0 and state["largest"] < 1e-4:
            raise NotApplicable(
                "needs raw `logits`; log-probabilities have the same energy, 0, for every sample"
            )
        return float(max(state["log_sum"] - np.log(rows) - state["total"] / rows, 0.0))


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

        rows, classes = len(batch), batch.num_classes
        member = csr_array(
            (np.ones(rows), batch.predicted, np.arange(rows + 1)), shape=(rows, classes)
        )
        counts = np.bincount(batch.predicted, minlength=classes)
        return {
            "rows": rows,
            "counts": counts,
            "sums": member.T @ present(batch.features).astype(np.float64),
        }

    def finish(self, state: State) -> float:
        """The logarithm of the scatter."""
        return dispersion(state["counts"], state["sums"])
