"""Patterns: on which rows models disagree, which rows say the same, and how often each pair of models differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError


@final
@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct ways in which models disagree about a row. Rows on which all agree are left out.

    Parameters
    ----------
    predicted : class that each model predicts, int64, shape (pattern, model).
    counts : rows of each pattern, shape (pattern,).
    pairs : rows on which models a and b differ, shape (model, model).
    rows : all rows, with those on which all agree.
    """

    predicted: Array
    counts: Array
    pairs: Array
    rows: int


def patterns_of(predicted: Array) -> Patterns:
    """The patterns of predicted classes, shape (model, row).

    >>> found = patterns_of(np.array([[0, 1, 1, 0], [0, 0, 0, 0]]))
    >>> found.predicted.tolist(), found.counts.tolist(), found.pairs.tolist()
    ([[1, 0]], [2], [[0, 2], [2, 0]])
    """
    apart = predicted[:, (predicted != predicted[0]).any(axis=0)]
    distinct, counts = np.unique(apart.T, axis=0, return_counts=True)
    return Patterns(distinct, counts, disagreements(predicted), predicted.shape[1])


def disagreements(predicted: Array) -> Array:
    """Rows on which each two models predict another class: int64, shape (model, model); predicted (model, row)."""
    return np.stack([(predicted != one).sum(axis=1) for one in predicted])


def checked_classes(predicted: object, name: str, models: int | None = None) -> Array:
    """Predicted classes as int64, shape (model, row); `UsageError` for another shape, `InputError` for no classes."""
    found = np.asarray(predicted)
    if found.ndim != 2 or (models is not None and len(found) != models) or (models is None and len(found) < 2):
        wanted = "at least two models" if models is None else f"{models} models"
        raise UsageError(f"expected {name} of {wanted}, shape (model, row), got shape {found.shape}")
    if found.size and (found.dtype.kind not in "iu" or found.min() < 0):
        raise InputError(f"positions of classes as {name}", got=str(found.dtype), remedy="code the classes from 0 on")
    return found.astype(np.int64)
