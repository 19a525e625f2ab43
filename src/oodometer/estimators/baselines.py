"""Baselines: the accuracy of the reference as it is, a fixed level of confidence, and an oracle with two levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..errors import NotApplicable, UsageError
from ..intervals import check_level, clopper_pearson, wilson, wilson_ends
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate, Interval
from ..results.values import Record
from ..scores import Score, natural_confidence
from .base import Ends, Estimator, Pieces, Sums, Traits, root_sum_square, within
from .expected_classes import Expectation, LabelledRows, labelled_rows, reweighted
from .threshold import ScoreThreshold, credit, find_threshold


@dataclass(frozen=True)
class OracleBounds(Record):
    """Bounds of the oracle: lower, upper, mean of both, ``error`` = |accuracy - mean|, two thresholds on confidence.

    ``lower_threshold``: answers at or below it are taken for wrong. ``upper_threshold``: answers at or above it are
    taken for right. Intervals take the thresholds as given (kind conditional).
    """

    lower: Interval
    upper: Interval
    mean: Interval
    error: Interval
    lower_threshold: float
    upper_threshold: float


def max_prob_oracle(
    confidence: Any,
    correct: Any,
    correct_recall: float,
    incorrect_recall: float,
    *,
    level: float = 0.95,
) -> OracleBounds:
    """Bounds from two thresholds on confidence that find as much as a panel of judges does, given the truth.

    upper = mean [c >= g_u], g_u such that the share ``correct_recall`` of the right answers lies at or above it; lower
    = mean [c > g_l], g_l such that the share ``incorrect_recall`` of the wrong answers lies at or below it. Of such
    thresholds the tightest bounds are taken; among ties a share counts. It needs labels: a yardstick, no method.

    confidence, correct : of each answer, shape (sample,); booleans or 0/1 the second.
    correct_recall, incorrect_recall : shares, in [0, 1].
    level : nominal coverage of the intervals.

    Raises `InputError` for arrays that do not fit, `UsageError` for recalls outside, `NotApplicable` where all answers
    are right, or all wrong. Source: Yao and Koller (2024), section 4.2.

    >>> found = max_prob_oracle([0.9, 0.8, 0.7, 0.6, 0.2], [1, 0, 1, 1, 0], correct_recall=1.0, incorrect_recall=1.0)
    >>> found.lower.value, found.upper.value, found.lower_threshold, found.upper_threshold
    (0.2, 0.8, 0.8, 0.6)
    """
    from ..metrics.base import checked_pair
    from ..metrics.votes import absolute, mean_of, paired_gap

    check_level(level)
    for name, recall in (
        ("correct_recall", correct_recall),
        ("incorrect_recall", incorrect_recall),
    ):
        if not 0 <= recall <= 1:
            raise UsageError(
                f"expected {name} from 0 to 1, got {recall}; percents are divided by 100"
            )
    scores, verdict = checked_pair(confidence, correct)
    right = verdict > 0
    if right.all() or not right.any():
        what = "right" if right.all() else "wrong"
        raise NotApplicable(
            f"all {len(right)} answers are {what}: there is nothing to recall of the others"
        )
    above = _reaching(scores[right], correct_recall)
    below = _reaching(-scores[~right], incorrect_recall)
    upper_credit, lower_credit = credit(scores, above), 1 - credit(-scores, below)
    middle = (lower_credit + upper_credit) / 2
    sums = [
        (float(x.sum()), float(np.square(x).sum()), len(x), level)
        for x in (lower_credit, upper_credit, middle, verdict - middle)
    ]
    intervals = (*(mean_of(*each) for each in sums[:3]), absolute(paired_gap(*sums[3])))
    lower, upper, mean, error = (
        replace(interval, kind="conditional") for interval in intervals
    )  # thresholds are given
    return OracleBounds(lower, upper, mean, error, -below.threshold + 0.0, above.threshold)


def _reaching(scores: Any, recall: float) -> ScoreThreshold:
    """The threshold at or above which this share of the scores lies."""
    count = recall * len(scores)
    return find_threshold(
        np.sort(scores), round(count) if abs(count - round(count)) < 1e-9 * len(scores) else count
    )


@register("estimator")
class SourceAccuracy(Estimator):
    """acc_S = (1/n_S) sum_i [h(x_i) = y_i], with an interval for the share of these target rows that is correct.

    The interval joins the chance of both samples (MOVER): on each side the root of the summed squared distances to the
    Clopper-Pearson end for n_S rows and to the Wilson end of the same share for n_T rows. Any shift breaks it, yet it
    often beats bad methods, so it is always printed. `NotApplicable` without labelled reference rows. Source: Clopper
    and Pearson (1934); Newcombe (1998) for the join.

    >>> reference = Predictions.from_classes([0, 1, 1, 0], label=[0, 1, 1, 1])
    >>> SourceAccuracy().fit(reference).estimate(Predictions.from_classes([1, 0])).value
    0.75
    """

    name = "source"
    traits = Traits("reference", 10, favour=0.5)
    needs = ()
    assumes = "the target is distributed as the reference (no shift)"
    citation = "clopper1934"
    _labelled: LabelledRows

    def _fit(self, reference: Predictions) -> None:
        self._correct = int(reference.verdicts.sum())
        self._rows = len(reference)

    def with_counts(self, correct: int, rows: int) -> Self:
        """A copy that answers for all rows of a reference of which only a sample was kept."""
        return self._with(_correct=correct, _rows=rows)

    def with_metrics(self, reference: Predictions, own: Predictions) -> Self:
        """A copy that keeps the classes of a sample of reference rows."""
        return self._with(_labelled=labelled_rows(own.known(), self.seed))

    def expect(self, state: Sums, counts: Sums, draws: int) -> Expectation:
        """The reference's rows as they are."""
        rows = self._labelled
        return reweighted(rows, np.ones(len(rows.label)), state["rows"], draws, [self.seed, 0x50])

    def summarize(self, batch: Predictions) -> Sums:
        """The number of rows."""
        return Sums(rows=len(batch))

    def finish(self, state: Sums) -> Estimate:
        """The reference accuracy, whatever the target; its rows widen the interval the more the fewer they are."""
        ends = self._joined(self._correct / self._rows, state["rows"])
        return self._estimate(state, *ends, details={"reference_rows": self._rows})

    def ends_of(self, pieces: Pieces) -> Ends:
        """The reference accuracy, with the interval of each piece's rows."""
        value = np.full(len(pieces.rows), self._correct / self._rows)
        return within(*self._joined(value, pieces.rows))

    def _joined(self, value: Any, rows: Any) -> Ends:
        """The value, with the doubt of the reference's rows and of so many of the target."""
        low, high = clopper_pearson(self._correct, self._rows, self.level)
        lower, upper = wilson_ends(value, value * (1 - value) / rows, rows, self.level)
        down = root_sum_square(value - low, value - lower)
        return value, value - down, value + root_sum_square(high - value, upper - value)


@register("estimator")
class MaxProb(Estimator):
    """mean_T [s > gamma], s = max probability (or `confidence`, or the sequence probability).

    gamma : the level; 0.5, as nothing is known of the target. ``max-prob:<gamma>`` by name.

    The interval is Wilson's of that share. A baseline to compare with, run only where it is asked for: a fixed level is
    no estimate, and a model that is always sure gets 1. `UsageError` for a gamma outside [0, 1), `NotApplicable`
    without confidences; the reference is not used. Source: Kamath, Jia and Liang (2020); Yao and Koller (2024).

    >>> target = Predictions.from_confidence([0.9, 0.6, 0.5, 0.2])
    >>> MaxProb().fit(target).estimate(target).value, MaxProb(gamma=0.8).fit(target).estimate(target).value
    (0.5, 0.25)
    """

    name = "max-prob"
    traits = Traits("baseline", 300, cost="slow", runs_as=(), needs_labels=False)
    needs = ("probabilities|confidence|token_logprobs",)
    assumes = "exactly the answers with a confidence above the level are right"
    citation = "kamath2020"

    def __init__(self, *, gamma: float = 0.5, level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        if not 0 <= gamma < 1:
            raise UsageError(
                f"expected a level of confidence from 0 to below 1 such as 0.5, got {gamma}"
            )
        self.gamma = float(gamma)
        if gamma != 0.5:
            self.name = f"max-prob:{gamma:g}"  # type: ignore[misc]  # the instance's own, longer name

    @classmethod
    def from_argument(cls, argument: str, **options: Any) -> Self:
        """``max-prob:<gamma>``."""
        try:
            gamma = float(argument)
        except ValueError:
            raise UsageError(
                f"expected max-prob:<gamma> such as max-prob:0.7, got max-prob:{argument}"
            ) from None
        return cls(gamma=gamma, **options)

    def _fit(self, reference: Predictions) -> None:
        self._score: Score = natural_confidence(reference).fit(reference)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows, and how many are more confident than gamma."""
        return Sums(rows=len(batch), above=int(np.count_nonzero(self._score(batch) > self.gamma)))

    def finish(self, state: Sums) -> Estimate:
        """Share above gamma."""
        rows = state["rows"]
        value = state["above"] / rows
        lower, upper = wilson(value, rows, self.level)
        details = {"threshold": self.gamma}
        return self._estimate(state, value, lower, upper, score=self._score.name, details=details)
