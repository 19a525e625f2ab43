"""Expected scores: Brier, log loss and ECE of a target, from how many rows of each cell are expected to be of a class.

A cell is a class and a bin of its probability. What is expected is a number of rows; what those rows said, their mean
probability and its logarithm, is known of the target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..arrays import Array, present
from ..calibrators.binned_map import bin_numbers, bins_for, centres
from ..inference.method import Sums
from ..predictions import Predictions

SCORES = ("brier", "nll", "ece")  # of probabilities; less is better
_BINS = 15  # of confidence, as of `ece`
_ROUNDING = 1e-9  # of a mean of equal numbers, which belongs into their bin


def sum_scores(batch: Predictions) -> Sums:
    """What the rows of a batch say in each cell: rows, sums of p and of -ln p where p > 0, those with p = 0, and the
    same of the predicted class alone; (class, bin).
    """
    p = present(batch.probabilities)
    classes, width = batch.num_classes, bins_for(batch.num_classes)
    cells = classes * width
    bins = bin_numbers(p, classes).reshape(p.shape)
    if (
        classes == 2
    ):  # as counts of classes have it, the second's bins are the mirror image of the first's
        bins[:, 1] = width - 1 - bins[:, 0]
    rows_of, sums, losses, impossible = (np.zeros((classes, width)) for _ in range(4))
    for k in range(classes):
        probability = p[:, k].astype(np.float64)
        is_positive = probability > 0
        loss = -np.log(
            np.minimum(probability, 1.0), where=is_positive, out=np.zeros(len(probability))
        )
        rows_of[k] = np.bincount(bins[:, k], None, width)
        sums[k] = np.bincount(bins[:, k], probability, width)
        losses[k] = np.bincount(bins[:, k], loss, width)
        impossible[k] = np.bincount(bins[:, k], ~is_positive, width)
    predicted = batch.predicted
    at = np.arange(len(batch)), predicted
    code = predicted.astype(np.int64) * width + bins[at]
    top, confidence = (
        np.bincount(code, w, cells).reshape(classes, width)
        for w in (None, p[at].astype(np.float64))
    )
    return Sums(
        rows=len(batch),
        top=top,
        confidence=confidence,
        rows_of=rows_of,
        sums=sums,
        losses=losses,
        impossible=impossible,
    )


@dataclass(frozen=True)
class ScoreCells:
    """What rows of a cell said: ``probability`` and ``loss`` (-ln p) are means, ``confidence`` the mean probability of
    the predicted class, ``impossible`` the share of rows with p = 0; axes (class, bin).
    """

    probability: Array
    loss: Array
    confidence: Array
    impossible: Array

    @classmethod
    def of(cls, sums: Sums, width: int) -> Self:
        """From what `sum_scores` summed, in so many bins; empty cells say what their middle does."""
        few = {name: np.asarray(sums[name], dtype=np.float64) for name in sums if name != "rows"}
        middle = centres(len(few["top"]))
        few = {name: each.reshape(len(each), width, -1).sum(axis=2) for name, each in few.items()}
        middle = np.broadcast_to(middle.reshape(width, -1).mean(axis=1), few["top"].shape)

        def mean(of: str, rows: Array, empty: Array) -> Array:
            return np.where(rows > 0, few[of] / np.maximum(rows, 1), empty)

        rows, none = few["rows_of"], np.zeros(1)
        return cls(
            mean("sums", rows, middle),
            mean("losses", rows - few["impossible"], -np.log(middle)),
            mean("confidence", few["top"], middle),
            mean("impossible", rows, none),
        )


def expected_brier(positives: Array, negatives: Array, rows: Array, cells: ScoreCells) -> Array:
    """sum_k E[(p_k - [y = k])^2] / n, of two classes half of it; axes (...) before (class, bin)."""
    p = cells.probability
    total = np.einsum("...kb,kb->...", positives, np.square(1 - p)) + np.einsum(
        "...kb,kb->...", negatives, p * p
    )
    return np.asarray(total * (0.5 if len(p) == 2 else 1.0) / rows)


def expected_log_loss(positives: Array, rows: Array, cells: ScoreCells) -> Array:
    """E[-ln p_y], of the rows whose true class has a probability above 0; axes (...) before (class, bin)."""
    possible = positives * (1 - cells.impossible)
    return np.asarray(np.einsum("...kb,kb->...", possible, cells.loss) / rows)


def impossible_rows(positives: Array, cells: ScoreCells) -> float:
    """How many rows are expected to be of a class that got probability 0; axes (class, bin)."""
    return float((positives * cells.impossible).sum())


def expected_ece(hits: Array, predicted: Array, cells: ScoreCells, *, drawn: bool = False) -> Array:
    """sum_b E|hits_b - confidence_b| / n over 15 bins of confidence; axes (...) before (class, bin).

    What chance does to the labels is in it, as in the error that labelled rows would show: hits are normal about what
    is expected, and the mean of |hits - confidence| that of a folded normal. ``drawn`` hits hold chance already.
    """
    at = np.clip(np.ceil(cells.confidence * _BINS - _ROUNDING).astype(int) - 1, 0, _BINS - 1)
    into = np.zeros((*at.shape, _BINS))
    np.put_along_axis(into, at[..., None], 1.0, axis=-1)
    gap = np.einsum("...kb,kbi->...i", hits - predicted * cells.confidence, into)
    size = np.abs(gap)
    if not drawn:
        rate = np.clip(
            np.divide(hits, predicted, out=np.zeros_like(hits), where=predicted > 0), 0, 1
        )
        spread = np.sqrt(np.einsum("...kb,kbi->...i", hits * (1 - rate), into))
        size = _folded(size, spread)
    return np.asarray(size.sum(axis=-1) / predicted.sum(axis=(-2, -1)))


def _folded(mean: Array, deviation: Array) -> Array:
    """E|x| of a normal x with this mean, at least 0, and standard deviation."""
    z = np.divide(mean, deviation, out=np.full_like(mean, np.inf), where=deviation > 0)
    density = np.exp(-np.square(z) / 2) * math.sqrt(2 / math.pi)
    erf = np.array([math.erf(x / math.sqrt(2)) for x in z.ravel()]).reshape(z.shape)
    return np.asarray(deviation * density + mean * erf)
