"""Temperature scaling: softmax(z / t) with one t fitted by maximum likelihood on the reference."""

from __future__ import annotations

from copy import copy

import numpy as np

from ..arrays import Array
from ..inference.row_sample import FOLDS, content_sample
from ..kernels import Top
from ..predictions import Predictions
from ..registry import register
from .base import Calibrator

_ENOUGH_VALUES = 200_000  # probabilities looked at; the error of t is then far below that of the reference accuracy
# A forest or a nearest-neighbour vote gives exact zeros; one true class among them would set t all alone. The fit
# takes them for the smallest probability that the model does give, at most this; where the map is applied they stay 0.
_FLOOR_IN_FIT = 1e-7
_RANGE = (-3.0, 3.0)  # of log t
_MOST_STEPS = 50


def _given(record: Predictions) -> tuple[Array, bool]:
    """Logits of a record, else its probabilities, whose logarithms differ from logits by a constant a row."""
    if record.logits is not None:
        return record.logits, True
    assert record.probabilities is not None
    return record.probabilities, False


def fit_temperature(logits: Array, label: Array) -> float:
    """The t in [e^-3, e^3] that maximises the likelihood of labels under softmax(z / t).

    logits have axes (sample, class), label (sample,). Source: Guo et al. (2017).

    >>> z = np.array([[4.0, 0.0]] * 4)
    >>> round(fit_temperature(z, np.array([0, 0, 0, 1])), 2)  # 4 / t = log 3
    3.64
    """
    shifted = logits - logits.max(axis=1, keepdims=True)
    mean_logit = float(shifted[np.arange(len(label)), label].mean(dtype=np.float64))
    low, high = (float(np.exp(-edge)) for edge in reversed(_RANGE))
    scale = 1.0
    for _ in range(
        _MOST_STEPS
    ):  # the likelihood is concave in the inverse temperature: Newton, kept in a bracket
        weights = np.exp(shifted * shifted.dtype.type(scale))
        weights /= weights.sum(axis=1, keepdims=True)
        weighted = weights * shifted
        mean = weighted.sum(axis=1)
        slope = mean_logit - float(mean.mean(dtype=np.float64))
        curvature = float(np.mean((weighted * shifted).sum(axis=1) - mean**2, dtype=np.float64))
        low, high = (scale, high) if slope > 0 else (low, scale)
        step = scale + slope / curvature if curvature > 0 else -1.0
        new = step if low < step < high else float(np.sqrt(low * high))
        if abs(new - scale) <= 1e-4 * scale:
            scale = new
            break
        scale = new
    return 1 / scale


@register("calibrator")
class Temperature(Calibrator):
    """p_k = exp(z_k / t) / sum_j exp(z_j / t); z = logits, or log-probabilities where there are none.

    t is fitted on a seeded sample of up to 200,000 probabilities. `NotApplicable` without
    probabilities and labels. Source: Guo et al. (2017).

    >>> p = Predictions.from_probabilities([[0.98, 0.02]] * 4, label=[0, 0, 0, 1])
    >>> Temperature().fit(p)(p).probabilities[0].round(2).tolist()
    [0.75, 0.25]
    """

    name = "temperature"
    citation = "guo2017"

    def _fit(self, reference: Predictions) -> None:
        rows = max(_ENOUGH_VALUES // reference.num_classes, 2_000)
        if reference.rows > rows:
            reference = reference.take(content_sample(reference, rows, self.seed))
        assert reference.label is not None
        self._learn(*_given(reference), reference.label)

    def _learn(self, outputs: Array, are_logits: bool, label: Array) -> None:
        if not are_logits:
            floor = float(np.min(outputs, where=outputs > 0, initial=_FLOOR_IN_FIT))
            outputs = np.log(np.maximum(outputs, outputs.dtype.type(floor)))
        self.temperature = fit_temperature(outputs, label)

    def _apply(self, outputs: Array, are_logits: bool) -> Array:
        logs = outputs if are_logits else np.log(np.maximum(outputs, np.finfo(outputs.dtype).tiny))
        scaled = logs * logs.dtype.type(1 / self.temperature)
        if are_logits:
            scaled -= scaled.max(axis=1, keepdims=True)
        values: Array = np.exp(scaled, out=scaled)
        values /= np.einsum("nk->n", values)[:, None]  # as `kernels.row_sums`
        return values

    def _calibrate(self, record: Predictions) -> Predictions:
        top, values = record.top, self._apply(*_given(record))
        # a monotone map keeps the order of classes
        first = values[np.arange(len(values)), top.best]
        tiny = np.finfo(top.first.dtype).tiny
        ratio = np.log(np.maximum(top.second, tiny)) - np.log(np.maximum(top.first, tiny))
        return record.with_probabilities(
            values,
            self.name,
            Top(
                top.best, first, first * np.exp(ratio * top.first.dtype.type(1 / self.temperature))
            ),
        )

    def held_out(self, record: Predictions, fold: Array, seed: int = 0) -> Array | None:
        """As of every calibrator, without a record for each fold."""
        (outputs, are_logits), label, out = _given(record), record.label, None
        fitted = copy(self)
        fitted.seed = seed
        for f in range(FOLDS):
            test = fold == f
            if label is None or not test.any() or test.all():
                return None
            fitted._learn(outputs[~test], are_logits, label[~test])
            calibrated = fitted._apply(outputs[test], are_logits)
            out = np.empty(outputs.shape, calibrated.dtype) if out is None else out
            out[test] = calibrated
        return out
