"""Prediction-powered: intervals that join few labels with the model's confidence on every row of the target."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..arrays import Array
from ..intervals import normal_quantile
from .betting import betting_interval
from .label_only import exact_interval
from .sampling import sampled_game, sizes

_IMAGINED = 48  # audits that are played on imagined labels before the real ones are looked at
MOST_PLAYED = 1000  # labels beyond which imagined audits take too long and the predicted variance decides
_CLEAR = 0.9


def ppi_plus_plus(
    correct: Array, score: Array, mean_score: float, rows: int, level: float
) -> tuple[float, float, float]:
    """Value and asymptotic interval of the accuracy: v = lam mean_T f + mean_n (Y - lam f), cut to [0, 1].

    lam = cov(Y, f)/((1 + n/N) var f), variance = var(Y - lam f)/n + lam^2 var f/N. correct and score have shape
    (label,); ``mean_score`` is f's mean over all N = ``rows`` target rows. It holds for large samples only: with few
    errors among the labels it is far too short. Source: Angelopoulos, Duchi and Zrnic (2023).

    >>> f = np.array([0.9, 0.8, 0.6, 0.3] * 50); y = (np.arange(200) % 4 != 3).astype(float)
    >>> tuple(round(x, 3) for x in ppi_plus_plus(y, f, 0.65, 10_000, 0.9))
    (0.75, 0.725, 0.775)
    """
    labels = len(correct)
    spread = float(np.var(score, ddof=1)) if labels > 1 else 0.0
    lean = 0.0
    if spread > 1e-12:
        lean = float(np.cov(correct, score, ddof=1)[0, 1]) / ((1 + labels / rows) * spread)
    rest = correct - lean * score
    value = lean * mean_score + float(rest.mean())
    variance = (float(np.var(rest, ddof=1)) if labels > 1 else 0.25) / labels + lean**2 * spread / rows
    half = normal_quantile(level) * math.sqrt(variance)
    inside = min(max(value, 0.0), 1.0)
    return inside, min(max(value - half, 0.0), inside), max(min(value + half, 1.0), inside)


def predicted_widths(
    score: Array, slope: float, labels: int, level: float, share: float = 1.0, seed: int = 0
) -> Mapping[str, float]:
    """Mean widths to expect of ``labels`` labels, if the reference's rates hold on the target: no label is looked at.

    Imagined audits draw rows as `sampled_game` has it and let row i be correct with chance f_i; the means are of the
    interval of labels alone (`exact_interval`) and the betting interval with predictions on the same imagined labels.

    >>> widths = predicted_widths(np.tile([0.4, 0.6, 1.0, 1.0], 300), 1.0, 120, 0.9)
    >>> widths["ppi-betting"] < widths["alone"]
    True
    """
    rng = np.random.default_rng([seed, 0x1A6, labels])
    pool = score if len(score) <= 20_000 else rng.choice(score, 20_000, replace=False)
    labels = min(labels, len(pool))
    keys = np.log(sizes(pool, share)) + rng.gumbel(size=(_IMAGINED, len(pool)))
    row = np.argpartition(-keys, labels - 1, axis=-1)[:, :labels]
    row = np.take_along_axis(row, np.argsort(-np.take_along_axis(keys, row, 1), axis=-1), 1)
    correct = (rng.random(row.shape) < pool[row]).astype(np.float64)
    game = sampled_game(row, correct, np.full(labels, share), pool, slope)
    low, high = betting_interval(game, level)
    counts, times = np.unique(correct.sum(axis=-1), return_counts=True)
    exact = [np.diff(exact_interval(int(k), labels, len(score), level))[0] for k in counts]
    return {
        "alone": float(np.dot(exact, times) / _IMAGINED),
        "ppi-betting": float(np.mean(high - low)),
    }


def confidence_pays(score: Array, slope: float, labels: int, level: float, seed: int = 0) -> bool:
    """Whether betting with predictions is to be expected narrower than labels alone; settled without any label.

    For few labels by `predicted_widths`, for many by the predicted variance of Y - slope f against that of Y. As the
    choice depends on nothing but the target's predictions, the reference and the number of labels, the interval that is
    chosen keeps its level.

    >>> confidence_pays(np.full(500, 0.9), 1.0, 300, 0.9)
    False
    """
    if slope <= 0:
        return False
    if labels <= MOST_PLAYED:
        widths = predicted_widths(score, slope, labels, level, seed=seed)
        return widths["ppi-betting"] < widths["alone"]
    if 2 * labels > len(score):  # most of the target is known by then, which helps labels alone more
        return False
    one = np.zeros((1, 1), dtype=np.int64)
    return float(sampled_game(one, one, np.ones(1), score, slope).spread[0]) < _CLEAR
