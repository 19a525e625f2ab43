"""Betting: intervals for bounded means that hold at every sample size, and labelled rows as such a game."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

import numpy as np

from ..arrays import Array

_GRID = 64  # candidate means a look; three looks resolve 1/32,000 of the range
LOOKS = 3
_FLOOR = 0.5  # a mean near 0 or 1 must not make bets so bold that one surprise ruins the gambler
_MOST_STAKED = 0.97
_NO_MEAN = 1e-12
# spread and prior of graded observations, whose variance is below that of a coin
_GRADED, _GRADED_PRIOR = (
    0.4,
    5.0,
)


@dataclass(frozen=True)
class Game:
    """Bounded observations with means scale * m - offset given the past, all (..., round); ``spread`` (...), the
    variance that is expected over that of a coin with the mean, and ``prior``, the rounds that this counts for, set
    the size of bets and have no part in validity.
    """

    value: Array
    low: Array
    high: Array
    scale: Array
    offset: Array
    spread: Array
    prior: float = 20.0


@cache
def _hedge() -> tuple[Array, Array]:
    """The ratio phi(d)/Phi(d) against log Phi(d): the hedge of an option that pays 1 where a normal sum ends above."""
    from scipy.special import log_ndtr

    d = np.linspace(-60.0, 9.0, 20_001)
    log_price = log_ndtr(d)
    return log_price, np.exp(-0.5 * d * d - 0.5 * np.log(2 * np.pi) - log_price)


def _log_capital(game: Game, mean: Array, target: float, side: int | Array) -> Array:
    """Log of the capital against each candidate mean (..., candidate), inf once the target is reached; ``side`` +1 bets
    on more, -1 on less, one for all candidates or (candidate,).
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
        variance = (game.prior * prior + squares) / (game.prior + t)
        bet = np.interp(capital - log_target, log_price, ratio) / np.sqrt(variance * (rounds - t))
        room = np.maximum(np.where(side > 0, expected - low, high - expected), _NO_MEAN)
        bet = np.minimum(bet, _MOST_STAKED / room)
        gain = value - expected
        factor = 1 + side * bet * gain
        done = capital >= log_target
        capital = np.where(done, capital, capital + np.log(np.maximum(factor, 1e-300)))
        # no such mean is possible
        capital[(expected < low - 1e-9) | (expected > high + 1e-9)] = np.inf
        squares += gain * gain
    return capital


def betting_interval(
    game: Game,
    level: float,
    lower: float | Array = 0.0,
    upper: float | Array = 1.0,
    *,
    looks: int = LOOKS,
) -> tuple[Array, Array]:
    """Ends of the means that no gambler refutes, (...): capital prod_t (1 + b_t(m) (X_t - E_m[X_t | past])) is a
    martingale at the true mean, so that {m : both < 2/(1 - level)} holds it at every number of rounds. Bets hedge an
    option that pays the goal. Each of the ``looks`` sees the ends 63 times as closely. Source: Waudby-Smith and
    Ramdas (2024); bets after Voracek and Orabona (2025).
    """
    goal = 2 / (1 - level)
    shape = game.value.shape[:-1]
    start, stop = (
        np.broadcast_to(lower, shape).astype(float),
        np.broadcast_to(upper, shape).astype(float),
    )
    side = np.repeat([1, -1], _GRID)  # both ends at a time
    a, b = np.stack([start, start], axis=-1), np.stack([stop, stop], axis=-1)  # (..., end)
    for _ in range(looks):
        mean = a[..., None] + (b - a)[..., None] * np.linspace(0, 1, _GRID)
        capital = _log_capital(game, mean.reshape(*shape, 2 * _GRID), goal, side).reshape(
            mean.shape
        )
        unrefuted = capital < np.log(goal)
        any_unrefuted = unrefuted.any(axis=-1)
        first = np.where(any_unrefuted, unrefuted.argmax(axis=-1), _GRID - 1)[..., 0]
        last = np.where(any_unrefuted, _GRID - 1 - unrefuted[..., ::-1].argmax(axis=-1), 0)[..., 1]
        # an end lies between the outermost candidate that is kept and the one beyond it
        step, begin = (b - a) / (_GRID - 1), np.stack([first - 1, last], axis=-1)
        a, b = np.maximum(a + begin * step, a), np.minimum(a + (begin + 1) * step, b)
    low, high = a[..., 0], b[..., 1]
    return np.minimum(low, high), np.maximum(low, high)


def betting_mean(
    value: Array,
    level: float,
    *,
    low: float = 0.0,
    high: float = 1.0,
    sizes: Array | None = None,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval for the mean of observations (sample,) in [low, high], valid at every sample size and in any order of
    them. Where these are sums over groups of ``sizes`` rows, (sample,), it is that of a row: the gambler bets on
    S_g - m N_g, which is fair where a group's size tells nothing of its mean. Source: Waudby-Smith and Ramdas (2024).

    >>> [round(end, 2) for end in betting_mean(np.array([0.2, 0.4, 0.5, 0.3] * 10), 0.95)]
    [0.28, 0.42]
    """
    value = np.asarray(value, dtype=np.float64)
    rows = np.ones(len(value)) if sizes is None else np.asarray(sizes, dtype=np.float64)
    order = np.lexsort([rows, value])
    scale, zero = rows[order] / rows.max(), np.zeros(len(value))
    unit = (value[order] / rows.max() - low * scale) / (high - low)
    # the order must be by lot, and the same for the same rows however they come: the lot is drawn by what they hold, as
    # one lot for all data would always bet on the same ranks first
    held = np.round(np.stack([unit, scale]), 9) + 0.0
    lot = int.from_bytes(blake2b(held.tobytes(), digest_size=8).digest(), "little")
    drawn = np.random.default_rng([seed, 0xBE7, lot]).permutation(len(value))
    unit, scale = unit[drawn], scale[drawn]
    spread = np.asarray(_GRADED * np.square(scale).mean())
    a, b = betting_interval(Game(unit, zero, scale, scale, zero, spread, _GRADED_PRIOR), level)
    return low + (high - low) * float(a), low + (high - low) * float(b)


def betting_p_value(game: Game, lower: float, upper: float, level: float) -> float:
    """p-value of "the mean lies in [lower, upper]", valid at every sample size: min(1, 2 / capital) of the richer
    gambler.
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


_STEEP = 0.5  # f below it counts as fully uncertain, so that no error hides behind a small size


def sizes(score: Array, share: float) -> Array:
    """How eagerly each row is drawn, (sample,), mean 1: Neyman's allocation, no weight above 1/share."""
    eager = np.where(score > _STEEP, np.sqrt(np.clip(score * (1 - score), 0.0, None)), _STEEP)
    mean = float(eager.mean())
    if share >= 1 or mean <= 0:
        return np.ones(len(score))
    return share + (1 - share) * eager / mean


@dataclass(frozen=True)
class SampledRows:
    """Labelled rows in the order of drawing, (draw,), each drawn with a known chance: ``share`` 1 for even draws,
    ``probability`` as written down or NaN; ``gaps``: rows drawn and never labelled.
    """

    row: Array
    correct: Array
    share: Array
    probability: Array
    gaps: Array

    @classmethod
    def evenly(cls, row: Array, correct: Array, seed: int = 0) -> SampledRows:
        """Rows drawn evenly, brought into a random order that does not depend on theirs."""
        order = np.argsort(row)[np.random.default_rng([seed, 0xD4A]).permutation(len(row))]
        ones = np.ones(len(row))
        return cls(row[order], correct[order], ones, ones * np.nan, np.zeros(0, dtype=np.int64))

    def of_all(self, score: Array, three: tuple[float, float, float]) -> tuple[float, float, float]:
        """Value and ends of the rows without the gaps, made those of all rows: a gap may hold any truth."""
        rows, gaps, (value, low, high) = len(score), len(self.gaps), three
        if not gaps:
            return three
        rows_without_gaps = rows - gaps
        more = float(score[self.gaps].sum())
        return (
            (value * rows_without_gaps + more) / rows,
            low * rows_without_gaps / rows,
            (high * rows_without_gaps + gaps) / rows,
        )

    @property
    def weighted(self) -> bool:
        """Whether some rows were more likely to be drawn than others."""
        return bool((self.share < 1).any())

    def __len__(self) -> int:
        return len(self.row)

    def chances(self, score: Array) -> Array:
        """The chance of each row at its draw among the rows not yet drawn, as `sizes` has it; shape (draw,)."""
        out = np.empty(len(self))
        for share in np.unique(self.share):
            size = sizes(score, float(share))
            drawn_size = size[self.row]
            remaining = size.sum() - size[self.gaps].sum() - (np.cumsum(drawn_size) - drawn_size)
            out = np.where(self.share == share, drawn_size / remaining, out)
        return out

    def game(self, score: Array, slope: float) -> Game:
        """The rows as a betting game for the accuracy of the target rows without the gaps."""
        return sampled_game(self.row, self.correct, self.share, score, slope, self.gaps)

    def bet(self, score: Array, slope: float, level: float) -> tuple[float, float, float]:
        """Mean and betting interval of all rows, within what is certain: unlabelled ones lie between 0 and 1."""
        rows_without_gaps, hits = len(score) - len(self.gaps), float(self.correct.sum())
        upper = (hits + rows_without_gaps - len(self)) / rows_without_gaps
        low, high = betting_interval(
            self.game(score, slope), level, hits / rows_without_gaps, upper
        )
        mean = sampled_mean(self.row, self.correct, self.share, score, slope, self.gaps)
        return self.of_all(score, (float(mean), float(low), float(high)))


def sampled_game(
    row: Array, correct: Array, share: Array, score: Array, slope: float, gaps: Array | None = None
) -> Game:
    """A game whose mean is the accuracy, from rows drawn without replacement: e_t w_t with e = Y - slope f. row,
    correct (..., draw).
    """
    gaps = np.zeros(0, dtype=np.int64) if gaps is None else gaps
    inside_scores = np.delete(score, gaps)
    remaining = len(inside_scores) - np.arange(row.shape[-1], dtype=np.float64)
    error = correct - slope * score[row]
    before = np.cumsum(error, axis=-1) - error
    low, high, weight = np.empty(row.shape), np.empty(row.shape), np.empty(row.shape)
    second, mean = 0.0, float(inside_scores.mean())
    lean = slope * inside_scores
    expected = inside_scores * np.square(1 - lean) + (1 - inside_scores) * np.square(lean)
    for level_share, uses in zip(*np.unique(share, return_counts=True), strict=True):
        size = sizes(score, float(level_share))
        size_without_gaps, at_share = np.delete(size, gaps), share == level_share
        drawn_size = size[row]
        level = (
            size_without_gaps.sum() - (np.cumsum(drawn_size, axis=-1) - drawn_size)
        ) / remaining
        weight[..., at_share] = (level / drawn_size)[..., at_share]
        low[..., at_share] = (level * float(np.min(-slope * inside_scores / size_without_gaps)))[
            ..., at_share
        ]
        high[..., at_share] = (
            level * float(np.max((1 - slope * inside_scores) / size_without_gaps))
        )[..., at_share]
        second += float(np.mean(expected / size_without_gaps)) * uses / row.shape[-1]
    scale = np.broadcast_to(len(inside_scores) / remaining, row.shape)
    offset = (slope * inside_scores.sum() + before) / remaining
    binary = max(mean * (1 - mean), 0.25 / len(inside_scores))
    spread = max(second - (mean * (1 - slope)) ** 2, 0.02 * binary) / binary
    return Game(error * weight, low, high, scale, offset, np.full(row.shape[:-1], spread))


def sampled_mean(
    row: Array, correct: Array, share: Array, score: Array, slope: float, gaps: Array | None = None
) -> Array:
    """Unbiased estimate of the accuracy from rows drawn as in `sampled_game`, (...). Source: Farquhar, Gal and
    Rainforth (2021).
    """
    game = sampled_game(row, correct, share, score, slope, gaps)
    rounds = row.shape[-1]
    total = len(score) - (0 if gaps is None else len(gaps))
    if rounds >= total:
        return np.asarray(correct.mean(axis=-1))
    t = np.arange(rounds, dtype=np.float64)
    part = 1 / ((total - t) * (total - t - 1))
    return np.asarray(np.sum((game.value + game.offset) / game.scale * part, axis=-1) / part.sum())


WRONG = 0.05  # chance of a decision that is wrong, however often one looks
_STAKES = np.geomspace(0.01, 0.9, 12)  # shares of what may be staked without ruin
_HALVINGS = 24  # of the scale, to find an end


def log_evidence(
    points: Array,
    weight: Array,
    boundary: float,
    counts: tuple[float, float],
    rows: int | None = None,
) -> float:
    """Log e-value of "the mean is one of ``points``" against "it lies at ``boundary`` or beyond it, on the other side",
    (point,), from ``counts`` of hits and random draws: sum_q w_q L(q) / L(boundary), L binomial, or of draws without
    replacement from so many ``rows`` (points and boundary are then whole shares of them). Under the other side it is a
    supermartingale in the draws, so that it passes 1/a with chance a at most, however often one looks, and it does not
    depend on the order of draws. Source: Waudby-Smith and Ramdas (2024).

    >>> points = np.linspace(0.005, 0.695, 70)
    >>> [round(log_evidence(points, np.full(70, 1 / 70), 0.7, (n / 2, n)), 1) for n in (10, 40, 160)]
    [0.2, 2.2, 12.0]
    """
    from scipy.special import gammaln, xlog1py, xlogy

    hits, draws = counts
    misses = draws - hits

    def log_likelihood(share: Array) -> Array:
        if rows is None:
            return np.asarray(xlogy(hits, share) + xlog1py(misses, -share))
        right = np.rint(share * rows)
        a, b = np.maximum(right, hits), np.maximum(rows - right, misses)
        ways = gammaln(a + 1) - gammaln(a - hits + 1) + gammaln(b + 1) - gammaln(b - misses + 1)
        return np.where((right >= hits) & (rows - right >= misses), ways, -np.inf)

    logs = log_likelihood(points)
    beyond = float(log_likelihood(np.array([boundary]))[0])
    top = float(logs.max(initial=-np.inf))
    if not np.isfinite(top):
        return -np.inf
    if not np.isfinite(beyond):  # the draws themselves rule it out
        return np.inf
    return top + float(np.log(np.dot(weight, np.exp(logs - top)))) - beyond


def betting_evidence(game: Game, mean: float, side: int) -> float:
    """Log capital of a gambler who bets that the mean lies above (``side`` +1) or below (-1) this one: the average over
    `_STAKES`, which know nothing of how many draws will come, so that it is valid however often one looks, in the order
    of the draws.
    """
    logs = np.zeros(len(_STAKES))
    for t in range(game.value.shape[-1]):
        expected = float(game.scale[t]) * mean - float(game.offset[t])
        low, high = float(game.low[t]), float(game.high[t])
        if not low - 1e-9 <= expected <= high + 1e-9:  # no such mean is possible
            return np.inf if (expected < low) == (side > 0) else -np.inf
        room = max(expected - low if side > 0 else high - expected, _NO_MEAN)
        logs += np.log1p(side * _STAKES / room * (float(game.value[t]) - expected))
    top = float(logs.max())
    return top + float(np.log(np.exp(logs - top).mean()))


def betting_sequence(
    value: Array, level: float, *, low: float = 0.0, high: float = 1.0
) -> tuple[float, float]:
    """Ends of a confidence sequence for the mean of observations (sample,) in [low, high], in the order in which they
    came: P(the mean lies in the interval at every sample size) is at least ``level``, so that one may look at any time
    and stop when one likes.

    With x = (value - low) / (high - low), the gambler against m from below holds max_t mean_s prod_{i <= t} (1 + s
    (x_i / m - 1)), s the `_STAKES`; m is refuted where that reaches 2 / (1 - level) (Ville's inequality), and it falls
    in m, so that the end is found by halving. The other side is that of 1 - x. Source: Waudby-Smith and Ramdas (2024).

    >>> [round(end, 2) for end in betting_sequence(np.array([0.2, 0.4, 0.5, 0.3] * 100), 0.95)]
    [0.33, 0.37]
    """
    unit = (np.asarray(value, dtype=np.float64) - low) / (high - low)
    goal = float(np.log(2 / (1 - level)))

    def end(x: Array) -> float:
        """The smallest mean that is not refuted as too small."""
        below, above = 0.0, 1.0
        for _ in range(_HALVINGS):
            mean = (below + above) / 2
            logs = np.cumsum(np.log1p(_STAKES[:, None] * (x / mean - 1)), axis=1)
            top = logs.max(axis=0)
            capital = top + np.log(np.exp(logs - top).mean(axis=0))
            below, above = (mean, above) if capital.max() >= goal else (below, mean)
        return below

    return low + (high - low) * end(unit), high - (high - low) * end(1 - unit)
