"""Expected confusion: precision, recall, F1 and AUC without labels, from counts of calibrated cells."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..calibrators.binned_map import BlockRates, bin_numbers, bins_for, count_bins, fit_block_rates
from ..inference.decision_metrics import ratio
from ..inference.row_sample import seeded_sample
from ..intervals import from_spread
from ..kernels import off_diagonal_counts
from ..predictions import Predictions
from ..results import Interval, Kind

_VALUES = 100_000  # looked at
_LEAST_ROWS = 1000


class ClassOrder(NamedTuple):
    """Figures of a labelled reference.

    Parameters
    ----------
    moved : AUC of each class by the probabilities as they came, less that by the calibrated ones, shape (class,); 0
        where it is unknown. With more than two classes a temperature changes the order of samples by one class; with
        two it may squeeze so many into one bin that they are tied.
    together : standard deviation of the macro AUC over what it would be if the classes' AUC were independent. They are
        not: one error is a false alarm of one class and a miss of another.
    """

    moved: Array
    together: float


def class_order(reference: Predictions, seed: int = 0) -> ClassOrder:
    """Figures of a seeded sample of up to 100,000 probabilities; two classes mirror each other.

    The spread is DeLong's: that of the placements of single rows, summed over classes. Source: DeLong et al. (1988).

    >>> p = Predictions.from_probabilities([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]] * 9, label=[0, 1, 1] * 9)
    >>> class_order(p).together >= 1
    True
    """
    classes, now, label = reference.num_classes, reference.probabilities, reference.label
    moved, together = np.zeros(classes), 0.0
    if now is None or label is None:
        return ClassOrder(moved, 1.0)
    rows = seeded_sample(len(label), max(_VALUES // classes, _LEAST_ROWS), seed)
    own = now if reference.uncalibrated is None else reference.uncalibrated
    if classes == 2:
        if own is now:
            return ClassOrder(moved, 1.0)
        hits = label[rows] == 1
        if 0 < hits.sum() < len(hits):  # AUC by the probabilities as they came, less that by the calibrated ones' bins
            binned = bin_numbers(now[rows, 1], 2).astype(np.float64)
            moved[:] = float(placements(own[rows, 1], hits)[hits].mean() - placements(binned, hits)[hits].mean())
        return ClassOrder(moved, 1.0)
    of_all, apart = np.zeros(len(rows)), 0.0
    for k in range(classes):
        hits = label[rows] == k
        if not 0 < hits.sum() < len(rows):
            continue
        place = placements(own[rows, k], hits)
        auc = float(place[hits].mean())
        if own is not now:
            moved[k] = auc - float(placements(now[rows, k], hits)[hits].mean())
        influence = (place - auc) / np.where(hits, hits.mean(), 1 - hits.mean())
        of_all += influence
        apart += float(influence @ influence)
    together = float(of_all @ of_all) / apart if apart > 0 else 1.0
    return ClassOrder(moved, max(together, 1.0) ** 0.5)


def placements(scores: Array, hits: Array) -> Array:
    """Share of the other side that each sample is on the right side of, ties counted half; shape (sample,).

    The mean over either side is the AUC.

    >>> placements(np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False])).tolist()
    [1.0, 0.75, 0.75, 1.0]
    """
    out = np.empty(len(scores))
    below, above = np.sort(scores[~hits]), np.sort(scores[hits])
    for mine, others in ((hits, below), (~hits, above)):
        at = np.searchsorted(others, scores[mine], "left") + np.searchsorted(others, scores[mine], "right")
        out[mine] = at / (2 * len(others))
    out[~hits] = 1 - out[~hits]
    return out


_REPLICATES = 60
_VALUES_AT_A_TIME = 1 << 20  # cells of replicates drawn together
_REDRAWN_BINS = 120  # a divisor of every number of bins
_LARGEST_CONFUSION = 100  # classes up to which the matrix itself is printed
_LEAST_HITS = 2  # of a class among the errors of the reference, before it gets rates of its own there
_FITTING_STEPS = 50


class ConfusionCounts(NamedTuple):
    """Counts of a target, or of a reference.

    Parameters
    ----------
    top : rows by (predicted class, bin of its probability).
    off_diagonal : rows by (class, bin of its probability) where the class was not the predicted one.
    mass : summed probability of class k over rows predicted j, axes (j, k), diagonal zero.
    """

    top: Array
    off_diagonal: Array
    mass: Array


def confusion_counts(top: Array, off_diagonal: Array, mass: Array) -> ConfusionCounts:
    """`ConfusionCounts`; of two classes, what is not the predicted one is the other: its counts are the mirror image.

    >>> top = np.array([[0, 0, 1, 5], [0, 0, 0, 4]])
    >>> confusion_counts(top, np.zeros((2, 4)), np.zeros((2, 2))).off_diagonal.tolist()
    [[4, 0, 0, 0], [5, 1, 0, 0]]
    """
    return ConfusionCounts(top, mirrored(top), mass) if len(top) == 2 else ConfusionCounts(top, off_diagonal, mass)


def mirrored(top: Array) -> Array:
    """Counts of two classes seen from the other class, whose probability is 1 - p; axes (..., class, bin)."""
    return top[..., ::-1, ::-1]


class ClassRates(NamedTuple):
    """How often class k is true on the reference: where it was predicted, and where another class was.

    Parameters
    ----------
    top, off_diagonal : rates for the cells of the same names.
    coarse_top, coarse_off_diagonal : the same in coarse bins, for the spread.
    order : what the order of the reference's rows says of the AUC.
    """

    top: BlockRates
    off_diagonal: BlockRates
    coarse_top: BlockRates
    coarse_off_diagonal: BlockRates
    order: ClassOrder | None = None


def class_rates(counts: ConfusionCounts, hits: Array, misses: Array) -> ClassRates:
    """How often each class is true, by bin, where it was predicted and where it was not, from labelled counts.

    ``hits`` and ``misses`` (class, bin) may be weighted, as may the counts.
    """
    coarse = [merge_bins(c) for c in (counts.top, hits, counts.off_diagonal, misses)]
    return ClassRates(
        fit_block_rates(counts.top, hits),
        fit_block_rates(counts.off_diagonal, misses, _LEAST_HITS),
        fit_block_rates(coarse[0], coarse[1]),
        fit_block_rates(coarse[2], coarse[3], _LEAST_HITS),
    )


def count_misses(record: Predictions, predicted: Array, *, is_argmax: bool) -> Array:
    """Rows whose class was not the predicted one, by (class, bin of its probability)."""
    assert record.probabilities is not None
    assert record.label is not None
    missed = np.flatnonzero((record.label != predicted) & (record.label >= 0))
    label, classes = record.label[missed], record.num_classes
    bins = bin_numbers(record.probabilities[missed, label], classes)
    if is_argmax:  # as `count_off_diagonal` does: one half is the lower one
        np.minimum(bins, bins_for(classes) // 2 - 1, out=bins)
    return count_bins(label, bins, classes)


def fit_class_rates(reference: Predictions, predicted: Array, hits: Array, *, is_argmax: bool = True) -> ClassRates:
    """Rates of each class from a labelled reference; ``hits`` are counts by (predicted class, bin, verdict)."""
    assert reference.probabilities is not None
    counted = count_off_diagonal(reference.probabilities, predicted, is_argmax=is_argmax)
    counts = confusion_counts(hits.sum(axis=2), counted["others"], counted["mass"])
    two = reference.num_classes == 2
    misses = mirrored(hits[:, :, 0]) if two else count_misses(reference, predicted, is_argmax=is_argmax)
    return class_rates(counts, hits[:, :, 1], misses)._replace(order=class_order(reference))


def count_off_diagonal(probabilities: Array, predicted: Array, *, is_argmax: bool = True) -> dict[str, Array]:
    """``off_diagonal`` (as "others") and ``mass`` of `ConfusionCounts` for a batch of probabilities (sample, class).

    A class that is not the most probable one has a probability of at most one half, so that a shift of its bits is
    its bin: one pass and no logarithm. (``is_argmax`` false: a calibrator may have moved the argmax.)

    >>> count_off_diagonal(np.array([[0.9, 0.1]]), np.array([0]))["mass"].tolist()
    [[0.0, 0.1], [0.0, 0.0]]
    """
    width = bins_for(probabilities.shape[1])
    off_diagonal, mass = off_diagonal_counts(probabilities, predicted, width, is_argmax=is_argmax)
    return {"others": off_diagonal, "mass": mass}


def expected_confusion(predicted: Array, found: Array, mass: Array, missed: Array | None = None) -> Array:
    """C[j, k], expected samples predicted j whose truth is k: ``found`` on the diagonal, errors spread by ``mass``.

    predicted and found have axes (class,), mass (class, class) with a zero diagonal; rows sum to ``predicted``. With
    ``missed``, the samples of each class that were predicted as another one, the mass is first brought into
    proportion with it (iterative proportional fitting), so that columns sum to ``found + missed`` as nearly as can be.

    >>> expected_confusion(np.array([10.0, 0.0]), np.array([8.0, 0.0]), np.array([[0.0, 4.0], [0.0, 0.0]])).tolist()
    [[8.0, 2.0], [0.0, 0.0]]
    """
    errors = predicted - found
    spread = mass
    if missed is not None:
        for _ in range(_FITTING_STEPS):
            spread = spread * ratio(errors, spread.sum(axis=1), 0.0)[:, None]
            spread = spread * ratio(missed, spread.sum(axis=0), 0.0)
    total = spread.sum(axis=1)
    out: Array = spread * ratio(errors, total, 0.0)[:, None]
    out[np.diag_indices(len(out))] = np.where(total > 0, found, predicted)
    return out


def class_metrics(top: Array, right: Array, off_diagonal: Array, elsewhere: Array) -> Array:
    """Precision, recall, F1 and AUC of each class; shape (4, class), or (4, replicate, class) of several at once.

    right, elsewhere: (expected) samples of the class in each cell of ``top`` (predicted as it) and of ``off_diagonal``.
    AUC of class k against the rest, ties in a bin counted half: sum_b neg_b (pos above b + pos_b / 2) / (pos neg); NaN
    where there is nothing on one side.
    """
    predicted, found = top.sum(axis=-1), right.sum(axis=-1)
    actual = found + elsewhere.sum(axis=-1)
    precision, recall = ratio(found, predicted, 0.0), ratio(found, actual, 0.0)
    f1 = ratio(2 * found, predicted + actual, 0.0)
    positive = right + elsewhere
    negative = np.maximum(top + off_diagonal - positive, 0)
    above = positive.sum(axis=-1, keepdims=True) - np.cumsum(positive, axis=-1)
    above += positive / 2
    wins = np.einsum("...b,...b->...", negative, above)
    pairs = positive.sum(axis=-1) * negative.sum(axis=-1)
    auc = ratio(wins, pairs)
    return np.asarray(np.clip(np.stack([precision, recall, f1, auc]), 0, 1))


def expected_positives(counts: ConfusionCounts, rates: ClassRates) -> tuple[Array, Array]:
    """Expected samples of each class in the cells where it was predicted and elsewhere, both (class, bin).

    As many samples belong to other classes as were predicted wrongly.
    """
    top = counts.top
    found = top * rates.top.rate
    if len(top) == 2:
        return found, mirrored(top - found)
    elsewhere = counts.off_diagonal * rates.off_diagonal.rate
    elsewhere *= (float(top.sum()) - float(found.sum())) / max(float(elsewhere.sum()), 1e-300)
    return found, elsewhere


def expected_metrics(
    counts: ConfusionCounts, rates: ClassRates, names: tuple[int | str, ...], *, level: float, kind: Kind, seed: int
) -> dict[str, Any]:
    """Macro and per-class metrics with intervals, and the expected confusion matrix.

    The interval is a seeded parametric bootstrap over cells: the target's counts and the labels in them are
    redrawn, and the rates as another reference would have given them. Classes that are neither predicted nor expected
    leave the macro mean, and that of the AUC those without a sample, or with nothing else.
    """
    found, elsewhere = expected_positives(counts, rates)
    point = class_metrics(counts.top, found, counts.off_diagonal, elsewhere)
    order = rates.order or ClassOrder(np.zeros(len(names)), 1.0)
    point[3] = np.clip(point[3] + order.moved, 0, 1)
    present = (counts.top.sum(axis=1) > 0) | (counts.mass.sum(axis=0) >= 0.5)
    if not present.any():
        present[:] = True
    rng = np.random.default_rng([seed, 0xCB9E])
    step = max(_VALUES_AT_A_TIME // (len(counts.top) * _REDRAWN_BINS), 1)
    groups = [min(step, _REPLICATES - start) for start in range(0, _REPLICATES, step)]
    redrawn = (drawn_positives(counts, rates, many, rng) for many in groups)
    made = [class_metrics(drawn.top, right, drawn.off_diagonal, others) for drawn, right, others in redrawn]
    draws = np.concatenate([np.moveaxis(one, 1, 0) for one in made])  # (replicate, metric, class)

    def told(value: float, values: Array) -> dict[str, Any]:
        return Interval(value, *from_spread(values, value, level), level, kind).to_dict()

    metrics = {}
    for i, metric in enumerate(("macro_precision", "macro_recall", "macro_f1", "macro_auc")):
        used = present & np.isfinite(point[i])
        if used.any():
            value = float(point[i][used].mean())
            values = draws[:, i][:, used]
            there = np.isfinite(values)
            means = ratio(np.where(there, values, 0.0).sum(axis=-1), there.sum(axis=-1))
            if metric == "macro_auc":  # classes are drawn as independent ones
                means = means * order.together
            metrics[metric] = told(value, means)
    per_class = []
    for k, name in enumerate(names):
        row: dict[str, Any] = {"class": name, "predicted_rows": int(counts.top[k].sum())}
        for i, metric in enumerate(("precision", "recall", "f1", "auc")):
            value = float(point[i, k])
            row[metric] = told(value, draws[:, i, k]) if np.isfinite(value) else None
        per_class.append(row)
    out: dict[str, Any] = {"metrics": metrics, "per_class": per_class}
    if len(names) <= _LARGEST_CONFUSION:
        matrix = expected_confusion(counts.top.sum(axis=1), found.sum(axis=1), counts.mass, elsewhere.sum(axis=1))
        out["confusion"] = matrix
    return out


def drawn_positives(
    counts: ConfusionCounts, rates: ClassRates, many: int, rng: np.random.Generator
) -> tuple[ConfusionCounts, Array, Array]:
    """Redrawn targets at redrawn rates: their counts, and the samples of each class in them where it was predicted and
    elsewhere; axes (replicate, class, bin). In coarse bins: the spread needs no finer ones.
    """

    def draw(counts: Array, learnt: BlockRates) -> tuple[Array, Array]:
        coarse = merge_bins(counts)
        rate = learnt.redraw(many, rng)
        drawn = rng.poisson(coarse, (many, *coarse.shape))
        return drawn.astype(np.float64), rng.binomial(drawn, np.clip(rate, 0, 1)).astype(np.float64)

    top, right = draw(counts.top, rates.coarse_top)
    if len(counts.top) == 2:
        off_diagonal, elsewhere = mirrored(top), mirrored(top - right)
    else:
        off_diagonal, elsewhere = draw(counts.off_diagonal, rates.coarse_off_diagonal)
        wrong = (top - right).sum(axis=(1, 2)) / np.maximum(elsewhere.sum(axis=(1, 2)), 1)
        elsewhere *= wrong[:, None, None]  # an error of one class is a miss of another
    return ConfusionCounts(top, off_diagonal, counts.mass), right, elsewhere


def merge_bins(values: Array) -> Array:
    """Sums over neighbouring bins (the last axis), so that at most 120 are left; axes (class, bin)."""
    classes, width = values.shape
    return np.asarray(values.reshape(classes, min(width, _REDRAWN_BINS), -1).sum(axis=2))
