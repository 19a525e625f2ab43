"""Posterior: how likely each model is the best, and better than each other one, from a few labels and a pool."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from ..arrays import Array
from ..attributions.base import is_whole
from ..errors import InputError, UsageError
from ..inference.clusters import Clusters
from ..intervals import check_level
from ..options import check_seed
from ..results.ranking import Settling


def disagreements(predicted: Array) -> Array:
    """Rows on which each two models predict another class: int64, shape (model, model); predicted (model, row)."""
    return np.stack([(predicted != own).sum(axis=1) for own in predicted])


def checked_classes(predicted: object, name: str, models: int | None = None) -> Array:
    """Predicted classes as int64, shape (model, row); `UsageError` for another shape, `InputError` for no classes."""
    classes = np.asarray(predicted)
    if classes.ndim != 2 or (models is not None and len(classes) != models) or (models is None and len(classes) < 2):
        wanted = "at least two models" if models is None else f"{models} models"
        raise UsageError(f"expected {name} of {wanted}, shape (model, row), got shape {classes.shape}")
    if classes.size and (classes.dtype.kind not in "iu" or classes.min() < 0):
        raise InputError(f"positions of classes as {name}", got=str(classes.dtype), remedy="code the classes from 0 on")
    return classes.astype(np.int64)


PRIOR = 6.0  # imaginary rows for each pair of models; 2 are a uniform prior, too bold (benchmarks/rank_suites.py)
_DRAWS = 10_000
_AT_ONCE = 4_000_000  # gamma numbers that are drawn at once
_IN_ALL = 40_000_000  # beyond which there are fewer draws, though not fewer than _LEAST: some seconds
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
    rest = classes[:, :0] if pool is None else checked_classes(pool, "predictions on the pool", len(classes))
    everything = np.concatenate([classes, rest], axis=1)
    if not everything.size:
        raise InputError("at least one row", got="none", remedy="give labelled rows, a pool or both")
    labelled, true = classes[:, known_truth >= 0], known_truth[known_truth >= 0]
    # the distinct ways in which models disagree about a row; rows on which all agree are left out
    parted = everything[:, (everything != everything[0]).any(axis=0)]
    patterns, counts = np.unique(parted.T, axis=0, return_counts=True)
    pairs, rows = disagreements(everything), everything.shape[1]  # rows on which two models differ, and all
    right, weight = _cells(patterns, counts, pairs, labelled, true, prior)
    hit = labelled == true
    wins = hit.astype(np.int64) @ ~hit.T
    before = (right * weight[0]) @ ~right.T
    worth = np.ones(wins.shape)
    if clusters is not None:
        keys = clusters[known_truth >= 0]
        for a, b in zip(*np.nonzero(wins + wins.T), strict=True):
            worth[a, b] = 1 / Clusters.of(keys, (1.0 + hit[a] - hit[b]) / 2).effect(level)
    apart = wins + wins.T > 0
    mean_worth = float(worth[apart].mean()) if apart.any() else 1.0
    weight[1] *= mean_worth
    if wins.any():
        # share of draws in which each model has the largest weight of right cells; equal models share
        weight = weight.sum(axis=0)
        models = len(right)
        # models that never differ are one model, whose share they divide: rounding must not part them
        same = pairs == 0
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
        p_best = np.asarray(total[first] / draws / members)
    else:  # one share for each model that differs from the others; models that never differ divide theirs
        members = (pairs == 0).sum(axis=1)
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
    )


def checked_truth(truth: object, rows: int) -> Array:
    """True classes, shape (row,); `UsageError` for another shape or for no positions of classes."""
    labels = np.asarray(truth)
    if labels.shape != (rows,) or (labels.size and labels.dtype.kind not in "iu"):
        raise UsageError(f"expected the true class of each of {rows} rows, got {labels.dtype} of shape {labels.shape}")
    return labels


def _cells(of: Array, counts: Array, pairs: Array, labelled: Array, true: Array, prior: float) -> tuple[Array, Array]:
    """Whether each model is right in each cell, (model, cell), and the cells' prior weights and labels, (2, cell)."""
    ranked = np.sort(of, axis=1)
    there = np.ones(of.shape, dtype=bool)  # the first of each class that is predicted: there may be a thousand classes
    there[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    pattern, at = np.nonzero(there)
    label = ranked[pattern, at]
    least = np.full(len(of), np.inf)  # disagreements of the pair that disagrees least often, of those that do here
    for a in range(of.shape[1]):
        for b in range(a):
            least = np.where(of[:, a] != of[:, b], np.minimum(least, pairs[a, b]), least)
    weight = np.zeros((2, len(pattern)))
    weight[0] = (prior * counts / least / 2)[pattern]
    cell_of = {(row.tobytes(), int(c)): i for i, (row, c) in enumerate(zip(of[pattern], label, strict=True))}
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
        raise UsageError(f"expected the positions of two of {len(result.models)} models, got {a} and {b}")
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
    # further decisive rows that settle in each future, infinite beyond `_MOST`
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
    decides = np.ones(_PATHS)
    if result.classes > 2:
        decides = rng.beta(1 + wins + losses, 1 + int(result.neither[a, b]), _PATHS)
    chosen, rows = np.full((2, _PATHS), np.inf)  # until as many have come as are needed
    there = np.isfinite(needed)
    steps = needed[there].astype(np.int64)
    for until, each in ((chosen, decides), (rows, rate * decides)):  # numpy's largest mean is below 1e18
        until[there] = steps + rng.negative_binomial(steps, np.clip(each[there], 1e-9, 1.0))
    ends = [np.quantile(rows, q, method="higher") for q in (0.1, 0.5, 0.9)]
    ends.append(np.quantile(chosen, 0.5, method="higher"))
    low, middle, high, few = (int(end) if math.isfinite(end) else None for end in ends)
    ahead = int(_MOST / (rate * np.median(decides)))
    beyond = "" if middle is not None else f"more than {ahead} labels in at least half of all futures"
    return Settling(*names, p, level, middle, low, high, few, beyond)


def rows_to_label(pool: Any, p_best: Any, count: int, *, seed: int = 0) -> Array:
    """Positions of the pool's rows whose labels tell most about which model is best, at most ``count``, best first.

    Value of a row: sum over pairs of P(best)_a P(best)_b [a and b predict another class there]; rows of equal value in
    random order, rows without value left out. Labels of such rows decide between models and say nothing about their
    accuracy, as they are not drawn at random.

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
    value = np.zeros(classes.shape[1])
    for a in range(len(classes)):
        for b in range(a):
            value += weight[a] * weight[b] * (classes[a] != classes[b])
    chance = np.random.default_rng([seed, 0x1AB]).random(len(value))
    order = np.lexsort((chance, -np.round(value, 12)))
    return np.asarray(order[value[order] > 0][:count])


def _bounds(mine: float, other: float, level: float) -> Array:
    """The fewest wins among so many further rows with P(Beta > 1/2) >= level, for each number of rows from 0 on."""
    from scipy.special import betainc

    total = np.arange(_MOST + 1)
    low, high = np.zeros_like(total), total + 1  # more than all: not to be reached
    for _ in range(math.ceil(math.log2(_MOST + 2)) + 1):
        middle = (low + high) // 2
        enough = betainc(other + total - np.minimum(middle, total), mine + middle, 0.5) >= level
        enough &= middle <= total
        open_ = low < high
        high = np.where(open_ & (enough | (middle > total)), middle, high)
        low = np.where(open_ & ~enough & (middle <= total), middle + 1, low)
    return np.asarray(low)


# Standard deviations, in logs, and imaginary rows: chosen on suites of known order (benchmarks/rank_suites.py). Of two
# numbers the first is for two classes, the second for very many; with K classes the first counts 2 / K.
_OWN, _SCALE = (0.85, 0.3), 0.6  # of a strength, and of the log of that number: models may be nearly equal or far apart
_SHARED, _NONE = 0.3, 1.0  # of what all models share, and of the weight of "none is right"
_LEAN, _SLOPE = (0.1, 2.0), (0.3, 0.5)  # mean and deviation of the slope of strengths on agreement in the pool
_LEAST_OWN = 0.1  # of the mean disagreement: so much at least is a model's own
_TIED = 12.0  # imaginary rows that tie a pattern to the strengths; beyond them it goes by its own labels
_BOLD = (10.0, -4.0), 16  # P(best) to the power of 1 - 10 / (labels + 16): best ones are often nearly equal
_CHAINS = 1000
_WARM, _MORE = 12, 8  # steps on the way to the labels, and with them
_PATTERN_DRAWS = 4000
_PATTERN_AT_ONCE = 2_000_000  # gamma numbers that are drawn at once
_PATTERN_IN_ALL = 20_000_000  # beyond which there are fewer draws, though not fewer than _PATTERN_LEAST
_PATTERN_LEAST = 400


def posterior_by_pattern(plain: Posterior, predicted: Any, truth: Any, pool: Any = None, *, seed: int = 0) -> Posterior:
    """The posterior of three models or more, random rows or chosen ones; the order is by the mean of P(better).

    A pattern k says which models say the same of a row, whatever they say: it splits the models into groups g. Then

        accuracy_a - accuracy_b = sum_k pi_k (theta_k,g(a) - theta_k,g(b)),

    pi_k the share of the pattern among all rows, ~ Dirichlet(rows of the pattern), and theta_k the chances that each
    group is right, or none of them, ~ Dirichlet(c q_k + labels). Patterns learn from each other through the strengths
    e_m of the models:

        q_k,g proportional to prod_(m in g) e_m,   q_k,none proportional to e_0 (0 where a pattern has all classes).

    That is exact with c infinite where models err independently and wrong classes are equally likely, e_m being the
    odds that m is right times the number of wrong classes; c = 12 rows lets every pattern depart from it. Beforehand

        log e_m = s z_m + 0.3 z + b (x_m - mean x),   x_m = -log own_m,

    z standard normal, log s normal around log 0.85 with 0.6, and own_m what model m disagrees on its own account: of
    own_a + own_b = share of rows on which a and b differ, the least squares solution. So agreement in the pool counts,
    as much as the labels let it: b is normal, 0.1 with deviation 0.3 for two classes, where models that are wrong
    always agree; 2 with 0.5 for very many (and s around log 0.3), where they seldom do, and who agrees is mostly right;
    with K classes the first counts 2/K, the second 1 - 2/K. log e_0 is standard normal. Strengths are drawn by
    elliptical slice sampling (1,000 chains that are led to the labels in 20 steps); probabilities are shares of up to
    4,000 draws. The best of several models of two classes are often nearly equal, which the prior does not know, those
    of many are farther apart than it thinks: P(best) is proportional to share^t, t = 1 - (10 2/K - 4 (1 - 2/K)) /
    (n + 16) with n labels.

    Rows that are chosen by disagreement are counted within their pattern, in which such a choice is random. Of three
    models, rows on which one stands against two are worth most and are chosen first; there the one is wrong more often
    than where it differs from one alone, and counting their labels as those of random rows turns orders round.

    Two models differ in one pattern alone, in which all their disagreements are alike: ``plain`` is returned as it is,
    and also without a label.

    What is assumed: rows were drawn at random, or chosen by which models agree on them and at random among rows that
    are alike in this; and the prior above. Measured on public and made suites (benchmarks/results/rank_suites.md).

    plain : What `posterior` gave for the same rows; its counts and intervals are kept.
    predicted, truth, pool : As there; all rows together are a random sample, as the pool that rows were chosen from is
        one.
    seed : Of the draws.

    Raises `UsageError` and `InputError` as `posterior` does. Source: Murray, Adams and MacKay (2010) for elliptical
    slice sampling.

    >>> from .posterior import posterior
    >>> says = [[1] * 12, [0] * 8 + [1, 0] * 2, [0] * 8 + [0, 1] * 2]  # eight rows on which the first stands alone
    >>> true = [1] * 3 + [0] * 5 + [1] * 4  # there it is right in three; elsewhere always
    >>> pool = [[1] * 230, [0] * 30 + [1, 0] * 100, [0] * 30 + [0, 1] * 100]  # where it seldom stands alone
    >>> plain = posterior(says, true, pool)
    >>> careful = posterior_by_pattern(plain, says, true, pool)
    >>> bool(careful.p_better[0, 1] > plain.p_better[0, 1] + 0.05)
    True
    """
    seed = check_seed(seed)
    classes = checked_classes(predicted, "predictions", len(plain.models))
    known_truth = checked_truth(truth, classes.shape[1])
    rest = classes[:, :0] if pool is None else checked_classes(pool, "predictions on the pool", len(classes))
    everything = np.concatenate([classes[:, known_truth >= 0], classes[:, known_truth < 0], rest], axis=1)
    same = plain.disagreement == 0
    first = same.argmax(axis=1)  # models that never differ are one, whose share they divide
    alone = np.unique(first)
    if len(alone) < 3 or not (known_truth >= 0).any():
        return plain
    predicted, true = everything[alone], known_truth[known_truth >= 0]
    # a group is known by the first model in it
    groups = np.stack([(predicted == own).argmax(axis=0) for own in predicted])
    patterns, which, counts = np.unique(groups.T, axis=0, return_inverse=True, return_counts=True)
    hit = predicted[:, : len(true)] == true
    none = len(predicted)
    won = np.where(hit.any(axis=0), hit.argmax(axis=0), none)
    seen = np.zeros((len(patterns), none + 1))
    np.add.at(seen, (which.ravel()[: len(true)], won), 1)
    there = np.zeros(seen.shape, dtype=bool)
    np.put_along_axis(there, patterns, True, axis=1)
    there[:, none] = there.sum(axis=1) < len(np.union1d(predicted, true))
    of, group = np.nonzero(there)
    right = (patterns[of] == group[:, None]).astype(np.float64)
    cells = _Cells(right, np.flatnonzero(np.diff(of, prepend=-1)), of, seen[of, group], counts)
    # in clusters rows are worth less than independent ones
    cells = cells._replace(seen=cells.seen * plain.worth, counts=cells.counts * plain.worth)
    rng = np.random.default_rng([seed, 0xC405])
    apart = plain.disagreement[np.ix_(alone, alone)].sum(axis=1)
    own = (apart - apart.sum() / (2 * (len(alone) - 1))) / (len(alone) - 2)  # apart_ab = own_a + own_b
    agree = -np.log(np.maximum(own, _LEAST_OWN * apart.mean() / (len(alone) - 1)))
    few = np.array([2 / max(plain.classes, 2), 1 - 2 / max(plain.classes, 2)])
    strengths = _strengths(cells, agree - agree.mean(), few, rng)
    draws = min(_PATTERN_DRAWS, max(_PATTERN_LEAST, _PATTERN_IN_ALL // len(cells.of)))
    strengths = strengths[np.arange(draws) % len(strengths)]
    step = max(1, _PATTERN_AT_ONCE // len(cells.of))
    out = []
    for start in range(0, draws, step):
        part = strengths[start : start + step]
        # the largest q of a pattern is no less than one in the number of its cells: no sum of a pattern is 0
        drawn = rng.standard_gamma(_TIED * _expected(cells, part) + cells.seen)
        share = rng.standard_gamma(cells.counts, (len(part), len(cells.counts)))
        share /= np.maximum(np.add.reduceat(drawn, cells.begins, axis=1), 1e-300)
        out.append((drawn * share[:, cells.of]) @ cells.right)
    scores = np.concatenate(out)
    ahead = np.stack([(scores_of[:, None] > scores).mean(axis=0) for scores_of in scores.T])
    position = np.searchsorted(alone, first)
    p_better = ((1 + ahead - ahead.T) / 2)[np.ix_(position, position)]
    best = np.bincount(scores.argmax(axis=1), minlength=len(alone)) / len(scores)
    labels = plain.labels * plain.worth
    best = np.maximum(best, 0.5 / len(scores)) ** (1 - few @ _BOLD[0] / (labels + _BOLD[1]))
    best /= best.sum()
    p_best = best[position] / same.sum(axis=1)
    mean = p_better.sum(axis=1)
    order = tuple(sorted(range(len(classes)), key=lambda i: (-mean[i], -p_best[i], i)))
    return replace(plain, order=order, p_best=p_best, p_better=p_better)


class _Cells(NamedTuple):
    """Cells (pattern, group that is right), those of a pattern beside each other.

    right : whether a model is in the group, float64, shape (cell, model). begins : the first cell of each pattern. of :
    the pattern of each cell. seen : labels of each cell. counts : rows of each pattern.
    """

    right: Array
    begins: Array
    of: Array
    seen: Array
    counts: Array


def _strengths(cells: _Cells, agree: Array, few: Array, rng: np.random.Generator) -> Array:
    """Draws of (log strength of each model, log weight of none) given the labels, shape (chain, model + 1);
    agree : of each model, -log of its own disagreement, mean 0. few : (2 / K, 1 - 2 / K) of K classes.
    """
    from scipy.special import gammaln

    with_labels = np.flatnonzero(np.add.reduceat(cells.seen, cells.begins) > 0)
    some = np.isin(cells.of, with_labels)
    of = np.searchsorted(with_labels, cells.of[some])
    begins = np.flatnonzero(np.diff(of, prepend=-1))
    labelled_cells = _Cells(cells.right[some], begins, of, cells.seen[some], cells.counts)
    labelled = labelled_cells.seen > 0
    models = cells.right.shape[1]

    def logs(state: Array) -> Array:
        """From standard normal numbers: of each model, shared, none, scale, slope."""
        own, shared, none, scale, slope = np.split(state, np.cumsum([models, 1, 1, 1]), axis=1)
        each = (
            few @ _OWN * np.exp(_SCALE * scale) * own + _SHARED * shared + (few @ _LEAN + few @ _SLOPE * slope) * agree
        )
        return np.concatenate([each, _NONE * none], axis=1)

    def log_likelihood(state: Array) -> Array:
        side = _TIED * np.maximum(_expected(labelled_cells, logs(state))[:, labelled], 1e-300)
        return np.asarray((gammaln(side + labelled_cells.seen[labelled]) - gammaln(side)).sum(axis=1))

    state = rng.standard_normal((_CHAINS, models + 4))
    for heat in np.r_[np.linspace(1 / _WARM, 1, _WARM), np.ones(_MORE)]:
        other = rng.standard_normal(state.shape)
        least = heat * log_likelihood(state) + np.log(rng.random(_CHAINS))
        angle = rng.uniform(0, 2 * np.pi, _CHAINS)
        low, high = angle - 2 * np.pi, angle.copy()
        moved, open_ = state.copy(), np.arange(_CHAINS)
        while len(open_):
            turn = angle[open_, None]
            tried = state[open_] * np.cos(turn) + other[open_] * np.sin(turn)
            good = heat * log_likelihood(tried) > least[open_]
            moved[open_[good]] = tried[good]
            open_ = open_[~good]
            below = angle[open_] < 0
            low[open_] = np.where(below, angle[open_], low[open_])
            high[open_] = np.where(below, high[open_], angle[open_])
            angle[open_] = rng.uniform(low[open_], high[open_])
        state = moved
    return logs(state)


def _expected(cells: _Cells, strengths: Array) -> Array:
    """q: the chance of each cell within its pattern by the strengths alone, shape (draw, cell)."""
    log = strengths[:, :-1] @ cells.right.T
    log += strengths[:, -1:] * (cells.right.sum(axis=1) == 0)
    weight = np.exp(log - np.maximum.reduceat(log, cells.begins, axis=1)[:, cells.of])
    return np.asarray(weight / np.add.reduceat(weight, cells.begins, axis=1)[:, cells.of])
