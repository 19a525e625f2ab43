"""Two-class logistic regression by Newton's method: all that a domain classifier needs, quick to load."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array

_STEPS = 100
_HALVINGS = 20
_FLAT = 1e-4  # of the largest slope of the mean loss, and of half the squared Newton decrement: then it has converged
_ENOUGH = 2.0**-11  # of the fall that the slope promises, which a step must bring


def fit_logistic(x: Array, y: Array, c: float) -> Callable[[Array], Array]:
    """The function x -> log-odds of class 1 that minimises sum log-loss + ||w||^2 / (2 c); the intercept is free.

    x has axes (sample, column), y is 0 or 1, shape (sample,). Newton's method from zero with halved steps where a whole
    one is too long. It stops by the rule of scikit-learn's ``LogisticRegression(C=c, solver="newton-cholesky")`` and
    gives its numbers.

    >>> x = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    >>> odds = fit_logistic(x, np.array([0, 0, 1, 1]), c=1.0)
    >>> odds(np.array([[1.0]])).round(2).tolist()
    [1.04]
    """
    rows, columns = x.shape
    penalty = np.append(np.full(columns, 1 / (c * rows)), 0.0)
    ones = np.column_stack([x, np.ones(rows)])
    weights, odds = np.zeros(columns + 1), np.zeros(rows)

    def loss(weights: Array, odds: Array) -> float:
        return float((np.logaddexp(0.0, odds) - y * odds).mean() + penalty @ np.square(weights) / 2)

    def slope(weights: Array, odds: Array) -> tuple[Array, Array]:
        chance = _logistic(odds)
        return ones.T @ (chance - y) / rows + penalty * weights, chance

    before = loss(weights, odds)
    falling, chance = slope(weights, odds)
    for _ in range(_STEPS):
        bend = (ones.T * (chance * (1 - chance))) @ ones / rows + np.diag(penalty)
        step = -_solved(bend, falling)
        along, promised = ones @ step, float(falling @ step)
        length = 1.0
        for _ in range(_HALVINGS):
            after = loss(weights + length * step, odds + length * along)
            # differences as small as rounding say nothing about a step
            if after - before <= max(length * _ENOUGH * promised, 16 * np.finfo(float).eps * abs(before)):
                break
            length /= 2
        weights, odds, before = weights + length * step, odds + length * along, after
        falling, chance = slope(weights, odds)
        if np.abs(falling).max() <= _FLAT and step @ bend @ step / 2 <= _FLAT:
            break
    return lambda other: other @ weights[:-1] + weights[-1]


def _solved(bend: Array, falling: Array) -> Array:
    """The Newton step; the shortest of many where the intercept alone is no longer determined."""
    try:
        out = np.linalg.solve(bend, falling)
    except np.linalg.LinAlgError:
        out = np.linalg.lstsq(bend, falling, rcond=None)[0]
    return out


def _logistic(odds: Array) -> Array:
    """1 / (1 + exp(-odds)), without overflow."""
    small = np.exp(-np.abs(odds))
    out: Array = np.where(odds >= 0, 1.0, small) / (1 + small)
    return out
