"""Betting intervals: hand-made capital, a loop as oracle, coverage at small samples, with and without replacement."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import beta as beta_function
from scipy.stats import norm

from oodometer.inference import betting
from oodometer.inference.betting import Game, betting_interval, betting_mean, betting_p_value
from oodometer.inference.reliability import pass_at_k
from oodometer.intervals import clopper_pearson


def plain(value: Any, population: int | None = None) -> Game:
    """Observations in [0, 1] drawn with replacement, or without from a ``population`` of so many."""
    value = np.asarray(value, dtype=np.float64)
    zeros, ones, rounds = np.zeros_like(value), np.ones_like(value), np.arange(value.shape[-1])
    left = ones if population is None else (population - rounds) * ones
    scale = ones if population is None else population / left
    offset = zeros if population is None else (np.cumsum(value, axis=-1) - value) / left
    return Game(value, zeros, ones, scale, offset, np.ones(value.shape[:-1]))


def capital_by_loop(
    values: list[float], mean: float, goal: float, side: int, population: int | None
) -> float:
    """The same game in plain Python, one round after the other, with the normal law taken from scipy.stats."""
    capital, squares, rounds = 1.0, 0.0, len(values)
    prior = max(mean * (1 - mean), betting._FLOOR / rounds)
    for t, value in enumerate(values):
        expected = mean
        if population is not None:
            expected = (population * mean - sum(values[:t])) / (population - t)
        if not -1e-9 <= expected <= 1 + 1e-9:
            return math.inf
        if capital >= goal:
            continue
        d = norm.ppf(capital / goal)
        variance = (20 * prior + squares) / (20 + t)
        bet = norm.pdf(d) / norm.cdf(d) / math.sqrt(variance * (rounds - t))
        room = expected if side > 0 else 1 - expected
        bet = min(bet, betting._MOST_STAKED / max(room, 1e-12))
        capital *= 1 + side * bet * (value - expected)
        squares += (value - expected) ** 2
    return capital


@pytest.mark.parametrize("population", [None, 40])
@pytest.mark.parametrize("side", [1, -1])
def test_capital_is_that_of_a_plain_loop(side: int, population: int | None) -> None:
    values = np.random.default_rng(3).random(12)
    means = np.array([0.2, 0.45, 0.5, 0.7])
    game = plain(values, population=population)
    found = np.exp(betting._log_capital(game, means, 20.0, side))
    wanted = [capital_by_loop(values.tolist(), m, 20.0, side, population) for m in means]
    assert found == pytest.approx(wanted, rel=2e-3)  # the hedge is read from a table


def test_the_first_bet_by_hand() -> None:
    # one round, candidate 1/2, level 0.9: goal 20, d = -1.645, hedge 0.1031/0.05 = 2.063; sd 1/2 gives 4.13, more than
    # can be staked: 0.97/0.5 = 1.94; a hit makes 1 + 1.94/2 = 1.97
    game = plain(np.array([1.0]))
    assert np.exp(betting._log_capital(game, np.array([0.5]), 20.0, 1))[0] == pytest.approx(
        1.97, abs=1e-6
    )


@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 0.3, 1.0), (0.05, 0.1, 0.9)])
@pytest.mark.parametrize("side", [1, -1])
def test_expected_capital_is_one_under_the_candidate(values: tuple[float, ...], side: int) -> None:
    """All sequences of four draws, weighed by their chance: the game is fair, whatever was bet."""
    chances = np.random.default_rng(len(values)).dirichlet(np.ones(len(values)))
    mean = float(np.dot(chances, values))
    index = np.stack(np.meshgrid(*[np.arange(len(values))] * 4, indexing="ij")).reshape(4, -1).T
    game = plain(np.asarray(values)[index])
    capital = np.exp(betting._log_capital(game, np.full((len(index), 1), mean), 20.0, side))[:, 0]
    assert float(np.dot(chances[index].prod(axis=1), capital)) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("side", [1, -1])
def test_expected_capital_is_one_without_replacement(side: int) -> None:
    target = np.array([0.0, 1.0, 1.0, 0.4, 0.9])
    orders = np.array(
        [(i, j, k) for i in range(5) for j in range(5) for k in range(5) if len({i, j, k}) == 3]
    )
    game = plain(target[orders], population=5)
    capital = np.exp(
        betting._log_capital(game, np.full((len(orders), 1), target.mean()), 20.0, side)
    )
    assert float(capital.mean()) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(("accuracy", "labels"), [(0.98, 10), (0.9, 25), (0.5, 10), (0.99, 50)])
def test_coverage_on_zeros_and_ones(accuracy: float, labels: int) -> None:
    """All numbers of hits, weighed by their binomial chance; one random order each."""
    rng = np.random.default_rng(5)
    values = (rng.random((1500, labels)) < accuracy).astype(float)
    low, high = betting_interval(plain(values), 0.9)
    assert np.mean((low <= accuracy) & (accuracy <= high)) >= 0.885


def test_coverage_on_a_skewed_weighted_variable() -> None:
    """Mostly 0.4, sometimes 0: a normal interval at 15 draws holds the mean far less often."""
    rng = np.random.default_rng(6)
    chance = np.array([0.92, 0.05, 0.03])
    support = np.array([0.4, 0.0, 1.0])
    values = rng.choice(support, p=chance, size=(1500, 15))
    mean = float(chance @ support)
    low, high = betting_interval(plain(values), 0.9)
    assert np.mean((low <= mean) & (mean <= high)) >= 0.885
    half = 1.645 * values.std(axis=1, ddof=1) / math.sqrt(15)
    assert np.mean(np.abs(values.mean(axis=1) - mean) <= half) < 0.8


def test_it_is_nearly_as_narrow_as_the_exact_interval() -> None:
    values = (np.random.default_rng(7).random((200, 100)) < 0.8).astype(float)
    low, high = betting_interval(plain(values), 0.9)
    exact = [np.diff(clopper_pearson(float(k), 100, 0.9))[0] for k in values.sum(axis=1)]
    assert np.mean(high - low) < 1.12 * np.mean(exact)


def test_little_variance_makes_it_narrow() -> None:
    values = 0.5 + 0.02 * np.random.default_rng(8).standard_normal(100).clip(-3, 3)
    low, high = betting_mean(values, 0.95)
    assert low < values.mean() < high
    assert high - low < 0.15  # for zeros and ones it would be 0.2


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.sampled_from([0.8, 0.9, 0.99]))
def test_ends_are_in_order_and_in_range(values: list[float], level: float) -> None:
    low, high = betting_mean(np.array(values), level)
    assert 0 <= low <= high <= 1


@given(st.permutations(list(range(12))))
def test_the_order_of_rows_changes_nothing(order: list[int]) -> None:
    values = np.linspace(0, 1, 12) ** 2
    assert betting_mean(values[order], 0.9) == betting_mean(values, 0.9)


def test_a_wider_range_is_mapped() -> None:
    values = np.random.default_rng(9).random(30)
    a = betting_mean(values, 0.9)
    b = betting_mean(4 * values - 1, 0.9, low=-1, high=3)
    assert b == pytest.approx([4 * x - 1 for x in a])


def test_a_higher_level_is_wider() -> None:
    game = plain(np.tile([1.0, 1.0, 0.0, 1.0], 10))
    narrow, wide = betting_interval(game, 0.8), betting_interval(game, 0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_one_round_says_nearly_nothing() -> None:
    low, high = betting_mean(np.array([1.0]), 0.9)
    assert low <= 0.06
    assert high == pytest.approx(1.0)


def test_p_values_are_valid_and_find_the_gross_lie() -> None:
    rng = np.random.default_rng(10)
    values = (rng.random((120, 30)) < 0.8).astype(float)
    p = np.array([betting_p_value(plain(v), 0.8, 0.9, 0.95) for v in values])
    assert np.mean(p < 0.05) <= 0.06
    assert betting_p_value(plain(values[0]), 0.05, 0.3, 0.95) < 1e-3
    assert betting_p_value(plain(values[0]), 0.5, 1.0, 0.95) > 0.05


def test_the_order_of_bets_is_by_lot_from_data_to_data() -> None:
    """One lot for all data of a size would bet on the same ranks first, and miss too often on one side (7.5 % here)."""
    rng, missed = np.random.default_rng(5), np.zeros(2)
    truth = 1 - beta_function(1.2, 4.8) / beta_function(1.2, 0.8)
    for _ in range(300):
        right = rng.binomial(16, rng.beta(1.2, 0.8, 198))
        low, high = betting_mean(pass_at_k(np.full(198, 16), right, 4), 0.95)
        missed += low > truth, high < truth
    assert missed.max() <= 15  # of 300: 7.5 at most by the promise, and three standard errors


def test_the_lot_is_the_same_for_the_same_rows_in_any_order_and_on_any_scale() -> None:
    values = np.random.default_rng(6).beta(2, 1, 80)
    low, high = betting_mean(values, 0.95)
    assert betting_mean(values[::-1], 0.95) == (low, high)
    assert betting_mean(10 * values - 3, 0.95, low=-3, high=7) == pytest.approx(
        (10 * low - 3, 10 * high - 3)
    )
