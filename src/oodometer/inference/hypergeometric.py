"""The hypergeometric law, without `scipy.stats`: to load that takes half a second of a processor's time."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


def hypergeometric_law(population: int, successes: int, draws: int) -> tuple[int, Array]:
    """The fewest hits that draws without replacement can have, and the chance of each number of hits from there on.

    Chances follow from their ratios, taken from the likeliest number on, so that no large factorial is rounded.

    population : rows to draw from, of which ``successes`` are hits; draws : rows drawn.

    >>> fewest, chance = hypergeometric_law(5, 2, 3)
    >>> fewest, chance.round(3).tolist()
    (0, [0.1, 0.6, 0.3])
    """
    others = population - successes
    fewest, most = max(0, draws - others), min(draws, successes)
    hits = np.arange(fewest, most, dtype=np.float64)
    # the chance of one hit more over that of so many
    ratio = (successes - hits) * (draws - hits) / ((hits + 1) * (others - draws + hits + 1))
    likeliest = (draws + 1) * (successes + 1) // (population + 2)
    peak = min(max(likeliest, fewest), most) - fewest
    fewer = np.cumprod(1 / ratio[:peak][::-1])[::-1]
    weight = np.concatenate([fewer, [1.0], np.cumprod(ratio[peak:])])
    return fewest, weight / weight.sum()


def chance_of_at_most(hits: int, population: int, successes: int, draws: int) -> float:
    """P(X <= hits), X the hits among ``draws`` without replacement."""
    fewest, chance = hypergeometric_law(population, successes, draws)
    return float(chance[: max(hits - fewest + 1, 0)].sum())


def chance_of_at_least(hits: int, population: int, successes: int, draws: int) -> float:
    """P(X >= hits), X the hits among ``draws`` without replacement."""
    fewest, chance = hypergeometric_law(population, successes, draws)
    return float(chance[max(hits - fewest, 0) :].sum())


def hypergeometric_quantiles(shares: Array, population: int, successes: int, draws: int) -> Array:
    """For each share the smallest number of hits that is not exceeded with at least this chance."""
    fewest, chance = hypergeometric_law(population, successes, draws)
    return fewest + np.minimum(np.searchsorted(chance.cumsum(), shares), len(chance) - 1)
