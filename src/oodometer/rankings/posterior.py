"""Posterior: how likely each model is the best, and better than each other one, from a few labels and a pool."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from ..inference.clusters import Clusters
from ..intervals import check_level
from ..options import check_seed, is_whole
from ..results.ranking import Settling


def disagreements(predicted: Array) -> Array:
    """Rows on which each two models predict another class: int64, shape (model, model); predicted (model, row)."""
    return np.stack([(predicted != codes).sum(axis=1) for codes in predicted])


def checked_classes(predicted: object, name: str, models: int | None = None) -> Array:
    """Predicted classes as int64, shape (model, row); `UsageError` for another shape, `InputError` for no classes."""
    classes = np.asarray(predicted)
    if (
        classes.ndim != 2
        or (models is not None and len(classes) != models)
        or (models is None and len(classes) < 2)
    ):
        expected_count = "at least two models" if models is None else f"{models} models"
        raise UsageError(
            f"expected {name} of {expected_count}, shape (model, row), got shape {classes.shape}"
        )
    if classes.size and (classes.dtype.kind not in "iu" or classes.min() < 0):
        raise InputError(
            f"positions of classes as {name}",
            got=str(classes.dtype),
            remedy="code the classes from 0 on",
        )
    return classes.astype(np.int64)


PRIOR = 6.0  # imaginary rows for each pair of models; 2 are a uniform prior, too bold (benchmarks/rank_suites.py)
_DRAWS = 10_000
_AT_ONCE = 4_000_000  # gamma numbers that are drawn at once
_IN_ALL = (
    40_000_000  # beyond which there are fewer draws, though not fewer than _LEAST: some seconds
)
_LEAST = 1000


@final
@dataclass(frozen=True, eq=False)
class Posterior:
    """What a few labelled rows and a pool say about the order of models.

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
    draws : accuracies on all rows up to what is common to all models, drawn from the posterior, shape (draw, model).
    by_labels : P(best) that labels alone give, shape (model,), where other evidence counts too; else empty.
    as_said : P(best) of the leader before it was held against what came true; None where that changed nothing.
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
    draws: Array = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    by_labels: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    as_said: float | None = None

    @property
    def leaders(self) -> tuple[int, int]:
        """Positions of the model that is most likely the best and of the next."""
        return self.order[0], self.order[1]

    def cost(self, model: int, level: float = 0.9) -> tuple[float, float]:
        """What picking a model costs in accuracy against the best one: the mean over the draws, and their quantile."""
        cost = self.draws.max(axis=1) - self.draws[:, model]
        return float(cost.mean()), float(np.quantile(cost, level))

    def not_excluded(self, level: float = 0.95) -> tuple[int, ...]:
        """The fewest models that hold the best one with this probability, the likeliest first."""
        likeliest = sorted(range(len(self.models)), key=lambda i: -self.p_best[i])
        return tuple(
            likeliest[: int(np.searchsorted(np.cumsum(self.p_best[likeliest]), level - 1e-9)) + 1]
        )


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

    predicted : Positions of the classes that the models predict for the labelled rows, shape (model, row).
    truth : Position of the true class of each, shape (row,); -1 where unknown, and the row counts as unlabelled.
    pool : The same for unlabelled rows, shape (model, row); without them the labelled rows' own patterns serve.
    prior : Imaginary rows of a pair, a finite number above 0.
    draws, seed : Draws behind P(best), at least one; fewer than asked, but 1,000, for many thousands of cells.
    level : Of design effects.
    clusters : Keys of rows that depend on each other, uint64, shape (row,) as ``truth``. Labels of a pair then count by
        its design effect, as many as independent ones that make its paired difference as uncertain
        (`inference.clusters`).

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
    classes = checked_classes(predicted, "predictions")
    known_truth = checked_truth(truth, classes.shape[1])
    rest = (
        classes[:, :0]
        if pool is None
        else checked_classes(pool, "predictions on the pool", len(classes))
    )
    everything = np.concatenate([classes, rest], axis=1)
    if not everything.size:
        raise InputError(
            "at least one row", got="none", remedy="give labelled rows, a pool or both"
        )
    labelled, true = classes[:, known_truth >= 0], known_truth[known_truth >= 0]
    # the distinct ways in which models disagree about a row; rows on which all agree are left out
    parted = everything[:, (everything != everything[0]).any(axis=0)]
    patterns, counts = np.unique(parted.T, axis=0, return_counts=True)
    # rows on which two models differ, and all
    pairs, rows = (
        disagreements(everything),
        everything.shape[1],
    )
    right, weight = _cells(patterns, counts, pairs, labelled, true, prior)
    hit = labelled == true
    wins = hit.astype(np.int64) @ ~hit.T
    before = (right * weight[0]) @ ~right.T
    worth = np.ones(wins.shape)
    if clusters is not None:
        keys = clusters[known_truth >= 0]
        for a, b in zip(*np.nonzero(wins + wins.T), strict=True):
            worth[a, b] = 1 / Clusters.of(keys, (1.0 + hit[a] - hit[b]) / 2).effect(level)
    differ = wins + wins.T > 0
    mean_worth = float(worth[differ].mean()) if differ.any() else 1.0
    weight[1] *= mean_worth
    # share of draws in which each model has the largest weight of right cells; models that never differ are one model,
    # whose share they divide: rounding must not part them
    weight = weight.sum(axis=0)
    same = pairs == 0
    first, members = same.argmax(axis=1), same.sum(axis=1)
    rng = np.random.default_rng([seed, 0xBE57])
    # only which models are right matters, and sums of gamma numbers are gamma numbers: such cells are one
    kinds, of = np.unique(right.T, axis=0, return_inverse=True)
    weight = np.bincount(of.ravel(), weight, len(kinds))
    draws = min(draws, max(_LEAST, _IN_ALL // max(len(kinds), 1)))
    step = max(1, _AT_ONCE // max(len(kinds), 1))
    scores = np.zeros((draws, len(classes)))
    for start in range(0, draws, step):
        sampled = rng.standard_gamma(weight, (min(step, draws - start), len(weight)))
        scores[start : start + step] = (sampled @ kinds.astype(np.float64))[:, first]
        scores[start : start + step] /= np.maximum(sampled.sum(axis=1, keepdims=True), 1e-300)
    if wins.any():  # tiny priors draw weights of 0: a tie, which goes to no model in particular
        alone = np.unique(first)
        top = scores[:, alone] == scores.max(axis=1, keepdims=True)
        total = np.zeros(len(classes))
        total[alone] = (top / top.sum(axis=1, keepdims=True)).mean(axis=0)
        p_best = np.asarray(total[first] / members)
    else:  # one share for each model that differs from the others; models that never differ divide theirs
        p_best = np.asarray(1 / members / (1 / members).sum())
    # P(Beta(s + w_ab, s + w_ba) > 1/2); 1/2 where two models never differ
    ever = pairs > 0
    side = np.where(ever, (before + before.T) / 2, 1.0)
    won = np.where(ever, wins * worth, 0.0)
    p_better = np.where(ever, betainc(side + won.T, side + won, 0.5), 0.5)
    hits = hit.sum(axis=1)
    mean_better = p_better.sum(axis=1)
    return Posterior(
        models=tuple(f"m{i + 1}" for i in range(len(classes))),
        order=tuple(sorted(range(len(classes)), key=lambda i: (-hits[i], -mean_better[i], i))),
        p_best=p_best,
        p_better=p_better,
        wins=wins,
        prior=(before + before.T) / 2,
        disagreement=pairs / rows,
        labels=len(true),
        pool=rows - len(true),
        neither=disagreements(labelled) - wins - wins.T,
        classes=len(np.union1d(everything, true)),
        worth=mean_worth,
        draws=scores * (parted.shape[1] / rows),
    )


def checked_truth(truth: object, rows: int) -> Array:
    """True classes, shape (row,); `UsageError` for another shape or for no positions of classes."""
    labels = np.asarray(truth)
    if labels.shape != (rows,) or (labels.size and labels.dtype.kind not in "iu"):
        raise UsageError(
            f"expected the true class of each of {rows} rows, got {labels.dtype} of shape {labels.shape}"
        )
    return labels


def _cells(
    of: Array, counts: Array, pairs: Array, labelled: Array, true: Array, prior: float
) -> tuple[Array, Array]:
    """Whether each model is right in each cell, (model, cell), and the cells' prior weights and labels, (2, cell)."""
    ranked = np.sort(of, axis=1)
    # the first of each class that is predicted: there may be a thousand classes
    is_first = np.ones(of.shape, dtype=bool)
    is_first[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    pattern, at = np.nonzero(is_first)
    label = ranked[pattern, at]
    # disagreements of the pair that disagrees least often, of those that do here
    fewest = np.full(len(of), np.inf)
    for a in range(of.shape[1]):
        for b in range(a):
            fewest = np.where(of[:, a] != of[:, b], np.minimum(fewest, pairs[a, b]), fewest)
    weight = np.zeros((2, len(pattern)))
    weight[0] = (prior * counts / fewest / 2)[pattern]
    cell_of = {
        (row.tobytes(), int(c)): i
        for i, (row, c) in enumerate(zip(of[pattern], label, strict=True))
    }
    for row, c in zip(np.ascontiguousarray(labelled.T), true, strict=True):
        cell = cell_of.get((row.tobytes(), int(c)))
        if cell is not None:  # a label that no model predicts is right for none and tells nothing
            weight[1, cell] += 1
    return (of[pattern] == label[:, None]).T, weight


_PATHS = 2000
_MOST = 2000  # further rows that only one of the two gets right, which are looked ahead


def labels_to_settle(
    result: Posterior, level: float = 0.95, *, pair: tuple[int, int] | None = None, seed: int = 0
) -> Settling:
    """How many more labels would make P(a beats b), or P(b beats a), exceed a level.

    2,000 futures are drawn: q, the share of disagreements that a wins, from Beta(s + w_ab, s + w_ba) (as in
    `posterior`; imaginary wins of one side are added until it gives P(a beats b), where other models told of it), then
    wins one by one until Beta's tail passes the level after T rows on which one of them is right.
    With two classes every disagreement is such a row; with more, both may be wrong, and the share that decides is drawn
    from r ~ Beta(1 + w_ab + w_ba, 1 + labelled disagreements without a winner). That takes T + NegativeBinomial(T, r)
    disagreements, and T + NegativeBinomial(T, d r) random rows, d the share of rows on which the models disagree.

    result : The posterior.
    level : Between 0.5 and 1.
    pair : Positions of two models; by default the two that are most likely the best.
    seed : Of the futures.

    Raises `UsageError` for a level of at most 0.5, a pair that is none and a seed that is none.

    >>> from .posterior import posterior
    >>> two = posterior([[1] * 10 + [0] * 6, [1] * 16], [1] * 10 + [0] * 6)  # six disagreements, all won
    >>> now = labels_to_settle(two)
    >>> round(now.p_better, 3), now.labels
    (0.967, 0)
    """
    if check_level(level) <= 0.5:
        raise UsageError(f"expected a level above 0.5 such as 0.95, got {level}")
    seed = check_seed(seed)
    a, b = result.leaders if pair is None else pair
    if a == b or not {a, b} <= set(range(len(result.models))):
        raise UsageError(
            f"expected the positions of two of {len(result.models)} models, got {a} and {b}"
        )
    rate, p = float(result.disagreement[a, b]), float(result.p_better[a, b])
    names = (result.models[a], result.models[b])
    if rate == 0:
        why = "the two models never differ on these rows: no label of them would tell"
        return Settling(*names, p, level, None, why=why)
    wins, losses = int(result.wins[a, b]), int(result.wins[b, a])
    if max(p, 1 - p) >= level:
        return Settling(*names, p, level, 0, 0, 0, 0)
    rng = np.random.default_rng([seed, 0x5E7])
    side = float(result.prior[a, b])
    from scipy.special import betainc, btdtria, btdtrib

    for_a, for_b = side + wins, side + losses
    if betainc(for_b, for_a, 0.5) < p:
        for_a = max(for_a, float(btdtrib(for_b, p, 0.5)))
    else:
        for_b = max(for_b, float(btdtria(p, for_a, 0.5)))
    needed = _rows_to_settle(for_a, for_b, level, rng)
    decides = np.ones(_PATHS)
    if result.classes > 2:
        decides = rng.beta(1 + wins + losses, 1 + int(result.neither[a, b]), _PATHS)
    chosen, rows = np.full((2, _PATHS), np.inf)  # until as many have come as are needed
    settled = np.isfinite(needed)
    steps = needed[settled].astype(np.int64)
    for until, each in ((chosen, decides), (rows, rate * decides)):
        # numpy's largest mean is below 1e18
        until[settled] = steps + rng.negative_binomial(steps, np.clip(each[settled], 1e-9, 1.0))
    ends = [np.quantile(rows, q, method="higher") for q in (0.1, 0.5, 0.9)]
    ends.append(np.quantile(chosen, 0.5, method="higher"))
    low, middle, high, few = (int(end) if math.isfinite(end) else None for end in ends)
    ahead = int(_MOST / (rate * np.median(decides)))
    beyond = (
        "" if middle is not None else f"more than {ahead} labels in at least half of all futures"
    )
    return Settling(*names, p, level, middle, low, high, few, beyond)


def _rows_to_settle(for_a: float, for_b: float, level: float, rng: np.random.Generator) -> Array:
    """Further decisive rows after which each future is settled, infinite beyond `_MOST`, shape (future,)."""
    share = rng.beta(for_a, for_b, _PATHS)
    needed = np.full(_PATHS, np.inf)
    won = np.zeros(_PATHS, dtype=np.int64)
    enough_a, enough_b = _bounds(for_a, for_b, level), _bounds(for_b, for_a, level)
    alive = np.arange(_PATHS)
    for step in range(1, _MOST + 1):
        won[alive] += rng.random(len(alive)) < share[alive]
        done = (won[alive] >= enough_a[step]) | (step - won[alive] >= enough_b[step])
        needed[alive[done]] = step
        alive = alive[~done]
        if not len(alive):
            break
    return needed


def safe_to_stop(wins: Any, first: int, level: float = 0.95) -> tuple[bool, float, float]:
    """Whether labels alone show a model to be the best, however often one looked: (it is so, e-value, needed).

    Against each other model b the e-value is that of a gambler who mixes all bets, with w rows on which only ``first``
    is right and l on which only b is: E = 2 int_1/2^1 (2q)^w (2 - 2q)^l dq. If b is at least as accurate, E is below a
    test martingale over random rows, which ever reaches 1/alpha with probability alpha at most (Ville's inequality).
    The smallest E over the M - 1 others is to reach (M - 1) / (1 - level), as the leader may change between looks.

    wins : Random labelled rows on which a is right and b is wrong, shape (model, model), of models that differ.

    Source: Robbins (1970) for the mixture, Ramdas et al. (2023) for the test.

    >>> safe_to_stop([[0, 10], [0, 0]], 0)[0], safe_to_stop([[0, 6], [2, 0]], 0)[0]
    (True, False)
    """
    from scipy.special import betainc, betaln

    rivals = np.delete(np.arange(len(wins)), first)
    won, lost = np.asarray(wins)[first, rivals], np.asarray(wins)[rivals, first]
    log = (won + lost + 1) * math.log(2) + betaln(won + 1, lost + 1)
    smallest = float((np.exp(log) * betainc(lost + 1, won + 1, 0.5)).min())
    needed = len(rivals) / (1 - check_level(level))
    return smallest >= needed, smallest, needed


def rows_to_label(pool: Any, p_best: Any, count: int, *, seed: int = 0) -> Array:
    """Positions of the pool's rows whose labels tell most about which model is best, at most ``count``, best first.

    The contenders are the models of at least half the largest P(best), and two in any case. Rows on which they do not
    all predict the same class come first, at random among themselves: each way in which contenders part comes as often
    as in the pool. Then rows on which others with a chance part; all other rows are left out. Labels of such rows
    decide between models and say nothing about their accuracy, as they are not drawn at random.

    pool : Positions of predicted classes, shape (model, row).
    p_best : Of each model, as `Posterior` has it.
    count : At least 1.
    seed : Of the order of equal rows.

    Raises `UsageError` for a count that is no whole number from 1 on, other models, or weights that are none.

    >>> rows_to_label([[0, 1, 1], [0, 0, 1], [0, 0, 0]], [0.6, 0.3, 0.1], 5).tolist()
    [1, 2]
    """
    weight = np.asarray(p_best, dtype=np.float64)
    if not is_whole(count, 1):
        raise UsageError(f"expected at least one row to label, a whole number, got {count!r}")
    if weight.ndim != 1 or not np.isfinite(weight).all():
        raise UsageError("expected P(best) of each model, finite numbers of shape (model,)")
    seed = check_seed(seed)
    classes = checked_classes(pool, "predictions on the pool", len(weight))
    threshold = min(_CONTENDS * weight.max(), np.sort(weight)[-2])
    value = np.zeros(classes.shape[1], dtype=np.int64)
    for who in (weight >= threshold) & (weight > 0), weight > 0:
        value += (classes[who] != classes[who][:1]).any(axis=0)
    chance = np.random.default_rng([seed, 0x1AB]).random(len(value))
    order = np.lexsort((chance, -value))
    return np.asarray(order[value[order] > 0][:count])


_CONTENDS = 0.5  # of the largest P(best), from which on a model is a contender


def _bounds(mine: float, theirs: float, level: float) -> Array:
    """The fewest wins among so many further rows with P(Beta > 1/2) >= level, for each number of rows from 0 on."""
    from scipy.special import betainc

    total = np.arange(_MOST + 1)
    low, high = np.zeros_like(total), total + 1  # more than all: not to be reached
    for _ in range(math.ceil(math.log2(_MOST + 2)) + 1):
        middle = (low + high) // 2
        enough = betainc(theirs + total - np.minimum(middle, total), mine + middle, 0.5) >= level
        enough &= middle <= total
        open_ = low < high
        high = np.where(open_ & (enough | (middle > total)), middle, high)
        low = np.where(open_ & ~enough & (middle <= total), middle + 1, low)
    return np.asarray(low)


# What is expected of accuracies beforehand, in shares of rows: fitted to the true accuracies of suites of known order,
# each source of one weight, and rounded; thirds, as which regime comes how often is not known. What is otherwise with
# very many classes (accuracy is on a line with that on the reference) and the power of the probabilities are by what
# came true there. benchmarks/rank_suites.py --constants has others, whole sources left out.
_REGIMES = (  # how likely; slopes (agreement, reference), those with very many classes, deviations; size of the rest
    (1 / 3, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), 0.4),  # nothing tells
    (1 / 3, (0.35, 0.35), (0.35, 1.0), (0.1, 0.3), 0.45),  # both tell
    (1 / 3, (0.5, 0.1), (0.5, 0.1), (0.4, 0.15), 1.2),  # agreement tells, more or less
)
_POWER = 4  # of the directions in which models disagree: accuracies part along the first of them
_FLOOR = 0.002  # of differences of accuracy that no direction explains
_MANY = 0.1  # of slopes' deviations and sizes with very many classes, where models that are wrong seldom agree
_TIED = 12.0  # imaginary rows that tie a pattern to the accuracies; beyond them it goes by its own labels
_OWN = 0.02  # standard deviation of a model's accuracy about what the class posterior says, beside its covariance
_READ_TWICE = 0.5  # of a label that the class posterior has read
_SHARP = 2.0  # precision of the order of very many models against what the sum of evidence says; 1 of two
_BEST = 0.8  # power of the shares of P(best) of two classes, going to 1 with very many: others may be as good
_WIDE = 2.5  # variance of differences that the costs are of: how large they are is less sure than which way they go
_PATTERN_DRAWS = 4000


def posterior_by_pattern(
    plain: Posterior,
    predicted: Any,
    truth: Any,
    pool: Any = None,
    *,
    reference: Any = None,
    classes: Sequence[tuple[Array, Array]] = (),
    chosen: Any = None,
    seed: int = 0,
) -> Posterior:
    """The posterior of models with a pool or chosen rows; the order is by expected accuracy.

    A pattern k says which models say the same of a row, whatever they say. It is a share pi_k of all rows, and on a row
    of it the models that are right, less their mean, have the second moment S_k: the average of (1_g - mean)(1_g -
    mean)' over its groups g of models that say the same, one of which is right (or none, where other classes are left).
    G = sum_k pi_k S_k says in which directions accuracies can differ at all. Accuracies less their mean, and those
    within the pattern, are

        alpha = sum_k pi_k m_k,   m_k = S_k G^-1 gamma + delta_k,   delta_k ~ N(0, S_k / 12),

    12 rows being what ties a pattern to the others, and gamma is beforehand one of three regimes

        gamma ~ N(X b, s^2 t (G / t)^4 + 0.002^2),   t = trace G,

    X the agreement of each model with the others in the pool (mean share of rows) and its accuracy on the reference, b
    their slopes, normal: nothing tells (b = 0), both tell, or agreement tells; of K classes s, the deviations of b and
    the chances of the first and the last are 0.1 + 0.9 (2 / K) of those of two, and the slope on the reference goes to
    1 (Miller et al. 2021). By the power 4 models part along the first axes of their disagreement, which orders graded
    models up to its sign, which labels tell. n_k labels of a pattern have mean m_k and variance S_k / n_k, so all of it
    is normal, in closed form, and regimes weigh by what they said of the labels: evidence that disagrees with the
    labels counts less, and many labels decide alone. What is not there (no reference) drops out.

    What `class_posterior` says of the accuracies is a second witness, normal with its covariance and 0.02^2 for each
    model: without a reference in the regime in which nothing tells, else with it. A label that both read counts one
    half here. By what came true the way that differences go is surer than that, and their size less sure: of M models,
    precisions are multiplied by 2 - 2 / M for the probabilities, divided by 2.5 for the costs. P(a beats b) is exact,
    P(best) and the costs are of 4,000 draws, shares of P(best) raised to 0.8 (of two classes, to 1 of very many).

    Rows that are chosen by disagreement are counted within their pattern, in which such a choice is random. Of three
    models, rows on which one stands against two are worth most and are chosen first; there the one is wrong more often
    than where it differs from one alone, and counting their labels as those of random rows turns orders round.

    Without a label the same holds, with regimes as likely as they are beforehand. Of two models without
    ``classes`` ``plain`` is returned where there is a label or no reference: they differ in one pattern alone, in which
    all their disagreements are alike (and the rule above is too bold there).

    What is assumed: rows were drawn at random, or chosen by which models agree on them and at random among rows that
    are alike in this; and the prior above. Measured on public and made suites (benchmarks/results/rank_suites.md).

    plain : What `posterior` gave for the same rows; its counts and intervals are kept.
    predicted, truth, pool : As there; all rows together are a random sample, as the pool that rows were chosen from is
        one.
    reference : Accuracy of each model on known ground, shape (model,), or None.
    classes : (mean, covariance) of `class_posterior` without a reference, and with one where there is one.
    chosen : Whether a labelled row was chosen and `class_posterior` has not read it, shape (row,); None: none was.
    seed : Of the draws.

    Raises `UsageError` and `InputError` as `posterior` does, and `UsageError` for a reference of other models.

    >>> from .posterior import posterior
    >>> says = [[1] * 12, [0] * 8 + [1, 0] * 2, [0] * 8 + [0, 1] * 2]  # eight rows on which the first stands alone
    >>> true = [1] * 3 + [0] * 5 + [1] * 4  # there it is right in three; elsewhere always
    >>> pool = [[1] * 230, [0] * 30 + [1, 0] * 100, [0] * 30 + [0, 1] * 100]  # where it seldom stands alone
    >>> plain = posterior(says, true, pool)
    >>> careful = posterior_by_pattern(plain, says, true, pool)
    >>> bool(careful.p_better[0, 1] > plain.p_better[0, 1] + 0.05)
    True
    """
    from scipy.special import ndtr

    seed = check_seed(seed)
    of_models = checked_classes(predicted, "predictions", len(plain.models))
    known_truth = checked_truth(truth, of_models.shape[1])
    is_labelled = known_truth >= 0
    rest = (
        of_models[:, :0]
        if pool is None
        else checked_classes(pool, "predictions on the pool", len(of_models))
    )
    everything = np.concatenate(
        [of_models[:, is_labelled], of_models[:, ~is_labelled], rest], axis=1
    )
    reference_accuracy = (
        np.zeros(len(of_models)) if reference is None else np.asarray(reference, dtype=np.float64)
    )
    if reference_accuracy.shape != (len(of_models),) or not np.isfinite(reference_accuracy).all():
        count = len(of_models)
        raise UsageError(
            f"expected the accuracy of each of {count} models on the reference, got {reference!r}"
        )
    same = plain.disagreement == 0
    first = same.argmax(axis=1)  # models that never differ are one, whose share they divide
    alone = np.unique(first)
    prior_alone = not classes and (is_labelled.any() or reference is None)
    if len(alone) < 2 + prior_alone:
        return plain
    predicted, true = everything[alone], known_truth[is_labelled]
    models, rows = predicted.shape
    # a group is known by the first model in it; which models share one, less the mean over the models
    groups = np.stack([(predicted == codes).argmax(axis=0) for codes in predicted])
    patterns, which, counts = np.unique(groups.T, axis=0, return_inverse=True, return_counts=True)
    number = (patterns == np.arange(models)).sum(axis=1)
    number += number < len(np.union1d(predicted, true))
    centred = np.eye(models) - 1 / models
    share = counts / rows
    moments = (
        centred @ (patterns[:, :, None] == patterns[:, None]) @ centred / number[:, None, None]
    )
    size, axes = np.linalg.eigh(np.tensordot(share, moments, 1))
    spanned = size > 1e-9 * size.max()
    # all that follows is in the directions in which models differ
    size, axes = (
        size[spanned],
        axes[:, spanned],
    )
    moments = np.swapaxes(axes, 0, 1) @ moments @ axes
    x = axes.T @ np.stack(
        [
            -plain.disagreement[np.ix_(alone, alone)].mean(axis=1) * models / (models - 1),
            reference_accuracy[alone],
        ],
        axis=1,
    )
    # labels: the mean over those of a pattern, and how many they are worth within and beside the others
    read = (
        np.full(len(true), bool(classes))
        if chosen is None
        else bool(classes) & ~np.asarray(chosen)[is_labelled]
    )
    counted = np.where(read, _READ_TWICE, 1.0)
    seen, at = np.unique(which.ravel()[: len(true)], return_inverse=True)
    of_pattern = np.bincount(at, counted)
    labels = of_pattern * plain.worth
    hits = np.zeros((len(seen), models))
    np.add.at(hits, at.ravel(), (predicted[:, : len(true)] == true).T * counted[:, None])
    hits = (hits / of_pattern[:, None]) @ axes
    worth, own_weight = labels * _TIED / (labels + _TIED), labels / (labels + _TIED) * share[seen]
    precision = np.tensordot(worth, moments[seen], 1) / np.outer(size, size)
    pull = worth @ hits / size
    # alpha = tie gamma + own hits + noise, whose variance labels of the pattern lower
    tie = (np.diag(size) - np.tensordot(own_weight, moments[seen], 1)) / size
    spread = share**2 / _TIED
    spread[seen] = share[seen] ** 2 / (_TIED + labels)
    noise = np.tensordot(spread, moments, 1)
    few = 2 / max(plain.classes, 2)
    open_ = _MANY + (1 - _MANY) * few
    weight, means, variances = [], [], []
    for index, (chance, slope, with_many, deviation, scale) in enumerate(_REGIMES):
        mean = x @ (few * np.array(slope) + (1 - few) * np.array(with_many))
        before = (
            scale**2 * np.diag(size.sum() * (size / size.sum()) ** _POWER)
            + (x * np.square(deviation)) @ x.T
        )
        inverse = np.linalg.inv(open_**2 * before + _FLOOR**2 * np.eye(len(size)))
        after = inverse + precision
        at_mean = np.linalg.solve(after, inverse @ mean + pull)
        fit = at_mean @ after @ at_mean - mean @ inverse @ mean
        fit += np.linalg.slogdet(inverse)[1] - np.linalg.slogdet(after)[1]
        mean, variance = (
            tie @ at_mean + own_weight @ hits,
            tie @ np.linalg.solve(after, tie.T) + noise,
        )
        if classes:
            says, covariance = classes[min(index, len(classes) - 1)]
            both = (
                variance
                + axes.T @ covariance[np.ix_(alone, alone)] @ axes
                + _OWN**2 * np.eye(len(size))
            )
            away = axes.T @ says[alone] - mean
            if len(true):  # without a label nothing weighs the regimes
                fit -= away @ np.linalg.solve(both, away) + np.linalg.slogdet(both)[1]
            mean = mean + variance @ np.linalg.solve(both, away)
            variance = variance - variance @ np.linalg.solve(both, variance)
        weight.append(math.log(chance * (open_ if slope[1] < 0.2 else 1)) + fit / 2)
        means.append(axes @ mean)
        variances.append(axes @ variance @ axes.T)
    weights = np.exp(np.array(weight) - max(weight))
    weights /= weights.sum()
    rng, sharp = np.random.default_rng([seed, 0xC405]), _SHARP - 2 * (_SHARP - 1) / models
    better, near, wide = np.zeros((models, models)), list[Array](), list[Array]()
    for part, mean, variance, repeats in zip(
        weights, means, variances, rng.multinomial(_PATTERN_DRAWS, weights), strict=True
    ):
        own_variance = np.diag(variance)
        difference_variance = own_variance[:, None] + own_variance - 2 * variance
        better += part * ndtr(
            (mean[:, None] - mean)
            * math.sqrt(sharp)
            / np.sqrt(np.maximum(difference_variance, 1e-12))
        )
        noise = rng.multivariate_normal(
            np.zeros(models), variance, repeats, method="eigh", check_valid="ignore"
        )
        near.append(mean + noise / math.sqrt(sharp))
        wide.append(mean + noise * math.sqrt(_WIDE))
    position = np.searchsorted(alone, first)
    p_better = better[np.ix_(position, position)]
    times = np.bincount(np.concatenate(near).argmax(axis=1), minlength=models) + 0.5  # never 0
    times **= 1 - (1 - _BEST) * few
    p_best = (times / times.sum())[position] / same.sum(axis=1)
    expected = (weights @ np.array(means))[position]
    order = tuple(
        sorted(range(len(of_models)), key=lambda i: (-expected[i].round(12), -p_best[i], i))
    )
    return replace(
        plain,
        order=order,
        p_best=p_best,
        p_better=p_better,
        draws=np.concatenate(wide)[:, position],
        by_labels=plain.p_best,
    )
