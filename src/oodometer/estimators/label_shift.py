"""Label shift: the class prior of the target that explains the cells that are seen, times the recall of each class."""

from __future__ import annotations

import copy
from typing import Self, final

import numpy as np

from ..intervals import wilson_from_variance
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from .base import Sums
from .expected_classes import Expectation, LabelledRows, labelled_rows, reweighted
from .label_counts import LabelCountEstimator, LabelCounts
from .target_prior import LabelShiftFit, label_shift_test


def spread_variance(fit: LabelShiftFit) -> float:
    """Variance of the accuracy over the draws, with the square of their bias, which many classes of few rows cause.

    >>> import numpy as np
    >>> one = np.ones((3, 1))
    >>> fit = LabelShiftFit(1.0, one[:, 0], one[0], 0.5 * one[0], one, np.array([[0.4], [0.5], [0.6]]))
    >>> round(spread_variance(fit), 4)
    0.01
    """
    draws = fit.accuracies
    return float(draws.var(ddof=1) + (draws.mean() - fit.accuracy) ** 2)


def fit_notes(fit: LabelShiftFit, label_counts: LabelCounts) -> tuple[str, ...]:
    """What a user should know: of the reference, and that no class prior explains the target where that is so.

    >>> import numpy as np
    >>> from oodometer import Predictions
    >>> from oodometer.estimators.label_counts import count_labels
    >>> label_counts, one = count_labels(Predictions.from_classes([0] * 99, label=[0] * 99)), np.ones((99, 1))
    >>> fit_notes(LabelShiftFit(13.0, one[:, 0], one[0], one[0], one, one), label_counts)
    ('no class prior explains the target: misfit 13.0 times what label shift leaves (p = 0.01); do not rely on this',)
    """
    if label_counts.is_thin or not fit.is_misfit:
        return label_counts.notes
    return (
        *label_counts.notes,
        f"no class prior explains the target: misfit {fit.ratio:.1f} times what label shift leaves "
        f"(p = {fit.p_value:.2g}); do not rely on this",
    )


@final
@register("estimator")
class LabelShift(LabelCountEstimator):
    """accuracy = sum_y q_y P_S(correct | y), q the class prior that best explains the target's cells.

    A cell is a predicted class and a quantile bin of its confidence (of `members`' agreement where there is no
    confidence; the predicted class alone where there is neither). q maximises the likelihood of the target's cell
    counts under sum_y q_y P_S(cell | y): no probability is taken at its word, the reference calibrates them. Details
    hold q and the test of the fit: the statistic G, its ratio to the median of a bootstrap under label shift, and
    the p-value; a warning says when no prior explains the target.

    Variance: bootstrap redrawing both samples (their cell counts), its bias squared, plus v(1-v)/n_T. `NotApplicable`
    without true classes. Source: Saerens et al. (2002) and Alexandari et al. (2020) for maximum likelihood; Lipton et
    al. (2018) for the setting.

    >>> from oodometer import Predictions
    >>> reference = Predictions.from_classes([0] * 90 + [1] * 10 + [1] * 60 + [0] * 40, label=[0] * 100 + [1] * 100)
    >>> target = Predictions.from_classes([0] * 190 + [1] * 210)  # 0.15 of class 0: 0.9 q + 0.4 (1 - q) = 0.475
    >>> estimate = LabelShift().fit(reference).estimate(target)
    >>> bool(abs(estimate.value - (0.15 * 0.9 + 0.85 * 0.6)) < 0.02)
    True
    """

    name = "label-shift"
    family = "label shift"
    order = 170
    cost = "slow"
    stable = "P(x | y)"
    gives_metrics = True
    _labelled: LabelledRows
    assumes = "P(x | y) is unchanged: only the shares of the classes moved (label shift)"
    citation = "saerens2002"

    def with_metrics(self, reference: Predictions, own: Predictions) -> Self:
        """A copy that keeps the classes of a sample of reference rows."""
        told = copy.copy(self)
        told._labelled = labelled_rows(own.known(), self.seed)
        return told

    def expect(self, state: Sums, counts: Sums, draws: int) -> Expectation:
        """The reference's rows, each class with its new share."""
        label_counts, rows = self._label_counts, self._labelled
        inverse = np.divide(1.0, rows.shares, out=np.zeros(rows.classes), where=rows.shares > 0)
        fit = label_shift_test(label_counts, state["counts"], seed=self.seed, draws=draws)
        factors = np.vstack([fit.prior, fit.priors])
        made = reweighted(rows, inverse[rows.label], state["rows"], draws, [self.seed, 0x1AB], factors)
        details = {"prior": fit.prior, "fit": fit.to_dict(), "refuted": fit.is_misfit and not label_counts.is_thin}
        return made._replace(warnings=fit_notes(fit, label_counts), details=details)

    def finish(self, state: Sums) -> Estimate:
        """Fit the prior, answer its mean recall."""
        rows, label_counts = state["rows"], self._label_counts
        fit = label_shift_test(label_counts, state["counts"], seed=self.seed)
        value = fit.accuracy
        variance = spread_variance(fit) + max(value * (1 - value), 0.0) / rows
        lower, upper = wilson_from_variance(value, variance, min(rows, label_counts.total), self.level)
        details = {
            "prior": fit.prior,
            "reference_prior": label_counts.prior,
            "recall": fit.recall,
            "fit": fit.to_dict(),
            "cells": len(label_counts) - 1,
        }
        return self._estimate(
            state,
            value,
            lower,
            upper,
            score=None if label_counts.score is None else label_counts.score.name,
            details=details,
            warnings=fit_notes(fit, label_counts),
        )
