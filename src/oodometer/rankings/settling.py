"""Settling: how many more labels would decide between the two leading models, and which rows to label first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import Array
from ..attributions.base import is_whole
from ..errors import UsageError
from ..intervals import check_level
from ..options import check_seed
from ..results.ranking import Settling
from .posterior import Posterior, checked_classes

__all__ = ["Settling", "labels_to_settle", "rows_to_label"]

_PATHS = 2000
_MOST = 2000  # further rows that only one of the two gets right, which are looked ahead


def labels_to_settle(
    found: Posterior, level: float = 0.95, *, pair: tuple[int, int] | None = None, seed: int = 0
) -> Settling:
    """How many more labels would make P(a beats b), or P(b beats a), exceed a level.

    2,000 futures are drawn: q, the share of disagreements that a wins, from Beta(s + w_ab, s + w_ba) (as in
    `posterior`; imaginary wins of one side are added until it gives P(a beats b), where other models told of it), then
    wins one by one until Beta's tail passes the level after T rows on which one of them is right.
    With two classes every disagreement is such a row; with more, both may be wrong, and the share that decides is drawn
    from r ~ Beta(1 + w_ab + w_ba, 1 + labelled disagreements without a winner). That takes T + NegativeBinomial(T, r)
    disagreements, and T + NegativeBinomial(T, d r) random rows, d the share of rows on which the models disagree.

    Parameters
    ----------
    found :
        The posterior.
    level :
        Between 0.5 and 1.
    pair :
        Positions of two models; by default the two that are most likely the best.
    seed :
        Of the futures.

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
    a, b = found.leaders if pair is None else pair
    if a == b or not {a, b} <= set(range(len(found.models))):
        raise UsageError(f"expected the positions of two of {len(found.models)} models, got {a} and {b}")
    rate, p = float(found.disagreement[a, b]), float(found.p_better[a, b])
    names = (found.models[a], found.models[b])
    if rate == 0:
        why = "the two models never differ on these rows: no label of them would tell"
        return Settling(*names, p, level, None, why=why)
    wins, losses = int(found.wins[a, b]), int(found.wins[b, a])
    if max(p, 1 - p) >= level:
        return Settling(*names, p, level, 0, 0, 0, 0)
    rng = np.random.default_rng([seed, 0x5E7])
    side = float(found.prior[a, b])
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
    if found.classes > 2:
        decides = rng.beta(1 + wins + losses, 1 + int(found.neither[a, b]), _PATHS)
    chosen, rows = _until(needed, decides, rng), _until(needed, rate * decides, rng)
    low, middle, high = (_whole(np.quantile(rows, q, method="higher")) for q in (0.1, 0.5, 0.9))
    ahead = int(_MOST / (rate * np.median(decides)))
    beyond = "" if middle is not None else f"more than {ahead} labels in at least half of all futures"
    return Settling(*names, p, level, middle, low, high, _whole(np.quantile(chosen, 0.5, method="higher")), beyond)


def rows_to_label(pool: Any, p_best: Any, count: int, *, seed: int = 0) -> Array:
    """Positions of the pool's rows whose labels tell most about which model is best, at most ``count``, best first.

    Value of a row: sum over pairs of P(best)_a P(best)_b [a and b predict another class there]; rows of equal value in
    random order, rows without value left out. Labels of such rows decide between models and say nothing about their
    accuracy, as they are not drawn at random.

    Parameters
    ----------
    pool :
        Positions of predicted classes, shape (model, row).
    p_best :
        Of each model, as `Posterior` has it.
    count :
        At least 1.
    seed :
        Of the order of equal rows.

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
    asked = checked_classes(pool, "predictions on the pool", len(weight))
    value = np.zeros(asked.shape[1])
    for a in range(len(asked)):
        for b in range(a):
            value += weight[a] * weight[b] * (asked[a] != asked[b])
    chance = np.random.default_rng([seed, 0x1AB]).random(len(value))
    order = np.lexsort((chance, -np.round(value, 12)))
    return np.asarray(order[value[order] > 0][:count])


def _until(needed: Array, share: Array, rng: np.random.Generator) -> Array:
    """Rows until as many have come as are needed, of which each is one with a probability, shape (future,)."""
    out = np.full(len(needed), np.inf)
    ahead = np.isfinite(needed)
    steps = needed[ahead].astype(np.int64)
    # numpy's largest mean is below 1e18; a share of 1e-9 means "beyond" anyway
    out[ahead] = steps + rng.negative_binomial(steps, np.clip(share[ahead], 1e-9, 1.0))
    return out


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


def _whole(value: float) -> int | None:
    return int(value) if math.isfinite(value) else None
