"""Decision metrics: what counts alone say, of a confusion matrix or of scores in bins; measured or expected counts.

Pure functions on arrays with any leading axes. A ``confusion`` has axes (..., true class, predicted class);
``positives`` and ``negatives`` have axes (..., bin), in rising order of score, and count the samples that are of the
class and those that are not. Counts are at least 0 and need not be whole. What is 0 / 0 is NaN, unless a docstring says
more: scikit-learn counts an undefined precision, recall or F1 as 0, which ``undefined=0.0`` does. `Margins` may stand
for a confusion wherever its cells are not asked for one by one: of many classes they are far smaller.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array

_ROUNDING = 1e-9  # of a share of expected counts


def ratio(over: Any, under: Any, undefined: float = np.nan) -> Array:
    """over / under, and ``undefined`` where under is 0; both broadcast.

    >>> ratio([1.0, 0.0], [2.0, 0.0]).tolist(), ratio([1.0, 0.0], [2.0, 0.0], undefined=0.0).tolist()
    ([0.5, nan], [0.5, 0.0])
    """
    over, under = np.asarray(over, dtype=np.float64), np.asarray(under, dtype=np.float64)
    out = np.full(np.broadcast_shapes(over.shape, under.shape), undefined, dtype=np.float64)
    np.divide(over, under, out=out, where=under != 0)
    return out


class Margins(NamedTuple):
    """What most metrics ask of a confusion, axes (..., class): hits, samples of each class, samples predicted as it."""

    hits: Array
    support: Array
    predicted: Array


def _margins(confusion: Any) -> Margins:
    """The `Margins` of a confusion, or these themselves."""
    if isinstance(confusion, Margins):
        return confusion
    counts = np.asarray(confusion, dtype=np.float64)
    return Margins(np.einsum("...kk->...k", counts), counts.sum(axis=-1), counts.sum(axis=-2))


def _sum(counts: Array) -> Array:
    """Sum over the last axis; an array of no axis where it was the only one."""
    return np.asarray(counts.sum(axis=-1))


def _mean(values: Array, counts: Array) -> Array:
    """Mean over the classes that occur: half an expected sample is the least that counts as one; NaN where none do."""
    used = counts >= 0.5
    return ratio(np.where(used, values, 0.0).sum(axis=-1), used.sum(axis=-1))


def accuracy(confusion: Any) -> Array:
    """Share of samples on the diagonal; axes (...).

    >>> float(accuracy([[3, 1], [0, 4]]))
    0.875
    """
    hits, support, _ = _margins(confusion)
    return ratio(hits.sum(axis=-1), support.sum(axis=-1))


def class_precision(confusion: Any, undefined: float = np.nan) -> Array:
    """C_kk / sum_j C_jk, of each class; axes (..., class).

    >>> class_precision([[3, 1], [0, 4]]).tolist()
    [1.0, 0.8]
    """
    hits, _, predicted = _margins(confusion)
    return ratio(hits, predicted, undefined)


def class_recall(confusion: Any, undefined: float = np.nan) -> Array:
    """C_kk / sum_j C_kj, of each class: also called sensitivity and true positive rate; axes (..., class).

    >>> class_recall([[3, 1], [0, 4]]).tolist()
    [0.75, 1.0]
    """
    hits, support, _ = _margins(confusion)
    return ratio(hits, support, undefined)


def class_specificity(confusion: Any, undefined: float = np.nan) -> Array:
    """Share of the samples of other classes that were not taken for the class: the true negative rate; (..., class).

    >>> class_specificity([[3, 1], [0, 4]]).tolist()
    [1.0, 0.75]
    """
    hits, support, predicted = _margins(confusion)
    negatives = support.sum(axis=-1, keepdims=True) - support
    return ratio(negatives - (predicted - hits), negatives, undefined)


def class_f1(confusion: Any, undefined: float = np.nan) -> Array:
    """2 C_kk / (sum_j C_kj + sum_j C_jk), of each class; axes (..., class).

    >>> class_f1([[3, 1], [0, 4]]).round(4).tolist()
    [0.8571, 0.8889]
    """
    hits, support, predicted = _margins(confusion)
    return ratio(2 * hits, support + predicted, undefined)


def macro_precision(confusion: Any) -> Array:
    """Mean precision over the classes that occur as truth or prediction; one never predicted counts as 0; axes (...).

    >>> round(float(macro_precision([[3, 1], [0, 4]])), 4)
    0.9
    """
    _, support, predicted = _margins(confusion)
    return _mean(class_precision(confusion, 0.0), support + predicted)


def macro_recall(confusion: Any) -> Array:
    """Mean recall over the classes that occur as truth; axes (...).

    >>> float(macro_recall([[3, 1], [0, 4]]))
    0.875
    """
    _, support, _ = _margins(confusion)
    return _mean(class_recall(confusion, 0.0), support)


def macro_f1(confusion: Any) -> Array:
    """Mean F1 over the classes that occur as truth or prediction; axes (...).

    >>> round(float(macro_f1([[3, 1], [0, 4]])), 4)
    0.873
    """
    _, support, predicted = _margins(confusion)
    return _mean(class_f1(confusion, 0.0), support + predicted)


def balanced_accuracy(confusion: Any) -> Array:
    """Mean recall over the classes that occur as truth (Brodersen et al. 2010), the same as `macro_recall`; axes (...).

    >>> float(balanced_accuracy([[3, 1], [0, 4]]))
    0.875
    """
    return macro_recall(confusion)


def mcc(confusion: Any) -> Array:
    """Correlation of truth and prediction (Matthews 1975), of many classes R_K (Gorodkin 2004); axes (...).

    (c s - sum_k p_k t_k) / sqrt((s^2 - sum_k p_k^2) (s^2 - sum_k t_k^2)) with c hits of s samples, t_k of class k and
    p_k predicted as it; NaN where all samples are of one class, or are predicted as one.

    >>> round(float(mcc([[3, 1], [0, 4]])), 4)
    0.7746
    """
    hits, support, predicted = _margins(confusion)
    total = _sum(support)
    covariance = _sum(hits) * total - _sum(support * predicted)
    spread = _spread(support, total) * _spread(predicted, total)
    # rounding may have moved it
    return np.asarray(np.clip(ratio(covariance, np.sqrt(spread)), -1.0, 1.0))


def _spread(counts: Array, total: Array) -> Array:
    """s^2 - sum_k n_k^2, and exactly 0 where one class holds everything."""
    return np.where(_sum(counts > 0) > 1, np.maximum(total**2 - _sum(counts**2), 0.0), 0.0)


def cohen_kappa(confusion: Any) -> Array:
    """Agreement beyond chance (Cohen 1960), (p_o - p_e) / (1 - p_e); axes (...).

    p_o is the accuracy and p_e = sum_k t_k p_k / s^2 that of a guess with the same counts; NaN where p_e is 1.

    >>> float(cohen_kappa([[3, 1], [0, 4]]))
    0.75
    """
    hits, support, predicted = _margins(confusion)
    total = _sum(support)
    chance = _sum(support * predicted)
    only = _sum(support + predicted > 0) <= 1
    return ratio(_sum(hits) * total - chance, np.where(only, 0.0, total**2 - chance))


def expected_value(confusion: Any, payoff: Any) -> Array:
    """Mean pay-off of a sample, sum_jk C_jk V_jk / sum_jk C_jk; axes (...).

    ``payoff`` has axes (true class, predicted class): what such a sample brings, or costs where it is negative.

    >>> float(expected_value([[3, 1], [0, 4]], [[0, -10], [-2, 5]]))
    1.25
    """
    counts = np.asarray(confusion, dtype=np.float64)
    values = np.asarray(payoff, dtype=np.float64)
    return ratio((counts * values).sum(axis=(-2, -1)), counts.sum(axis=(-2, -1)))


def _from_above(counts: Array) -> Array:
    """Sums over each bin and all above it."""
    return np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1]


def roc_auc(positives: Any, negatives: Any) -> Array:
    """Chance that a positive scores above a negative, ties (the same bin) half (Hanley and McNeil 1982); axes (...).

    sum_b neg_b (pos above b + pos_b / 2) / (pos neg); NaN where there is no positive, or no negative.

    >>> float(roc_auc([0, 1, 3], [2, 1, 1]))
    0.8125
    """
    pos, neg = (np.asarray(side, dtype=np.float64) for side in (positives, negatives))
    wins = ((_from_above(pos) - pos / 2) * neg).sum(axis=-1)
    return np.asarray(np.clip(ratio(wins, pos.sum(axis=-1) * neg.sum(axis=-1)), 0.0, 1.0))


def average_precision(positives: Any, negatives: Any) -> Array:
    """sum_b (share of the positives in bin b) * (precision of bin b and all above it); axes (...).

    The step-wise area under the curve of precision and recall, samples of one bin tied. NaN where there is no positive.

    >>> round(float(average_precision([0, 1, 3], [2, 1, 1])), 4)  # 3/4 * 3/4 + 1/4 * 4/6
    0.7292
    """
    pos, neg = (np.asarray(side, dtype=np.float64) for side in (positives, negatives))
    hits = _from_above(pos)
    precision = ratio(hits, hits + _from_above(neg), 0.0)
    return np.asarray(np.clip(ratio((pos * precision).sum(axis=-1), pos.sum(axis=-1)), 0.0, 1.0))


def ks_statistic(positives: Any, negatives: Any) -> Array:
    """Largest TPR - FPR of a threshold, bins at or above it taken (Smirnov 1948), at least 0; axes (...).

    NaN where there is no positive, or no negative.

    >>> float(ks_statistic([0, 1, 3], [2, 1, 1]))
    0.5
    """
    pos, neg = (np.asarray(side, dtype=np.float64) for side in (positives, negatives))
    shares = (ratio(_from_above(side), side.sum(axis=-1, keepdims=True)) for side in (pos, neg))
    true_rates, false_rates = shares
    return np.asarray(np.maximum((true_rates - false_rates).max(axis=-1), 0.0))


def fpr_at_tpr(positives: Any, negatives: Any, tpr: float = 0.95) -> Array:
    """Share of the negatives at or above the highest bin that a share ``tpr`` of the positives reaches; axes (...).

    NaN where there is no positive, or no negative.

    >>> float(fpr_at_tpr([1, 1, 18], [6, 2, 2]))
    0.4
    """
    pos, neg = (np.asarray(side, dtype=np.float64) for side in (positives, negatives))
    hits = _from_above(pos)
    goal = tpr * (1 - _ROUNDING) * hits[..., :1]
    at = np.maximum((hits >= goal).sum(axis=-1, keepdims=True) - 1, 0)  # found falls along the bins
    taken = np.take_along_axis(
        _from_above(neg), np.broadcast_to(at, (*neg.shape[:-1], 1)), axis=-1
    )[..., 0]
    return np.where(hits[..., 0] > 0, ratio(taken, neg.sum(axis=-1)), np.nan)
