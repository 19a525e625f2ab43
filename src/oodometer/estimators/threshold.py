"""Threshold (ATC, simple GEP): the share of target scores above the level that leaves the reference's errors below."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..arrays import Array, present
from ..errors import UsageError
from ..inference.row_sample import content_sample
from ..intervals import normal_quantile, wilson_ends
from ..kernels import count_passed
from ..predictions import Predictions
from ..registry import create, register
from ..results import Estimate
from ..scores import ModelAgreement, NeighborDistance, Score, natural_confidence
from .base import Ends, Estimator, Pieces, Sums, Traits, root_sum_square, within


class ScoreThreshold(NamedTuple):
    """A threshold and the share of samples exactly on it that count as correct (1 where scores are distinct)."""

    threshold: float
    share_of_ties: float


def find_threshold(
    sorted_scores: Array, count: float, *, within_gap: bool = False
) -> ScoreThreshold:
    """The threshold with ``count`` of the ascending scores at or above it; of ties a share, so that it is exact."""
    total = len(sorted_scores)
    if count <= 0 or total == 0:
        return ScoreThreshold(float("inf"), 0.0)
    count = min(count, total)
    threshold = sorted_scores[total - int(np.ceil(count))]
    at_or_above = total - np.searchsorted(sorted_scores, threshold, side="left")
    above = total - np.searchsorted(sorted_scores, threshold, side="right")
    # a new sample exceeds the count-th largest with probability count/(n + 1), a loss that sums over many classes: it
    # is count/n when the threshold goes down by the share count/n of the gap below
    if within_gap and at_or_above - above == 1 and above < count < total and count == at_or_above:
        below = sorted_scores[total - int(count) - 1]
        if np.isfinite(below):
            lowered = float(threshold) - count / total * (float(threshold) - float(below))
            return ScoreThreshold(lowered if lowered > below else float(threshold), 1.0)
    return ScoreThreshold(float(threshold), float((count - above) / (at_or_above - above)))


def find_threshold_on_grid(
    sorted_scores: Array, count: float, ends: tuple[float, float], steps: int
) -> ScoreThreshold:
    """The first of ``steps`` even thresholds that comes nearest to ``count``; the code of Trivedi et al. (2023)."""
    low, high = ends
    grid = low + (high - low) * np.arange(steps) / steps
    reached = len(sorted_scores) - np.searchsorted(sorted_scores, grid, side="left")
    return ScoreThreshold(float(grid[np.argmin(np.abs(reached - count))]), 1.0)


def credit(scores: Array, fitted: ScoreThreshold) -> Array:
    """What each sample counts: 1 above the threshold, the share of ties on it, 0 below; shape (sample,)."""
    return np.asarray(
        (scores > fitted.threshold) + fitted.share_of_ties * (scores == fitted.threshold)
    )


def total_credit(scores: Array, fitted: ScoreThreshold) -> float:
    """Sum of `credit`, in two counting passes."""
    if fitted.share_of_ties == 1.0:
        return float(np.count_nonzero(scores >= fitted.threshold))
    above = np.count_nonzero(scores > fitted.threshold)
    return above + fitted.share_of_ties * float(np.count_nonzero(scores == fitted.threshold))


def fit_threshold(
    scores: Array, verdicts: Array, level: float, *, within_gap: bool = False
) -> tuple[tuple[ScoreThreshold, ScoreThreshold, ScoreThreshold], float]:
    """The fitted threshold, those at the ends of its rank's interval (Woodruff), and mean_S (correct - [s >= t])^2."""
    ordered, total, correct = np.sort(scores), len(scores), float(verdicts.sum())
    fitted = find_threshold(ordered, correct)
    if fitted.share_of_ties == 1.0:
        wrong = float(np.count_nonzero((scores >= fitted.threshold) != (verdicts == 1)))
    else:
        wrong = float(np.square(verdicts - credit(scores, fitted)).sum())
    mismatch = (wrong + 1) / (total + 1)
    half = normal_quantile(level) * np.sqrt(total * mismatch)
    ends = (
        find_threshold(ordered, correct - half),
        find_threshold(ordered, min(correct + half, total)),
    )
    return (find_threshold(ordered, correct, within_gap=within_gap), *ends), mismatch


def fit_record_threshold(
    reference: Predictions, score: Score, level: float
) -> tuple[tuple[ScoreThreshold, ScoreThreshold, ScoreThreshold], float]:
    """`fit_threshold` of a score on a record, worked out once for all estimators that start from it."""

    def make() -> tuple[tuple[ScoreThreshold, ScoreThreshold, ScoreThreshold], float]:
        return fit_threshold(score.leave_one_out(reference), reference.verdicts, level)

    return reference.derived(f"threshold:{score.name}:{level}", make)


def share_above(shares: Array, mismatch: float, rows: Any, level: float) -> Ends:
    """Shares above a threshold, (3,) or (3, piece), of so many rows, and their ends: Wilson's joined with the
    threshold's own doubt.
    """
    value, low, high = shares
    variance = np.maximum(value * (1 - value), mismatch) / rows
    lower, upper = wilson_ends(value, variance, rows, level)
    down = root_sum_square(value - lower, value - np.minimum(low, value))
    up = root_sum_square(upper - value, np.maximum(high, value) - value)
    return value, value - down, value + up


class Thresholded(Estimator):
    """What every threshold estimator shares; subclasses say which score."""

    needs: ClassVar[tuple[str, ...]] = ()
    assumes = "on the target, too, as many samples lie above the threshold as are correct"
    citation = "garg2022"
    score_name: str = ""  # the record's natural confidence where there is none

    def __init__(self, *, level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        if self.score_name:
            self._score: Score = create("score", self.score_name)

    def _fit(self, reference: Predictions) -> None:
        self._score = (self._score if self.score_name else natural_confidence(reference)).fit(
            reference
        )
        self._thresholds, self._mismatch = fit_record_threshold(reference, self._score, self.level)
        self._rows = len(reference)

    def _fit_on_grid(self, reference: Predictions, steps: int) -> None:
        """Put the best of so many even thresholds in the place of the exact one; its interval stays."""
        scores = np.sort(self._score.leave_one_out(reference))
        ends = (0.0, 1.0) if self._score.is_probability else (float(scores[0]), float(scores[-1]))
        cut = find_threshold_on_grid(scores, float(reference.verdicts.sum()), ends, steps)
        self._thresholds = (cut, *self._thresholds[1:])

    def summarize(self, batch: Predictions) -> Sums:
        """Rows, and how many score at or above the threshold and the ends of its interval."""
        return Sums(rows=batch.rows, above=self._above(batch, None, 1)[:, 0])

    def _above(self, batch: Predictions, piece: Array | None, pieces: int) -> Array:
        """Credit at the threshold and at the ends of its interval, shape (3, piece)."""
        scores = self._score(batch)
        # a threshold is one of the reference's scores: beside scores of fewer digits it is rounded as they are
        cuts = np.array([[cut.threshold] * pieces for cut in self._thresholds])
        reached, tied = count_passed(scores, piece, cuts.astype(scores.dtype))
        share = np.array([[cut.share_of_ties] for cut in self._thresholds])
        return np.asarray(reached - tied + share * tied)

    def finish(self, state: Sums) -> Estimate:
        """Share above the threshold."""
        rows = state["rows"]
        ends = share_above(state["above"] / rows, self._mismatch, rows, self.level)
        details = {
            "threshold": self._thresholds[0].threshold,
            "share_of_ties": self._thresholds[0].share_of_ties,
        }
        return self._estimate(state, *ends, score=self._score.name, details=details)

    def ends_of(self, pieces: Pieces) -> Ends:
        """Share of each piece above the threshold."""
        rows = pieces.rows
        above = self._above(pieces.batch, pieces.number, len(rows))
        return within(*share_above(above / rows, self._mismatch, rows, self.level))


@register("estimator")
class Threshold(Thresholded):
    """``threshold:<score>``: the same mechanism over any registered score (the "simple GEP").

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
    traits = Traits("threshold", 60, runs_as=("threshold:margin", "threshold:energy"))
    citation = "trivedi2023"

    def __init__(
        self,
        *,
        score: str = "max_probability",
        grid: int | None = None,
        level: float = 0.95,
        seed: int = 0,
    ) -> None:
        self.score_name, self.grid = score, grid
        super().__init__(level=level, seed=seed)
        if grid is not None and grid < 1:
            raise UsageError(f"expected a grid of at least 1 step, got {grid}")
        self.name = f"threshold:{score}" + (f":{grid}" if grid else "")  # type: ignore[misc]  # its own, longer name

    @classmethod
    def from_argument(cls, argument: str, **options: Any) -> Self:
        """``threshold:<score>`` or ``threshold:<score>:<grid>``."""
        score, _, grid = argument.partition(":")
        if grid and not grid.isdecimal():
            raise UsageError(
                f"expected threshold:SCORE:STEPS with a whole number of steps, got {grid!r}"
            )
        return cls(score=score, grid=int(grid) if grid else None, **options)

    def _fit(self, reference: Predictions) -> None:
        super()._fit(reference)
        if self.grid is not None:
            self._fit_on_grid(reference, self.grid)


@register("estimator")
class AverageThresholdedConfidence(Thresholded):
    """Choose t with mean_S [s >= t] = acc_S, answer mean_T [s >= t]; s = max probability (natural confidence).

    The threshold is exact (a sort of the reference, not a grid); ties share their credit so that the reference is
    matched; a reference without errors puts t at its lowest score, one without successes above its highest. The
    interval joins the binomial variance of the target with the rank uncertainty of the threshold (Woodruff).
    `NotApplicable` without confidences. Over-estimates when the true drop is 10-20 points. Source: Garg et al. (2022).

    >>> p = [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.7, 0.3]]
    >>> reference = Predictions.from_probabilities(p, label=[0, 0, 1, 1])
    >>> target = Predictions.from_probabilities([[0.85, 0.15], [0.75, 0.25], [0.6, 0.4], [0.5, 0.5]])
    >>> AverageThresholdedConfidence().fit(reference).estimate(target).value
    0.25
    """

    name = "atc"
    traits = Traits("threshold", 40, reads="confidence", voice=2, in_middle=True)
    needs = ("probabilities|confidence|token_logprobs",)


@register("estimator")
class AverageThresholdedEntropy(Thresholded):
    """ATC with the negative entropy sum_k p_k log p_k (<= 0) as score; see `AverageThresholdedConfidence`.

    Needs `probabilities` or `candidate_scores`; `NotApplicable` without. Source: Garg et al. (2022).

    >>> reference = Predictions.from_probabilities([[0.9, 0.1], [0.6, 0.4]], label=[0, 1])
    >>> AverageThresholdedEntropy().fit(reference).estimate(reference).value
    0.5
    """

    name = "atc-entropy"
    traits = Traits("threshold", 50, reads="confidence", voice=1, in_panel=True)
    needs = ("probabilities|candidate_scores",)
    score_name = "negative_entropy"


@register("estimator")
class Agreement(Thresholded):
    """``agreement``: threshold over model agreement, mean_i [h_0 = h_i]; the same as ``threshold:model_agreement``.

    Needs `members`; `NotApplicable` without. The best score under shift, unless the models share a simplicity
    bias. Source: Trivedi et al. (2023).

    >>> p = Predictions.from_arrays(prediction=[0, 1], label=[0, 0], members=[[0, 0], [0, 0]])
    >>> Agreement().fit(p).estimate(p).value
    0.5
    """

    name = "agreement"
    traits = Traits("agreement", 140, reads="models", voice=1, favour=16.0, beyond_overlap=True)
    citation = "trivedi2023"
    needs = ("members",)
    score_name = "model_agreement"


@register("estimator")
class Smoothness(Thresholded):
    """``smoothness``: threshold over view agreement (LMS); the same as ``threshold:view_agreement``.

    Needs `views`; `NotApplicable` without. Source: Ng et al. (2023); behind confidence in Trivedi et al. (2023).

    >>> p = Predictions.from_arrays(prediction=[0, 1], label=[0, 0], views=[[0, 0], [0, 0]])
    >>> Smoothness().fit(p).estimate(p).value
    0.5
    """

    name = "smoothness"
    traits = Traits("smoothness", 150)
    citation = "ng2023"
    needs = ("views", "prediction|probabilities")
    score_name = "view_agreement"


_STEPS = 1_000  # of the published grid for confidence
_VIEWS = "oodometer predict MODEL DATA --views 10 --out FILE"
_MEMBERS = "oodometer predict MODEL DATA --member MODEL --member MODEL --out FILE"


class _Published(Thresholded):
    """A score of Trivedi et al. (2023) as their code asks it, with t the first of even steps that comes nearest.

    Nothing is recalibrated before, unless a calibrator is asked for by name. The methods run when they are named:
    `atc`, `smoothness` and `agreement` have the same idea with an exact threshold that shares ties.
    """

    citation = "trivedi2023"
    remedy: ClassVar[str] = ""  # the command that writes the columns which the method needs

    def _fit(self, reference: Predictions) -> None:
        super()._fit(reference)
        self._fit_on_grid(reference, self._steps(reference))

    @abstractmethod
    def _steps(self, reference: Predictions) -> int:
        """How many thresholds the published code tries."""

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record does not suffice, with the command that helps, or None."""
        why = super().why_not(record)
        absent = why is not None and self.remedy and not record.has(self.needs[0])
        return f"{why}; `{self.remedy}` writes them" if absent else why


@register("estimator")
class Conf(_Published):
    """``conf``: mean_T [s >= t], s = max probability, t of 1,000 steps; Conf of Trivedi et al. (2023).

    t minimises |mean_S [s >= t] - acc_S| over 0, 0.001, ..., 0.999; the first of equals. Probabilities are taken as the
    model gave them. `NotApplicable` without confidences. Source: Trivedi et al. (2023) and their code.

    >>> p = Predictions.from_probabilities([[0.9, 0.1], [0.6, 0.4]], label=[0, 1])
    >>> Conf().fit(p).estimate(p).value
    0.5
    """

    name = "conf"
    traits = Traits("threshold", 145, cost="slow", reads="confidence", runs_as=(), raw=True)
    needs = ("probabilities|confidence|token_logprobs",)

    def _steps(self, reference: Predictions) -> int:
        return _STEPS


@register("estimator")
class LMS(_Published):
    """``lms``: mean_T [s >= t], s = share of the views with their most frequent class; LMS of Trivedi et al. (2023).

    t minimises |mean_S [s >= t] - acc_S| over 0, 1/k, ..., (k-1)/k for k views, ten in the paper. The paper words s as
    agreement with the prediction (`smoothness`), its code counts the most frequent class. Needs `views`;
    `NotApplicable` without. Source: Trivedi et al. (2023) and their code; Ng et al. (2023).

    >>> p = Predictions.from_arrays(prediction=[0, 1], label=[0, 0], views=[[0, 0], [0, 1]])
    >>> LMS().fit(p).estimate(p).value
    1.0
    """

    name = "lms"
    traits = Traits("smoothness", 146, cost="slow", runs_as=(), raw=True)
    needs = ("views",)
    score_name = "view_consensus"
    remedy = _VIEWS

    def _steps(self, reference: Predictions) -> int:
        return len(present(reference.views))


@register("estimator")
class MA(_Published):
    """``ma``: mean_T [s >= t], s = mean_i [h_0 = h_i] over the other models; MA of Trivedi et al. (2023).

    t minimises |mean_S [s >= t] - acc_S| over 0, 1/r, ..., (r-1)/r for r other models, nine in the paper. Needs
    `members`; `NotApplicable` without. Source: Trivedi et al. (2023) and their code.

    >>> p = Predictions.from_arrays(prediction=[0, 1], label=[0, 0], members=[[0, 0], [0, 0]])
    >>> MA().fit(p).estimate(p).value
    0.5
    """

    name = "ma"
    traits = Traits("agreement", 147, cost="slow", reads="models", runs_as=(), raw=True)
    needs = ("members",)
    score_name = "model_agreement"
    remedy = _MEMBERS

    def _fit(self, reference: Predictions) -> None:
        self._others = len(ModelAgreement().fit(reference).others(reference))
        super()._fit(reference)

    def _steps(self, reference: Predictions) -> int:
        return self._others


_ENOUGH_ROWS = 20


class _WithScore(Estimator):
    """A threshold estimator that names its score in its own name, ``<name>:<score>``."""

    def __init__(
        self, *, score: str = "max_probability", level: float = 0.95, seed: int = 0
    ) -> None:
        super().__init__(level=level, seed=seed)
        self._score: Score = create("score", score)
        if score != "max_probability":
            self.name = f"{self.name}:{score}"  # type: ignore[misc]

    @classmethod
    def from_argument(cls, argument: str, **options: Any) -> Self:
        """``<name>:<score>``."""
        return cls(score=argument, **options)


@register("estimator")
class ClasswiseThreshold(_WithScore):
    """``threshold-classwise:<score>``: for each predicted class k choose t_k with mean_{S,k} [s >= t_k] = acc_{S,k}.

    Answers mean_T [s >= t_h(x)]. A class predicted fewer than 20 times on the reference gets the global threshold. The
    interval joins the binomial variance of the target with the rank uncertainty of every class's threshold.

    score : name of a score; max probability by default.

    Needs a predicted class and the score's fields, else `NotApplicable`. Source: Li et al. (2022).

    >>> p = Predictions.from_probabilities([[0.9, 0.1], [0.6, 0.4]], label=[0, 1])
    >>> ClasswiseThreshold().fit(p).estimate(p).value
    0.5
    """

    name = "threshold-classwise"
    traits = Traits("threshold", 70, reads="confidence", in_panel=True)
    needs = ("class", "prediction|probabilities|members")
    assumes = (
        "within each predicted class as many target samples lie above the threshold as are correct"
    )
    citation = "li2022"

    def _fit(self, reference: Predictions) -> None:
        self._score = self._score.fit(reference)
        scores = self._score.leave_one_out(reference)
        verdicts = reference.verdicts
        predicted = reference.predicted
        overall, self._mismatch = fit_record_threshold(reference, self._score, self.level)
        thresholds = []
        # codes of 8 or 16 bits sort by radix, in a pass or two
        order = np.argsort(
            predicted.astype(np.min_scalar_type(reference.num_classes)), kind="stable"
        )
        scores, verdicts = scores[order], verdicts[order]
        edges = np.concatenate(
            [[0], np.cumsum(np.bincount(predicted, minlength=reference.num_classes))]
        )
        self._own = np.diff(edges) >= _ENOUGH_ROWS
        for is_classwise, (start, stop) in zip(
            self._own, itertools.pairwise(edges.tolist()), strict=True
        ):
            of_class = scores[start:stop], verdicts[start:stop], self.level
            thresholds.append(
                fit_threshold(*of_class, within_gap=True)[0] if is_classwise else overall
            )
        self._thresholds: Array = np.array(
            [[three[j].threshold for three in thresholds] for j in range(3)]
        )
        self._ties: Array = np.array(
            [[three[j].share_of_ties for three in thresholds] for j in range(3)]
        )

    def summarize(self, batch: Predictions) -> Sums:
        """Rows, and for each predicted class the credit at its threshold and at the ends of its interval."""
        return Sums(rows=batch.rows, above=self._above(batch, batch.predicted, 1))

    def _above(self, batch: Predictions, kinds: Array, pieces: int) -> Array:
        """Credit of each kind (piece and predicted class), shape (3, kind)."""
        cuts = np.tile(self._thresholds, pieces)
        reached, tied = count_passed(self._score(batch), kinds, cuts)
        return np.asarray(reached - tied * (1 - np.tile(self._ties, pieces)))

    def finish(self, state: Sums) -> Estimate:
        """Share above the class's own threshold."""
        rows, above = np.array([state["rows"]]), state["above"][:, None]
        (value,), (lower,), (upper,) = self._joined(above / rows[:, None], rows)
        classwise = int(self._own.sum())
        details = {"own_threshold": classwise, "global_threshold": len(self._own) - classwise}
        return self._estimate(state, value, lower, upper, score=self._score.name, details=details)

    def ends_of(self, pieces: Pieces) -> Ends:
        """Share of each piece above the thresholds of its classes."""
        batch, rows, classes = pieces.batch, pieces.rows, len(self._own)
        above = self._above(batch, pieces.number * classes + batch.predicted, len(rows))
        shares = above.reshape(3, len(rows), classes) / rows[:, None]
        return within(*self._joined(shares, rows))

    def _joined(self, above: Array, rows: Array) -> Ends:
        """Values and ends from shares of the rows, shape (3, piece, class)."""
        value = np.array([row.sum() for row in above[0]])
        variance = np.maximum(value * (1 - value), self._mismatch) / rows
        lower, upper = wilson_ends(value, variance, rows, self.level)
        falls = above[0] - np.minimum(above[1], above[0])
        rises = np.maximum(above[2], above[0]) - above[0]

        def half(gap: Array, moves: Array) -> Array:
            # classes with a threshold of their own vary independently; those with the global one vary together
            together = np.array([row[~self._own].sum() for row in moves])
            return np.asarray(root_sum_square(gap, *moves[:, self._own].T, together))

        return value, value - half(value - lower, falls), value + half(upper - value, rises)


_MOST_GATE_ROWS = 10_000  # of the reference, to fit the gate and the threshold on
_QUANTILE = 0.01  # of the score, that is, the 0.99 quantile of the distance


@register("estimator")
class DistanceThreshold(_WithScore):
    """``threshold-distance:<score>``: mean_T [s >= t and d <= q_h(x)].

    d is the mean distance to the nearest reference features (`neighbor_distance`), q_k the 0.99 quantile of d among
    reference rows predicted as k (the global one below 20 rows); gate and threshold are fitted on a seeded sample of
    10,000 rows of a larger reference. Samples beyond it count as errors; t is fitted on the reference with the gate
    closed in the same way, so that the reference is matched (the paper fits t first). Needs `features`, a predicted
    class and the score's fields, else `NotApplicable`. Source: Roschewitz and Glocker (2023).

    >>> p = Predictions.from_arrays(probabilities=[[0.9, 0.1], [0.6, 0.4]], label=[0, 1], features=[[0.0], [0.1]])
    >>> DistanceThreshold().fit(p).estimate(p).value
    0.5
    """

    name = "threshold-distance"
    traits = Traits("threshold", 80, cost="slow", beyond_overlap=True)
    _distance = NeighborDistance()
    needs = ("class", "features", "prediction|probabilities|members")
    assumes = "features tell new regions apart, and within the known ones the threshold holds"
    citation = "roschewitz2023"

    def _fit(self, reference: Predictions) -> None:
        self._score, self._distance = self._score.fit(reference), NeighborDistance().fit(reference)
        if len(reference) > _MOST_GATE_ROWS:
            reference = reference.take(content_sample(reference, _MOST_GATE_ROWS, self.seed))
        nearness, predicted = self._distance.leave_one_out(reference), reference.predicted
        gates = np.full(reference.num_classes, np.quantile(nearness, _QUANTILE))
        for k in np.flatnonzero(np.bincount(predicted, minlength=len(gates)) >= _ENOUGH_ROWS):
            gates[k] = np.quantile(nearness[predicted == k], _QUANTILE)
        self._gates: Array = gates
        scores = self._gated(reference, self._score.leave_one_out(reference), nearness)
        self._thresholds, self._mismatch = fit_threshold(scores, reference.verdicts, self.level)

    def _gated(self, record: Predictions, scores: Array, nearness: Array) -> Array:
        """The score, with -inf for samples beyond the gate."""
        return np.where(
            nearness >= self._gates[record.predicted], scores.astype(np.float64), -np.inf
        )

    def summarize(self, batch: Predictions) -> Sums:
        """Rows, rows beyond the gate, and how many score at or above the threshold and the ends of its interval."""
        scores = self._gated(batch, self._score(batch), self._distance(batch))
        within = scores[
            scores > -np.inf
        ]  # what lies beyond is an error, even where the threshold is at -inf
        above = np.array([total_credit(within, threshold) for threshold in self._thresholds])
        return Sums(rows=len(batch), beyond=len(batch) - len(within), above=above)

    def finish(self, state: Sums) -> Estimate:
        """Share above the threshold and within the gate."""
        rows = state["rows"]
        ends = share_above(state["above"] / rows, self._mismatch, rows, self.level)
        details = {
            "threshold": self._thresholds[0].threshold,
            "share_beyond_the_reference": state["beyond"] / rows,
        }
        return self._estimate(state, *ends, score=self._score.name, details=details)
