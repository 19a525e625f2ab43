"""Slices: the user's own groups and stretches of time, each as a target: the most natural shift there is."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..predictions import Predictions
from ..registry import register
from .base import LEAST_ROWS, Simulation

_PERIODS = 5


@final
@register("simulation")
class Groups(Simulation):
    """One value of `group` (severity 1), or a half of the target from it and a half at random (severity 0.5).

    Needs `group`. Source: Koh et al. (2021), shifts between domains.

    >>> p = Predictions.from_arrays(correct=[1, 0] * 100, group=["a"] * 100 + ["b"] * 100)
    >>> set(Groups().draw(p, 1.0, np.random.default_rng(0)).group.tolist()) <= {"a", "b"}
    True
    """

    name = "groups"
    about = "one of your own groups becomes (half of) the target"
    severities = (0.5, 1.0)

    def why_not(self, pool: Predictions) -> str | None:
        """At least two groups of some size are needed."""
        return None if len(_large(pool)) > 1 else f"needs `group` with at least two values of {LEAST_ROWS} rows"

    def draw(self, pool: Predictions, severity: float, rng: np.random.Generator) -> Predictions | None:
        """The rows of a random group, and at severity 0.5 as many others."""
        large = _large(pool)
        if len(large) < 2:
            return None
        rows = large[int(rng.integers(len(large)))]
        return _with_others(pool, rows, severity, rng)


@final
@register("simulation")
class Periods(Simulation):
    """One of five stretches of `time` of equal size (severity 1), or half of the target from it (severity 0.5).

    Needs `time`. Source: Koh et al. (2021), shifts over time.

    >>> days = np.arange("2026-01-01", "2026-07-20", dtype="datetime64[D]")
    >>> p = Predictions.from_arrays(correct=[1, 0] * 100, time=days)
    >>> len(Periods().draw(p, 1.0, np.random.default_rng(0)))
    40
    """

    name = "periods"
    about = "one stretch of your own time becomes (half of) the target"
    severities = (0.5, 1.0)

    def why_not(self, pool: Predictions) -> str | None:
        """Time is needed."""
        if pool.time is None or len(pool) < _PERIODS * LEAST_ROWS:
            return f"needs `time` and at least {_PERIODS * LEAST_ROWS} rows"
        return None

    def draw(self, pool: Predictions, severity: float, rng: np.random.Generator) -> Predictions | None:
        """The rows of a random stretch, and at severity 0.5 as many others."""
        if pool.time is None:
            return None
        order = np.argsort(pool.time, kind="stable")
        rows = np.array_split(order, _PERIODS)[int(rng.integers(_PERIODS))]
        return _with_others(pool, rows, severity, rng)


def _large(pool: Predictions) -> list[Array]:
    """Rows of each group that has enough of them."""

    def make() -> list[Array]:
        if pool.group is None:
            return []
        names = np.array([str(g) for g in pool.group.tolist()], dtype=object)
        distinct, codes = np.unique(names.astype(str), return_inverse=True)
        rows = [np.flatnonzero(codes == k) for k in range(len(distinct))] if len(distinct) <= 200 else []
        return [r for r in rows if len(r) >= LEAST_ROWS]

    made: list[Array] = pool.derived("simulation:groups", make)
    return made


def _with_others(pool: Predictions, rows: Array, severity: float, rng: np.random.Generator) -> Predictions | None:
    if severity < 1:
        others = np.setdiff1d(np.arange(len(pool)), rows)
        rows = np.concatenate([rows, rng.choice(others, min(len(rows), len(others)), replace=False)])
    return pool.take(np.sort(rows)) if len(rows) >= LEAST_ROWS else None
