"""One versus rest: ROC AUC, average precision, FPR at 95 % TPR and more, by the probability of each class."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, as_cells
from ..classes import truth_values
from ..errors import InputError, NotApplicable, UsageError
from ..fields import check_finite, check_length
from ..inference import decision_metrics
from ..intervals import clopper_pearson, normal_quantile
from ..plain import Json
from ..predictions import Predictions
from ..registry import register
from ..results import Interval
from .base import CLASSES, Measure, Metric, R, measure
from .confusion import AboutClass, Confusion
from .ranks import Ranks
from .resampling import clopper_pearson_many, dot, from_effective_rows

_KEPT = 1 << 22  # values kept one by one, at 4 or 8 bytes each; more are counted in bins
_SORTED = 1 << 18  # of them are put in their exact order
_OCTAVES = 30
_CELLS = 1 << 19  # bins of all classes together, but at least 60 of each
_MOST_BITS = 10
_AT_A_TIME = 1 << 14  # rows whose numbers stay in the cache


class ScoreCounts(NamedTuple):
    """Samples of a class and of all others by rising score, shape (group,): of one score each, or of a narrow bin."""

    positives: Array
    negatives: Array


class Uncertain(NamedTuple):
    """An estimate, and how far one sample of the class, or one of all others, moves it, shape (group,)."""

    value: float
    by_positive: Array
    by_negative: Array

    def variances(self, counts: ScoreCounts) -> tuple[float, float]:
        """The variance that the samples of the class bring, and that of all others."""
        return dot(counts.positives, self.by_positive**2), dot(
            counts.negatives, self.by_negative**2
        )


def _counted(scores: Array, positive: Array, bits: int) -> Array:
    """Samples by bin of their score and whether they are positive, int64, (bin, verdict): 2**bits bins an octave."""
    shift, half = 23 - bits, _OCTAVES << bits
    first = (int(np.float32(0.5).view(np.int32)) >> shift) - half
    cell = np.empty(len(scores), dtype=np.intp)
    for start in range(0, len(scores), _AT_A_TIME):
        stop = start + _AT_A_TIME
        p = scores[start:stop]
        tail = np.minimum(p, 1 - p).astype(np.float32, copy=False)
        code = tail.view(np.int32) >> shift
        code -= first
        np.maximum(code, 0, out=code)  # also where rounding made a probability negative
        np.minimum(code, half - 1, out=code)
        code = np.where(p >= 0.5, 2 * half - 1 - code, code)
        code <<= 1
        code |= positive[start:stop]
        cell[start:stop] = code
    return np.bincount(cell, minlength=4 * half).reshape(2 * half, 2).astype(np.int64, copy=False)


@dataclass(frozen=True, eq=False)
class OneVsRest:
    """Confusion counts, and probabilities (one column of two classes) with labels: kept, or of many counted in bins."""

    confusion: Confusion
    rows: int
    scored: bool = False
    kept: tuple[tuple[Array, Array], ...] = ()
    binned: Array | None = None

    @classmethod
    def of(cls, batch: Predictions) -> OneVsRest:
        """State of the rows of a record whose class is known."""
        confusion: Confusion = batch.derived("confusion", lambda: Confusion.of(batch))
        if batch.probabilities is None or batch.label is None:
            return cls(confusion, confusion.rows)
        has_label = batch.label >= 0
        at = slice(None) if has_label.all() else has_label
        columns = slice(1, 2) if batch.num_classes == 2 else slice(None)
        # no copies: they are kept, or counted soon
        scores, label = (
            batch.probabilities[at, columns],
            batch.label[at],
        )
        return cls(confusion, len(label), True, ((scores, label),))._bounded()

    @property
    def columns(self) -> Array:
        """Classes whose scores are held."""
        classes = len(self.confusion.classes)
        return np.array([1]) if classes == 2 else np.arange(classes)

    def _bounded(self) -> OneVsRest:
        """The state itself, or with bins where its values are too many."""
        if not self.kept or self.rows * len(self.columns) <= _KEPT:
            return self
        counts = self._collapsed()
        return OneVsRest(
            self.confusion,
            self.rows,
            True,
            (),
            counts if self.binned is None else counts + self.binned,
        )

    def _collapsed(self) -> Array:
        # the mantissa's bits that tell bins apart: 10 for one column of scores, fewer for many classes
        bits = max(
            0, min(_MOST_BITS, int(np.log2(max(_CELLS / (2 * _OCTAVES * len(self.columns)), 1))))
        )

        def counted(scores: Array, label: Array) -> Array:
            return np.stack(
                [_counted(scores[:, at], label == k, bits) for at, k in enumerate(self.columns)]
            )

        return reduce(np.add, (counted(*part) for part in self.kept))

    def __add__(self, other: OneVsRest) -> OneVsRest:
        """Rows of both."""
        if self.rows and other.rows and self.scored != other.scored:
            raise UsageError(
                "some parts have probabilities and some have none; give all of them, or leave them out"
            )
        confusion, rows = self.confusion + other.confusion, self.rows + other.rows
        binned = [counts for counts in (self.binned, other.binned) if counts is not None]
        counts = reduce(np.add, binned) if binned else None
        return OneVsRest(
            confusion, rows, self.scored or other.scored, self.kept + other.kept, counts
        )._bounded()

    @cached_property
    def exact(self) -> bool:
        """Whether scores are put in their exact order; else those of one narrow bin count as tied."""
        return self.binned is None and self.rows * len(self.columns) <= _SORTED

    @property
    def binning(self) -> float | None:
        """How far at most an area under the ROC curve may be off for ties within bins; None where orders are exact."""
        if self.exact:
            return None
        pairs = [
            (dot(p, n), float(p.sum() * n.sum())) for p, n in self.by_class[-len(self.columns) :]
        ]
        return float(np.mean([tied / both / 2 for tied, both in pairs if both] or [0.0]))

    @cached_property
    def by_class(self) -> list[ScoreCounts]:
        """Counts by score for each class, in the order of the classes."""
        if not self.scored:
            raise NotApplicable("needs `probabilities` (or `logits`)")
        if not self.exact:
            counts = self._collapsed() if self.binned is None else self.binned
            used = (table[table.any(axis=1)].astype(np.float64) for table in counts)
            counts_by_class = [ScoreCounts(table[:, 1], table[:, 0]) for table in used]
        elif len(self.confusion.classes) == 2:
            scores, label = self._joined
            clean = np.clip(scores[:, 0], 0, 1) + scores.dtype.type(0)
            groups = Ranks.of(clean, (label == 1).view(np.int8)).groups
            counts_by_class = [
                ScoreCounts(groups.correct[::-1], (groups.sizes - groups.correct)[::-1])
            ]
        else:
            label = self._joined[1]
            counts_by_class = []
            for k, rank in zip(self.columns, self.places or (), strict=True):
                sides = (np.bincount(rank, which) for which in (label == k, label != k))
                counts_by_class.append(ScoreCounts(*sides))
        if len(self.confusion.classes) == 2:  # by the score of the other class, 1 - p
            return [
                ScoreCounts(counts_by_class[0].negatives[::-1], counts_by_class[0].positives[::-1]),
                counts_by_class[0],
            ]
        return counts_by_class

    @property
    def _joined(self) -> tuple[Array, Array]:
        return np.concatenate([s for s, _ in self.kept]), np.concatenate([y for _, y in self.kept])

    @cached_property
    def places(self) -> list[Array] | None:
        """The group of each row in the counts of each of several classes; None where rows are not kept in order."""
        if not self.exact or len(self.confusion.classes) == 2:
            return None
        return [
            np.unique(column, return_inverse=True)[1].reshape(-1) for column in self._joined[0].T
        ]

    def variance(self, each: list[Uncertain | None]) -> float:
        """Of the mean of several classes' numbers, row by row where rows are kept, else at worst."""
        used = [(k, number) for k, number in enumerate(each) if number is not None]
        if self.places is not None:
            label, moved = self._joined[1], np.zeros(self.rows)
            for k, number in used:
                moved += np.where(
                    label == k,
                    number.by_positive[self.places[k]],
                    number.by_negative[self.places[k]],
                )
            return dot(moved, moved) / len(used) ** 2
        parts = np.array([number.variances(self.by_class[k]) for k, number in used])
        return float(parts[:, 0].sum() ** 0.5 + (parts[:, 1] ** 0.5).sum()) ** 2 / len(used) ** 2


def score_counts(positive: Any, score: Any) -> ScoreCounts:
    """Arguments of the pure functions, checked: which samples are positive, and finite scores; at least one sample."""
    verdict, values = truth_values(positive, "positive"), np.asarray(as_cells(score))
    check_length(len(verdict), len(values), "score")
    if values.dtype.kind not in "fiu" or values.ndim != 1 or not len(values):
        raise InputError(
            "one score a sample",
            got=f"{values.dtype}, shape {values.shape}",
            remedy="give a number for each",
            column="score",
        )
    check_finite(values.astype(np.float64), "score", "sample")
    if (verdict < 0).any():
        row = int(np.argmax(verdict < 0)) + 1
        raise InputError(
            "true or false", got="null", remedy="drop the row", row=row, column="positive"
        )
    distinct, at = np.unique(values, return_inverse=True)
    width = len(distinct)
    return ScoreCounts(
        np.bincount(at[verdict == 1], minlength=width),
        np.bincount(at[verdict == 0], minlength=width),
    )


class OneVsRestMetric(AboutClass, Metric[OneVsRest, R]):
    """A metric over `OneVsRest`; all of them share one state, put in order once."""

    needs = CLASSES
    state = "one_vs_rest"

    def summarize(self, batch: Predictions) -> OneVsRest:
        """Scores and labels of one batch."""
        return OneVsRest.of(batch)

    def averaged(
        self,
        state: OneVsRest,
        of: Callable[[ScoreCounts], Uncertain | None],
        level: float,
        **extras: Any,
    ) -> Measure:
        """What ``of`` says of the positive class of two, else its mean over the classes of which it says something."""
        classes, support = state.confusion.classes, state.confusion.support
        if len(classes) == 2:
            at = self.position(classes)
            result = of(state.by_class[at])
            if result is None:
                raise NotApplicable(
                    f"every row is of class {classes[int(support.argmax())]!r}: needs both classes"
                )
            few = int(support.min())
            ends = from_effective_rows(
                result.value, sum(result.variances(state.by_class[at])), few, level
            )
            return measure(result.value, ends, level, "asymptotic", positive=classes[at], **extras)
        each = [of(counts) for counts in state.by_class]
        used = [k for k, number in enumerate(each) if number is not None]
        defined = [number for number in each if number is not None]
        if not defined:
            raise NotApplicable("every row is of one class: needs two")
        value = float(np.mean([number.value for number in defined]))
        few = int(support[used].sum())
        ends = from_effective_rows(value, state.variance(each), few, level)
        return measure(
            value,
            ends,
            level,
            "asymptotic",
            **extras,
            average="macro, one versus rest",
            classes=len(defined),
        )


def roc_auc(positive: Any, score: Any) -> float:
    """Share of the pairs of a positive and a negative sample in which the positive has the higher score, ties half.

    ``positive`` says which samples are of the class, ``score`` is any number that is larger the more likely they are;
    both of shape (sample,). Raises `InputError` where all or none are positive. Source: Hanley and McNeil (1982).

    >>> roc_auc([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.2])
    0.75
    """
    return float(decision_metrics.roc_auc(*score_counts(positive, score)))


def auc_of(counts: ScoreCounts) -> Uncertain | None:
    """The area and its variance by placements (DeLong et al. 1988); None without a positive or a negative."""
    positives, negatives = counts
    positive_count, negative_count = positives.sum(), negatives.sum()
    if not positive_count or not negative_count:
        return None
    below = (np.cumsum(negatives) - negatives / 2) / negative_count
    above = 1 - (np.cumsum(positives) - positives / 2) / positive_count
    area = min(max(dot(positives, below) / float(positive_count), 0.0), 1.0)
    positive_scale, negative_scale = (
        float(count * max(count - 1, 1)) ** 0.5 for count in (positive_count, negative_count)
    )
    return Uncertain(area, (below - area) / positive_scale, (above - area) / negative_scale)


@register("metric")
class RocAuc(OneVsRestMetric[Measure]):
    """Area under the ROC curve of the positive class's probability: P(positive above negative) + P(tied) / 2.

    Of more than two classes the mean over the classes that occur, each against the rest. The interval is Wilson's with
    the variance of DeLong et al. (1988). Orders are exact up to 262,144 probabilities (rows, times classes where there
    are more than two); beyond, those of one narrow bin count as tied, and ``binning`` bounds what that may have cost.
    Source: Hanley and McNeil (1982).

    >>> p = [0.9, 0.7, 0.6, 0.2]
    >>> RocAuc().compute(Predictions.from_probabilities(p, label=[1, 0, 1, 0])).value
    0.75
    """

    name = "roc_auc"
    bigger_is_better = True
    citation = "delong1988"

    def _finish(self, state: OneVsRest, level: float, seed: int) -> Measure:
        if state.binning is None:
            return self.averaged(state, auc_of, level)
        return self.averaged(state, auc_of, level, binning=state.binning)


def average_precision(positive: Any, score: Any) -> float:
    """Mean over positive samples of the precision among the samples that score at least as much, a fraction.

    Arguments and errors as of `roc_auc`. Source: Zhu (2004).

    >>> round(average_precision([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.2]), 4)  # (1 + 2/3) / 2
    0.8333
    """
    return float(decision_metrics.average_precision(*score_counts(positive, score)))


def precision_of(counts: ScoreCounts, *, tied: bool = True) -> Uncertain | None:
    """The average precision and its linearised variance; None without both sides. Not ``tied``: bins mixed evenly."""
    positives, negatives = (each[::-1] for each in counts)  # falling scores
    hits, false = np.cumsum(positives), np.cumsum(negatives)
    if not len(hits) or not hits[-1] or not false[-1]:
        return None
    positive_count = hits[-1]
    if not tied:
        hits, false = hits - np.maximum(positives - 1, 0) / 2, false - negatives / 2
    answered = np.maximum(hits + false, 1)
    precision = hits / answered
    value = min(max(dot(positives, precision) / float(positive_count), 0.0), 1.0)
    raised = np.cumsum((positives * false / answered**2)[::-1])[::-1]
    lowered = np.cumsum((positives * hits / answered**2)[::-1])[::-1]
    by_positive, by_negative = (
        (precision - value + raised) / positive_count,
        -lowered / positive_count,
    )
    return Uncertain(value, by_positive[::-1], by_negative[::-1])


@register("metric")
class AveragePrecision(OneVsRestMetric[Measure]):
    """Average precision of the positive class's probability: sum over thresholds of (recall gained) * precision.

    Of more than two classes the mean over the classes that occur, each against the rest. The interval is Wilson's with
    a linearised variance. The share of positives is its value by chance. Source: Zhu (2004).

    >>> p = [0.9, 0.7, 0.6, 0.2]
    >>> round(AveragePrecision().compute(Predictions.from_probabilities(p, label=[1, 0, 1, 0])).value, 4)
    0.8333
    """

    name = "average_precision"
    quiet = True
    bigger_is_better = True
    citation = "zhu2004"

    def _finish(self, state: OneVsRest, level: float, seed: int) -> Measure:
        return self.averaged(state, partial(precision_of, tied=state.exact), level)


def ks_statistic(positive: Any, score: Any) -> float:
    """Largest gap over thresholds between the share found of the positives and of the others, max (TPR - FPR).

    ``positive``, ``score`` and errors are as of `roc_auc`. Of a score that puts positives below the others it is about
    0, where the two-sided statistic of scipy's `ks_2samp` is large. Source: Smirnov (1948).

    >>> ks_statistic([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.2])
    0.5
    """
    return float(decision_metrics.ks_statistic(*score_counts(positive, score)))


class IntervalOfEach(OneVsRestMetric[Measure]):
    """A metric of two classes with an interval of its own; of more the mean of the classes' values and of their ends.

    A maximum or a quantile of few rows is off to one side in every class, which no mean makes smaller.
    """

    @abstractmethod
    def of_class(self, counts: ScoreCounts, level: float) -> tuple[float, float, float] | None:
        """The value and the ends of its interval; None without both sides."""

    def finish(self, state: OneVsRest, level: float = 0.95, seed: int = 0) -> Measure:
        """The value and its interval."""
        classes, by_class = state.confusion.classes, state.by_class
        if len(classes) == 2:
            at = self.position(classes)
            result = self.of_class(by_class[at], level)
            if result is None:
                raise NotApplicable("needs rows of both classes")
            return measure(result[0], result[1:], level, "asymptotic", positive=classes[at])
        defined = [
            ends for counts in by_class if (ends := self.of_class(counts, level)) is not None
        ]
        if not defined:
            raise NotApplicable("every row is of one class: needs two")
        value, low, high = (float(end) for end in np.mean(defined, axis=0))
        return measure(
            value,
            (low, high),
            level,
            "asymptotic",
            average="macro, one versus rest",
            classes=len(defined),
        )


def _gap_of(counts: ScoreCounts, level: float) -> tuple[float, float, float] | None:
    """The largest gap, with the variance at the threshold where it is; None without both sides."""
    positives, negatives = counts
    positive_count, negative_count = positives.sum(), negatives.sum()
    if not positive_count or not negative_count:
        return None
    gaps = (
        np.cumsum(positives[::-1]) / positive_count - np.cumsum(negatives[::-1]) / negative_count
    )[::-1]
    at = int(gaps.argmax())
    value = max(float(gaps[at]), 0.0)
    true_rate, false = (
        float(positives[at:].sum() / positive_count),
        float(negatives[at:].sum() / negative_count),
    )
    variance = true_rate * (1 - true_rate) / float(positive_count) + false * (1 - false) / float(
        negative_count
    )
    return value, *from_effective_rows(
        value, variance, int(min(positive_count, negative_count)), level
    )


@register("metric")
class KsStatistic(IntervalOfEach):
    """Kolmogorov-Smirnov statistic of credit scoring: largest TPR - FPR of a threshold on the class's probability.

    Of more than two classes the mean over the classes that occur, each against the rest, with the mean of their
    intervals, which are Wilson's with the variance at the threshold where the gap is largest. How well confidences are
    calibrated is `ks_calibration_error`. Source: Smirnov (1948).

    >>> p = [0.9, 0.7, 0.6, 0.2]
    >>> KsStatistic().compute(Predictions.from_probabilities(p, label=[1, 0, 1, 0])).value
    0.5
    """

    name = "ks_statistic"
    quiet = True
    bigger_is_better = True
    citation = "smirnov1948"

    def of_class(self, counts: ScoreCounts, level: float) -> tuple[float, float, float] | None:
        """The largest gap and its interval."""
        return _gap_of(counts, level)


_TPR = 0.95


def fpr_at_tpr(positive: Any, score: Any, tpr: float = _TPR) -> float:
    """Share of the negatives at or above the highest score that a share ``tpr`` of the positives reaches, a fraction.

    ``positive``, ``score`` and errors are as of `roc_auc`. Source: Hendrycks and Gimpel (2017), who so compare
    detectors.

    >>> fpr_at_tpr([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.2])
    0.5
    """
    return float(decision_metrics.fpr_at_tpr(*score_counts(positive, score), tpr=tpr))


def _rate_of(counts: ScoreCounts, level: float) -> tuple[float, float, float] | None:
    """The rate and its interval, two doubts joined as in Zou and Donner (2008); None without both sides."""
    hits, false = (np.cumsum(each[::-1]) for each in counts)  # falling scores
    if not len(hits) or not hits[-1] or not false[-1]:
        return None
    positive_count, negative_count = float(hits[-1]), float(false[-1])

    def passing(reached: float) -> float:
        at = int(np.searchsorted(hits, min(max(reached, 1.0), positive_count) * (1 - 1e-12)))
        return float(false[min(at, len(false) - 1)])

    goal = _TPR * positive_count
    away = normal_quantile(level) * math.sqrt(positive_count * _TPR * (1 - _TPR))
    value = passing(goal) / negative_count
    low, high = clopper_pearson(passing(goal), negative_count, level)
    higher = 1.0 if goal + away + 1 > positive_count else passing(goal + away + 1) / negative_count
    lower = passing(goal - away) / negative_count
    down, up = math.hypot(value - low, value - lower), math.hypot(high - value, higher - value)
    return value, max(0.0, value - down), min(1.0, value + up)


@register("metric")
class FprAt95Tpr(IntervalOfEach):
    """False positive rate where 95 % of the positives are found, by the positive class's probability.

    The threshold is the highest that at least 95 % of the positives reach. Of more than two classes the mean over the
    classes that occur, each against the rest, with the mean of their intervals. Fewer than about 80 positives do not
    show where 95 % of all positives are, and the interval then reaches to 1. Source: Hendrycks and Gimpel (2017).

    >>> p = [0.9, 0.7, 0.6, 0.2]
    >>> FprAt95Tpr().compute(Predictions.from_probabilities(p, label=[1, 0, 1, 0])).value
    0.5
    """

    name = "fpr_at_95_tpr"
    quiet = True
    bigger_is_better = False
    citation = "hendrycks2017"

    def of_class(self, counts: ScoreCounts, level: float) -> tuple[float, float, float] | None:
        """The rate and its interval."""
        return _rate_of(counts, level)


@register("metric")
class PerClass(OneVsRestMetric[list[dict[str, Any]]]):
    """A table with one row a class: support, predicted, precision, recall, F1 and, with probabilities, ROC AUC.

    precision = hits / predicted, recall = hits / support, F1 = 2 hits / (support + predicted); where the divisor is 0
    they are 0, as in scikit-learn, and the interval is (0, 1). Given how many samples are predicted as the class (are
    of the class; are either), hits are binomial, so all three have Clopper-Pearson intervals, that of F1 by
    F1 = 2q / (1 + q) with q = hits / (support + predicted - hits).
    `roc_auc` is that of the class's probability against all other rows. Source: Sokolova and Lapalme (2009).

    >>> rows = PerClass().compute(Predictions.from_classes(["a", "b", "b"], label=["a", "a", "b"]))
    >>> rows[0]["class"], rows[0]["precision"].value, rows[0]["recall"].value, round(rows[0]["f1"].value, 3)
    ('a', 1.0, 0.5, 0.667)
    """

    name = "per_class"
    bigger_is_better = None
    citation = "sokolova2009"
    gives = "table"

    def _finish(self, state: OneVsRest, level: float, seed: int) -> list[Json]:
        def area_of(counts: ScoreCounts) -> Interval | None:
            area = auc_of(counts)
            if area is None:  # the class has no row, or all
                return None
            few = int(min(counts.positives.sum(), counts.negatives.sum()))
            low, high = from_effective_rows(area.value, sum(area.variances(counts)), few, level)
            return Interval(
                area.value, min(low, area.value), max(high, area.value), level, "asymptotic"
            )

        areas = [area_of(counts) for counts in (state.by_class if state.scored else ())]
        counted = state.confusion
        hits, support, predicted = counted.hits, counted.support, counted.predicted
        either = support + predicted - hits
        columns: dict[str, list[Interval]] = {}
        for name, trials in (("precision", predicted), ("recall", support), ("f1", either)):
            lower, upper = clopper_pearson_many(hits, trials, level)
            share = hits / trials.clip(1)
            if name == "f1":
                lower, upper, share = (2 * q / (1 + q) for q in (lower, upper, share))
            ends = np.minimum(lower, share).tolist(), np.maximum(upper, share).tolist()
            three = zip(share.tolist(), *ends, strict=True)
            columns[name] = [Interval(v, a, b, level, "exact") for v, a, b in three]
        rows: list[Json] = []
        for k, label in enumerate(counted.classes):
            rows.append(
                {"class": label, "support": int(support[k]), "predicted": int(predicted[k])}
            )
            rows[-1] |= {column: values[k] for column, values in columns.items()}
            rows[-1] |= {"roc_auc": areas[k]} if state.scored else {}
        return rows
