"""Threshold (ATC, simple GEP): the share of target scores above the level that leaves the reference's errors below."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..intervals import normal_quantile, wilson_from_variance
from ..kernels import count_passed
from ..predictions import Predictions
from ..registry import create, register
from ..results import Estimate
from ..scores import Score
from .base import Estimator, Sums, root_sum_square


class ScoreThreshold(NamedTuple):
    """A threshold and the share of samples exactly on it that count as correct (1 where scores are distinct)."""

    threshold: float
    share_of_ties: float


def find_threshold(sorted_scores: Array, count: float, *, within_gap: bool = False) -> ScoreThreshold:
    """The threshold with ``count`` of the (ascending, sorted) scores at or above it.

    Without ties the threshold is the count-th largest score, so that exactly ``count`` scores are >= t. Among
    ties a share of the tied samples counts, so that the reference is matched exactly even by a score of
    eleven levels; a count of 0 gives +inf.

    Every threshold in the gap below the count-th largest score matches the reference just as well. A new sample of
    the same kind exceeds that score itself with probability count/(n + 1), a little less than count/n, and a sum over
    many small classes adds these little losses up. ``within_gap`` goes down by the share count/n of the gap, where
    the probability is count/n.

    >>> find_threshold(np.array([0.1, 0.2, 0.3, 0.4]), 2)
    ScoreThreshold(threshold=0.3, share_of_ties=1.0)
    >>> find_threshold(np.array([0.1, 0.5, 0.5, 0.5]), 2).share_of_ties.__round__(3)
    0.667
    >>> round(find_threshold(np.array([0.1, 0.2, 0.3, 0.4]), 2, within_gap=True).threshold, 3)
    0.25
    """
    total = len(sorted_scores)
    if count <= 0 or total == 0:
        return ScoreThreshold(float("inf"), 0.0)
    count = min(count, total)
    threshold = sorted_scores[total - int(np.ceil(count))]
    at_or_above = total - np.searchsorted(sorted_scores, threshold, side="left")
    above = total - np.searchsorted(sorted_scores, threshold, side="right")
    if within_gap and at_or_above - above == 1 and above < count < total and count == at_or_above:
        below = sorted_scores[total - int(count) - 1]
        if np.isfinite(below):
            inside = float(threshold) - count / total * (float(threshold) - float(below))
            return ScoreThreshold(inside if inside > below else float(threshold), 1.0)
    return ScoreThreshold(float(threshold), float((count - above) / (at_or_above - above)))


def find_threshold_on_grid(sorted_scores: Array, count: float, ends: tuple[float, float], steps: int) -> ScoreThreshold:
    """The first t of low + (high - low) k / steps, k = 0, ..., steps - 1, for which about ``count`` scores are >= t.

    It minimises |mean(scores >= t) - count / n| over a grid that leaves out its upper end. Source: the code that
    Trivedi et al. (2023) published; `find_threshold` needs no grid.

    >>> find_threshold_on_grid(np.array([0.1, 0.5, 0.5, 0.9]), 2, (0.0, 1.0), 10)
    ScoreThreshold(threshold=0.2, share_of_ties=1.0)
    """
    low, high = ends
    grid = low + (high - low) * np.arange(steps) / steps
    reached = len(sorted_scores) - np.searchsorted(sorted_scores, grid, side="left")
    return ScoreThreshold(float(grid[np.argmin(np.abs(reached - count))]), 1.0)


def thresholds_with_band(
    sorted_scores: Array, correct: float, mismatch: float, level: float, *, within_gap: bool = False
) -> tuple[ScoreThreshold, ScoreThreshold, ScoreThreshold]:
    """The fitted threshold and those at the ends of the interval of its rank (Woodruff's method: no density needed).

    The number of correct samples and the rank of the threshold move together with the reference; their difference has
    variance n * mismatch, where mismatch = mean_S (correct - [s >= t])^2.
    """
    total = len(sorted_scores)
    half = normal_quantile(level) * np.sqrt(total * mismatch)
    return (
        find_threshold(sorted_scores, correct, within_gap=within_gap),
        find_threshold(sorted_scores, correct - half),
        find_threshold(sorted_scores, min(correct + half, total)),
    )


def credit(scores: Array, fitted: ScoreThreshold) -> Array:
    """What each sample counts: 1 above the threshold, the share of ties on it, 0 below; shape (sample,)."""
    out: Array = (scores > fitted.threshold) + fitted.share_of_ties * (scores == fitted.threshold)
    return out


def total_credit(scores: Array, fitted: ScoreThreshold) -> float:
    """Sum of `credit`, in two counting passes."""
    if fitted.share_of_ties == 1.0:
        return float(np.count_nonzero(scores >= fitted.threshold))
    above = np.count_nonzero(scores > fitted.threshold)
    return above + fitted.share_of_ties * float(np.count_nonzero(scores == fitted.threshold))


def fit_threshold(
    scores: Array, verdicts: Array, level: float, *, within_gap: bool = False
) -> tuple[tuple[ScoreThreshold, ScoreThreshold, ScoreThreshold], float]:
    """The three thresholds and the mismatch (add-one smoothed, so that a reference without errors keeps its doubt)."""
    ordered = np.sort(scores)
    correct = float(verdicts.sum())
    fitted = find_threshold(ordered, correct)
    if fitted.share_of_ties == 1.0:
        wrong = float(np.count_nonzero((scores >= fitted.threshold) != (verdicts == 1)))
    else:
        wrong = float(np.square(verdicts - credit(scores, fitted)).sum())
    mismatch = (wrong + 1) / (len(scores) + 1)
    return thresholds_with_band(ordered, correct, mismatch, level, within_gap=within_gap), mismatch


def fit_record_threshold(
    reference: Predictions, score: Score, level: float
) -> tuple[tuple[ScoreThreshold, ScoreThreshold, ScoreThreshold], float]:
    """`fit_threshold` of a score on a record, worked out once for all estimators that start from it."""
    made: tuple[tuple[ScoreThreshold, ScoreThreshold, ScoreThreshold], float] = reference.derived(
        f"threshold:{score.name}:{level}",
        lambda: fit_threshold(score.leave_one_out(reference), reference.verdicts, level),
    )
    return made


class Thresholded(Estimator):
    """What every threshold estimator shares; subclasses say which score."""

    needs: ClassVar[tuple[str, ...]] = ()
    assumes = "on the target, too, as many samples lie above the threshold as are correct"
    citation = "garg2022"

    @abstractmethod
    def _make_score(self, reference: Predictions) -> Score:
        """The score that this estimator thresholds."""

    def _fit(self, reference: Predictions) -> None:
        self._score: Score = self._make_score(reference).fit(reference)
        self._thresholds, self._mismatch = fit_record_threshold(reference, self._score, self.level)
        self._rows = len(reference)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows, and how many score at or above the threshold and the ends of its interval."""
        scores = self._score(batch)
        # a threshold is one of the reference's scores: beside scores of fewer digits it is rounded as they are
        thresholds = np.array([[one.threshold] for one in self._thresholds]).astype(scores.dtype)
        reached, tied = (found[:, 0] for found in count_passed(scores, None, thresholds))
        share = np.array([one.share_of_ties for one in self._thresholds])
        return Sums(rows=len(batch), above=reached - tied + share * tied)

    def finish(self, state: Sums) -> Estimate:
        """Share above the threshold."""
        rows = state["rows"]
        value, at_low, at_high = (state["above"] / rows).tolist()
        variance = max(value * (1 - value), self._mismatch) / rows
        lower, upper = wilson_from_variance(value, variance, rows, self.level)
        down = root_sum_square(value - lower, value - min(at_low, value))
        up = root_sum_square(upper - value, max(at_high, value) - value)
        details = {"threshold": self._thresholds[0].threshold, "share_of_ties": self._thresholds[0].share_of_ties}
        return self._estimate(state, value, value - down, value + up, score=self._score.name, details=details)


class ThresholdOfScore(Thresholded):
    """A threshold over one fixed score, with the score's own needs and citation."""

    score_name: str

    def _make_score(self, reference: Predictions) -> Score:
        score: Score = create("score", self.score_name)
        return score

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the score needs, or None."""
        score: Score = getattr(self, "_score", None) or create("score", self.score_name)
        return score.why_not(record)


@final
@register("estimator")
class Threshold(ThresholdOfScore):
    """``threshold:<score>``: the same mechanism over any registered score (the "simple GEP").

    Parameters
    ----------
    score : name of a score, such as ``"margin"``, ``"energy"``, ``"vote_share"``.
    grid : None for the exact threshold; a number for the best of so many even steps between 0 and 1 (the extremes of
        the reference's scores where those are no probabilities), as in the published code (``threshold:margin:100``).

    `UsageError` for an unknown score or a grid of no steps, `NotApplicable` where the record lacks the score's fields.
    Source: Garg et al. (2022); Trivedi et al. (2023), who compare scores under this one mechanism.

    >>> reference = Predictions.from_probabilities([[0.9, 0.1], [0.6, 0.4]], label=[0, 1])
    >>> Threshold(score="margin").fit(reference).estimate(reference).value
    0.5
    """

    name = "threshold"
    family = "threshold"
    order = 60
    runs_as = ("threshold:margin", "threshold:energy")
    citation = "trivedi2023"

    def __init__(
        self, *, score: str = "max_probability", grid: int | None = None, level: float = 0.95, seed: int = 0
    ) -> None:
        super().__init__(level=level, seed=seed)
        create("score", score)  # an unknown name fails here, not at the fit
        if grid is not None and grid < 1:
            raise UsageError(f"expected a grid of at least 1 step, got {grid}")
        self.score_name, self.grid = score, grid
        self.name = f"threshold:{score}" + (f":{grid}" if grid else "")  # type: ignore[misc]  # its own, longer name

    @classmethod
    def from_argument(cls, argument: str, **options: Any) -> Self:
        """``threshold:<score>`` or ``threshold:<score>:<grid>``."""
        score, _, grid = argument.partition(":")
        if grid and not grid.isdecimal():
            raise UsageError(f"expected threshold:SCORE:STEPS with a whole number of steps, got {grid!r}")
        return cls(score=score, grid=int(grid) if grid else None, **options)

    def _fit(self, reference: Predictions) -> None:
        super()._fit(reference)
        if self.grid is not None:
            scores = np.sort(self._score.leave_one_out(reference))
            ends = (0.0, 1.0) if self._score.is_probability else (float(scores[0]), float(scores[-1]))
            found = find_threshold_on_grid(scores, float(reference.verdicts.sum()), ends, self.grid)
            self._thresholds = (found, *self._thresholds[1:])
