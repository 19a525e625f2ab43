"""Class rates: precision, recall, F1 and specificity of the positive class, and their means over classes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, final

import numpy as np

from ..classes import ClassNames
from ..errors import InputError, NotApplicable
from ..intervals import clopper_pearson, normal_quantile
from ..registry import create, register
from .base import Measure, Metric, measure
from .confusion import Confusion, ConfusionMetric
from .spread import from_effective_rows


class ClassMean(ConfusionMetric[Measure]):
    """Mean over classes of a ratio f hits / (s support + p predicted), with ``weights`` (f, s, p)."""

    bigger_is_better = True
    citation = "sokolova2009"
    weights: ClassVar[tuple[float, float, float]]
    of_truths: ClassVar[bool] = False  # whether it goes over classes that occur as truth, not as prediction alone

    def _finish(self, state: Confusion, level: float, seed: int) -> Measure:
        of_hit, of_truth, of_guess = self.weights
        counted = (state.support + (0 if self.of_truths else state.predicted)) > 0
        divisor = of_truth * state.support + of_guess * state.predicted
        safe = np.where(divisor > 0, divisor, 1)
        ratio = np.where(divisor > 0, of_hit * state.hits / safe, 0.0)
        value = float(ratio[counted].mean())
        # How a sample of (truth, guess) moves the mean, class by class: by what it adds to the hits, less the ratio
        # times what it adds to the divisor.
        truth, guess = state.truth, state.guess
        scale = np.where(counted, 1 / safe, 0.0) / counted.sum()
        moved = np.where(truth == guess, of_hit * scale[truth], 0.0)
        moved -= of_truth * ratio[truth] * scale[truth] + of_guess * ratio[guess] * scale[guess]
        half = normal_quantile(level) * float((state.counts * moved**2).sum()) ** 0.5
        # A class that was seldom or never taken for one shows little or no spread, though least is known of it, and its
        # ratio is pulled to 0: reach at least as far as the classes' posteriors do.
        # These are Beta(hits + 1/2, misses + 1/2), as if independent.
        hits, trials = state.hits[counted], (divisor - (of_hit - 1) * state.hits)[counted]
        known = trials > 0
        a, total = hits[known] + 0.5, trials[known] + 1.0
        mean = a / total
        variance = mean * (1 - mean) / (total + 1)
        if of_hit == 2:  # F1 = 2q / (1 + q), q = hits among the samples that are, or are taken for, the class
            slope = 2 / (1 + mean) ** 2
            mean, variance = 2 * mean / (1 + mean), variance * slope**2
        far = normal_quantile(level) * float(variance.sum()) ** 0.5
        low, high = float(mean.sum()) - far, float(mean.sum()) + far + float((~known).sum())
        low, high = low / len(hits), high / len(hits)
        ends = (max(0.0, min(value - half, low)), min(1.0, max(value + half, high)))
        return measure(value, ends, level, "asymptotic")


def place_of_class(classes: ClassNames, positive: int | str | None) -> int:
    """Position of the positive class, found by its name; by default the second.

    Raises `InputError` for a class that there is not.

    >>> place_of_class(("no", "yes"), None), place_of_class((0, 1), "0")
    (1, 0)
    """
    if positive is None:
        return 1
    names = [str(name) for name in classes]
    if str(positive) not in names:
        remedy = "name one of them, --positive COLUMN=CLASS or --positive =CLASS"
        expected = f"a positive class among {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"
        raise InputError(expected, got=repr(positive), remedy=remedy)
    return names.index(str(positive))


class AboutClass:
    """Something that is about the positive one of two classes: ``positive`` is its name, by default the second one."""

    positive: int | str | None = None

    def position(self, classes: ClassNames) -> int:
        """Position of the positive class."""
        return place_of_class(classes, self.positive)


def about_class(metrics: Sequence[Metric[Any, Any]], positive: int | str | None) -> list[Metric[Any, Any]]:
    """The metrics; those of one of two classes are about the class named.

    >>> from oodometer.registry import create
    >>> about_class([create("metric", "f1")], "spam")[0].positive
    'spam'
    """
    out = [copy.copy(metric) for metric in metrics]
    for metric in out:
        if isinstance(metric, AboutClass):
            metric.positive = positive
    return out


class PositiveClassMetric(AboutClass, ConfusionMetric[Measure]):
    """A rate of the positive class where there are two classes, a mean over classes where there are more."""

    bigger_is_better = True
    citation = "sokolova2009"
    macro: ClassVar[str]
    among: ClassVar[str]  # the counts that hits are a share of

    def binary(self, state: Confusion, at: int, level: float) -> Measure:
        """The rate of the class at a position, with its exact interval."""
        hits, trials = int(state.hits[at]), int(getattr(state, self.among)[at])
        return measure(hits / max(trials, 1), clopper_pearson(hits, trials, level), level, "exact")

    def _finish(self, state: Confusion, level: float, seed: int) -> Measure:
        if len(state.classes) != 2:
            mean: Measure = create("metric", self.macro).finish(state, level, seed)
            return replace(mean, extras={"average": "macro"})
        at = self.position(state.classes)
        return replace(self.binary(state, at, level), extras={"positive": state.classes[at]})


@final
@register("metric")
class MacroPrecision(ClassMean):
    """Mean precision over the classes that occur as truth or prediction; a class never predicted counts as 0.

    The interval spans the linearised one and that of the classes' Jeffreys posteriors; as for the other macro
    averages. A class that was never predicted so adds all the doubt there is. Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> MacroPrecision().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value  # (1 + 1/2) / 2
    0.75
    """

    name = "macro_precision"
    weights = (1.0, 0.0, 1.0)


@final
@register("metric")
class MacroRecall(ClassMean):
    """Mean recall over the classes that occur as truth, also called balanced accuracy.

    Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> MacroRecall().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value  # (1/2 + 1) / 2
    0.75
    """

    name = "macro_recall"
    weights = (1.0, 1.0, 0.0)
    of_truths = True


@final
@register("metric")
class MacroF1(ClassMean):
    """Mean F1 over the classes that occur as truth or prediction.

    Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> round(MacroF1().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value, 4)  # (2/3 + 2/3) / 2
    0.6667
    """

    name = "macro_f1"
    weights = (2.0, 1.0, 1.0)


@final
@register("metric")
class BalancedAccuracy(ClassMean):
    """Mean recall over the classes that occur as truth; of two classes (sensitivity + specificity) / 2.

    The same number as `macro_recall`, with its interval. Source: Brodersen et al. (2010).

    >>> from oodometer import Predictions
    >>> BalancedAccuracy().compute(Predictions.from_classes([0, 1, 1], label=[0, 0, 1])).value  # (1/2 + 1) / 2
    0.75
    """

    name = "balanced_accuracy"
    quiet = True
    citation = "brodersen2010"
    weights = (1.0, 1.0, 0.0)
    of_truths = True


@final
@register("metric")
class F1(PositiveClassMetric):
    """F1 = 2 TP / (2 TP + FP + FN) of the positive class; of more than two classes it is `macro_f1`.

    Among the n samples that are positive or predicted so, hits are binomial with a rate q, and F1 = 2q / (1 + q), so
    that the interval of Clopper and Pearson (1934) for q gives an exact one. Where n is 0, F1 is 0, as in scikit-learn,
    and the interval is (0, 1). Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> F1().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0], classes=[0, 1])).value  # 4 / 5
    0.8
    """

    name = "f1"
    macro = "macro_f1"

    def binary(self, state: Confusion, at: int, level: float) -> Measure:
        """Hits among those that are of the class or are taken for it."""
        hits = int(state.hits[at])
        either = int(state.support[at] + state.predicted[at]) - hits
        low, high = clopper_pearson(hits, either, level)
        value = 2 * hits / (either + hits) if either else 0.0
        return measure(value, (2 * low / (1 + low), 2 * high / (1 + high)), level, "exact")


@final
@register("metric")
class Precision(PositiveClassMetric):
    """Precision, true positives / predicted positives, with the interval of Clopper and Pearson (1934).

    Of more than two classes it is `macro_precision`. Where nothing is predicted positive it is 0, as in scikit-learn,
    and the interval is (0, 1). Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> Precision().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0], classes=[0, 1])).value  # 2 of 3
    0.6666666666666666
    """

    name = "precision"
    quiet = True
    macro = "macro_precision"
    among = "predicted"


@final
@register("metric")
class Recall(PositiveClassMetric):
    """Recall, true positives / positives, with the interval of Clopper and Pearson (1934); also called sensitivity.

    Of more than two classes it is `macro_recall`. Where there is no positive it is 0, as in scikit-learn, and the
    interval is (0, 1). Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> Recall().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0], classes=[0, 1])).value  # 2 of 2
    1.0
    """

    name = "recall"
    quiet = True
    macro = "macro_recall"
    among = "support"


@final
@register("metric")
class Specificity(AboutClass, ConfusionMetric[Measure]):
    """Specificity, true negatives / negatives, with the interval of Clopper and Pearson (1934).

    Of more than two classes it is the mean over the classes that occur, each against the rest, with a linearised
    interval. Where there is no negative it is 0 and the interval is (0, 1). Source: Sokolova and Lapalme (2009).

    >>> from oodometer import Predictions
    >>> record = Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0], classes=[0, 1])
    >>> Specificity().compute(record).value  # 1 of 2
    0.5
    """

    name = "specificity"
    quiet = True
    bigger_is_better = True
    citation = "sokolova2009"

    def _finish(self, state: Confusion, level: float, seed: int) -> Measure:
        others = state.rows - state.support
        false = state.predicted - state.hits
        if len(state.classes) == 2:
            at = self.position(state.classes)
            hits, trials = int(others[at] - false[at]), int(others[at])
            ends = clopper_pearson(hits, trials, level)
            return measure(hits / max(trials, 1), ends, level, "exact", positive=state.classes[at])
        used = (state.support + state.predicted > 0) & (others > 0)
        if not used.any():
            raise NotApplicable("every row is of one class: needs two")
        rate = np.where(used, false / np.maximum(others, 1), 0.0)
        value = 1 - float(rate[used].mean())
        # How a sample of (truth, guess) moves the mean: it is one of the others of every class but its own.
        share = np.where(used, 1 / np.maximum(others, 1), 0.0) / used.sum()
        truth, guess = state.truth, state.guess
        moved = float((rate * share).sum()) - (rate * share)[truth] - np.where(truth != guess, share[guess], 0.0)
        # A class for which little was taken shows little spread: at least as much as the classes' posteriors have.
        doubt = (false + 0.5) / (others + 1)
        posterior = float((doubt * (1 - doubt) / (others + 2))[used].sum()) / int(used.sum()) ** 2
        variance = max(float((state.counts * moved**2).sum()), posterior)
        ends = from_effective_rows(value, variance, state.rows, level)
        return measure(value, ends, level, "asymptotic", average="macro")
