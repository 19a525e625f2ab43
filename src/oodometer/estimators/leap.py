"""LEAP and S-LEAP: the contingency table of the target that keeps P(h | y) and has the class prior of the target."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from .base import Sums, Traits
from .label_shift import PriorEstimator

_SWEEPS = 1_000
_NO_SHARE = 1e-12  # EM leaves such shares to classes that are not there


def scaled_table(rows: Array, prior: Array, *, pseudo_rows: float = 0.0) -> Array:
    """S-LEAP's table: P_S(h = j | y) q_y, shape (predicted, class).

    ``rows`` are reference rows by (predicted, true class), ``prior`` is q. ``pseudo_rows`` smooths: so many are added
    to each class, the accuracy's share of them on the diagonal, the rest spread like all predictions.

    Source: Volpi et al. (2025).

    >>> scaled_table(np.array([[90, 40], [10, 60]]), np.array([0.5, 0.5])).tolist()
    [[0.45, 0.2], [0.05, 0.3]]
    """
    accuracy = np.trace(rows) / rows.sum()
    share = (rows.sum(axis=1) + 0.5) / (rows.sum() + 0.5 * len(rows))
    full = rows + pseudo_rows * (accuracy * np.eye(len(rows)) + (1 - accuracy) * share[:, None])
    total = full.sum(axis=0)
    return np.asarray(full * np.divide(prior, total, out=np.zeros(len(prior)), where=total > 0))


def balance(table: Array, predicted: Array, prior: Array, *, tolerance: float = 1e-9) -> tuple[Array, float]:
    """The table closest to ``table`` (Kullback-Leibler) with row sums ``predicted`` and column sums ``prior``.

    Rows and columns are rescaled in turn (iterative proportional fitting); odds ratios, which is what P(h | y) says
    about a table whatever its margins, stay as they are. Returns the table and the largest error of a row sum.

    Source: Deming and Stephan (1940).

    >>> made, _ = balance(np.array([[0.4, 0.1], [0.1, 0.4]]), np.array([0.35, 0.65]), np.array([0.25, 0.75]))
    >>> made.round(3).tolist()
    [[0.2, 0.15], [0.05, 0.6]]
    """
    made, miss = table * (prior > _NO_SHARE), 0.0
    for _ in range(_SWEEPS):
        made = made * _ratio(predicted, made.sum(axis=1))[:, None]
        made = made * _ratio(prior, made.sum(axis=0))
        miss = float(np.abs(made.sum(axis=1) - predicted).max())
        if miss < tolerance:
            break
    return made, miss


def _ratio(target: Array, present: Array) -> Array:
    return np.divide(target, present, out=np.zeros(len(target)), where=present > _NO_SHARE)


class ContingencyEstimator(PriorEstimator):
    """What S-LEAP and LEAP share: the prior, and the checks; a subclass says what it makes of them."""

    assumes = "P(h | y) is unchanged: only the shares of the classes moved (label shift)"
    citation: ClassVar[str] = "volpi2025"

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method and its prior need, or None."""
        if self._choice == "sld" and not record.has("probabilities"):
            return "needs `probabilities` for the prior by SLD"
        return super().why_not(record)

    def _fit(self, reference: Predictions) -> None:
        super()._fit(reference)
        cells = self._label_counts
        self._rows: Array = cells.by_prediction(cells.rows_by_cell_and_label.T).T
        if int(np.trace(self._rows)) != int(cells.hits.sum()):
            raise NotApplicable("`correct` is not `label` == prediction here, so that a contingency table says nothing")

    def finish(self, state: Sums) -> Estimate:
        """Estimate the prior, answer the accuracy of the table, with the variance of the prior and the recalls."""
        cells = self._label_counts
        fit, details = self._prior(state)
        table, more, doubt = self._table(state, fit.prior)
        details |= more
        if cells.classes <= 100:
            details["contingency"] = table
        value, variance = float(np.trace(table)), fit.variance + doubt**2
        return self._from_variance(state, value, variance, cells.total, details=details, warnings=fit.notes)

    @abstractmethod
    def _table(self, state: Sums, prior: Array) -> tuple[Array, dict[str, float], float]:
        """The target's table (predicted, true class), more details, and a doubt to be squared."""


@final
@register("estimator")
class SLEAP(ContingencyEstimator):
    """``s-leap``: the table C[j, y] = P_S(h = j | y) q_y; accuracy = sum_y C[y, y] = sum_y q_y P_S(h = y | y).

    Parameters
    ----------
    prior : how q is estimated: ``"mle"`` (that of `label-shift`, whose answer this then is), ``"sld"``, ``"bbse"``, or
        ``"source"`` (no shift, for comparison).

    Details hold the table (predicted, true class). Variance: bootstrap of the prior and of P_S(h | y), plus v(1-v)/n_T.
    `NotApplicable` without true classes. Source: Volpi et al. (2025).

    >>> reference = Predictions.from_classes([0] * 90 + [1] * 10 + [1] * 60 + [0] * 40, label=[0] * 100 + [1] * 100)
    >>> target = Predictions.from_classes([0] * 190 + [1] * 210)
    >>> estimate = SLEAP(prior="bbse").fit(reference).estimate(target)
    >>> np.round(estimate.details["contingency"], 3).tolist()
    [[0.135, 0.34], [0.015, 0.51]]
    """

    name = "s-leap"
    traits = Traits("label shift", 210, cost="slow", stable="P(x | y)", runs_as=())

    def _table(self, state: Sums, prior: Array) -> tuple[Array, dict[str, float], float]:
        return scaled_table(self._rows, prior), {}, 0.0


@final
@register("estimator")
class LEAP(ContingencyEstimator):
    """``leap``: sum_y C[y, y] of the table with both margins of the target that is nearest to S-LEAP's.

    The margins are sum_y C[j, y] = P_T(h = j) and sum_j C[j, y] = q_y; with the equations C[j, y] = P_S(h = j | y) q_y
    they are more than the unknowns. The paper solves as many of them as there are unknowns; what does not fit then
    falls on the one class whose equations are left out, and averaged over the choice of that class the accuracy is
    S-LEAP's. Here both margins hold exactly and the table is the nearest in Kullback-Leibler divergence (to S-LEAP's
    smoothed by one pseudo-row a class): no class is special, no entry negative, and odds ratios are kept.

    Parameters
    ----------
    prior : as in `SLEAP`.

    Variance: that of S-LEAP, plus the squared distance to it. `NotApplicable` without true classes. Source: Volpi et
    al. (2025); Deming and Stephan (1940) for the fit to the margins.

    >>> reference = Predictions.from_classes([0] * 90 + [1] * 10 + [1] * 60 + [0] * 40, label=[0] * 100 + [1] * 100)
    >>> target = Predictions.from_classes([0] * 190 + [1] * 210)
    >>> estimate = LEAP().fit(reference).estimate(target)
    >>> np.round(estimate.details["contingency"].sum(axis=1), 3).tolist(), round(estimate.value, 2)
    ([0.475, 0.525], 0.65)
    """

    name = "leap"
    traits = Traits("label shift", 200, cost="slow", stable="P(x | y)", in_panel=True)

    def _table(self, state: Sums, prior: Array) -> tuple[Array, dict[str, float], float]:
        predicted = self._label_counts.by_prediction(state["counts"])
        if not predicted.any():
            raise NotApplicable("the target has no predicted class that the reference knows")
        simple, smooth = scaled_table(self._rows, prior), scaled_table(self._rows, prior, pseudo_rows=1.0)
        table, miss = balance(smooth, predicted / predicted.sum(), prior)
        doubt = float(np.trace(table) - np.trace(simple))
        return table, {"margin_error": miss, "correction": doubt}, doubt
