"""By pattern: P(best) and P(a beats b) of three models or more; which models say the same of a row tells the most."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..options import check_seed
from .posterior import Posterior, checked_classes, checked_truth

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
_DRAWS = 4000
_AT_ONCE = 2_000_000  # gamma numbers that are drawn at once
_IN_ALL = 20_000_000  # beyond which there are fewer draws, though not fewer than _LEAST
_LEAST = 400


def posterior_by_pattern(found: Posterior, predicted: Any, truth: Any, pool: Any = None, *, seed: int = 0) -> Posterior:
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

    Two models differ in one pattern alone, in which all their disagreements are alike: ``found`` is returned as it is,
    and also without a label.

    What is assumed: rows were drawn at random, or chosen by which models agree on them and at random among rows that
    are alike in this; and the prior above. Measured on public and made suites (benchmarks/results/rank_suites.md).

    Parameters
    ----------
    found :
        What `posterior` gave for the same rows; its counts and intervals are kept.
    predicted, truth, pool :
        As there; all rows together are a random sample, as the pool that rows were chosen from is one.
    seed :
        Of the draws.

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
    asked = checked_classes(predicted, "predictions", len(found.models))
    known = checked_truth(truth, asked.shape[1])
    rest = asked[:, :0] if pool is None else checked_classes(pool, "predictions on the pool", len(asked))
    everything = np.concatenate([asked[:, known >= 0], asked[:, known < 0], rest], axis=1)
    same = found.disagreement == 0
    first = same.argmax(axis=1)  # models that never differ are one, whose share they divide
    alone = np.unique(first)
    if len(alone) < 3 or not (known >= 0).any():
        return found
    predicted, true = everything[alone], known[known >= 0]
    # a group is known by the first model in it
    groups = np.stack([(predicted == said).argmax(axis=0) for said in predicted])
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
    cells = cells._replace(seen=cells.seen * found.worth, counts=cells.counts * found.worth)
    rng = np.random.default_rng([seed, 0xC405])
    apart = found.disagreement[np.ix_(alone, alone)].sum(axis=1)
    own = (apart - apart.sum() / (2 * (len(alone) - 1))) / (len(alone) - 2)  # apart_ab = own_a + own_b
    agree = -np.log(np.maximum(own, _LEAST_OWN * apart.mean() / (len(alone) - 1)))
    few = np.array([2 / max(found.classes, 2), 1 - 2 / max(found.classes, 2)])
    strengths = _strengths(cells, agree - agree.mean(), few, rng)
    draws = min(_DRAWS, max(_LEAST, _IN_ALL // len(cells.of)))
    strengths = strengths[np.arange(draws) % len(strengths)]
    step = max(1, _AT_ONCE // len(cells.of))
    out = []
    for start in range(0, draws, step):
        part = strengths[start : start + step]
        # the largest q of a pattern is no less than one in the number of its cells: no sum of a pattern is 0
        drawn = rng.standard_gamma(_TIED * _expected(cells, part) + cells.seen)
        share = rng.standard_gamma(cells.counts, (len(part), len(cells.counts)))
        share /= np.maximum(np.add.reduceat(drawn, cells.begins, axis=1), 1e-300)
        out.append((drawn * share[:, cells.of]) @ cells.right)
    scores = np.concatenate(out)
    ahead = np.stack([(one[:, None] > scores).mean(axis=0) for one in scores.T])
    place = np.searchsorted(alone, first)
    p_better = ((1 + ahead - ahead.T) / 2)[np.ix_(place, place)]
    best = np.bincount(scores.argmax(axis=1), minlength=len(alone)) / len(scores)
    labels = found.labels * found.worth
    best = np.maximum(best, 0.5 / len(scores)) ** (1 - few @ _BOLD[0] / (labels + _BOLD[1]))
    best /= best.sum()
    p_best = best[place] / same.sum(axis=1)
    mean = p_better.sum(axis=1)
    order = tuple(sorted(range(len(asked)), key=lambda i: (-mean[i], -p_best[i], i)))
    return replace(found, order=order, p_best=p_best, p_better=p_better)


class _Cells(NamedTuple):
    """Cells (pattern, group that is right), those of a pattern beside each other.

    right : whether a model is in the group, float64, shape (cell, model); none is where no group is right.
    begins : the first cell of each pattern, shape (pattern,). of : the pattern of each cell, shape (cell,).
    seen : labels of each cell, shape (cell,). counts : rows of each pattern, shape (pattern,).
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
    told = _Cells(cells.right[some], np.flatnonzero(np.diff(of, prepend=-1)), of, cells.seen[some], cells.counts)
    labelled = told.seen > 0
    models = cells.right.shape[1]

    def logs(state: Array) -> Array:
        """From standard normal numbers: of each model, shared, none, scale, slope."""
        own, shared, none, scale, slope = np.split(state, np.cumsum([models, 1, 1, 1]), axis=1)
        each = (
            few @ _OWN * np.exp(_SCALE * scale) * own + _SHARED * shared + (few @ _LEAN + few @ _SLOPE * slope) * agree
        )
        return np.concatenate([each, _NONE * none], axis=1)

    def log_likelihood(state: Array) -> Array:
        side = _TIED * np.maximum(_expected(told, logs(state))[:, labelled], 1e-300)
        return np.asarray((gammaln(side + told.seen[labelled]) - gammaln(side)).sum(axis=1))

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
