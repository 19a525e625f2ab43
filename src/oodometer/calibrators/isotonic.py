"""Isotonic and histogram calibration: observed rates by the probability of each class, rows summing to 1 again."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, present
from ..predictions import Predictions
from ..registry import register
from .base import Calibrator
from .binned_map import bin_numbers, bins_for, count_bins, fit_map


@register("calibrator")
class Histogram(Calibrator):
    """p_k -> rate of class k among reference rows whose p_k is in the same bin, then rows sum to 1 again.

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
        probabilities, label = present(reference.probabilities), present(reference.label)
        self._edges: list[Array] = []
        self._rates: list[Array] = []
        for k in range(reference.num_classes):
            p = probabilities[:, k]
            edges = np.unique(np.quantile(p, np.arange(1, self._bins) / self._bins))
            index = np.searchsorted(edges, p, side="right")
            rows = np.bincount(index, minlength=len(edges) + 1)
            hits = np.bincount(index, weights=label == k, minlength=len(edges) + 1)
            full = rows > 0
            every = np.arange(len(rows))
            self._edges.append(edges)
            self._rates.append(np.interp(every, every[full], hits[full] / rows[full]))

    def _calibrate(self, record: Predictions) -> Predictions:
        p = present(record.probabilities)
        values = np.empty(p.shape)
        for k, (edges, rates) in enumerate(zip(self._edges, self._rates, strict=True)):
            values[:, k] = rates[np.searchsorted(edges, p[:, k], side="right")]
        return _rescaled(record, values, self.name)


def _rescaled(record: Predictions, values: Array, name: str) -> Predictions:
    """The record with these values, rows summing to 1; a row of zeros keeps its probabilities."""
    total, p = values.sum(axis=1, keepdims=True), present(record.probabilities)
    values = np.where(total > 0, values / np.where(total > 0, total, 1), p)
    return record.with_probabilities(values.astype(p.dtype, copy=False), name)


_CHUNK = 1 << 20


def class_counts(probabilities: Array, label: Array) -> tuple[Array, Array]:
    """Rows and positives with axes (class, bin), one class against the rest; in pieces that fit the cache."""
    classes = probabilities.shape[1]
    rows = np.zeros((classes, bins_for(classes)), dtype=np.int64)
    hits = np.zeros_like(rows)
    step = max(_CHUNK // classes, 1)
    kinds = np.broadcast_to(np.arange(classes), (min(step, len(label)), classes))
    for start in range(0, len(label), step):
        p, y = probabilities[start : start + step], label[start : start + step]
        bins = bin_numbers(p, classes)
        rows += count_bins(kinds[: len(y)], bins, classes)
        hits += count_bins(y, bins[np.arange(len(y)), y], classes)
    return rows, hits


@register("calibrator")
class Isotonic(Calibrator):
    """p_k -> g_k(p_k) / sum_j g_j(p_j), g_k isotonic in p_k, fitted by pool-adjacent-violators on 960 log-odds bins.

    All classes share one map where cross-validation prefers it. A row whose maps are all zero keeps its probabilities.
    `NotApplicable` without probabilities and labels. Source: Zadrozny and Elkan (2002).

    >>> p = Predictions.from_probabilities([[0.9, 0.1]] * 200, label=[0] * 120 + [1] * 80)
    >>> Isotonic().fit(p)(p).probabilities[0].round(3).tolist()
    [0.6, 0.4]
    """

    name = "isotonic"
    citation = "zadrozny2002"

    def _fit(self, reference: Predictions) -> None:
        rows, hits = class_counts(present(reference.probabilities), present(reference.label))
        self._rate = fit_map(rows, hits, ("pooled", "classwise"), self.seed).rate

    def _calibrate(self, record: Predictions) -> Predictions:
        p = present(record.probabilities)
        return _rescaled(
            record, self._rate[np.arange(p.shape[1]), bin_numbers(p, p.shape[1])], self.name
        )
