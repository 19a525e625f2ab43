"""Suggestion: which rows of the target to label next, and how wide the interval of so many labels will be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..inference.betting import LOOKS, betting_interval, sizes
from ..inference.hypergeometric import hypergeometric_quantiles
from ..results.values import Interval, Record
from .judge import (
    MOST_PLAYED,
    SMALL_TARGET,
    exact_interval,
    imagined_audits,
    predicted_width_alone,
    predicted_widths,
)

_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
_STRATA = 10


@dataclass(frozen=True)
class Suggestion:
    """Rows to label in the order of drawing, (draw,), with tenth by f, chance, weight and uniform share."""

    row: Array
    stratum: Array
    probability: Array
    weight: Array
    share: float


def choose_share(
    score: Array, slope: float, labels: int, level: float, looks: int = LOOKS
) -> float:
    """The share of `predicted_share`; up to 1,000 labels it must also beat even chances and labels alone in imagined
    audits, else it is 1.
    """
    share = predicted_share(score, slope, labels, level)
    if share < 1 and labels <= MOST_PLAYED:
        bold = predicted_widths(score, slope, labels, level, share, looks=looks)["ppi-betting"]
        if bold >= predicted_width_alone(score, slope, labels, level):
            return 1.0
    return share


def predicted_share(score: Array, slope: float, labels: int, level: float) -> float:
    """The uniform share, 0.3 to 1, with the smallest half-width to expect, sqrt(2 L v/n) + L/(3 n share), L = log(2/(1
    - level)) (Bernstein), v = mean (f (1 - slope f)^2 + (1 - f) (slope f)^2)/size. Source: Neyman (1934).
    """
    second = score * np.square(1 - slope * score) + (1 - score) * np.square(slope * score)
    log = math.log(2 / (1 - level))

    def half(share: float) -> float:
        variance = (
            float(np.mean(second / sizes(score, share))) - (float(score.mean()) * (1 - slope)) ** 2
        )
        return math.sqrt(2 * log * max(variance, 0.0) / labels) + log / (3 * labels * share)

    return min(_SHARES, key=half)


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
    """Draw ``count`` unlabelled rows one after the other, chances in proportion to `sizes`: by Gumbel keys, the largest
    log(size) + noise in their order. Rows in ``labelled`` are left out; `UsageError` where fewer are left. Source:
    Neyman (1934); Farquhar, Gal and Rainforth (2021).
    """
    done = np.zeros(0, dtype=np.int64) if labelled is None else labelled
    unlabelled = len(score) - len(done)
    if not 0 < count <= unlabelled:
        raise UsageError(
            f"expected a number of rows to suggest from 1 to {unlabelled} (unlabelled rows), got {count}"
        )
    share = choose_share(score, slope, count + len(done), level) if share is None else share
    size = sizes(score, share)
    rng = np.random.default_rng([seed, 0x5E66, len(done)])
    keys = np.log(size) + rng.gumbel(size=len(score))
    keys[done] = -np.inf
    row = np.argpartition(-keys, count - 1)[:count]
    row = row[np.argsort(-keys[row], kind="stable")]
    drawn_sizes = size[row]
    probability = drawn_sizes / (
        size.sum() - size[done].sum() - (np.cumsum(drawn_sizes) - drawn_sizes)
    )
    rank = np.argsort(np.argsort(score, kind="stable"), kind="stable")
    weight = 1 / (probability * (unlabelled - np.arange(count)))
    return Suggestion(row, rank[row] * _STRATA // len(score), probability, weight, share)


COUNTS = (10, 20, 30, 50, 100, 200, 300, 500, 1000)
_IMAGINED = 24  # audits played for each number of labels
_QUANTILES = 16  # equally likely numbers of hits over which an exact width is averaged
_LARGEST_POOL = 20_000
_LOOKS = (
    2  # at the ends of bets: to 1/4,000 of the range, as the mean of imagined audits is coarser
)


@dataclass(frozen=True)
class ExpectedWidth(Record):
    """Widths to expect of so many labels: read alone (also at today's ends), and what an audit would print."""

    labels: int
    alone: float
    narrowest: float
    widest: float
    random: float
    suggested: float


@dataclass(frozen=True)
class ExpectedWidths(Record):
    """Widths to expect at rising numbers of labels if the accuracy is ``accuracy``."""

    accuracy: float
    widths: tuple[ExpectedWidth, ...]


def moved(score: Array, mean: float) -> Array:
    """The chances of being right with their log-odds moved by one number, so that their mean is ``mean``."""
    odds = np.log(np.clip(score, 1e-3, 1 - 1e-3))
    odds -= np.log1p(-np.exp(odds))
    low, high = -30.0, 30.0
    for _ in range(60):
        step = (low + high) / 2
        low, high = (
            (low, step) if float(np.mean(1 / (1 + np.exp(-odds - step)))) > mean else (step, high)
        )
    return np.asarray(1 / (1 + np.exp(-odds - low)))


def labels_alone_width(accuracy: float, labels: int, rows: int, level: float) -> float:
    """Mean width of `exact_interval` over the numbers of hits that chance would give, at so high an accuracy."""
    at = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    if rows <= SMALL_TARGET * labels:
        hits = hypergeometric_quantiles(at, rows, round(accuracy * rows), labels)
    else:  # the quantiles of the binomial law
        from scipy.special import bdtr

        hits = np.searchsorted(bdtr(np.arange(labels + 1), labels, accuracy), at).astype(float)
    counts, times = np.unique(hits.astype(int), return_counts=True)
    widths = [np.diff(exact_interval(int(k), labels, rows, level))[0] for k in counts]
    return float(np.dot(widths, times) / _QUANTILES)


def expected_widths(
    score: Array,
    slope: float,
    level: float,
    accuracy: float,
    today: Interval,
    labels: Sequence[int],
    seed: int = 0,
) -> ExpectedWidths:
    """Widths to expect at each number of labels in imagined audits: row i is right with f_i, moved to mean
    ``accuracy``; ``today`` is what is known now.
    """
    rows = len(score)
    rng = np.random.default_rng([seed, 0x0071])
    pool = score if rows <= _LARGEST_POOL else rng.choice(score, _LARGEST_POOL, replace=False)
    chance = moved(pool, accuracy)
    ends = sorted((today.lower, today.upper), key=lambda end: abs(end - 0.5))
    near = 0.5 if today.lower <= 0.5 <= today.upper else ends[0]

    def played(count: int, share: float) -> float:
        """Mean width of betting with predictions over imagined audits, within what the labels make certain."""
        game, hits = imagined_audits(pool, chance, slope, count, share, (_IMAGINED, rng))
        ends = hits / len(pool), (hits + len(pool) - count) / len(pool)
        low, high = betting_interval(game, level, *ends, looks=_LOOKS)
        return float(np.mean(high - low))

    out = []
    for count in sorted({n for n in labels if 0 < n < rows}):
        alone = labels_alone_width(accuracy, count, rows, level)
        # an audit takes what it expects to be narrower; here what was narrower in these audits, as each takes its time
        random = suggested = alone
        if slope > 0 and 2 * count <= rows:
            random = suggested = min(alone, played(count, 1.0))
            share = predicted_share(score, slope, count, level)
            suggested = random if share == 1 else min(random, played(count, share))
        far, middle = (labels_alone_width(end, count, rows, level) for end in (ends[1], near))
        out.append(ExpectedWidth(count, alone, far, middle, random, suggested))
    return ExpectedWidths(accuracy, tuple(out))
