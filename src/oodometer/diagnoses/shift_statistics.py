"""Shift statistics: a few numbers that tell shifts apart, cheap enough for every simulated target as well."""

from __future__ import annotations

import copy
from typing import Self

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..estimators import Sums
from ..estimators.label_counts import LabelCounts, label_counts_of
from ..estimators.target_prior import conditionals, fit_prior, g_statistic, no_shift_test
from ..predictions import Predictions

_LEAST_EXPECTED = 5  # target rows in a cell of a test


class ShiftStatistics:
    """How far the target moved, and how much of it other class shares leave unexplained.

    With n_b and m_b the counts of reference and target in the cells (predicted class, quantile of confidence), n and m
    their sums: ``moved`` = sqrt((G_0 - df)+ / h), G_0 the G statistic of homogeneity, h = n m / (n + m);
    ``unexplained`` = sqrt((G_1 - df (1 + m/n))+ / m), G_1 that of the best class prior (`fit_prior`), whose null mean
    is inflated by the reference's own error; ``label_shift`` = sum_y q_y P_S(correct | y). Both distances are free of
    the sample sizes. Records without true classes have ``moved`` alone or nothing.

    Source: the likelihood-ratio tests are those of `oodometer.estimators.target_prior`.

    >>> p = Predictions.from_classes([0, 1] * 100, label=[0, 1] * 100)
    >>> statistics = ShiftStatistics().fit(p)
    >>> {k: round(v, 2) for k, v in statistics.finish(statistics.summarize(p)).items()}
    {'moved': 0.0, 'unexplained': 0.0, 'label_shift': 1.0}
    """

    name = "shift_statistics"
    label_counts: LabelCounts | None = None

    def fit(self, reference: Predictions) -> Self:
        """A fitted copy."""
        fitted = copy.copy(self)
        try:
            fitted.label_counts = label_counts_of(reference)
        except NotApplicable:
            fitted.label_counts = None
        return fitted

    def summarize(self, batch: Predictions) -> Sums:
        """Counts of the batch in the cells."""
        if self.label_counts is None or self.label_counts.why_not(batch) is not None or not batch.has_prediction:
            return Sums(rows=len(batch), counts=np.zeros(1, dtype=np.int64))
        return Sums(rows=len(batch), counts=self.label_counts.count(batch))

    def finish(self, state: Sums, effects: tuple[float, float] = (1.0, 1.0)) -> dict[str, float]:
        """The statistics; empty where there are no cells. ``effects``: as in `p_value`."""
        label_counts, counts = self.label_counts, state["counts"] / effects[1]
        if label_counts is None or not counts.sum() or len(counts) != len(label_counts):
            return {}
        here, there = label_counts.rows / effects[0], counts
        n, m = here.sum(), there.sum()
        pooled = (here + there) / (n + m)
        degrees = max(int(np.count_nonzero(pooled)) - 1, 1)
        same = float(g_statistic(here, n * pooled) + g_statistic(there, m * pooled))
        given = conditionals(label_counts)
        prior = fit_prior(given, there[None], label_counts.prior[None], tolerance=1e-5, most_cycles=60)
        left = float(g_statistic(there, m * given.mix(prior)[0]))
        recall = np.where(
            label_counts.rows_by_label > 0,
            label_counts.hits_by_label / np.maximum(label_counts.rows_by_label, 1),
            label_counts.hits.sum() / label_counts.total,
        )
        return {
            "moved": float(np.sqrt(max(same - degrees, 0.0) * (n + m) / (n * m))),
            "unexplained": float(np.sqrt(max(left - degrees * (1 + m / n), 0.0) / m)),
            "label_shift": float(prior[0] @ recall),
        }

    def p_value(self, state: Sums, seed: int = 0, effects: tuple[float, float] = (1.0, 1.0)) -> float | None:
        """Of the test that the outputs are distributed as on the reference, fit for many looks; None without cells.

        Cells in which fewer than five target rows are expected are taken together, from the rarest on: with thousands
        of sparse cells the test would see changes where there are none. ``effects``: design effects of reference and
        target (`cells_effect`), by which counts are divided. Source: the G test of `no_shift_test`, its tail
        by a gamma distribution (`ShiftTest.tail_p_value`).

        >>> p = Predictions.from_classes([0, 1] * 100, label=[0, 1] * 100)
        >>> statistics = ShiftStatistics().fit(p)
        >>> statistics.p_value(statistics.summarize(p)) > 0.05
        True
        """
        label_counts, counts = self.label_counts, state["counts"]
        if label_counts is None or not counts.sum() or len(counts) != len(label_counts):
            return None
        here, there = (np.rint(n / d) for n, d in zip((label_counts.rows, counts), effects, strict=True))
        here, there = _without_sparse(here, there)
        return no_shift_test(here, there, seed=seed).tail_p_value


def _without_sparse(here: Array, there: Array) -> tuple[Array, Array]:
    """Counts of both sides in cells of five expected target rows or more, grouped by the sum of both sides alone.

    >>> here, there = _without_sparse(np.array([50, 1, 1, 2, 46]), np.array([52, 0, 1, 0, 47]))
    >>> here.tolist(), there.tolist()
    ([4, 46, 50], [1, 47, 52])
    """
    both = here + there
    order = np.argsort(both, kind="stable")
    expected = both[order] * (there.sum() / max(both.sum(), 1))
    group = np.floor(np.cumsum(expected) / _LEAST_EXPECTED).astype(np.int64)
    group = np.unique(group, return_inverse=True)[1]
    return np.bincount(group, here[order]).astype(np.int64), np.bincount(group, there[order]).astype(np.int64)
