"""Class order: what the reference's own rows say of the AUC of each class that counts in bins cannot tell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..calibrators.binned_map import bin_numbers
from ..inference.folds import seeded_sample
from ..predictions import Predictions

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
        return ClassOrder(np.full(2, _moved_by_bins(own[rows, 1], now[rows, 1], label[rows] == 1)), 1.0)
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


def _moved_by_bins(own: Array, now: Array, hits: Array) -> float:
    """AUC by the probabilities as they came, less that by the bins of the calibrated ones; 0 without both sides."""
    if not 0 < hits.sum() < len(hits):
        return 0.0
    binned = bin_numbers(now, 2).astype(np.float64)
    return float(placements(own, hits)[hits].mean() - placements(binned, hits)[hits].mean())


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
