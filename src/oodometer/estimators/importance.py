"""Importance weighting: reference accuracy under the density ratio that a domain classifier finds."""

from __future__ import annotations

import copy
from typing import Self, final

from ..inference.domain_classifier import (
    check_overlap,
    compare_samples,
    domain_sample,
    weighted_accuracy,
    why_no_domains,
)
from ..inference.row_sample import RowSample
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from .base import Estimator, Sums
from .expected_classes import Expectation, LabelledRows, reweighted, rows_like


@final
@register("estimator")
class ImportanceWeighting(Estimator):
    """``importance``: sum_i w_i correct_i / sum_i w_i over reference rows, w = p_T(x) / p_S(x).

    The ratio comes from a cross-fitted classifier of target against reference rows (`compare_domains`), which sees
    `features` and the log-odds of `probabilities`, or `confidence`; of either sample at most 20,000 rows. Variance:
    sum w^2 (c - v)^2 / (sum w)^2 + v(1-v)/n_T. ``details``: effective sample size (sum w)^2 / sum w^2, the share of the
    target that the reference covers, the classifier's AUC with its error and p-value, the learner. `NotApplicable`
    below 30 rows on either side, 30 effective ones or a tenth covered; warns below 100 effective ones, half
    covered, and above an AUC of 0.99. Source: Shimodaira (2000); Bickel et al. (2009).

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> here, there = rng.normal(0, 1, 2000), rng.normal(1, 1, 2000)  # right wherever x > 0: 84 % of the target
    >>> reference = Predictions.from_arrays(features=here[:, None], correct=here > 0)
    >>> estimate = ImportanceWeighting().fit(reference).estimate(Predictions.from_arrays(features=there[:, None]))
    >>> 0.80 < estimate.value < 0.88
    True
    """

    name = "importance"
    family = "covariate shift"
    order = 240
    cost = "slow"
    stable = "P(y | x)"
    needs = ("features|probabilities|confidence",)
    assumes = "P(y | x) is unchanged, and the reference overlaps the target (covariate shift with overlap)"
    citation = "shimodaira2000"
    heavy = True
    gives_metrics = True
    _labelled: LabelledRows

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method needs, or None."""
        sample: RowSample | None = getattr(self, "_sample", None)
        return super().why_not(record) or (None if sample is None else why_no_domains(sample, record))

    def _fit(self, reference: Predictions) -> None:
        self._sample = domain_sample(reference, "verdicts", seed=self.seed)

    def summarize(self, batch: Predictions) -> Sums:
        """A bounded sample of the rows."""
        return Sums(rows=len(batch), sample=domain_sample(batch, seed=self.seed))

    def with_metrics(self, reference: Predictions, own: Predictions) -> Self:
        """A copy that keeps the classes of the sampled reference rows."""
        told = copy.copy(self)
        told._labelled = rows_like(self._sample, own.known())
        return told

    def expect(self, state: Sums, counts: Sums, draws: int) -> Expectation:
        """The reference's rows under the density ratio."""
        found = compare_samples(self._sample, state["sample"])
        warnings = check_overlap(found.effective_rows, found.auc, found.covered)
        made = reweighted(self._labelled, found.weights, state["rows"], draws, [self.seed, 0x1A9])
        return made._replace(warnings=warnings)

    def finish(self, state: Sums) -> Estimate:
        """Weighted accuracy of the reference."""
        found = compare_samples(self._sample, state["sample"])
        warnings = check_overlap(found.effective_rows, found.auc, found.covered)
        ends = weighted_accuracy(found.weights, self._sample["verdicts"], state["rows"], self.level)
        details = {
            "effective_rows": found.effective_rows,
            "covered": found.covered,
            "auc": found.auc,
            "auc_error": found.auc_error,
            "p_value": found.p_value,
            "learner": found.learner,
        }
        return self._estimate(state, *ends, details=details, warnings=warnings)
