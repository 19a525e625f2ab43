"""Brier score, taken apart into parts that add up, and negative log-likelihood: proper scores of probabilities."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..arrays import Array, Ragged, present
from ..errors import InputError, NotApplicable
from ..fields import own_probability
from ..inference.method import Sums
from ..intervals import normal_quantile
from ..predictions import Predictions
from ..registry import register
from .base import (
    CONFIDENCE,
    Measure,
    Metric,
    checked_classes,
    confidence_and_verdict,
    measure,
    where_labelled,
)
from .calibration import BINS, bin_number
from .resampling import from_influence


def log_loss(probabilities: Any, label: Any) -> float:
    """Mean of -ln p(true class), in nats; infinite where one has probability 0. `InputError` for no probabilities.

    ``probabilities`` of shape (sample, class), ``label`` integer classes of shape (sample,). Source: Good (1952).

    >>> round(log_loss([[0.5, 0.5], [0.25, 0.75]], [0, 0]), 4)  # (ln 2 + ln 4) / 2
    1.0397
    """
    checked, codes = checked_classes(probabilities, label)
    with np.errstate(divide="ignore"):
        return max(
            0.0, float(-np.log(checked[np.arange(len(codes)), codes].astype(np.float64)).mean())
        )


def _losses(batch: Predictions) -> Array:
    """Loss of each labelled row; from logits where a probability has underflown to 0, of candidates from scores."""
    at = np.flatnonzero(present(batch.label) >= 0)
    label = present(batch.label)[at]
    if batch.candidate_scores is not None:  # ln sum_k exp(s_ik) - s_iy
        scores = batch.candidate_scores.take(at)
        if not len(at):
            return np.empty(0)
        starts, values = scores.offsets[:-1], scores.values.astype(np.float64)
        largest = np.maximum.reduceat(values, starts)
        with np.errstate(over="ignore"):
            spread = np.add.reduceat(np.exp(values - np.repeat(largest, scores.lengths)), starts)
        return np.asarray(
            np.log(spread) + (largest - own_probability(Ragged(values, scores.offsets), label))
        )
    true_probability = present(batch.probabilities)[at, label].astype(np.float64)
    with np.errstate(divide="ignore"):
        losses: Array = -np.log(np.minimum(true_probability, 1.0))
    gone = np.flatnonzero(true_probability <= 0)
    if batch.logits is not None and gone.size and batch.calibrated is None:
        z = batch.logits[at[gone]].astype(np.float64)
        z -= z.max(axis=1, keepdims=True)
        losses[gone] = np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(gone)), label[gone]]
    return losses


@register("metric")
class NegativeLogLikelihood(Metric[Sums, Measure]):
    """Log loss, mean_i -ln p_i(y_i), in nats, with the large-sample interval of a mean.

    One true class of probability 0 makes the loss infinite; no number is made up for it: `finish` raises
    `NotApplicable` with the count of such rows. Where `logits` are given, probabilities that underflowed are
    taken from them. With `candidate_scores` p is their softmax over the candidates of the sample. Source: Good (1952).
    >>> r = Predictions.from_probabilities([[0.5, 0.5], [0.25, 0.75]], label=[0, 0])
    >>> round(NegativeLogLikelihood().compute(r).value, 4)
    1.0397
    """

    name = "nll"
    needs = (("probabilities", "label"), ("candidate_scores", "label"))
    bigger_is_better = False
    citation = "good1952"
    bounds = (0.0, float("inf"))

    def summarize(self, batch: Predictions) -> Sums:
        """Rows, sum of finite losses and of their squares, and samples whose loss is infinite."""
        losses = _losses(batch)
        finite = losses[np.isfinite(losses)]
        return Sums(
            rows=len(losses),
            impossible=len(losses) - len(finite),
            total=float(finite.sum()),
            squares=float((finite * finite).sum()),
        )

    def row_values(self, batch: Predictions) -> Array:
        """-ln p of the true class; `NotApplicable` where that is infinite."""
        losses = where_labelled(batch, _losses)
        if np.isinf(losses).any():
            raise NotApplicable(
                "the true class has probability 0 in some rows, so log loss is infinite; give logits, or probabilities "
                "that are not rounded to 0"
            )
        return losses

    def _finish(self, state: Sums, level: float, seed: int) -> Measure:
        n = state["rows"]
        if state["impossible"]:
            why = f"the true class has probability 0 in {state['impossible']} of {n} rows, so log loss is infinite"
            raise NotApplicable(f"{why}; give logits, or probabilities that are not rounded to 0")
        value = max(0.0, state["total"] / n)
        error = (max(state["squares"] / n - value * value, 0.0) / max(n - 1, 1)) ** 0.5
        half = normal_quantile(level) * error if n > 1 else value
        return measure(value, (max(0.0, value - half), value + half), level, "asymptotic")


_ENTRIES = 1 << 20  # probabilities binned at a time, so that memory does not grow with the classes


def _row_scores(probabilities: Array, label: Array) -> Array:
    exact = probabilities.astype(np.float64, copy=False)
    true_probability = exact[np.arange(len(exact)), label]
    squares = np.einsum("ij,ij->i", exact, exact)
    return np.asarray(
        np.maximum(squares - true_probability * true_probability, 0) + (1 - true_probability) ** 2
    )


def brier_score(probabilities: Any, label: Any) -> float:
    """The score of `Brier`, as scikit-learn's ``brier_score_loss``: of two classes mean_i (p_i1 - y_i)^2, of more
    mean_i sum_k (p_ik - [y_i = k])^2.

    probabilities : p, shape (sample, class).
    label : the true class y of each sample, integers from 0, shape (sample,).

    Raises `InputError` for arrays that hold no probabilities or no known classes. Source: Brier (1950).

    >>> round(brier_score([[0.8, 0.2], [0.4, 0.6]], [0, 0]), 3)  # (0.04 + 0.36) / 2
    0.2
    """
    checked, codes = checked_classes(probabilities, label)
    return _scale(checked.shape[1]) * float(_row_scores(checked, codes).mean())


def _scale(events: int) -> float:
    """Factor of the sum over the classes: what one of two classes lacks the other has, so that each counts half."""
    return 0.5 if events == 2 else 1.0


@dataclass(frozen=True, eq=False)
class BrierState:
    """Sums by (event, bin); an event is a class, "is correct" in the binary form, "is the right one" of candidates."""

    rows: int
    total: float
    squares: float
    counts: Array
    forecasts: Array
    outcomes: Array
    forecast_squares: float
    joint: float
    binary: bool

    @classmethod
    def of_classes(cls, probabilities: Array, label: Array, bins: int = BINS) -> BrierState:
        """State of the multi-class score."""
        rows, classes = probabilities.shape
        scores = _row_scores(probabilities, label)
        counts = np.zeros(classes * bins, dtype=np.int64)
        forecasts, squares = np.zeros(classes * bins), 0.0
        step = max(1, _ENTRIES // classes)
        for start in range(0, rows, step):
            part = probabilities[start : start + step]
            at = bin_number(part, bins)
            at += np.arange(classes) * bins
            counts += np.bincount(at.ravel(), minlength=classes * bins)
            forecasts += np.bincount(at.ravel(), weights=part.ravel(), minlength=classes * bins)
            exact = part.astype(np.float64, copy=False)
            squares += float(np.einsum("ij,ij->", exact, exact))
        true_probability = probabilities[np.arange(rows), label]
        outcomes = np.bincount(
            label * bins + bin_number(true_probability, bins), minlength=classes * bins
        )
        first, second, third = (
            each.reshape(classes, bins) for each in (counts, forecasts, outcomes)
        )
        total, joint = float(scores.sum()), float(true_probability.sum(dtype=np.float64))
        return cls(
            rows, total, float((scores * scores).sum()), first, second, third, squares, joint, False
        )

    @classmethod
    def of_confidence(cls, confidence: Array, verdict: Array) -> BrierState:
        """State of the binary score (confidence - correct)^2."""
        exact = confidence.astype(np.float64, copy=False)
        return cls._of_one((exact - verdict) ** 2, confidence, confidence[verdict > 0], True)

    @classmethod
    def of_candidates(cls, probabilities: Ragged, label: Array) -> BrierState:
        """State of the score over the candidates of each row; all of them are one event."""
        true_probability, p = own_probability(probabilities, label), probabilities.values
        scores = (
            np.maximum(
                np.add.reduceat(p * p, probabilities.offsets[:-1])
                - true_probability * true_probability,
                0,
            )
            + (1 - true_probability) ** 2
        )
        return cls._of_one(scores, p, true_probability, False)

    @classmethod
    def _of_one(cls, scores: Array, p: Array, true_probability: Array, binary: bool) -> BrierState:
        """State of one event: forecasts of it, and those where it came."""
        exact, at = p.astype(np.float64, copy=False), bin_number(p, BINS)
        counts, outcomes = (
            np.bincount(bins, minlength=BINS)[None]
            for bins in (at, bin_number(true_probability, BINS))
        )
        forecasts = np.bincount(at, weights=exact, minlength=BINS)[None]
        total = float(scores.sum())
        squares = float((scores * scores).sum())
        joint = true_probability.sum(dtype=np.float64)
        by_bin = (counts, forecasts, outcomes, float((exact * exact).sum()), float(joint))
        return cls(len(scores), total, squares, *by_bin, binary)

    @property
    def form(self) -> str:
        """Which score it is: "binary", "candidates" or "multiclass"."""
        if self.binary or len(self.counts) == 2:
            return "binary"
        return "candidates" if len(self.counts) == 1 else "multiclass"

    def __add__(self, other: BrierState) -> BrierState:
        """Sum of both."""
        if self.binary != other.binary or self.counts.shape != other.counts.shape:
            raise InputError(
                "parts of one form",
                got="class probabilities and confidences, or other classes",
                remedy="evaluate them apart",
                column="probabilities",
            )
        added = (f.name for f in fields(self) if f.name != "binary")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in added})

    def decomposition(self) -> dict[str, float]:
        """The five parts, which add up to the score with signs + - + + - in this order."""
        n = self.rows / _scale(len(self.counts))
        size = np.maximum(self.counts, 1)
        forecast, outcome = self.forecasts / size, self.outcomes / size
        # n for each class; candidates are more than rows
        total = self.counts.sum(axis=1, keepdims=True)
        base = self.outcomes.sum(axis=1, keepdims=True) / total
        between_squares = float((self.forecasts * forecast).sum())
        between_joint = float((self.forecasts * outcome).sum())
        out = {"reliability": float((self.counts * (forecast - outcome) ** 2).sum()) / n}
        out["resolution"] = float((self.counts * (outcome - base) ** 2).sum()) / n
        out["uncertainty"] = float((base * (1 - base) * (total / n)).sum())
        out["within_bin_variance"] = (self.forecast_squares - between_squares) / n
        return out | {"within_bin_covariance": 2 * (self.joint - between_joint) / n}


@register("metric")
class Brier(Metric[BrierState, Measure]):
    """Brier score: (p - y)^2 of one of two classes; the sum of squares over more classes, or over the candidates of
    each sample (softmax of their scores); (confidence - correct)^2 where only those two are known.

    As in scikit-learn (``brier_score_loss``); of two classes ``sum_over_classes`` is twice the value. The extra
    ``decomposition`` is Murphy's over 15 bins of equal width, with what varies inside a bin (Stephenson, Coelho and
    Jolliffe 2008): reliability - resolution + uncertainty + within_bin_variance - within_bin_covariance. ``form`` says
    which score it is. The interval is the large-sample one of a mean.

    >>> b = Brier().compute(Predictions.from_probabilities([[0.8, 0.2], [0.4, 0.6]], label=[0, 0]))
    >>> round(b.value, 3), round(b.extras["decomposition"]["uncertainty"], 3), b.extras["form"]
    (0.2, 0.0, 'binary')
    """

    name = "brier"
    needs = CONFIDENCE
    bigger_is_better = False
    citation = "brier1950"
    bounds = (0.0, 2.0)

    def summarize(self, batch: Predictions) -> BrierState:
        """Sums of one batch."""
        lacking = batch.probabilities is None and batch.candidate_scores is None
        if lacking or batch.label is None:
            return BrierState.of_confidence(*confidence_and_verdict(batch))
        labelled = batch if bool((batch.label >= 0).all()) else batch.take(batch.label >= 0)
        if labelled.candidate_scores is not None and labelled.label is not None:
            return BrierState.of_candidates(labelled.candidate_probabilities, labelled.label)
        return BrierState.of_classes(present(labelled.probabilities), present(labelled.label))

    def row_values(self, batch: Predictions) -> Array | None:
        """Squared error of each row; None of candidates."""
        if batch.candidate_scores is not None:
            return None
        if batch.probabilities is None or batch.label is None:
            confidence, verdict = confidence_and_verdict(batch)
            return np.asarray((confidence.astype(np.float64) - verdict) ** 2)

        def squares(rows: Predictions) -> Array:
            return _row_scores(present(rows.probabilities), present(rows.label))

        return _scale(batch.num_classes) * where_labelled(batch, squares)

    def _finish(self, state: BrierState, level: float, seed: int) -> Measure:
        n = state.rows
        scale, top = _scale(len(state.counts)), 1.0 if state.form == "binary" else 2.0
        value = min(scale * state.total / n, top)
        spread = scale**2 * state.squares / n - value * value
        # of equal scores only rounding is left, more or less of it by the order of the sums: that is no spread
        variance = spread / n if spread > 1e-6 * max(value * value, 1e-12) else 0.0
        if variance > 0 and n >= 30:
            half = normal_quantile(level) * variance**0.5
            ends = (max(0.0, value - half), min(top, value + half))
        else:
            lower, upper = from_influence(value / top, variance / top**2, n, 0, level)
            ends = (lower * top, upper * top)
        both = {"sum_over_classes": 2 * value} if scale != 1 else {}
        parts = state.decomposition()
        return measure(
            value, ends, level, "asymptotic", form=state.form, decomposition=parts, **both
        )
