"""Suggestion: which rows of the target to label next, drawn so that the accuracy from them is unbiased."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from .prediction_powered import MOST_PLAYED, predicted_widths
from .sampling import sizes

_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
_STRATA = 10


@dataclass(frozen=True)
class Suggestion:
    """Rows to label, in the order in which they were drawn (label from the top: the first k are a draw of their own).

    Parameters
    ----------
    row : shape (draw,), target rows counted from 0.
    stratum : shape (draw,), tenth of the target by f, 0 the least certain; for the reader only.
    probability : shape (draw,), chance of the row at its draw, among those neither labelled nor drawn before.
    weight : shape (draw,), even chance over that chance; at most 1/share.
    share : uniform share of the chances; 1 means that all rows were equally likely.
    """

    row: Array
    stratum: Array
    probability: Array
    weight: Array
    share: float


def choose_share(score: Array, slope: float, labels: int, level: float) -> float:
    """The uniform share with the smallest half-width to expect from so many labels, from 0.3 to 1.

    sqrt(2 L v/n) + L/(3 n share), L = log(2/(1 - level)) (Bernstein's form), v = mean (f (1 - slope f)^2 + (1 - f)
    (slope f)^2)/size the predicted second moment: many labels pay for boldness, few want even chances, since one error
    among the rows held certain would weigh 1/share. Up to 300 labels it must also beat, in imagined audits, the
    interval that even chances and labels alone would give; else it is 1. Source: Neyman (1934) for the allocation.

    >>> f = np.tile([0.6, 0.99, 0.99, 0.99], 200)
    >>> choose_share(f, 1.0, 10, 0.95), choose_share(f, 1.0, 400, 0.95) < 0.7
    (1.0, True)
    """
    second = score * np.square(1 - slope * score) + (1 - score) * np.square(slope * score)
    log = math.log(2 / (1 - level))

    def half(share: float) -> float:
        variance = float(np.mean(second / sizes(score, share))) - (float(score.mean()) * (1 - slope)) ** 2
        return math.sqrt(2 * log * max(variance, 0.0) / labels) + log / (3 * labels * share)

    share = min(_SHARES, key=half)
    if share < 1 and labels <= MOST_PLAYED:
        bold = predicted_widths(score, slope, labels, level, share)["ppi-betting"]
        if bold >= predicted_widths(score, slope, labels, level)["alone"]:
            return 1.0
    return share


def suggest(
    score: Array,
    slope: float,
    count: int,
    level: float,
    *,
    labelled: Array | None = None,
    share: float | None = None,
    seed: int = 0,
) -> Suggestion:
    """Draw ``count`` unlabelled rows one after the other, each with a chance in proportion to its `sizes`.

    The allocation is Neyman's, sqrt(f (1 - f)), mixed with an even ``share`` (`choose_share` by default); rows in
    ``labelled`` are left out. Gumbel keys make it one pass: the largest log(size) + Gumbel noise are drawn in their
    order. score has shape (sample,). Raises `UsageError` where fewer rows are left. Source: Neyman (1934); Farquhar,
    Gal and Rainforth (2021).

    >>> found = suggest(np.linspace(0.5, 1, 50), 1.0, 5, 0.95, labelled=np.array([0, 1]))
    >>> len(set(found.row.tolist()) - {0, 1}), bool((found.weight <= 1 / found.share + 1e-9).all())
    (5, True)
    """
    done = np.zeros(0, dtype=np.int64) if labelled is None else labelled
    left = len(score) - len(done)
    if not 0 < count <= left:
        raise UsageError(f"expected a number of rows to suggest from 1 to {left} (unlabelled rows), got {count}")
    share = choose_share(score, slope, count + len(done), level) if share is None else share
    size = sizes(score, share)
    rng = np.random.default_rng([seed, 0x5E66, len(done)])
    keys = np.log(size) + rng.gumbel(size=len(score))
    keys[done] = -np.inf
    row = np.argpartition(-keys, count - 1)[:count]
    row = row[np.argsort(-keys[row], kind="stable")]
    drawn = size[row]
    total = size.sum() - size[done].sum() - (np.cumsum(drawn) - drawn)
    rank = np.argsort(np.argsort(score, kind="stable"), kind="stable")
    probability = drawn / total
    return Suggestion(
        row,
        rank[row] * _STRATA // len(score),
        probability,
        1 / (probability * (left - np.arange(count))),
        share,
    )
