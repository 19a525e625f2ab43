"""BBSE: black-box shift estimation, the class prior of the target by inverting the reference's confusion matrix."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..intervals import wilson_from_variance
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from .base import Estimator, Sums
from .label_counts import LabelCountEstimator, LabelCounts, count_labels

_MOST_CONDITION = 1e3
_HIGH_CONDITION = 30.0


class InvertedConfusion(NamedTuple):
    """Solution of C w = mu_T.

    ``weights`` and ``raw_weights`` (class,): q_y / P_S(y) after and before negative ones are cut to 0; ``sensitivity``
    (predicted class,): C^-T a, the derivative of the accuracy a . w by mu_T; ``condition``: that of P_S(h | y).
    """

    weights: Array
    raw_weights: Array
    sensitivity: Array
    condition: float


def invert_confusion(joint: Array, correct: Array, predicted: Array) -> InvertedConfusion:
    """Solve C w = mu_T over the classes that the reference knows.

    ``joint`` is C[j, y] = P_S(h = j, y), shape (class, class); ``correct`` a_y = P_S(correct, y) and ``predicted``
    mu_T[j] = P_T(h = j), both of shape (class,).

    Raises `NotApplicable` where C is singular or P_S(h | y) has a condition number above 1,000. Source: Lipton et al.
    (2018).

    >>> joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    >>> invert_confusion(joint, np.diag(joint), np.array([0.35, 0.65])).weights.round(3).tolist()
    [0.5, 1.5]
    """
    prior = joint.sum(axis=0)
    known = np.flatnonzero(prior > 0)
    square = joint[np.ix_(known, known)]
    if not square.sum(axis=1).all():  # a row of zeros; told apart from the rest because it is quick to see
        raise NotApplicable(
            "the reference's confusion matrix cannot be inverted: some of its classes are never predicted; "
            "`label-shift` needs no inverse"
        )
    singular_values = np.linalg.svd(square / prior[known], compute_uv=False)
    smallest = float(singular_values[-1])
    condition = float(singular_values[0]) / smallest if smallest > 0 else float("inf")
    if not condition <= _MOST_CONDITION:
        raise NotApplicable(
            f"the reference's confusion matrix cannot be inverted (condition number {condition:.3g}): some classes are "
            "never told apart; `label-shift` needs no inverse"
        )
    raw = np.zeros(len(prior))
    raw[known] = np.linalg.solve(square, predicted[known])
    sensitivity = np.zeros(len(prior))
    sensitivity[known] = np.linalg.solve(square.T, correct[known])
    weights = np.maximum(raw, 0.0)
    total = float(weights @ prior)
    if total <= 0:
        raise NotApplicable("no class prior gives the target's predicted classes; the target has none that are known")
    return InvertedConfusion(weights / total, raw, sensitivity, condition)


@final
@register("estimator")
class BBSE(LabelCountEstimator):
    """accuracy = sum_y w_y P_S(correct, y), w = C^-1 mu_T, C[j, y] = P_S(h = j, y), mu_T[j] = P_T(h = j).

    Negative weights are cut to 0 and the prior w_y P_S(y) rescaled to sum to 1. Variance by the delta method, with
    g = C^-T P_S(correct, y): Var_T(g_h)/n_T + Var_S(w_y (correct - g_h))/n_S, plus v(1-v)/n_T. `NotApplicable` without
    true classes and where C cannot be inverted. Source: Lipton et al. (2018).

    >>> from oodometer import Predictions
    >>> reference = Predictions.from_classes([0] * 90 + [1] * 10 + [1] * 60 + [0] * 40, label=[0] * 100 + [1] * 100)
    >>> estimate = BBSE().fit(reference).estimate(Predictions.from_classes([0] * 190 + [1] * 210))
    >>> np.round(estimate.details["prior"], 3).tolist(), round(estimate.value, 3)
    ([0.15, 0.85], 0.645)
    """

    name = "bbse"
    family = "label shift"
    order = 180
    cost = "slow"
    stable = "P(x | y)"
    assumes = "P(h | y) is unchanged: only the shares of the classes moved (label shift)"
    citation = "lipton2018"

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method needs, or None: predicted classes alone suffice."""
        return Estimator.why_not(self, record)

    def _fit(self, reference: Predictions) -> None:
        self._label_counts: LabelCounts = count_labels(reference, most_bins=1)
        label_counts = self._label_counts
        self._joint: Array = label_counts.by_prediction(label_counts.rows_by_cell_and_label.T).T / label_counts.total
        self._correct: Array = label_counts.hits_by_label / label_counts.total
        invert_confusion(self._joint, self._correct, self._joint.sum(axis=1))  # refuses before the target is read

    def finish(self, state: Sums) -> Estimate:
        """Invert, answer the weighted share of correct samples."""
        rows, label_counts = state["rows"], self._label_counts
        predicted = label_counts.by_prediction(state["counts"]) / rows
        found = invert_confusion(self._joint, self._correct, predicted)
        value = float(found.weights @ self._correct)
        variance = self._variance(found, predicted) + max(value * (1 - value), 0.0) / rows
        g = found.sensitivity
        variance += max(float(predicted @ g**2 - (predicted @ g) ** 2), 0.0) / rows
        lower, upper = wilson_from_variance(value, variance, min(rows, label_counts.total), self.level)
        return self._estimate(
            state, value, lower, upper, details=self._details(found), warnings=(*label_counts.notes, *_notes(found))
        )

    def _variance(self, found: InvertedConfusion, predicted: Array) -> float:
        """Part of the reference: variance over its rows of w_y (correct - g_h), with one squared unit added."""
        label_counts = self._label_counts
        g = np.append(found.sensitivity, 0.0)[label_counts.owner[label_counts.pair_cell]]
        w = found.weights[label_counts.pair_label]
        miss, hit = -w * g, w * (1 - g)
        rows, hits = label_counts.pair_rows, label_counts.pair_hits
        mean = float(hits @ hit + (rows - hits) @ miss) / label_counts.total
        squares = float(hits @ np.square(hit - mean) + (rows - hits) @ np.square(miss - mean))
        return (squares + 1) / (label_counts.total + 1) / label_counts.total

    def _details(self, found: InvertedConfusion) -> dict[str, object]:
        prior = self._label_counts.prior
        return {"prior": found.weights * prior, "reference_prior": prior, "condition": found.condition}


def _notes(found: InvertedConfusion) -> tuple[str, ...]:
    notes = []
    if found.condition > _HIGH_CONDITION:
        notes.append(f"the confusion matrix has the condition number {found.condition:.0f}; the prior is unstable")
    if found.raw_weights.min() < -0.05:
        notes.append(f"the inverse gave a negative class weight ({found.raw_weights.min():.2f}), cut to 0")
    return tuple(notes)
