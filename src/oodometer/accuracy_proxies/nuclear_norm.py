"""Nuclear norm, softmax correlation and MaNo: how confident and diverse the matrix of outputs is."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Literal, Self

import numpy as np

from ..arrays import Array, present, softmax
from ..errors import NotApplicable, UsageError
from ..predictions import Predictions
from ..registry import register
from .base import Ranker, State

_ORDER, _THRESHOLD, _SMALLEST = 4, 5.0, 1e-30

Normalization = Literal["auto", "softmax", "taylor"]


def taylor_softmax(logits: Array) -> Array:
    """v / sum_k v_k, v = 1 + z + z^2/2: the second-order form of softmax, always positive.

    ``logits`` z and the result have shape (sample, class).

    >>> taylor_softmax(np.array([[0.0, 2.0]])).round(4).tolist()
    [[0.1667, 0.8333]]
    """
    v = 1 + logits * (1 + logits / 2)
    return np.asarray(v / v.sum(axis=1, keepdims=True))


@register("ranker")
class MaNo(Ranker):
    """(sum_ik s_ik^4 / (N K))^(1/4) of normalised logits s, in [0, 1]: the sum is over all rows, never batch by batch.

    s is the softmax where the model is sure on average, Phi = -mean_ik log softmax(z)_ik > 5, and `taylor_softmax`
    otherwise, because logits of an unsure model are not to be trusted with an exponential. Numbers of different
    normalisations do not compare (at Phi = 5 the softmax's is half as large again), so a ranking has one: softmax where
    the mean of all records' Phi is above 5 or one record has no logits; ``normalization`` fixes it. The Taylor form is
    not indifferent to a constant added to the logits. `NotApplicable` without `logits` or `probabilities`; with
    probabilities alone they are taken as they are. Source: Xie et al. (2024).

    normalization : "auto" (the criterion), "softmax" or "taylor" (needs logits).

    >>> record = Predictions.from_logits([[0.0, 2.0], [2.0, 0.0]])
    >>> round(MaNo().score(record), 4), round(MaNo(normalization="softmax").score(record), 4)
    (0.701, 0.7407)
    """

    name = "mano"
    needs = ("logits|probabilities",)
    citation = "xie2024"

    def __init__(self, *, normalization: Normalization = "auto") -> None:
        if normalization not in ("auto", "softmax", "taylor"):
            expected = "expected the normalization auto, softmax or taylor"
            raise UsageError(f"{expected}, got {normalization!r}; auto is the paper's")
        self._normalization = normalization

    def summarize(self, batch: Predictions) -> State:
        """Rows, entries, the sum for the criterion, and both sums of fourth powers."""
        has_logits = batch.logits is not None
        outputs = present(batch.logits if has_logits else batch.probabilities)
        surprise = powers = taylor = 0.0
        for start in range(0, len(outputs), _CHUNK_ROWS):
            part = outputs[start : start + _CHUNK_ROWS].astype(np.float64)
            shares = softmax(part) if has_logits else part
            powers += float((shares**_ORDER).sum())
            if has_logits:
                highest = part.max(axis=1, keepdims=True)
                total = highest[:, 0] + np.log(np.exp(part - highest).sum(axis=1))
                surprise += float((total - part.mean(axis=1)).sum())
                taylor += float((taylor_softmax(part) ** _ORDER).sum())
            else:
                surprise -= float(np.log(np.maximum(shares, _SMALLEST)).mean(axis=1).sum())
        state = {
            "rows": len(batch),
            "entries": outputs.size,
            "with_logits": len(batch) * has_logits,
        }
        return state | {"surprise": surprise, "softmax": powers, "taylor": taylor}

    def settled(self, states: Mapping[str, State]) -> tuple[Self, tuple[str, ...]]:
        """The same with one normalisation for all, by the mean of their criteria; a note where they would differ."""
        if self._normalization != "auto":
            return self, ()
        choices = {name: self._chosen(state) for name, state in states.items()}
        criteria = [state["surprise"] / state["rows"] for state in states.values()]
        unsure = sum(criteria) / len(criteria) <= _THRESHOLD
        fixed = copy.copy(self)
        fixed._normalization = (
            "taylor" if unsure and all(map(_has_logits, states.values())) else "softmax"
        )
        if len(set(choices.values())) == 1:
            return fixed, ()
        differing = sorted(
            name for name, choice in choices.items() if choice != fixed._normalization
        )
        span = f"({min(criteria):.2f} to {max(criteria):.2f}, threshold {_THRESHOLD:g})"
        choice = f"all were normalised by {fixed._normalization}, alone {', '.join(differing)} would not have been"
        remedy = "normalization= fixes one, and the order may depend on it"
        return fixed, (
            f"mano: the records lie on both sides of its criterion {span}; {choice}; {remedy}",
        )

    def finish(self, state: State) -> float:
        """The norm under the normalisation that the criterion, or the caller, chose."""
        if self._normalization == "taylor" and not _has_logits(state):
            raise NotApplicable(
                "needs `logits`; the Taylor normalization cannot be worked out from probabilities"
            )
        return float((state[self._chosen(state)] / state["entries"]) ** (1 / _ORDER))

    def _chosen(self, state: State) -> str:
        if self._normalization != "auto":
            return self._normalization
        unsure = state["surprise"] / state["rows"] <= _THRESHOLD
        return "taylor" if unsure and _has_logits(state) else "softmax"


def _has_logits(state: State) -> bool:
    return bool(state["with_logits"] == state["rows"])


_CHUNK_ROWS = 8192


class GramRanker(Ranker):
    """What rankers share that read P^T P."""

    needs = ("probabilities",)

    def summarize(self, batch: Predictions) -> State:
        """Rows and P^T P in float64, shape (class, class), worked out once a record."""
        probabilities = present(batch.probabilities)

        def make() -> Array:
            total = np.zeros((probabilities.shape[1],) * 2)
            for start in range(0, len(probabilities), _CHUNK_ROWS):
                part = probabilities[start : start + _CHUNK_ROWS].astype(np.float64)
                total += part.T @ part
            return total

        return {"rows": len(batch), "gram": batch.derived("gram", make)}


def nuclear_norm(gram: Array, rows: int) -> float:
    """||P||_* / sqrt(min(N, K) N) of probabilities P, shape (sample, class), in [0, 1]; N samples, K classes.

    gram : P^T P, shape (class, class); the singular values of P are the square roots of its eigenvalues.
    rows : N, the number of samples.

    Source: Deng et al. (2023).

    >>> nuclear_norm(np.array([[2.0, 0.0], [0.0, 2.0]]), 4)
    1.0
    """
    rank = min(rows, len(gram))
    # beyond the rank there is rounding alone, which square roots would make large
    squares = np.linalg.eigvalsh(gram)[len(gram) - rank :]
    return float(np.sqrt(np.maximum(squares, 0.0)).sum() / np.sqrt(rank * rows))


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
    """cos(C, R) = sum_k C_kk R_kk / (||C|| ||R||), in [0, 1], of C = P^T P / N and R = diag(prior); N cancels.

    gram : P^T P of probabilities P, shape (class, class).
    prior : share of each class that is expected, shape (class,).

    Source: Tu et al. (2024).

    >>> softmax_correlation(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([0.5, 0.5])).__round__(4)
    0.7071
    """
    return float(np.diagonal(gram) @ prior) / float(np.linalg.norm(gram) * np.linalg.norm(prior))


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
            return (
                f"needs the {len(self._prior)} classes of the reference, got {record.num_classes}"
            )
        return why

    def finish(self, state: State) -> float:
        """The cosine."""
        classes = len(state["gram"])
        prior = np.full(classes, 1 / classes) if self._prior is None else self._prior
        return softmax_correlation(state["gram"], prior)
