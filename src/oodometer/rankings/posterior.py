"""Posterior: how likely each model is the best, and better than each other one, from a few labels and a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..attributions.base import is_whole
from ..errors import InputError, UsageError
from ..inference.clusters import Clusters
from ..intervals import check_level
from ..options import check_seed


@final
@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct ways in which models disagree about a row. Rows on which all agree are left out.

    Parameters
    ----------
    predicted : class that each model predicts, int64, shape (pattern, model).
    counts : rows of each pattern, shape (pattern,).
    pairs : rows on which models a and b differ, shape (model, model).
    rows : all rows, with those on which all agree.
    """

    predicted: Array
    counts: Array
    pairs: Array
    rows: int


def patterns_of(predicted: Array) -> Patterns:
    """The patterns of predicted classes, shape (model, row).

    >>> found = patterns_of(np.array([[0, 1, 1, 0], [0, 0, 0, 0]]))
    >>> found.predicted.tolist(), found.counts.tolist(), found.pairs.tolist()
    ([[1, 0]], [2], [[0, 2], [2, 0]])
    """
    apart = predicted[:, (predicted != predicted[0]).any(axis=0)]
    distinct, counts = np.unique(apart.T, axis=0, return_counts=True)
    return Patterns(distinct, counts, disagreements(predicted), predicted.shape[1])


def disagreements(predicted: Array) -> Array:
    """Rows on which each two models predict another class: int64, shape (model, model); predicted (model, row)."""
    return np.stack([(predicted != one).sum(axis=1) for one in predicted])


def checked_classes(predicted: object, name: str, models: int | None = None) -> Array:
    """Predicted classes as int64, shape (model, row); `UsageError` for another shape, `InputError` for no classes."""
    found = np.asarray(predicted)
    if found.ndim != 2 or (models is not None and len(found) != models) or (models is None and len(found) < 2):
        wanted = "at least two models" if models is None else f"{models} models"
        raise UsageError(f"expected {name} of {wanted}, shape (model, row), got shape {found.shape}")
    if found.size and (found.dtype.kind not in "iu" or found.min() < 0):
        raise InputError(f"positions of classes as {name}", got=str(found.dtype), remedy="code the classes from 0 on")
    return found.astype(np.int64)


PRIOR = 6.0  # imaginary rows for each pair of models; 2 are a uniform prior, too bold (benchmarks/rank_suites.py)
_DRAWS = 10_000
_AT_ONCE = 4_000_000  # gamma numbers that are drawn at once
_IN_ALL = 40_000_000  # beyond which there are fewer draws, though not fewer than _LEAST: some seconds
_LEAST = 1000


@final
@dataclass(frozen=True, eq=False)
class Posterior:
    """What a few labelled rows and a pool say about the order of models.

    Parameters
    ----------
    models : their names, by default m1, m2, ...
    order : positions of the models, the best first: by right answers, ties by the mean of P(better).
    p_best : probability that a model is the best, shape (model,); models that are equally good share it, and so do all
        where no label tells models apart.
    p_better : probability that a is more accurate than b, shape (model, model); a tie counts half.
    wins : labelled rows on which a is right and b is wrong, shape (model, model).
    prior : imaginary rows on which a is right and b is wrong, shape (model, model), as many as the other way round.
    disagreement : share of all rows on which a and b differ, shape (model, model).
    labels : number of labelled rows. pool : number of unlabelled rows.
    neither : labelled rows on which a and b differ and both are wrong, shape (model, model); always 0 with two classes.
    classes : how many classes occur, predicted or true.
    worth : of a label in independent ones, the mean over pairs; 1 without clusters.
    """

    models: tuple[str, ...]
    order: tuple[int, ...]
    p_best: Array
    p_better: Array
    wins: Array
    prior: Array
    disagreement: Array
    labels: int
    pool: int
    neither: Array
    classes: int
    worth: float = 1.0

    @property
    def leaders(self) -> tuple[int, int]:
        """Positions of the model that is most likely the best and of the next."""
        return self.order[0], self.order[1]


def posterior(
    predicted: Any,
    truth: Any,
    pool: Any = None,
    *,
    prior: float = PRIOR,
    draws: int = _DRAWS,
    level: float = 0.95,
    seed: int = 0,
    clusters: Array | None = None,
) -> Posterior:
    """P(best) and P(a beats b): two models differ in accuracy only on rows on which they disagree.

    Rows fall into cells (which class each model predicts, which class is true). Cell weights are a posteriori
    Gamma(g_c + n_c), n_c the labelled rows of the cell; the weight on which a is right and b is wrong is then
    Gamma(s_ab + w_ab), so that P(a beats b) = P(Beta(s_ab + w_ab, s_ab + w_ba) > 1/2) exactly, w_ab the labelled rows
    that a wins against b. P(best) is the share of draws of the weights in which a model's right cells weigh most.

    The prior g prefers no model of a pair: each row of pool and labelled rows carries k prior / (2 D), D the
    disagreements of that pair of models that disagrees there and does so least often, shared evenly among the k classes
    that the models predict for it. So every pair that ever disagrees has at least ``prior`` imaginary rows, half for
    either side, and two models have exactly that many. With 2 every share of won disagreements is equally likely
    beforehand, which promises 10 points more than it keeps on suites of public data; with the default 6 it is near one
    half, and P(a beats b) at most 1 - p of McNemar's one-sided test with its mid-p. Of more than two models the one
    that stands alone most often varies most, and would be the likeliest best one by the prior alone. So where no label
    tells models apart, all that differ share P(best) evenly.

    What is assumed: labelled rows were drawn at random (for a pair it suffices: at random among its disagreements);
    the prior. Nothing is read off confidence. With a pool and three models or more `posterior_by_pattern` knows more.

    Parameters
    ----------
    predicted :
        Positions of the classes that the models predict for the labelled rows, shape (model, row).
    truth :
        Position of the true class of each, shape (row,); -1 where unknown, and the row counts as unlabelled.
    pool :
        The same for unlabelled rows, shape (model, row); without them the labelled rows' own patterns serve.
    prior :
        Imaginary rows of a pair, a finite number above 0.
    draws, seed :
        Draws behind P(best), at least one; fewer than asked, but 1,000, for many thousands of cells.
    level :
        Of design effects.
    clusters :
        Keys of rows that depend on each other, uint64, shape (row,) as ``truth``. Labels of a pair then count by its
        design effect, as many as independent ones that make its paired difference as uncertain (`inference.clusters`).

    Raises `UsageError` for fewer than two models, other shapes, or a prior, draws or a seed that are none, `InputError`
    for no classes.
    Source: Rubin (1981) for Dirichlet weights of rows, whose sums they are.

    >>> found = posterior([[1, 1, 0], [1, 0, 0]], [1, 1, 0])  # one disagreement, won by the first
    >>> round(float(found.p_better[0, 1]), 4)
    0.6562
    """
    from scipy.special import betainc

    level, seed = check_level(level), check_seed(seed)
    if isinstance(prior, bool | str) or not 0 < prior < np.inf:
        raise UsageError(f"expected a finite prior above 0, got {prior!r}")
    if not is_whole(draws, 1):
        raise UsageError(f"expected a whole number of draws from 1 on, got {draws!r}")
    asked = checked_classes(predicted, "predictions")
    known = checked_truth(truth, asked.shape[1])
    rest = asked[:, :0] if pool is None else checked_classes(pool, "predictions on the pool", len(asked))
    everything = np.concatenate([asked, rest], axis=1)
    if not everything.size:
        raise InputError("at least one row", got="none", remedy="give labelled rows, a pool or both")
    labelled, true = asked[:, known >= 0], known[known >= 0]
    patterns = patterns_of(everything)
    right, weight = _cells(patterns, labelled, true, prior)
    hit = labelled == true
    wins = hit.astype(np.int64) @ ~hit.T
    before = (right * weight[0]) @ ~right.T
    worth = np.ones(wins.shape)
    if clusters is not None:
        keys = clusters[known >= 0]
        for a, b in zip(*np.nonzero(wins + wins.T), strict=True):
            worth[a, b] = 1 / Clusters.of(keys, (1.0 + hit[a] - hit[b]) / 2).effect(level)
    apart = wins + wins.T > 0
    mean_worth = float(worth[apart].mean()) if apart.any() else 1.0
    weight[1] *= mean_worth
    if wins.any():
        p_best = _p_best(right, weight.sum(axis=0), patterns, draws, seed)
    else:  # one share for each model that differs from the others; models that never differ divide theirs
        members = (patterns.pairs == 0).sum(axis=1)
        p_best = np.asarray(1 / members / (1 / members).sum())
    # P(Beta(s + w_ab, s + w_ba) > 1/2); 1/2 where two models never differ
    ever = patterns.pairs > 0
    side = np.where(ever, (before + before.T) / 2, 1.0)
    won = np.where(ever, wins * worth, 0.0)
    p_better = np.where(ever, betainc(side + won.T, side + won, 0.5), 0.5)
    hits = hit.sum(axis=1)
    mean_better = p_better.sum(axis=1)
    return Posterior(
        models=tuple(f"m{i + 1}" for i in range(len(asked))),
        order=tuple(sorted(range(len(asked)), key=lambda i: (-hits[i], -mean_better[i], i))),
        p_best=p_best,
        p_better=p_better,
        wins=wins,
        prior=(before + before.T) / 2,
        disagreement=patterns.pairs / patterns.rows,
        labels=len(true),
        pool=patterns.rows - len(true),
        neither=disagreements(labelled) - wins - wins.T,
        classes=len(np.union1d(everything, true)),
        worth=mean_worth,
    )


def checked_truth(truth: object, rows: int) -> Array:
    """True classes, shape (row,); `UsageError` for another shape or for no positions of classes."""
    known = np.asarray(truth)
    if known.shape != (rows,) or (known.size and known.dtype.kind not in "iu"):
        raise UsageError(f"expected the true class of each of {rows} rows, got {known.dtype} of shape {known.shape}")
    return known


def _cells(patterns: Patterns, labelled: Array, true: Array, prior: float) -> tuple[Array, Array]:
    """Whether each model is right in each cell, (model, cell), and the cells' prior weights and labels, (2, cell)."""
    of = patterns.predicted
    ranked = np.sort(of, axis=1)
    there = np.ones(of.shape, dtype=bool)  # the first of each class that is predicted: there may be a thousand classes
    there[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    pattern, at = np.nonzero(there)
    label = ranked[pattern, at]
    least = np.full(len(of), np.inf)  # disagreements of the pair that disagrees least often, of those that do here
    for a in range(of.shape[1]):
        for b in range(a):
            least = np.where(of[:, a] != of[:, b], np.minimum(least, patterns.pairs[a, b]), least)
    weight = np.zeros((2, len(pattern)))
    weight[0] = (prior * patterns.counts / least / 2)[pattern]
    place = {(row.tobytes(), int(c)): i for i, (row, c) in enumerate(zip(of[pattern], label, strict=True))}
    for row, c in zip(np.ascontiguousarray(labelled.T), true, strict=True):
        found = place.get((row.tobytes(), int(c)))
        if found is not None:  # a label that no model predicts is right for none and tells nothing
            weight[1, found] += 1
    return (of[pattern] == label[:, None]).T, weight


def _p_best(right: Array, weight: Array, patterns: Patterns, draws: int, seed: int) -> Array:
    """Share of draws in which each model has the largest weight of right cells; equal models share."""
    models = len(right)
    # models that never differ are one model, whose share they divide: rounding must not part them
    same = patterns.pairs == 0
    first = same.argmax(axis=1)
    members = same.sum(axis=1)
    rng = np.random.default_rng([seed, 0xBE57])
    total = np.zeros(models)
    # only which models are right matters, and sums of gamma numbers are gamma numbers: such cells are one
    kinds, of = np.unique(right.T, axis=0, return_inverse=True)
    weight = np.bincount(of.ravel(), weight)
    draws = min(draws, max(_LEAST, _IN_ALL // len(kinds)))
    step = max(1, _AT_ONCE // len(kinds))
    for start in range(0, draws, step):
        drawn = rng.standard_gamma(weight, (min(step, draws - start), len(weight)))
        score = (drawn @ kinds.astype(np.float64))[:, np.unique(first)]
        # tiny priors draw weights of 0: a tie, which goes to no model in particular
        top = score == score.max(axis=1, keepdims=True)
        total[np.unique(first)] += (top / top.sum(axis=1, keepdims=True)).sum(axis=0)
    return np.asarray(total[first] / draws / members)
