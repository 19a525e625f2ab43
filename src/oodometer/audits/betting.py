"""Betting: intervals for the mean of bounded observations that hold at every sample size, by capital that grows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ..arrays import Array

_GRID = 64  # candidate means a round; three rounds resolve 1/32,000 of the range
_ROUNDS = 3
_PRIOR_ROUNDS = 20.0  # weight of the predicted variance against that of the rounds already played
_FLOOR = 0.5  # a mean near 0 or 1 must not make bets so bold that one surprise ruins the gambler
_MOST_STAKED = 0.97
_NO_MEAN = 1e-12


@dataclass(frozen=True)
class Game:
    """Bounded observations whose mean, given the past, is known once the mean in question is.

    Parameters
    ----------
    value : shape (..., round), the observations in the order in which they were drawn.
    low, high : shape (..., round), what each could have been at least and at most.
    scale, offset : shape (..., round); if the mean in question is m, the round's mean is scale * m - offset.
    spread : shape (...), predicted variance of an observation, in units of m(1 - m); sets the size of bets and has no
        part in validity.

    >>> Game.plain(np.array([1.0, 0.0, 1.0])).scale.tolist()
    [1.0, 1.0, 1.0]
    """

    value: Array
    low: Array
    high: Array
    scale: Array
    offset: Array
    spread: Array

    @classmethod
    def plain(cls, value: Array, low: float = 0.0, high: float = 1.0, population: int | None = None) -> Game:
        """Observations drawn with replacement, or without from a ``population`` of so many."""
        value = np.asarray(value, dtype=np.float64)
        rounds = value.shape[-1]
        before = np.cumsum(value, axis=-1) - value
        left = np.ones(rounds) if population is None else population - np.arange(rounds, dtype=np.float64)
        scale = np.ones(rounds) if population is None else population / left
        offset = np.zeros_like(value) if population is None else before / left
        ones = np.ones_like(value)
        return cls(value, low * ones, high * ones, scale * ones, offset, np.ones(value.shape[:-1]))


@cache
def _hedge() -> tuple[Array, Array]:
    """The ratio phi(d)/Phi(d) against log Phi(d): the hedge of an option that pays 1 where a normal sum ends above."""
    from scipy.special import log_ndtr

    d = np.linspace(-60.0, 9.0, 20_001)
    log_price = log_ndtr(d)
    return log_price, np.exp(-0.5 * d * d - 0.5 * np.log(2 * np.pi) - log_price)


def _log_capital(game: Game, mean: Array, target: float, side: int) -> Array:
    """Log of the capital after all rounds against each candidate mean; inf where the target was reached.

    mean has axes (..., candidate). ``side`` +1 bets that the true mean is larger, -1 that it is smaller. A bet may
    depend on earlier rounds only, and never risks more than the capital: under the candidate the expected
    capital stays 1, so that by Markov's inequality it reaches the target with probability at most 1/target.
    """
    log_price, ratio = _hedge()
    log_target = np.log(target)
    capital = np.zeros(mean.shape)
    squares = np.zeros(mean.shape)
    rounds = game.value.shape[-1]
    prior = game.spread[..., None] * np.maximum(mean * (1 - mean), _FLOOR / rounds)
    for t in range(rounds):
        value, low, high = (a[..., t, None] for a in (game.value, game.low, game.high))
        expected = game.scale[..., t, None] * mean - game.offset[..., t, None]
        variance = (_PRIOR_ROUNDS * prior + squares) / (_PRIOR_ROUNDS + t)
        bet = np.interp(capital - log_target, log_price, ratio) / np.sqrt(variance * (rounds - t))
        room = np.maximum(expected - low if side > 0 else high - expected, _NO_MEAN)
        bet = np.minimum(bet, _MOST_STAKED / room)
        gain = value - expected
        factor = 1 + side * bet * gain
        done = capital >= log_target
        capital = np.where(done, capital, capital + np.log(np.maximum(factor, 1e-300)))
        capital[(expected < low - 1e-9) | (expected > high + 1e-9)] = np.inf  # no such mean is possible
        squares += gain * gain
    return capital


def betting_interval(
    game: Game, level: float, lower: float | Array = 0.0, upper: float | Array = 1.0
) -> tuple[Array, Array]:
    """Ends of the interval of means within [lower, upper] that no gambler refutes; shape (...), one for each game.

    For a candidate m the gambler's capital is prod_t (1 + b_t(m) (X_t - E_m[X_t | past])), b_t fixed before round t and
    such that no factor is negative; it is a martingale if m is the mean. Two gamblers, one for each direction,
    start with half of 1 - level: {m : both capitals < 2/(1 - level)} holds the mean with probability at least
    ``level`` for every number of rounds, whatever the distribution, with or without replacement. The bet is the hedge
    of the option that pays the goal where a normal sum ends beyond its quantile, b_t = phi(d)/(Phi(d) sd sqrt(rounds
    left)) with Phi(d) = capital/goal; where the normal law fits, the interval is as narrow as the normal one. The ends
    are found on a grid that is refined twice and rounded outwards. Source: Waudby-Smith and Ramdas (2024); bets worked
    out anew from what is left to gain after Voracek and Orabona (2025).

    >>> low, high = betting_interval(Game.plain(np.array([1.0] * 9 + [0.0]).repeat(4).reshape(10, 4).T.ravel()), 0.9)
    >>> bool(0.75 < low < 0.9 < high < 0.98)
    True
    """
    goal = 2 / (1 - level)
    shape = game.value.shape[:-1]
    start, stop = np.broadcast_to(lower, shape).astype(float), np.broadcast_to(upper, shape).astype(float)
    ends = []
    for side in (1, -1):
        a, b = start, stop
        for _ in range(_ROUNDS):
            mean = a[..., None] + (b - a)[..., None] * np.linspace(0, 1, _GRID)
            kept = _log_capital(game, mean, goal, side) < np.log(goal)
            step = (b - a) / (_GRID - 1)
            # the end lies between the outermost candidate that is kept and the one beyond it
            if side > 0:
                found = np.where(kept.any(axis=-1), kept.argmax(axis=-1), _GRID - 1)
                a, b = np.maximum(a + (found - 1) * step, a), a + found * step
            else:
                found = np.where(kept.any(axis=-1), _GRID - 1 - kept[..., ::-1].argmax(axis=-1), 0)
                a, b = a + found * step, np.minimum(a + (found + 1) * step, b)
        ends.append(a if side > 0 else b)
    low, high = ends
    return np.minimum(low, high), np.maximum(low, high)


def betting_mean(
    value: Array,
    level: float,
    *,
    low: float = 0.0,
    high: float = 1.0,
    population: int | None = None,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval for the mean of observations in [low, high], valid at every sample size; played in a seeded order.

    value has shape (sample,); ``population`` is the number of rows that they were drawn from without replacement. The
    result does not depend on the order of ``value``. Source: Waudby-Smith and Ramdas (2024).

    >>> betting_mean(np.array([0.5] * 100), 0.95)[1] < 0.6
    True
    """
    order = np.random.default_rng([seed, 0xBE7]).permutation(len(value))
    unit = (np.sort(np.asarray(value, dtype=np.float64))[order] - low) / (high - low)
    a, b = betting_interval(Game.plain(unit, population=population), level)
    return low + (high - low) * float(a), low + (high - low) * float(b)


def betting_p_value(game: Game, lower: float, upper: float, level: float) -> float:
    """p-value of "the mean lies in [lower, upper]" for one game, valid at every sample size.

    At each end a gambler bets outwards; capital is split over goals from 2/(1 - level) upwards, so that a p-value
    can fall below 1 - level. p = min(1, 2 / capital) of the richer one. Source: Waudby-Smith and Ramdas (2024).

    >>> betting_p_value(Game.plain(np.tile([1.0, 0.0], 20)), 0.9, 1.0, 0.95) < 0.001
    True
    """
    shares = {1.0: 0.5, 0.1: 0.25, 0.001: 0.15, 1e-6: 0.1}
    best = 0.0
    for end, side in ((upper, 1), (lower, -1)):
        capital = 0.0
        for factor, share in shares.items():
            goal = 2 / (1 - level) / (factor * share)
            reached = float(_log_capital(game, np.array([end]), goal, side)[0])
            capital += share * (np.inf if np.isinf(reached) else np.exp(reached))
        best = max(best, capital)
    return float(min(1.0, 2 / best)) if best > 0 else 1.0
