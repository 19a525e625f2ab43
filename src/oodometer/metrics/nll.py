"""NLL: mean negative log-likelihood of the true class (log loss), in nats."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any, final

import numpy as np

from ..arrays import Array, Ragged
from ..candidates import own_probability
from ..checks import check_length, check_probabilities
from ..classes import encode
from ..errors import InputError, NotApplicable
from ..intervals import normal_quantile
from ..predictions import Predictions
from ..registry import register
from .base import Measure, Metric, measure


def log_loss(probabilities: Any, label: Any) -> float:
    """Mean of -ln p(true class), in nats; infinite where a true class has probability 0.

    ``probabilities`` of shape (sample, class), rows summing to 1; ``label`` integer classes of shape
    (sample,). Raises `InputError` for arrays that hold no probabilities or no known classes. Source: Good
    (1952).

    >>> round(log_loss([[0.5, 0.5], [0.25, 0.75]], [0, 0]), 4)  # (ln 2 + ln 4) / 2
    1.0397
    """
    checked = check_probabilities(probabilities)
    codes = encode(label, tuple(range(checked.shape[1])), "label")
    check_length(len(checked), len(codes), "label")
    if not len(codes) or (codes < 0).any():
        raise InputError("a known class for every sample", got="null", remedy="drop the row", column="label")
    with np.errstate(divide="ignore"):
        return max(0.0, float(-np.log(checked[np.arange(len(codes)), codes].astype(np.float64)).mean()))


@dataclass(frozen=True)
class LossState:
    """Number of samples, sum of losses and of squared losses, and samples whose loss is infinite."""

    rows: int
    total: float
    squares: float
    impossible: int

    def __add__(self, other: LossState) -> LossState:
        own, theirs = astuple(self), astuple(other)
        return LossState(*(a + b for a, b in zip(own, theirs, strict=True)))


def _losses(batch: Predictions) -> Array:
    """Loss of each labelled row; from logits where a probability has underflown to 0, of candidates from scores."""
    if batch.candidate_scores is not None:
        return _candidate_losses(batch)
    assert batch.probabilities is not None and batch.label is not None  # noqa: PT018 - for the type checker
    at = np.flatnonzero(batch.label >= 0)
    label = batch.label[at]
    own = batch.probabilities[at, label].astype(np.float64)
    with np.errstate(divide="ignore"):
        losses: Array = -np.log(np.minimum(own, 1.0))
    gone = np.flatnonzero(own <= 0)
    if batch.logits is not None and gone.size and batch.calibrated is None:
        z = batch.logits[at[gone]].astype(np.float64)
        z -= z.max(axis=1, keepdims=True)
        losses[gone] = np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(gone)), label[gone]]
    return losses


def _candidate_losses(batch: Predictions) -> Array:
    """ln sum_k exp(s_ik) - s_iy of each labelled row."""
    assert batch.candidate_scores is not None and batch.label is not None  # noqa: PT018 - for the type checker
    at = np.flatnonzero(batch.label >= 0)
    scores = batch.candidate_scores.take(at)
    if not len(at):
        return np.empty(0)
    starts, values = scores.offsets[:-1], scores.values.astype(np.float64)
    most = np.maximum.reduceat(values, starts)
    with np.errstate(over="ignore"):
        spread = np.add.reduceat(np.exp(values - np.repeat(most, scores.lengths)), starts)
    losses: Array = np.log(spread) + (most - own_probability(Ragged(values, scores.offsets), batch.label[at]))
    return losses


@final
@register("metric")
class NegativeLogLikelihood(Metric[LossState, Measure]):
    """Log loss, mean_i -ln p_i(y_i), in nats, with the large-sample interval of a mean.

    One true class of probability 0 makes the loss infinite; no number is made up for it: `finish` raises
    `NotApplicable` with the count of such rows. Where `logits` are given, probabilities that underflowed are
    taken from them. With `candidate_scores` p is their softmax over the candidates of the sample.

    >>> from oodometer import Predictions
    >>> r = Predictions.from_probabilities([[0.5, 0.5], [0.25, 0.75]], label=[0, 0])
    >>> round(NegativeLogLikelihood().compute(r).value, 4)
    1.0397
    """

    name = "nll"
    needs = (("probabilities", "label"), ("candidate_scores", "label"))
    bigger_is_better = False
    citation = "good1952"
    bounds = (0.0, float("inf"))

    def summarize(self, batch: Predictions) -> LossState:
        """Sums of one batch."""
        losses = _losses(batch)
        finite = losses[np.isfinite(losses)]
        return LossState(len(losses), float(finite.sum()), float((finite * finite).sum()), len(losses) - len(finite))

    def finish(self, state: LossState, level: float = 0.95, seed: int = 0) -> Measure:
        """Mean loss and its interval."""
        n = state.rows
        if not n:
            raise NotApplicable("needs at least one labelled row")
        if state.impossible:
            raise NotApplicable(
                f"the true class has probability 0 in {state.impossible} of {n} rows, so log loss is infinite; "
                "give logits, or probabilities that are not rounded to 0"
            )
        value = max(0.0, state.total / n)
        half = (
            normal_quantile(level) * (max(state.squares / n - value * value, 0.0) / max(n - 1, 1)) ** 0.5
            if n > 1
            else value
        )
        return measure(value, (max(0.0, value - half), value + half), level, "asymptotic")
