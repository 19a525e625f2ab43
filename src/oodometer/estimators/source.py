"""Source accuracy: the accuracy on the reference, taken over as if nothing had shifted."""

from __future__ import annotations

import copy
from typing import Self, final

import numpy as np

from ..intervals import clopper_pearson, wilson
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from .base import Estimator, Sums, root_sum_square
from .expected_classes import Expectation, LabelledRows, labelled_rows, reweighted


@final
@register("estimator")
class SourceAccuracy(Estimator):
    """acc_S = (1/n_S) sum_i [h(x_i) = y_i], with an interval for the share of these target rows that is correct.

    The interval joins the chance of both samples (MOVER): on each side the root of the summed squared distances to the
    Clopper-Pearson end for n_S rows and to the Wilson end of the same share for n_T rows. It so holds the accuracy of
    the population as well, and with very many target rows it is the Clopper-Pearson interval of the reference.

    Any shift breaks it, yet it often beats bad methods, so it is always printed. Needs labels on the
    reference and nothing of the target but its rows. Raises `NotApplicable` without labelled rows. Source:
    Clopper and Pearson (1934); Newcombe (1998) for the join.

    >>> reference = Predictions.from_classes([0, 1, 1, 0], label=[0, 1, 1, 1])
    >>> SourceAccuracy().fit(reference).estimate(Predictions.from_classes([1, 0])).value
    0.75
    """

    name = "source"
    family = "reference"
    order = 10
    favour = 0.5
    gives_metrics = True
    needs = ()
    assumes = "the target is distributed as the reference (no shift)"
    citation = "clopper1934"
    _labelled: LabelledRows

    def _fit(self, reference: Predictions) -> None:
        self._correct = int(reference.verdicts.sum())
        self._rows = len(reference)

    def with_counts(self, correct: int, rows: int) -> Self:
        """A copy that answers for all rows of a reference of which only a sample was kept."""
        exact = copy.copy(self)
        exact._correct, exact._rows = correct, rows
        return exact

    def with_metrics(self, reference: Predictions, own: Predictions) -> Self:
        """A copy that keeps the classes of a sample of reference rows."""
        told = copy.copy(self)
        told._labelled = labelled_rows(own.known(), self.seed)
        return told

    def expect(self, state: Sums, counts: Sums, draws: int) -> Expectation:
        """The reference's rows as they are."""
        rows = self._labelled
        return reweighted(rows, np.ones(len(rows.label)), state["rows"], draws, [self.seed, 0x50])

    def summarize(self, batch: Predictions) -> Sums:
        """The number of rows."""
        return Sums(rows=len(batch))

    def finish(self, state: Sums) -> Estimate:
        """The reference accuracy, whatever the target; its rows widen the interval the more the fewer they are."""
        value = self._correct / self._rows
        own, new = (
            clopper_pearson(self._correct, self._rows, self.level),
            wilson(value, state["rows"], self.level),
        )
        lower = value - root_sum_square(value - own[0], value - new[0])
        upper = value + root_sum_square(own[1] - value, new[1] - value)
        return self._estimate(state, value, lower, upper, details={"reference_rows": self._rows})
