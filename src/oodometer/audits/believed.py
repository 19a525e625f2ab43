"""Believed: what to expect of the accuracy when few labels are added to what natural shifts lead one to expect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..intervals import clopper_pearson
from ..results import Interval
from ..results.fall import Fall
from .betting import SampledRows
from .judge import SMALL_TARGET, effective_labels

FLOOR = 0.03  # of the prior is spread evenly over all accuracies, so that labels can prove any of them
# Of accuracy: the prior is blurred by this standard deviation and moved down, since outputs that look as ever may hide
# a fall: so few labels that contradict it win (`benchmarks/natural/unseen_falls.py`).
BLUR, DOWN = 0.035, 0.02
_CELLS = 1000  # of equal width over all accuracies
_FINE = 400  # more of them where the labels point to
_POINT = 1e-8  # chance left outside the finer cells
_CERTAIN = 1e-12  # posterior mass at either end that counts as none
_TAILS = 200  # ways to share what an interval leaves out between its sides


@dataclass(frozen=True)
class Believed:
    """The believed interval: never one of the exact ones, whose promise it does not share.

    interval : of kind "empirical", None where it cannot be given, and then ``why`` says so. assumes : what it rests on.
    effective_labels : how many labels drawn at random Clopper and Pearson would need for so short an interval at the
    same rate: "your 25 labels are worth 50". fell : whether the accuracy fell by a margin, believed in the same way.
    """

    interval: Interval | None
    assumes: str = ""
    effective_labels: float | None = None
    why: str | None = None
    fell: Fall | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        made = {} if self.interval is None else self.interval.to_dict()
        fell = None if self.fell is None else self.fell.to_dict()
        said = {"assumes": self.assumes, "effective_labels": self.effective_labels, "why": self.why}
        return {**made, **said, "fell": fell}


def prior_cdf(levels: Array, quantiles: Array) -> Array:
    """The prior's distribution function at even accuracies from 0 to 1, shape (1001,).

    F(x) = (1 - floor) E[F_0(x + down + blur Z)] + floor x: F_0 is linear between the given quantiles, goes from 0 at
    accuracy 0 to 1 at accuracy 1, and is mirrored at both; Z is normal. So no accuracy has a density below ``floor``,
    and without labels this is what is believed. levels and quantiles have shape (level,), both ascending.

    >>> cdf = prior_cdf(np.array([0.05, 0.5, 0.95]), np.array([0.6, 0.8, 0.9]))
    >>> float(cdf[0]), round(float(cdf[500]), 3), round(float(cdf[800]), 2), round(float(cdf[-1]), 9)
    (0.0, 0.055, 0.6, 1.0)
    """
    at = np.concatenate([[0.0], np.maximum.accumulate(np.clip(quantiles, 0.0, 1.0)), [1.0]])
    at += 1e-9 * np.arange(len(at))  # quantiles that coincide are a step, which interpolation does not like
    below = np.concatenate([[0.0], levels, [1.0]])
    even = np.linspace(0.0, 1.0, _CELLS + 1)
    places = np.linspace(-3, 3, 49)
    weights = np.exp(-0.5 * places**2)
    x = even + DOWN + BLUR * places[:, None]
    inside = np.interp(np.abs(np.where(x > 1, 2 - x, x)), at, below)
    mirrored = np.where(x < 0, -inside, np.where(x > 1, 2 - inside, inside))
    out: Array = (1 - FLOOR) * (weights @ mirrored) / weights.sum() + FLOOR * even
    out -= out[0]
    out /= out[-1]
    return out


def likelihood_labels(sampled: SampledRows, score: Array) -> tuple[float, float]:
    """Hits and labels as a likelihood may count them: rows drawn evenly as they are, suggested ones by their weights.

    With the weights w = 1/(chance x rows left) of a draw, k = m sum(w y)/sum(w) of m = sum(w)^2/sum(w^2) labels: the
    weighted rate, at the number of even labels that would be as uncertain. Source: Kish (1965) for m.

    >>> likelihood_labels(SampledRows.evenly(np.array([4, 2]), np.array([1, 0])), np.full(9, 0.8))
    (1.0, 2.0)
    """
    if not sampled.weighted:
        return float(sampled.correct.sum()), float(len(sampled))
    left = len(score) - len(sampled.gaps) - np.arange(len(sampled))
    weight = 1 / (sampled.chances(score) * left)
    labels = float(weight.sum() ** 2 / np.square(weight).sum())
    return labels * float(weight @ sampled.correct / weight.sum()), labels


def believed_interval(
    prior: Array, hits: float, labels: float, level: float, rows: int | None = None
) -> tuple[float, float, float]:
    """Median and shortest interval of the accuracy given a `prior_cdf` and ``hits`` right among ``labels`` random rows.

    Posterior = prior x likelihood on a grid. The likelihood is binomial, p^k (1 - p)^(n - k), or, for a target
    of ``rows`` rows, hypergeometric on the accuracies m/rows that can be. The interval is the shortest that holds
    ``level`` of the posterior.

    >>> prior = prior_cdf(np.array([0.05, 0.25, 0.5, 0.75, 0.95]), np.array([0.6, 0.75, 0.8, 0.85, 0.9]))
    >>> few, many = (believed_interval(prior, 0.9 * n, n, 0.9) for n in (10, 1000))
    >>> [round(x, 2) for x in few], [round(x, 2) for x in many]
    ([0.82, 0.7, 0.93], [0.9, 0.88, 0.91])
    """
    edges, total = _posterior(prior, hits, labels, rows)
    kept = (total > _CERTAIN) & (total < 1 - _CERTAIN)
    first, last = int(np.argmax(kept)), len(kept) - int(np.argmax(kept[::-1]))
    total, edges = total[max(first - 1, 0) : last + 1], edges[max(first - 1, 0) : last + 1]
    tail = np.linspace(0.0, 1 - level, _TAILS + 1)
    low, high = np.interp(tail, total, edges), np.interp(tail + level, total, edges)
    best = int(np.argmin(high - low))
    value = float(np.interp(0.5, total, edges))
    lower, upper = float(low[best]), float(high[best])
    if rows is not None:  # what is labelled is certain
        certain = (hits / rows, (rows - labels + hits) / rows)
        value, lower, upper = (min(max(x, certain[0]), certain[1]) for x in (value, lower, upper))
    return value, min(lower, value), max(upper, value)


def believed_below(prior: Array, hits: float, labels: float, accuracy: float, rows: int | None = None) -> float:
    """Share of the posterior of `believed_interval` below an accuracy: how likely the truth lies there.

    >>> prior = prior_cdf(np.array([0.05, 0.25, 0.5, 0.75, 0.95]), np.array([0.6, 0.75, 0.8, 0.85, 0.9]))
    >>> [round(believed_below(prior, k, 25, 0.8), 2) for k in (15, 20, 25)]
    [0.97, 0.56, 0.02]
    """
    edges, total = _posterior(prior, hits, labels, rows)
    return float(np.interp(accuracy, edges, total))


def below_with_labels(prior: Array, sampled: SampledRows, score: Array, accuracy: float) -> float:
    """How likely the accuracy of all target rows lies below this one, given few labels of them.

    Rows that were suggested and passed over count as their predicted rate of being right; the arguments are those of
    `believe`.

    >>> drawn = SampledRows.evenly(np.arange(25), (np.arange(25) % 5 > 0).astype(int))
    >>> prior = prior_cdf(np.array([0.05, 0.5, 0.95]), np.array([0.65, 0.8, 0.9]))
    >>> [round(below_with_labels(prior, drawn, np.full(5000, 0.9), a), 2) for a in (0.6, 0.8, 0.99)]
    [0.0, 0.55, 1.0]
    """
    inside, counted = _counted(sampled, score)
    if len(sampled.gaps):
        accuracy = (accuracy * len(score) - float(score[sampled.gaps].sum())) / inside
    return believed_below(prior, counted[0], counted[1], accuracy, counted[2])


def _counted(sampled: SampledRows, score: Array) -> tuple[int, tuple[float, float, int | None]]:
    """Rows that were not passed over; hits and labels, and these rows again where they are few beside the labels."""
    inside = len(score) - len(sampled.gaps)
    small = not sampled.weighted and inside <= SMALL_TARGET * len(sampled)
    return inside, (*likelihood_labels(sampled, score), inside if small else None)


def _posterior(prior: Array, hits: float, labels: float, rows: int | None) -> tuple[Array, Array]:
    """Edges of cells of accuracy, and the posterior's distribution function there, both of shape (cell + 1,)."""
    from scipy.special import gammaln, xlog1py, xlogy

    # cells from 0 to 1, finer where the labels point to
    low, high = clopper_pearson(hits, labels, 1 - _POINT)
    edges = np.union1d(np.linspace(0.0, 1.0, _CELLS + 1), np.linspace(low, high, _FINE + 1))
    if rows is None:
        points = (edges[1:] + edges[:-1]) / 2
        logs = xlogy(hits, points) + xlog1py(labels - hits, -points)
    else:
        right = np.unique(np.rint(edges * rows))
        points = right / rows
        edges = np.concatenate([[0.0], (points[1:] + points[:-1]) / 2, [1.0]])
        wrong, misses = rows - right, labels - hits
        a, b = np.maximum(right, hits), np.maximum(wrong, misses)
        ways = gammaln(a + 1) - gammaln(a - hits + 1) + gammaln(b + 1) - gammaln(b - misses + 1)
        logs = np.where((right >= hits) & (wrong >= misses), ways, -np.inf)
    mass = np.diff(np.interp(edges, np.linspace(0.0, 1.0, len(prior)), prior))
    weight = mass * np.exp(logs - logs.max())
    return edges, np.concatenate([[0.0], np.cumsum(weight)]) / weight.sum()


def believe(prior: Array, sampled: SampledRows, score: Array, level: float, assumes: str) -> Believed:
    """The believed interval of an audit, and what its labels are worth by it.

    Rows that were suggested and passed over may hold any truth, as in the exact interval. score is f on all target
    rows, shape (sample,); prior that of `prior_cdf`.

    >>> rows = np.arange(25)
    >>> drawn = SampledRows.evenly(rows, (rows % 5 > 0).astype(int))
    >>> prior = prior_cdf(np.array([0.05, 0.5, 0.95]), np.array([0.65, 0.8, 0.9]))
    >>> found = believe(prior, drawn, np.full(5000, 0.9), 0.9, "the shift is like public ones")
    >>> found.interval.kind, round(found.effective_labels) > 25
    ('empirical', True)
    """
    _, (hits, labels, rows) = _counted(sampled, score)
    value, lower, upper = sampled.of_all(score, believed_interval(prior, hits, labels, level, rows))
    worth = effective_labels(value, upper - lower, level, len(score))
    return Believed(Interval(value, lower, upper, level, "empirical"), assumes, worth)
