"""Agreement lines: counts of pairwise agreement between models, and the line that they follow on the probit scale."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Array

_CHUNK_VALUES = 1 << 19


def stack_models(predicted: Array, members: Array, models: Array) -> Array:
    """Classes predicted by the judged model and by the kept members, judged model first, shape (model, sample).

    >>> stack_models(np.array([0, 1]), np.array([[0, 1], [1, 1]]), np.array([False, True])).tolist()
    [[0, 1], [1, 1]]
    """
    return np.concatenate([predicted[None], members[models]])


def agreement_counts(codes: Array) -> Array:
    """Samples on which each pair of models agrees: codes have axes (model, sample); int64, shape (model, model).

    >>> agreement_counts(np.array([[0, 1, 1], [0, 1, 0], [2, 2, 2]])).tolist()
    [[3, 2, 0], [2, 3, 0], [0, 0, 3]]
    """
    models, rows = codes.shape
    out = np.zeros((models, models), dtype=np.int64)
    step = max(_CHUNK_VALUES // models, 1)
    for start in range(0, rows, step):
        part = np.ascontiguousarray(codes[:, start : start + step])
        for i in range(models):
            out[i, i:] += np.count_nonzero(part[i:] == part[i], axis=1)
    return np.maximum(out, out.T)


def weigh_pairs(codes: Array, weights: Array) -> Array:
    """sum_{i<j} weights_ij [h_i = h_j] for each sample: how much each sample moves a function of the agreements.

    codes have axes (model, sample), weights are of shape (model, model), of which
    the upper triangle is read; shape (sample,).

    >>> weights = np.array([[0, 2.0, 1.0], [0, 0, 5.0], [0, 0, 0]])
    >>> weigh_pairs(np.array([[0, 1], [0, 0], [1, 1]]), weights).tolist()
    [2.0, 1.0]
    """
    out = np.zeros(codes.shape[1])
    for i in range(len(codes) - 1):
        out += weights[i, i + 1 :] @ (codes[i + 1 :] == codes[i])
    return out


def probit(counts: Array, rows: int) -> Array:
    """Phi^-1(counts / rows), with counts of 0 and of all rows moved half a count inwards.

    >>> probit(np.array([0, 5, 10]), 10).round(3).tolist()
    [-1.645, 0.0, 1.645]
    """
    from scipy.special import ndtri

    out: Array = ndtri(np.clip(counts, 0.5, rows - 0.5) / rows)
    return out


class Line(NamedTuple):
    """A least-squares line: slope, intercept, share of variance explained, and the residual variance."""

    slope: float
    intercept: float
    r_squared: float
    variance: float


def fit_line(x: Array, y: Array) -> Line | None:
    """y = slope x + intercept by least squares over pairs; None where all x are equal. Shapes (pair,).

    >>> fit_line(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))
    Line(slope=2.0, intercept=1.0, r_squared=1.0, variance=0.0)
    """
    dx, dy = x - x.mean(), y - y.mean()
    spread, total = float(dx @ dx), float(dy @ dy)
    if spread <= 1e-12 * len(x):
        return None
    slope = float(dx @ dy) / spread
    left = float(np.square(dy - slope * dx).sum())
    explained = 1 - left / total if total > 1e-12 * len(x) else 0.0
    return Line(slope, float(y.mean() - slope * x.mean()), explained, left / max(len(x) - 2, 1))


def solve_pairs(values: Array) -> Array:
    """The w of least squares in (w_i + w_j)/2 = values_ij over all pairs i < j, shape (model,).

    values are symmetric of shape (model, model); the diagonal is not read. In closed form, with s_i the sum of row i
    and S that of all: w_i = (2 s_i - S/(M - 1))/(M - 2). At least three models.

    >>> w = np.array([1.0, 2.0, 4.0])
    >>> solve_pairs((w[:, None] + w) / 2).tolist()
    [1.0, 2.0, 4.0]
    """
    models = len(values)
    rows = values.sum(axis=1) - np.diagonal(values)
    out: Array = (2 * rows - rows.sum() / (models - 1)) / (models - 2)
    return out
