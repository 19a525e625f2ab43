"""Critic search: linear critics that agree with a model on the reference and disagree with it on the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import Array

_TRADES = (0.03, 0.3, 1.0, 3.0)  # beside the paper's own, log 2 / log K
_DECAY = 5e-4
_STEPS = 60
_STARTS = 8
_START_STEPS = 40
_START_ROWS = 1_000  # of either sample
_START_LOGITS = 200_000  # rows x starts x classes of either sample: bounds the time with many classes
_RATE = 0.05
_SHARPENED = 2  # of the trades' critics, and of the random starts', that are improved further
_SHARP_ROWS = 2_000  # of either sample, before the best critic sees them all
_SHARP_STEPS = 40
_SHARP_DECAY = 1e-4


def critic_loss(weights: Array, x: Array, y: Array, on_target: Array, trade: float) -> tuple[float, Array]:
    """mean_S -log softmax_h(z) / log K + trade * mean_T log2(1 + exp(z_h - mean_{k != h} z_k)), and its gradient.

    z = x @ weights. Agreement on the reference, disagreement on the target; both terms are convex in weights. Shapes:
    weights (column, class), x (sample, column), y (sample,) the class that h says, on_target (sample,) bool.

    >>> critic_loss(np.zeros((1, 2)), np.ones((2, 1)), np.array([0, 0]), np.array([False, True]), 1.0)[0]
    2.0
    """
    rows = _Rows.of(x, y, on_target)
    values, slope, _ = _losses((rows.x @ weights)[:, None, :], rows, trade)
    return float(values[0]), rows.x.T @ slope[:, 0]


def fit_critics(x: Array, y: Array, on_target: Array, classes: int, seed: int = 0) -> Iterator[Array]:
    """Weights (column, class) of critics with a large discrepancy on these rows; each is the best of its path.

    First `critic_loss` with a little weight decay: for several trades by L-BFGS from a common start, and for the
    paper's, log 2 / log K, by gradient descent from random weights, all starts in one matrix product. Its minimum is
    unique, but not where the discrepancy is largest. So the best critics on the way are kept, and improved by the
    discrepancy itself with a sigmoid for the step (`_sharpened`): that has many minima, each start leads to its own.
    Shapes as in `critic_loss`.
    """
    rows = _Rows.of(x, y, on_target)
    paper = float(np.log(2) / np.log(classes))
    found = list(_by_trades(rows, classes, sorted({*_TRADES, paper})))
    few = rows.first(min(_START_ROWS, _START_LOGITS // (_STARTS * classes)))
    started = _from_random(few, classes, paper, np.random.default_rng([seed, 47]))
    yield from (critic.weights for critic in found)
    some = rows.first(_SHARP_ROWS)
    better = [_sharpened(c.weights, some) for c in (found[0], *_best(found[1:]), *_best(started))]
    yield from (critic.weights for critic in better)
    if len(some.x) < len(x):
        yield _sharpened(_best(better)[0].weights, rows).weights


@dataclass
class _Found:
    """The critic with the largest discrepancy seen on a path so far."""

    weights: Array
    gain: float = -1.0

    def see(self, weights: Array, gain: float) -> None:
        """Remember a copy of the weights where their gain is the largest so far."""
        if gain > self.gain:
            self.gain, self.weights = gain, weights.copy()


def _best(found: list[_Found]) -> list[_Found]:
    return sorted(found, key=lambda critic: -critic.gain)[:_SHARPENED]


@dataclass(frozen=True)
class _Rows:
    """Inputs and what h says of them, reference rows before target rows; ``here`` and ``there`` count them."""

    x: Array
    y: Array
    here: int
    there: int

    @classmethod
    def of(cls, x: Array, y: Array, on_target: Array) -> _Rows:
        """The rows with those of the target last; copied only where they stand in another order."""
        there = int(on_target.sum())
        if on_target[:-1].any() and not on_target[len(x) - there :].all():
            order = np.argsort(on_target, kind="stable")
            x, y = x[order], y[order]
        return cls(x, y, len(x) - there, there)

    def first(self, rows: int) -> _Rows:
        """The first so many of either sample."""
        kept = np.r_[: min(rows, self.here), self.here : self.here + min(rows, self.there)]
        return _Rows(self.x[kept], self.y[kept], min(rows, self.here), min(rows, self.there))

    @property
    def share(self) -> Array:
        """Weights of the rows in agr_T - agr_S, shape (sample,)."""
        return np.repeat([-1 / max(self.here, 1), 1 / max(self.there, 1)], [self.here, self.there])


def _losses(z: Array, rows: _Rows, trade: float) -> tuple[Array, Array, Array]:
    """`critic_loss` of several critics, its slope at their logits, and their discrepancies; z is (sample, critic,
    class), and the slope is written over it.
    """
    from scipy.special import expit

    cut, classes = rows.here, z.shape[2]
    at = rows.y[:, None, None]
    own = np.take_along_axis(z, at, axis=2)
    gap = own - z.max(axis=2, keepdims=True)
    near, far = z[:cut], z[cut:]
    near += gap[:cut] - own[:cut]  # less the largest
    np.exp(near, out=near)
    norm = near.sum(axis=2, keepdims=True)
    agree = np.log(norm) - gap[:cut]
    unit = np.log(classes) * max(cut, 1)
    near /= norm * unit
    np.put_along_axis(near, at[:cut], np.exp(-agree) / unit - 1 / unit, axis=2)
    margin = own[cut:] - (far.sum(axis=2, keepdims=True) - own[cut:]) / (classes - 1)
    disagree = np.logaddexp(0.0, margin)
    pull = trade * expit(margin) / (np.log(2) * max(rows.there, 1))
    far[:] = -pull / (classes - 1)
    np.put_along_axis(far, at[cut:], pull, axis=2)
    value = agree.sum(axis=(0, 2)) / unit + trade * disagree.sum(axis=(0, 2)) / (np.log(2) * max(rows.there, 1))
    return value, z, -rows.share @ (gap[..., 0] >= 0)


def _descend(loss: Callable[[Array], tuple[float, Array]], start: Array, steps: int) -> Array:
    """Weights at the end of L-BFGS from ``start``."""
    from scipy.optimize import minimize

    def flat(weights: Array) -> tuple[float, Array]:
        value, slope = loss(weights.reshape(start.shape))
        return value, slope.ravel()

    end: Array = minimize(flat, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps}).x
    return end.reshape(start.shape)


def _by_trades(rows: _Rows, classes: int, trades: list[float]) -> Iterator[_Found]:
    """The best critic on the way to each trade's minimum; each starts where the one before ended."""
    weights = np.zeros((rows.x.shape[1], classes))
    for trade in trades:
        best = _Found(weights)

        def loss(w: Array, trade: float = trade, best: _Found = best) -> tuple[float, Array]:
            values, slope, gains = _losses((rows.x @ w)[:, None, :], rows, trade)
            best.see(w, float(gains[0]))
            value = float(values[0]) + _DECAY / 2 * float(np.square(w).sum())
            return value, rows.x.T @ slope[:, 0] + _DECAY * w

        weights = _descend(loss, weights, _STEPS)
        yield best


def _from_random(rows: _Rows, classes: int, trade: float, rng: np.random.Generator) -> list[_Found]:
    """The best critic on the way from each random start: full-batch Adam on the paper's loss, all starts at once."""
    shape = (rows.x.shape[1], _STARTS, classes)
    weights = rng.uniform(-1, 1, shape) / np.sqrt(shape[0])
    first, second = np.zeros(shape), np.zeros(shape)
    found = [_Found(weights[:, start]) for start in range(_STARTS)]
    for step in range(1, _START_STEPS + 1):
        z = (rows.x @ weights.reshape(len(weights), -1)).reshape(-1, *shape[1:])
        _, slope, gains = _losses(z, rows, trade)
        for start, critic in enumerate(found):
            critic.see(weights[:, start], float(gains[start]))
        pull = (rows.x.T @ slope.reshape(len(slope), -1)).reshape(shape)
        first += 0.1 * (pull - first)
        second += 0.01 * (np.square(pull) - second)
        size = np.sqrt(second / (1 - 0.99**step)) + 1e-8
        weights = weights - _RATE * first / (1 - 0.9**step) / size
    return found


def _sharpened(weights: Array, rows: _Rows) -> _Found:
    """The best critic on the way down mean_T s(m) - mean_S s(m), m = z_h - max_{k != h} z_k and s the sigmoid."""
    from scipy.special import expit

    place, share = np.arange(len(rows.x)), rows.share
    best = _Found(weights)

    def margins(w: Array) -> tuple[Array, Array, Array]:
        z = rows.x @ w
        own = z[place, rows.y]
        z[place, rows.y] = -np.inf
        rival = z.argmax(axis=1)
        return own - z[place, rival], rival, z

    def loss(w: Array) -> tuple[float, Array]:
        margin, rival, slope = margins(w)
        best.see(w, -float(share @ (margin >= 0)))
        soft = expit(margin)
        pull = share * soft * (1 - soft)
        slope[:] = 0.0
        slope[place, rows.y] = pull
        slope[place, rival] = -pull
        value = float(share @ soft) + _SHARP_DECAY / 2 * float(np.square(w).sum())
        return value, rows.x.T @ slope + _SHARP_DECAY * w

    middle = float(np.median(np.abs(margins(weights)[0])))  # half of the rows on the steep part of the sigmoid
    _descend(loss, weights / middle if middle > 0 else weights, _SHARP_STEPS)
    return best
