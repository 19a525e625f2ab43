"""Rules: from the rows that are drawn to one score a model, larger = better; what all methods of ranking share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import UsageError

Rule = Callable[[Array], Array]
"""From positions of drawn rows, int64, shape (draw, size), to scores, shape (draw, model); larger = better."""

ROUNDING = 1e-12  # relative differences below it are none: sums in another order are not the same to the last digit

Method = Array | Rule
"""Values, shape (model, row), whose mean over the drawn rows is the score; or a rule."""


def fixed(scores: Any) -> Rule:
    """The rule that gives the same scores, shape (model,), whatever is drawn: what an unlabelled pool says.

    >>> fixed([0.5, 0.75])(np.zeros((2, 10), dtype=np.int64)).tolist()
    [[0.5, 0.75], [0.5, 0.75]]
    """
    given = np.asarray(scores, dtype=np.float64)
    if given.ndim != 1:
        raise UsageError(f"expected one score a model, got an array of shape {given.shape}")
    return lambda drawn: np.broadcast_to(given, (len(drawn), len(given)))


def drawn_scores(method: Method, drawn: Array) -> Array:
    """Scores of the models in each draw, float64, shape (draw, model); nan where a model has no value at all.

    The score from values v, shape (model, row), is the mean of v over the drawn rows, nan left out: where the words of
    a factor do not occur it says nothing. A row that is drawn twice counts twice.

    Raises `UsageError` for values or a rule of the wrong shape.

    >>> drawn_scores(np.array([[0.0, 1.0, np.nan], [np.nan] * 3]), np.array([[0, 1, 2], [1, 1, 0]])).round(2).tolist()
    [[0.5, nan], [0.67, nan]]
    """
    if callable(method):
        out = np.asarray(method(drawn), dtype=np.float64)
        if out.ndim != 2 or len(out) != len(drawn):
            raise UsageError(f"expected scores of shape ({len(drawn)}, model) of a rule, got {out.shape}")
        return out
    values = np.asarray(method, dtype=np.float64)
    if values.ndim != 2:
        raise UsageError(f"expected values of shape (model, row), got {values.shape}")
    there = ~np.isnan(values)
    # sums by gathering rows first: (row, model) is read in whole lines
    total = np.where(there, values, 0.0).T[drawn].sum(axis=1)
    if there.all():
        return np.asarray(total / drawn.shape[1])
    count = there.T[drawn].sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def scored(methods: Mapping[str, Method], drawn: Array) -> Array:
    """Scores of several methods, float64, shape (method, draw, model). Raises `UsageError` where models differ.

    >>> scored({"a": np.eye(2), "b": fixed([1, 2])}, np.array([[0, 0]])).tolist()
    [[[1.0, 0.0]], [[1.0, 2.0]]]
    """
    if not methods:
        raise UsageError("expected at least one method, got none; give name -> values or rule")
    found = {name: drawn_scores(method, drawn) for name, method in methods.items()}
    counts = {name: scores.shape[1] for name, scores in found.items()}
    if len(set(counts.values())) > 1:
        raise UsageError(f"expected methods that score the same models, got {counts} models")
    return np.stack(list(found.values()))
