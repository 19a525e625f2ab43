"""Gram matrix: P^T P of the class probabilities, all that several rankers need to know of a batch."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..predictions import Predictions

_CHUNK_ROWS = 8192


def gram_of(record: Predictions) -> Array:
    """P^T P in float64, shape (class, class), worked out once a record.

    >>> gram_of(Predictions.from_probabilities([[1.0, 0.0], [0.5, 0.5]])).tolist()
    [[1.25, 0.25], [0.25, 0.25]]
    """
    assert record.probabilities is not None
    probabilities = record.probabilities

    def make() -> Array:
        total = np.zeros((probabilities.shape[1],) * 2)
        for start in range(0, len(probabilities), _CHUNK_ROWS):
            part = probabilities[start : start + _CHUNK_ROWS].astype(np.float64)
            total += part.T @ part
        return total

    made: Array = record.derived("gram", make)
    return made
