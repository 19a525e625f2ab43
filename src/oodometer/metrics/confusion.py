"""Confusion matrix: how often each class was taken for each other, the rates of classes, and what sums them up."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array
from ..classes import ClassNames, one_form
from ..errors import InputError, NotApplicable
from ..intervals import clopper_pearson, normal_quantile
from ..predictions import Predictions
from ..registry import create, register
from .base import CLASSES, Measure, Metric, R, measure
from .resampling import dot, from_effective_rows, from_influence

_DENSE = 1 << 20  # cells up to which counting densely beats sorting
_LARGEST = 2048


def confusion_matrix(label: Any, prediction: Any, classes: int) -> Array:
    """Counts of shape (class, class): row = true class, column = predicted class.

    ``label`` and ``prediction`` are integers below ``classes``, shape (sample,); `InputError` for others. Source: the
    definition, C[j, k] = number of samples of class j predicted as k.

    >>> confusion_matrix([0, 0, 1], [0, 1, 1], 2).tolist()
    [[1, 1], [0, 1]]
    """
    return Confusion.of(
        Predictions.from_classes(prediction, label=label, classes=tuple(range(classes)))
    ).matrix()


@dataclass(frozen=True, eq=False)
class Confusion:
    """The matrix without its zeros: cells ``label * K + prediction``, increasing, and their counts."""

    classes: ClassNames
    codes: Array
    counts: Array

    @classmethod
    def of(cls, batch: Predictions) -> Confusion:
        """State of the rows of a record whose class is known."""
        if batch.label is None or batch.classes is None:
            raise NotApplicable("needs `label`")
        size = len(batch.classes)
        at: Any = batch.label >= 0
        at = slice(None) if at.all() else at
        code = batch.label[at].astype(np.int64)
        code *= size
        code += batch.predicted[at]
        if size * size <= _DENSE:
            counts = np.bincount(code, minlength=1)
            codes = np.flatnonzero(counts)
            return cls(batch.classes, codes, counts[codes])
        codes, counts = np.unique(code, return_counts=True)
        return cls(batch.classes, codes, counts)

    def __add__(self, other: Confusion) -> Confusion:
        """Sum of both, of the same classes."""
        if self.classes != other.classes:
            raise InputError(
                "parts that name the same classes",
                got=f"{len(self.classes)} and {len(other.classes)} classes",
                remedy="read them with the same class names",
                column="label",
            )
        codes, at = np.unique(np.concatenate([self.codes, other.codes]), return_inverse=True)
        counts = np.zeros(len(codes), dtype=np.int64)
        np.add.at(counts, at, np.concatenate([self.counts, other.counts]))
        return Confusion(self.classes, codes, counts)

    @property
    def rows(self) -> Any:
        """Number of samples, an int; of weights their sum, a float."""
        return self.counts.sum().item()

    @property
    def truth(self) -> Array:
        """True class of each cell."""
        return self.codes // max(len(self.classes), 1)

    @property
    def guess(self) -> Array:
        """Predicted class of each cell."""
        return self.codes % max(len(self.classes), 1)

    def _sum(self, by: Array, counts: Array) -> Array:
        out = np.zeros(len(self.classes), dtype=counts.dtype)  # weights are no whole numbers
        np.add.at(out, by, counts)
        return out

    @cached_property
    def support(self) -> Array:
        """Samples of each true class, shape (class,)."""
        return self._sum(self.truth, self.counts)

    @cached_property
    def predicted(self) -> Array:
        """Samples predicted as each class, shape (class,)."""
        return self._sum(self.guess, self.counts)

    @cached_property
    def hits(self) -> Array:
        """Samples of each class that were predicted as it, shape (class,)."""
        return self._sum(self.truth, np.where(self.truth == self.guess, self.counts, 0))

    @property
    def rarest(self) -> Any:
        """Samples that are right, are wrong, or are of the rarest true class: the fewest of these."""
        hits = self.hits.sum().item()
        rarest = self.support[self.support > 0].min(initial=self.rows).item()
        return min(hits, self.rows - hits, rarest)

    def matrix(self) -> Array:
        """Dense counts, shape (class, class): row = true class, column = predicted class."""
        size = len(self.classes)
        dense = np.zeros(size * size, dtype=np.int64)
        dense[self.codes] = self.counts
        return dense.reshape(size, size)


class ConfusionMetric(Metric[Confusion, R]):
    """A metric over `Confusion`; all of them share one state."""

    needs = CLASSES
    state = "confusion"

    def summarize(self, batch: Predictions) -> Confusion:
        """Count one batch."""
        return batch.derived("confusion", lambda: Confusion.of(batch))

    def influence(self, state: Confusion) -> tuple[float, Array]:
        """The number, and how far one more sample of each cell moves it, to first order; counts need not be whole."""
        raise NotApplicable(f"{self.name} is not linearised")


@register("metric")
class ConfusionTable(ConfusionMetric[dict[str, Any]]):
    """The confusion matrix as a table: ``classes`` and ``counts`` (row = true class, column = predicted class).

    >>> ConfusionTable().compute(Predictions.from_classes(["a", "b", "b"], label=["a", "a", "b"]))
    {'classes': ['a', 'b'], 'counts': [[1, 1], [0, 1]]}
    """

    name = "confusion"
    bigger_is_better = None
    citation = "sokolova2009"
    gives = "table"

    def _finish(self, state: Confusion, level: float, seed: int) -> dict[str, Any]:
        if len(state.classes) > _LARGEST:
            raise NotApplicable(
                f"a table of {len(state.classes)} by {len(state.classes)} classes is too large"
            )
        return {"classes": list(state.classes), "counts": state.matrix().tolist()}


@register("metric")
class CohenKappa(ConfusionMetric[Measure]):
    """Kappa = (p_o - p_e) / (1 - p_e): p_o the accuracy, p_e = sum_k t_k p_k / n^2 that of chance with the same counts.

    1 = all right, 0 = as good as chance. The interval is linearised. Where all rows are of one class and predicted as
    it, there is no kappa. Source: Cohen (1960).

    >>> CohenKappa().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0])).value
    0.5
    """

    name = "cohen_kappa"
    quiet = True
    bigger_is_better = True
    citation = "cohen1960"
    bounds = (-1.0, 1.0)

    def influence(self, state: Confusion) -> tuple[float, Array]:
        """Of numerator less kappa times denominator."""
        n = float(state.rows)
        support, predicted = state.support.astype(np.float64), state.predicted.astype(np.float64)
        if (support + predicted > 0).sum() < 2:
            raise NotApplicable(
                "every row is of one class and predicted as it: chance agrees as well"
            )
        chance = dot(support, predicted)
        divisor = n * n - chance
        value = float(np.clip((float(state.hits.sum()) * n - chance) / divisor, -1, 1))
        truth, guess = state.truth, state.guess
        by_chance = predicted[truth] + support[guess]  # how one more sample moves it
        over = (truth == guess) * n + float(state.hits.sum()) - by_chance
        return value, (over - value * (2 * n - by_chance)) / divisor

    def _finish(self, state: Confusion, level: float, seed: int) -> Measure:
        return _correlation(state, *self.influence(state), level)


@register("metric")
class MatthewsCorrelation(ConfusionMetric[Measure]):
    """Matthews' correlation coefficient, of many classes R_K: 1 = all right, 0 = as good as chance, -1 = all wrong.

    (c s - sum_k p_k t_k) / sqrt((s^2 - sum_k p_k^2) (s^2 - sum_k t_k^2)) with c hits of s samples, t_k of class k and
    p_k predicted as it. Where all rows are of one class, or predicted as one, it is 0, as in scikit-learn, and the
    interval is (-1, 1). The interval is linearised. Source: Gorodkin (2004).

    >>> round(MatthewsCorrelation().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0])).value, 4)
    0.5774
    """

    name = "mcc"
    quiet = True
    bigger_is_better = True
    citation = "gorodkin2004"
    bounds = (-1.0, 1.0)

    def influence(self, state: Confusion) -> tuple[float, Array]:
        """Of numerator and both factors of the denominator; 0 where all is one class."""
        n = float(state.rows)
        support, predicted = state.support.astype(np.float64), state.predicted.astype(np.float64)
        if self._undefined(state):
            return 0.0, np.zeros(len(state.codes))
        hits = float(state.hits.sum())
        of_guess, of_truth = n * n - dot(predicted, predicted), n * n - dot(support, support)
        divisor = (of_guess * of_truth) ** 0.5
        value = float(np.clip((hits * n - dot(support, predicted)) / divisor, -1, 1))
        # How one more sample of (truth, guess) moves numerator and divisors.
        truth, guess = state.truth, state.guess
        over = (truth == guess) * n + hits - predicted[truth] - support[guess]
        under = (n - predicted[guess]) / of_guess + (n - support[truth]) / of_truth
        return value, over / divisor - value * under

    @staticmethod
    def _undefined(state: Confusion) -> bool:
        return bool((state.support > 0).sum() < 2 or (state.predicted > 0).sum() < 2)

    def _finish(self, state: Confusion, level: float, seed: int) -> Measure:
        if self._undefined(state):
            return measure(0.0, (-1.0, 1.0), level, "asymptotic", undefined="one class only")
        return _correlation(state, *self.influence(state), level)


def _mean_ratio(
    state: Confusion, weights: tuple[float, float, float], counted: Array
) -> tuple[float, Array]:
    """Mean over the ``counted`` classes of f hits / (s support + p predicted), ``weights`` (f, s, p), and how a sample
    of each cell moves it: by what it adds to the hits of a class, less the ratio times what it adds to the divisor.
    """
    of_hit, of_truth, of_guess = weights
    divisor = of_truth * state.support + of_guess * state.predicted
    safe = np.where(divisor > 0, divisor, 1)
    ratio = np.where(divisor > 0, of_hit * state.hits / safe, 0.0)
    truth, guess = state.truth, state.guess
    scale = np.where(counted, 1 / safe, 0.0) / counted.sum()
    moved = np.where(truth == guess, of_hit * scale[truth], 0.0)
    moved -= of_truth * ratio[truth] * scale[truth] + of_guess * ratio[guess] * scale[guess]
    return float(ratio[counted].mean()), moved


def _correlation(state: Confusion, value: float, moved: Array, level: float) -> Measure:
    """A number in [-1, 1] with the linearised interval of (1 + v) / 2; ``moved`` by one sample of each cell."""
    variance = float((state.counts * moved**2).sum())
    low, high = from_influence((1 + value) / 2, variance / 4, state.rows, state.rarest, level)
    return measure(value, (2 * low - 1, 2 * high - 1), level, "asymptotic")


class ClassMean(ConfusionMetric[Measure]):
    """Mean over classes of a ratio f hits / (s support + p predicted), with ``weights`` (f, s, p)."""

    bigger_is_better = True
    citation = "sokolova2009"
    weights: ClassVar[tuple[float, float, float]]
    of_truths: ClassVar[bool] = (
        False  # whether it goes over classes that occur as truth, not as prediction alone
    )

    def _counted(self, state: Confusion) -> Array:
        return (state.support + (0 if self.of_truths else state.predicted)) > 0

    def influence(self, state: Confusion) -> tuple[float, Array]:
        """Class by class, see `_mean_ratio`."""
        return _mean_ratio(state, self.weights, self._counted(state))

    def _finish(self, state: Confusion, level: float, seed: int) -> Measure:
        of_hit, of_truth, of_guess = self.weights
        counted = self._counted(state)
        divisor = of_truth * state.support + of_guess * state.predicted
        value, moved = self.influence(state)
        half = normal_quantile(level) * float((state.counts * moved**2).sum()) ** 0.5
        # A class that was seldom or never taken for one shows little or no spread, though least is known of it, and its
        # ratio is pulled to 0: reach at least as far as the classes' posteriors do.
        # These are Beta(hits + 1/2, misses + 1/2), as if independent.
        hits, trials = state.hits[counted], (divisor - (of_hit - 1) * state.hits)[counted]
        tried = trials > 0
        a, total = hits[tried] + 0.5, trials[tried] + 1.0
        mean = a / total
        variance = mean * (1 - mean) / (total + 1)
        # F1 = 2q / (1 + q), q = hits among the samples that are, or are taken for, the class
        if of_hit == 2:
            slope = 2 / (1 + mean) ** 2
            mean, variance = 2 * mean / (1 + mean), variance * slope**2
        far = normal_quantile(level) * float(variance.sum()) ** 0.5
        low, high = float(mean.sum()) - far, float(mean.sum()) + far + float((~tried).sum())
        low, high = low / len(hits), high / len(hits)
        ends = (max(0.0, min(value - half, low)), min(1.0, max(value + half, high)))
        return measure(value, ends, level, "asymptotic")


def place_of_class(classes: ClassNames, positive: int | str | None) -> int:
    """Position of the positive class.

    classes : names of the classes in order.
    positive : its name, an integer or its text alike; None takes the second class.

    Raises `InputError` where there is none such.

    >>> place_of_class(("no", "yes"), None), place_of_class((0, 1), "0")
    (1, 0)
    """
    if positive is None:
        return 1
    names = [str(name) for name in classes]
    text = one_form(str(positive))
    if text not in names:
        remedy = "name one of them, --positive COLUMN=CLASS or --positive =CLASS"
        among = f"{', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"
        raise InputError(f"a positive class among {among}", got=repr(positive), remedy=remedy)
    return names.index(text)


class AboutClass:
    """Something that is about the positive one of two classes: ``positive`` is its name, by default the second one."""

    positive: int | str | None = None

    def position(self, classes: ClassNames) -> int:
        """Position of the positive class."""
        return place_of_class(classes, self.positive)


def about_class(
    metrics: Sequence[Metric[Any, Any]], positive: int | str | None
) -> list[Metric[Any, Any]]:
    """The metrics; those of one of two classes are about the class named.

    >>> about_class([create("metric", "f1")], "spam")[0].positive
    'spam'
    """
    out = [copy.copy(metric) for metric in metrics]
    for metric in out:
        if isinstance(metric, AboutClass):
            metric.positive = positive
    return out


def _share(hits: float, trials: float, level: float) -> Measure:
    value = hits / trials if trials else 0.0
    return measure(value, clopper_pearson(hits, trials, level), level, "exact")


class PositiveClassMetric(AboutClass, ConfusionMetric[Measure]):
    """A rate of the positive class where there are two classes, a mean over classes where there are more."""

    bigger_is_better = True
    citation = "sokolova2009"
    macro: ClassVar[str]  # of more classes
    among: ClassVar[str]  # the counts that hits are a share of

    def binary(self, state: Confusion, at: int, level: float) -> Measure:
        """The rate of the class at a position, with its exact interval."""
        return _share(state.hits[at].item(), getattr(state, self.among)[at].item(), level)

    def influence(self, state: Confusion) -> tuple[float, Array]:
        """That of the one class, or of the mean over classes."""
        mean: ClassMean = create("metric", self.macro)
        if len(state.classes) != 2:
            return mean.influence(state)
        return _mean_ratio(state, mean.weights, np.arange(2) == self.position(state.classes))

    def _finish(self, state: Confusion, level: float, seed: int) -> Measure:
        if len(state.classes) != 2:
            mean: Measure = create("metric", self.macro).finish(state, level, seed)
            return replace(mean, extras={"average": "macro"})
        at = self.position(state.classes)
        return replace(self.binary(state, at, level), extras={"positive": state.classes[at]})


@register("metric")
class MacroPrecision(ClassMean):
    """Mean precision over the classes that occur as truth or prediction; a class never predicted counts as 0.

    The interval spans the linearised one and that of the classes' Jeffreys posteriors, as for the other macro averages.
    Source: Sokolova and Lapalme (2009).

    >>> MacroPrecision().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value  # (1 + 1/2) / 2
    0.75
    """

    name = "macro_precision"
    weights = (1.0, 0.0, 1.0)


@register("metric")
class MacroRecall(ClassMean):
    """Mean recall over the classes that occur as truth, also called balanced accuracy.

    Source: Sokolova and Lapalme (2009).

    >>> MacroRecall().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value  # (1/2 + 1) / 2
    0.75
    """

    name = "macro_recall"
    weights = (1.0, 1.0, 0.0)
    of_truths = True


@register("metric")
class MacroF1(ClassMean):
    """Mean F1 over the classes that occur as truth or prediction.

    Source: Sokolova and Lapalme (2009).

    >>> round(MacroF1().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value, 4)  # (2/3 + 2/3) / 2
    0.6667
    """

    name = "macro_f1"
    weights = (2.0, 1.0, 1.0)


@register("metric")
class BalancedAccuracy(ClassMean):
    """Mean recall over the classes that occur as truth; of two classes (sensitivity + specificity) / 2.

    The same number as `macro_recall`, with its interval. Source: Brodersen et al. (2010).

    >>> BalancedAccuracy().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value  # (1/2 + 1) / 2
    0.75
    """

    name = "balanced_accuracy"
    weights = (1.0, 1.0, 0.0)
    of_truths = True
    quiet = True
    citation = "brodersen2010"


@register("metric")
class F1(PositiveClassMetric):
    """F1 = 2 TP / (2 TP + FP + FN) of the positive class; of more than two classes it is `macro_f1`.

    Among the n samples that are positive or predicted so, hits are binomial with a rate q, and F1 = 2q / (1 + q), so
    that the interval of Clopper and Pearson (1934) for q gives an exact one. Where n is 0, F1 is 0, as in scikit-learn,
    and the interval is (0, 1). Source: Sokolova and Lapalme (2009).

    >>> F1().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0], classes=[0, 1])).value  # 4 / 5
    0.8
    """

    name = "f1"
    macro = "macro_f1"

    def binary(self, state: Confusion, at: int, level: float) -> Measure:
        """Hits among those that are of the class or are taken for it."""
        hits = state.hits[at].item()
        either = max((state.support[at] + state.predicted[at]).item() - hits, hits)
        low, high = clopper_pearson(hits, either, level)
        value = 2 * hits / (either + hits) if either else 0.0
        return measure(value, (2 * low / (1 + low), 2 * high / (1 + high)), level, "exact")


@register("metric")
class Precision(PositiveClassMetric):
    """Precision, true positives / predicted positives, with the interval of Clopper and Pearson (1934).

    Of more than two classes it is `macro_precision`. Where nothing is predicted positive it is 0, as in scikit-learn,
    and the interval is (0, 1). Source: Sokolova and Lapalme (2009).

    >>> Precision().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0], classes=[0, 1])).value  # 2 of 3
    0.6666666666666666
    """

    name = "precision"
    quiet = True
    macro = "macro_precision"
    among = "predicted"


@register("metric")
class Recall(PositiveClassMetric):
    """Recall, true positives / positives, with the interval of Clopper and Pearson (1934); also called sensitivity.

    Of more than two classes it is `macro_recall`. Where there is no positive it is 0, as in scikit-learn, and the
    interval is (0, 1). Source: Sokolova and Lapalme (2009).

    >>> Recall().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0], classes=[0, 1])).value  # 2 of 2
    1.0
    """

    name = "recall"
    quiet = True
    macro = "macro_recall"
    among = "support"


@register("metric")
class Specificity(PositiveClassMetric):
    """Specificity, true negatives / negatives, with the interval of Clopper and Pearson (1934).

    Of more than two classes it is the mean over the classes that occur, each against the rest, with a linearised
    interval. Where there is no negative it is 0 and the interval is (0, 1). Source: Sokolova and Lapalme (2009).

    >>> record = Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0], classes=[0, 1])
    >>> Specificity().compute(record).value  # 1 of 2
    0.5
    """

    name = "specificity"
    quiet = True

    def binary(self, state: Confusion, at: int, level: float) -> Measure:
        """The other class's samples that are taken for it."""
        negative = 1 - at
        return _share(state.hits[negative].item(), state.support[negative].item(), level)

    @staticmethod
    def _used(state: Confusion) -> Array:
        """Classes that occur, and that have others."""
        occurs = state.support > 0
        # weights add with rounding
        used = (occurs | (state.predicted > 0)) & (occurs.sum() > occurs)
        if not used.any():
            raise NotApplicable("every row is of one class: needs two")
        return np.asarray(used)

    def influence(self, state: Confusion) -> tuple[float, Array]:
        """That of the other class's recall; of more than two classes of the mean over them."""
        if len(state.classes) == 2:
            return _mean_ratio(
                state, MacroRecall.weights, np.arange(2) != self.position(state.classes)
            )
        used, negatives = self._used(state), state.rows - state.support
        safe = np.where(used, negatives, 1)
        rate = np.where(used, (state.predicted - state.hits) / safe, 0.0)
        # How a sample of (truth, guess) moves the mean: it is one of the others of every class but its own.
        share = np.where(used, 1 / safe, 0.0) / used.sum()
        truth, guess = state.truth, state.guess
        moved = (
            float((rate * share).sum())
            - (rate * share)[truth]
            - np.where(truth != guess, share[guess], 0.0)
        )
        return 1 - float(rate[used].mean()), moved

    def _finish(self, state: Confusion, level: float, seed: int) -> Measure:
        if len(state.classes) == 2:
            return super()._finish(state, level, seed)
        used, (value, moved) = self._used(state), self.influence(state)
        negatives, false = state.rows - state.support, state.predicted - state.hits
        # A class for which little was taken shows little spread: at least as much as the classes' posteriors have.
        doubt = (false + 0.5) / (negatives + 1)
        posterior = (
            float((doubt * (1 - doubt) / (negatives + 2))[used].sum()) / int(used.sum()) ** 2
        )
        variance = max(float((state.counts * moved**2).sum()), posterior)
        ends = from_effective_rows(value, variance, state.rows, level)
        return measure(value, ends, level, "asymptotic", average="macro")
