"""Off-diagonal: what the probabilities of the classes that were not predicted add up to, for the expected confusion."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .bins import LOG_ODDS_BINS, half_bin, log_odds_bin
from .compiled import contiguous, passes, supports
from .threads import by_chunks


def off_diagonal_counts(
    probabilities: Array, predicted: Array, width: int, *, is_argmax: bool = True
) -> tuple[Array, Array]:
    """Counts by (class, log-odds bin) of the classes that were not predicted, and their summed probability.

    probabilities have axes (sample, class), predicted (sample,); ``width`` bins, `LOG_ODDS_BINS` or an 8th of them. The
    counts are int64, shape (class, bin); the sums float64, axes (predicted class, class), with a zero diagonal.

    ``is_argmax`` says that every other class has a probability of at most one half, so that a shift of its bits is its
    bin. `ValueError` for predicted classes that are none.

    >>> others, mass = off_diagonal_counts(np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([0, 0]), LOG_ODDS_BINS)
    >>> others.sum(axis=1).tolist(), mass.round(3).tolist()
    ([0, 2], [[0.0, 0.3], [0.0, 0.0]])
    """
    classes = probabilities.shape[1]
    if not supports(probabilities):
        return _plain(probabilities, predicted, width, is_argmax)
    counts = np.zeros((classes, width), dtype=np.int64)
    mass = np.zeros((classes, classes))
    passes.count_off_diagonal(contiguous(probabilities), contiguous(predicted, np.int32), counts, mass, is_argmax)
    return counts, mass


def _plain(probabilities: Array, predicted: Array, width: int, is_argmax: bool) -> tuple[Array, Array]:
    from scipy.sparse import csr_matrix

    rows, classes = probabilities.shape
    if rows and not (predicted.min() >= 0 and predicted.max() < classes):
        raise ValueError(f"predicted: expected numbers from 0 to {classes - 1}")
    coarse = LOG_ODDS_BINS // width
    offset = np.arange(classes) * LOG_ODDS_BINS
    counts = np.zeros(classes * width, dtype=np.int64)

    def count(values: Array, shift: Array) -> Array:
        index = half_bin(values, shift) if is_argmax else log_odds_bin(values) + shift
        if coarse > 1:
            index //= coarse
        return np.bincount(index.ravel(), minlength=classes * width)

    def work(start: int, stop: int) -> None:
        nonlocal counts
        counts += count(probabilities[start:stop], offset)

    by_chunks(work, rows, classes, threads=False)
    # the predicted classes were counted with the others and are taken off again: quicker than leaving them out
    counts -= count(probabilities[np.arange(rows), predicted], offset[predicted])
    chosen = csr_matrix((np.ones(rows, dtype=probabilities.dtype), predicted, np.arange(rows + 1)), (rows, classes))
    mass = np.asarray(chosen.T @ probabilities, dtype=np.float64)
    np.fill_diagonal(mass, 0.0)
    return counts.reshape(classes, width), mass
