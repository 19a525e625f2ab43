"""Powered: accuracy from few labels and the confidence on an unlabelled pool, for all models and draws at once."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from .rules import Rule


def powered_accuracy(
    correct: Any, score: Any, pool_score: Any, *, lean: float | Literal["each", "shared"] = "shared"
) -> Rule:
    """PPI++ accuracy as a rule: v = mean_n Y + lam (mean_N f - mean_n f), n the drawn rows, N the pool.

    lam = cov(Y, f) / ((1 + n/N) var f) within the draw, 0 where f does not vary: "each" for each model by itself, as
    `oodometer.audits.prediction_powered.ppi_plus_plus` has it; "shared" from the covariances and variances of all
    models added up, as ten rows are few to fit a slope on. A number fixes lam: 1 is plain prediction-powered inference,
    0 is ACC. Values are not cut to [0, 1], which would make ties.

    Parameters
    ----------
    correct :
        1 where a model is right, shape (model, row).
    score :
        f, such as max probability, of the same rows, shape (model, row).
    pool_score :
        f on the pool, shape (model, pool row).
    lean :
        lam.

    Raises `UsageError` for shapes that do not go together, numbers that are none, or an unknown ``lean``. Source:
    Angelopoulos, Duchi and Zrnic (2023).

    >>> right, f = np.array([[1, 0, 1, 0]]), np.array([[0.9, 0.1, 0.9, 0.1]])
    >>> powered_accuracy(right, f, [[0.9, 0.9, 0.9, 0.1]], lean=1.0)(np.array([[0, 1]])).round(3).tolist()
    [[0.7]]
    """
    y, f, pool = (np.asarray(one, dtype=np.float64) for one in (correct, score, pool_score))
    if y.ndim != 2 or y.shape != f.shape or pool.ndim != 2 or len(pool) != len(y) or not pool.size:
        raise UsageError(
            "expected correctness and scores of shape (model, row) and a pool of the same models, "
            f"got shapes {y.shape}, {f.shape} and {pool.shape}"
        )
    if not (np.isfinite(y).all() and np.isfinite(f).all() and np.isfinite(pool).all()):
        raise UsageError("expected finite numbers, got nan among correctness or scores; give rows of known truth alone")
    number = isinstance(lean, (int, float, np.number)) and np.isfinite(lean)
    if not number and lean not in ("each", "shared"):
        raise UsageError(f"expected lean to be 'each', 'shared' or a number, got {lean!r}")
    mean_pool, rows = pool.mean(axis=1), pool.shape[1]

    def rule(drawn: Array) -> Array:
        size = drawn.shape[1]
        y_drawn, f_drawn = y.T[drawn], f.T[drawn]  # (draw, row, model)
        mean_y, mean_f = y_drawn.mean(axis=1), f_drawn.mean(axis=1)
        slope = lean if not isinstance(lean, str) else _slope(y_drawn, f_drawn, 1 + size / rows, lean == "shared")
        return np.asarray(mean_y + slope * (mean_pool - mean_f))

    return rule


def _slope(y: Array, f: Array, more: float, shared: bool) -> Array:
    """lam of each draw and model, shape (draw, model), or (draw, 1) where it is shared."""
    centred = f - f.mean(axis=1, keepdims=True)
    along = np.einsum("dnm,dnm->dm", centred, y)
    spread = np.einsum("dnm,dnm->dm", centred, centred)
    if shared:
        along, spread = along.sum(axis=1, keepdims=True), spread.sum(axis=1, keepdims=True)
    varies = spread > 1e-12 * y.shape[1]
    return np.where(varies, along / (more * np.where(varies, spread, 1.0)), 0.0)
