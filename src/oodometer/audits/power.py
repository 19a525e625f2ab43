"""Power: which accuracies would so many labels notice to contradict a claim? A test without power proves little."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .label_only import exact_p_value


@dataclass(frozen=True)
class Noticeable:
    """At an accuracy of ``below`` or less, or of ``above`` or more, the test refutes the claim with chance ``power``.

    None where not even an accuracy of 0 (or 1) would be noticed so often.
    """

    below: float | None
    above: float | None
    power: float

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def noticeable(labels: int, rows: int, lower: float, upper: float, level: float, power: float = 0.9) -> Noticeable:
    """Where `exact_p_value` of "the accuracy lies in [lower, upper]" is below 1 - level with chance ``power``.

    The numbers of hits that refute are counted out; their chance is taken for binomial, which for a small target, drawn
    without replacement, is on the safe side.

    >>> found = noticeable(40, 10_000, 0.88, 0.97, 0.95)
    >>> round(found.below, 2), found.above
    (0.67, None)
    """
    from scipy.special import bdtr, bdtrc

    alpha = 1 - level

    def few(hits: int) -> bool:
        return hits < labels * lower and exact_p_value(hits, labels, rows, lower, upper) < alpha

    def many(hits: int) -> bool:
        return hits > labels * upper and exact_p_value(hits, labels, rows, lower, upper) < alpha

    most = _first(0, labels + 1, lambda k: not few(k)) - 1  # hits up to which the claim is refuted from below
    least = _first(0, labels + 1, many)
    below = above = None
    if most >= 0:
        below = _root(0.0, lower, lambda p: float(bdtr(most, labels, p)) < power)
    if least <= labels:
        above = 1 - _root(0.0, 1 - upper, lambda q: float(bdtrc(least - 1, labels, 1 - q)) < power)
    return Noticeable(below, above, power)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The smallest number of [low, high] that a monotone condition holds for; high if none."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _root(low: float, high: float, beyond: Callable[[float], bool]) -> float:
    """The largest number of [low, high] that a condition does not hold for, which holds from there on."""
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return low
