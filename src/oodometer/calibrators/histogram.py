"""Histogram calibration: the observed rate in 15 equal-mass bins of each class's probability, one against the rest."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..predictions import Predictions
from ..registry import register
from .base import Calibrator


@final
@register("calibrator")
class Histogram(Calibrator):
    """p_k -> rate of class k among reference rows whose p_k is in the same bin, then rows sum to 1 again.

    Parameters
    ----------
    bins : number of equal-mass bins a class (fewer where quantiles coincide).

    `NotApplicable` without probabilities and labels. Source: Zadrozny and Elkan (2001).

    >>> p = Predictions.from_probabilities([[0.9, 0.1]] * 200, label=[0] * 120 + [1] * 80)
    >>> Histogram().fit(p)(p).probabilities[0].round(3).tolist()
    [0.6, 0.4]
    """

    name = "histogram"
    citation = "zadrozny2001"

    def __init__(self, *, bins: int = 15) -> None:
        self._bins = bins

    def _fit(self, reference: Predictions) -> None:
        assert reference.probabilities is not None
        assert reference.label is not None
        self._edges: list[Array] = []
        self._rates: list[Array] = []
        for k in range(reference.num_classes):
            p = reference.probabilities[:, k]
            edges = np.unique(np.quantile(p, np.arange(1, self._bins) / self._bins))
            index = np.searchsorted(edges, p, side="right")
            rows = np.bincount(index, minlength=len(edges) + 1)
            hits = np.bincount(index, weights=reference.label == k, minlength=len(edges) + 1)
            full = rows > 0
            places = np.arange(len(rows))
            self._edges.append(edges)
            self._rates.append(np.interp(places, places[full], hits[full] / rows[full]))

    def _calibrate(self, record: Predictions) -> Predictions:
        assert record.probabilities is not None
        p = record.probabilities
        values = np.empty(p.shape)
        for k, (edges, rates) in enumerate(zip(self._edges, self._rates, strict=True)):
            values[:, k] = rates[np.searchsorted(edges, p[:, k], side="right")]
        total = values.sum(axis=1, keepdims=True)
        values = np.where(total > 0, values / np.where(total > 0, total, 1), p)
        return record.with_probabilities(values.astype(p.dtype, copy=False), self.name)
