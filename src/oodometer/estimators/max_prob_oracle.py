"""MaxProb oracle: the bounds that thresholds on confidence could give if the target's truth were known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import NotApplicable, UsageError
from ..intervals import check_level
from ..results import Interval, plain
from .threshold import ScoreThreshold, credit, find_threshold


@dataclass(frozen=True)
class OracleBounds:
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

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}


def max_prob_oracle(
    confidence: Any, correct: Any, correct_recall: float, incorrect_recall: float, *, level: float = 0.95
) -> OracleBounds:
    """Bounds from two thresholds on confidence that find as much as a panel of judges does, given the truth.

    upper = mean [c >= g_u], g_u such that the share ``correct_recall`` of the right answers lies at or above it: what
    the judges' upper bound recalls of Correct. lower = mean [c > g_l], g_l such that the share ``incorrect_recall`` of
    the wrong answers lies at or below it: what the judges' lower bound recalls of Incorrect. Of all thresholds that do
    so, those with the tightest bounds are taken, in favour of the oracle; among ties a share counts, so that both
    recalls are met exactly. It needs the very labels that an estimate has to do without: a yardstick, no method.

    confidence and correct have shape (sample,), both recalls lie in [0, 1]. `InputError` for arrays that do not fit,
    `UsageError` for recalls outside, `NotApplicable` where all answers are right, or all wrong. Source: Yao and Koller
    (2024), section 4.2.

    >>> found = max_prob_oracle([0.9, 0.8, 0.7, 0.6, 0.2], [1, 0, 1, 1, 0], correct_recall=1.0, incorrect_recall=1.0)
    >>> found.lower.value, found.upper.value, found.lower_threshold, found.upper_threshold
    (0.2, 0.8, 0.8, 0.6)
    """
    from ..metrics.base import checked_pair
    from ..metrics.vote_counts import absolute, paired_gap

    check_level(level)
    for name, recall in (("correct_recall", correct_recall), ("incorrect_recall", incorrect_recall)):
        if not 0 <= recall <= 1:
            raise UsageError(f"expected {name} from 0 to 1, got {recall}; percents are divided by 100")
    scores, verdict = checked_pair(confidence, correct)
    right = verdict > 0
    if right.all() or not right.any():
        what = "right" if right.all() else "wrong"
        raise NotApplicable(f"all {len(right)} answers are {what}: there is nothing to recall of the others")
    above = _reaching(scores[right], correct_recall)
    below = _reaching(-scores[~right], incorrect_recall)
    upper = credit(scores, above)
    lower = 1 - credit(-scores, below)
    mean = (lower + upper) / 2
    bounds = [_share(values, level) for values in (lower, upper, mean)]
    gap = verdict - mean
    error = absolute(paired_gap(float(gap.sum()), float(np.square(gap).sum()), len(gap), level))
    return OracleBounds(bounds[0], bounds[1], bounds[2], _given(error), -below.threshold + 0.0, above.threshold)


def _reaching(scores: Any, recall: float) -> ScoreThreshold:
    """The threshold at or above which this share of the scores lies."""
    count = recall * len(scores)
    return find_threshold(np.sort(scores), round(count) if abs(count - round(count)) < 1e-9 * len(scores) else count)


def _share(values: Any, level: float) -> Interval:
    """Their mean, with the sampling error that is left once the thresholds are given."""
    from ..metrics.vote_bounds import mean_of

    return _given(mean_of(float(values.sum()), float(np.square(values).sum()), len(values), level))


def _given(found: Interval) -> Interval:
    """The interval as one that holds only for thresholds as given."""
    return replace(found, kind="conditional")
