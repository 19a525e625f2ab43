"""Combination: labels first, and other evidence for what they leave open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from .rules import ROUNDING, Method, Rule, drawn_scores, scored

_LESS = 1 - 1e-6  # evidence stays below the label that it is compared with


def scaled(scores: Array) -> Array:
    """Scores of the models of each draw moved and stretched to [-1/2, 1/2]; 0 where they are equal or there is none.

    The last axis is that of models: (x - (max + min) / 2) / (max - min).

    >>> scaled(np.array([[1.0, 2.0, 5.0], [3.0, 3.0, np.nan]])).tolist()
    [[-0.5, -0.25, 0.5], [0.0, 0.0, 0.0]]
    """
    there = ~np.isnan(scores)
    some = there.any(axis=-1, keepdims=True)
    high = np.where(some, np.where(there, scores, -np.inf).max(axis=-1, keepdims=True), 0.0)
    low = np.where(some, np.where(there, scores, np.inf).min(axis=-1, keepdims=True), 0.0)
    apart = high - low > ROUNDING * np.maximum(np.abs(high), np.abs(low))
    away = np.where(there, scores, 0.0) - (high + low) / 2
    return np.where(there & apart, away / np.where(apart, high - low, 1.0), 0.0)


def mean_evidence(pieces: Mapping[str, Method]) -> Rule:
    """The mean of several kinds of evidence, each scaled over the models of a draw to [-1/2, 1/2].

    Raises `UsageError` without evidence.

    >>> from .rules import fixed
    >>> rule = mean_evidence({"a": fixed([0, 1]), "b": fixed([0, 5]), "c": fixed([1, 0])})
    >>> rule(np.zeros((1, 2), dtype=np.int64)).round(3).tolist()
    [[-0.167, 0.167]]
    """
    if not pieces:
        raise UsageError("expected at least one kind of evidence, got none")
    return lambda drawn: np.asarray(scaled(scored(pieces, drawn)).mean(axis=0))


def labels_first(correct: Any, pieces: Mapping[str, Method], *, worth: float = 1.0) -> Rule:
    """ACC + worth * evidence / n: accuracy on the n drawn rows, and evidence for what it leaves open.

    The evidence is `mean_evidence`, in [-1/2, 1/2] (less a millionth), so that between two models it is worth less than
    ``worth`` labels: with 1 it decides ties, and a model with one row more right stays ahead whatever it says.

    Parameters
    ----------
    correct :
        1 where a model is right, 0 where it is wrong, shape (model, row).
    pieces :
        Name -> evidence, values or a rule, larger = better: CONF-GT, powered accuracy, a pool's, minus a factor.
    worth :
        How many labels all evidence together may outweigh; 0 is ACC.

    Raises `UsageError` without evidence and for a worth below 0.

    >>> from .rules import fixed
    >>> right = np.array([[1, 0], [0, 1], [1, 1]])
    >>> labels_first(right, {"pool": fixed([0.7, 0.8, 0.1])})(np.array([[0, 1]])).round(3).tolist()
    [[0.679, 0.75, 0.75]]
    """
    if not worth >= 0:
        raise UsageError(f"expected a worth in labels of at least 0, got {worth}")
    evidence, right = mean_evidence(pieces), np.asarray(correct, dtype=np.float64)
    return lambda drawn: drawn_scores(right, drawn) + worth * _LESS * evidence(drawn) / drawn.shape[1]
