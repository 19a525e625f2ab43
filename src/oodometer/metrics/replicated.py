"""Replicated: selective metrics of many bootstrap replicates at once, to compare models replicate by replicate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..arrays import Array
from .disca import disca_terms
from .ranks import Groups
from .resampling import REPLICATES, RankBins
from .risk_coverage import replicated_coverage_at_risk, replicated_risk_at_coverage
from .spread import generator

_BLOCKS = 1024  # parts of the rows that are drawn as one; the variance of a metric is then off by some 4 %
_CELLS = 500


def jointly_resampled(
    groups: Sequence[Groups],
    confidences: Sequence[Array],
    verdicts: Sequence[Array],
    seed: int,
    clusters: Array | None = None,
) -> list[RankBins]:
    """Bootstrap replicates of several models judged on the same rows: every replicate draws the same rows for all.

    ``groups`` of each model; ``confidences`` and ``verdicts`` of each in the order of the rows, (sample,). The rows
    are dealt into at most 1,024 blocks at random, and each block is drawn a Poisson(1) number of times: with so many
    rows that a block holds several, the cost of a replicate stays that of a thousand. ``clusters``, (sample,), names
    those of rows that depend on each other, which are drawn together.

    >>> from oodometer.metrics.ranks import Ranks
    >>> c, v = np.array([0.9, 0.8, 0.7]), np.array([1, 0, 1])
    >>> a, b = jointly_resampled([Ranks.of(c, v).groups] * 2, [c, c], [v, v], seed=0)
    >>> bool((a.wrong == b.wrong).all()), a.answered.shape
    (True, (200, 3))
    """
    n = len(confidences[0])
    rng = generator(seed, "joint")
    dealt = np.arange(n) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    count = int(dealt.max(initial=0)) + 1
    blocks = min(_BLOCKS, count)
    block = (rng.permutation(count) % blocks)[dealt]
    drawn = rng.poisson(1.0, size=(REPLICATES, blocks)).astype(np.float32)
    drawn[~drawn.any(axis=1)] = 1
    out = []
    for group, confidence, verdict in zip(groups, confidences, verdicts, strict=True):
        cells = group.joined(_CELLS)
        count = len(cells.answered)
        # cells by falling confidence: how many end above the row's own
        at = count - np.searchsorted(cells.lowest[::-1], confidence, side="right")
        line = (block * count + at) * 2 + (verdict > 0)
        table = np.bincount(line, minlength=blocks * count * 2).reshape(blocks, count * 2)
        sums = (drawn @ table.astype(np.float32)).astype(np.float64).reshape(REPLICATES, count, 2)
        wrong, right = np.cumsum(sums[..., 0], axis=1), np.cumsum(sums[..., 1], axis=1)
        out.append(RankBins(wrong + right, wrong, cells.highest, cells.lowest, cells.widths is not None))
    return out


def _auc_coverage(bins: RankBins) -> Array:
    from scipy.special import digamma

    right = bins.answered - bins.wrong
    size, correct = np.diff(bins.answered, prepend=0.0, axis=1), np.diff(right, prepend=0.0, axis=1)
    before = bins.answered - size
    slope = correct / np.maximum(size, 1)
    harmonic = digamma(bins.answered + 1) - digamma(before + 1)
    total = ((right - correct - slope * before) * harmonic).sum(axis=1) + right[:, -1]
    return np.asarray(np.clip(total / bins.rows, 0, 1))


def _e_aurc(bins: RankBins) -> Array:
    from scipy.special import digamma

    rows = bins.rows
    hits = rows - bins.wrong[:, -1]
    perfect = np.where(hits > 0, (rows - hits - hits * (digamma(rows + 1) - digamma(hits + 1))) / rows, 1.0)
    return np.asarray(np.maximum(1 - _auc_coverage(bins) - perfect, 0))


def _augrc(bins: RankBins) -> Array:
    size, wrong = np.diff(bins.answered, prepend=0.0, axis=1), np.diff(bins.wrong, prepend=0.0, axis=1)
    return np.asarray(((bins.wrong - wrong) * size + wrong * (size + 1) / 2).sum(axis=1) / bins.rows**2)


_PLAIN: dict[str, Callable[[RankBins], Array]] = {
    "accuracy": lambda cells: 1 - cells.wrong[:, -1] / cells.rows,
    "auc_coverage": _auc_coverage,
    "aurc": lambda cells: 1 - _auc_coverage(cells),
    "e_aurc": _e_aurc,
    "augrc": _augrc,
}
REPLICATED = (*_PLAIN, "disca", "coverage_at_risk", "risk_at_coverage")


def replicated(
    bins: RankBins,
    name: str,
    *,
    tolerance: float,
    weights: tuple[float, float, float],
    grid: str,
    steps: int,
    risk: float,
    coverage: float,
) -> Array:
    """A metric of every replicate, shape (replicate,); NaN where it is not defined. ``name`` is one of `REPLICATED`.

    DiSCA on the grid of samples takes the cells for samples.
    """
    if name == "disca":
        return disca_terms(bins, grid, steps, (tolerance,)).values(weights)[:, 0]
    if name == "coverage_at_risk":
        return replicated_coverage_at_risk(bins, risk)
    if name == "risk_at_coverage":
        return replicated_risk_at_coverage(bins, np.array([coverage]))[:, 0]
    return _PLAIN[name](bins)
