"""Record: the answers of a model on two classes, and how often they are right."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...predictions import Predictions


def labels_of(positive: Array) -> Array:
    """The predicted class, 0 or 1, of probabilities of the positive one; a tie goes to the first, as everywhere.

    >>> labels_of(np.array([0.5, 0.75])).tolist()
    [0, 1]
    """
    found: Array = (positive > 0.5).astype(np.int64)
    return found


def record_of(positive: Array, label: Array | None) -> Predictions:
    """Probabilities of the positive class, shape (row,), as a record of two classes.

    >>> record_of(np.array([0.75]), np.array([1])).probabilities.tolist()
    [[0.25, 0.75]]
    """
    fields = {} if label is None else {"label": label}
    return Predictions.from_probabilities(np.stack([1 - positive, positive], axis=1), **fields)


def accuracies(positive: Array, label: Array) -> Array:
    """Accuracy of each model, shape (model,), from probabilities of the positive class, shape (model, row)."""
    found: Array = (labels_of(positive) == label).mean(axis=1)
    return found


def balanced(positive: Array, label: Array) -> Array:
    """Mean of the accuracies on both classes, shape (model,); on those that there are.

    >>> balanced(np.array([[0.9, 0.9, 0.9, 0.1]]), np.array([1, 1, 1, 1])).tolist()
    [0.75]
    """
    right = labels_of(positive) == label
    found: Array = np.mean([right[:, label == one].mean(axis=1) for one in np.unique(label)], axis=0)
    return found
