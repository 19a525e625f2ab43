"""The contract of a simulation: draw a shifted target from labelled rows, to try every estimator on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..kernels import one_thread
from ..predictions import Predictions

LEAST_ROWS = 20  # a target smaller than this says more about chance than about the shift
_SHARE = (
    1 / 3
)  # of the pool that a weighted draw takes: fewer rows leave more room for the weights to act
_ENOUGH_ROWS = 100  # a small pool gives up to a half for these
_MOST_COLUMNS, _SMALLEST = 20, 1e-6


class Simulation(ABC):
    """One family of shifts: ``draw(pool, severity, rng)`` gives a labelled record, shifted by so much.

    A subclass is final. It sets ``name``, ``severities`` (from mild to strong), ``about`` (one sentence) and defines
    ``draw``; ``why_not`` says why a record cannot be shifted this way. Rows are drawn without replacement wherever the
    family only re-weights them, so that no row is counted twice.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    severities: ClassVar[tuple[float, ...]]

    def why_not(self, pool: Predictions) -> str | None:
        """The reason why these rows cannot be shifted this way, or None."""
        return None

    @abstractmethod
    def draw(
        self, pool: Predictions, severity: float, rng: np.random.Generator
    ) -> Predictions | None:
        """A shifted target from the pool, labels kept for the truth; None where too few rows are left."""


def draw_by_weight(
    pool: Predictions, log_weight: Array, rng: np.random.Generator
) -> Predictions | None:
    """A third of the pool, larger weights first, by Efraimidis and Spirakis (2006): log weight + Gumbel."""
    count = max(int(pool.rows * _SHARE), min(pool.rows // 2, _ENOUGH_ROWS))
    if count < LEAST_ROWS:
        return None
    keys = log_weight + rng.gumbel(size=pool.rows)
    return pool.take(np.sort(np.argpartition(-keys, count - 1)[:count]))


def draw_by_shares(
    pool: Predictions, part: Array, alpha: float, rng: np.random.Generator
) -> Predictions | None:
    """As many rows as a Dirichlet(alpha) draw of the shares of all parts allows; ``part`` (sample,), -1 for none."""
    sizes = np.bincount(part[part >= 0])
    present = np.flatnonzero(sizes)
    if len(present) < 2:
        return None
    shares = rng.dirichlet(np.full(len(present), alpha))
    total = float(np.min(sizes[present] / np.maximum(shares, 1e-9)))
    total = max(total, min(pool.rows * _SHARE, float(sizes[present].max())))
    counts = np.minimum(np.floor(total * shares + 1e-9).astype(int), sizes[present])
    if counts.sum() < LEAST_ROWS:
        return None
    rows = [
        rng.choice(np.flatnonzero(part == k), n, replace=False)
        for k, n in zip(present, counts, strict=True)
    ]
    return pool.take(np.sort(np.concatenate(rows)))


def coordinates(pool: Predictions) -> Array | None:
    """What rows are told apart by, float64, (sample, column), the 20 widest directions; None where there is nothing."""
    if not pool.rows:
        return None
    if pool.features is not None:
        points = pool.features.astype(np.float64)
    elif pool.probabilities is not None:
        points = np.log(np.maximum(pool.probabilities, _SMALLEST)).astype(np.float64)
    elif pool.confidence is not None:
        clipped = np.clip(pool.confidence, _SMALLEST, 1 - _SMALLEST).astype(np.float64)
        points = np.log(clipped / (1 - clipped))[:, None]
    else:
        return None
    points = points - points.mean(axis=0)
    spread = points.std(axis=0)
    points = points[:, spread > 0] / spread[spread > 0]
    if not points.shape[1]:
        return None
    if points.shape[1] > _MOST_COLUMNS:
        with one_thread():  # so small that threads would mostly wait for each other
            values, vectors = np.linalg.eigh(points.T @ points)
        points = points @ vectors[:, np.argsort(-values)[:_MOST_COLUMNS]]
    return np.asarray(points / np.maximum(points.std(axis=0), 1e-12))


def points_of(pool: Predictions) -> Array | None:
    """`coordinates`, worked out once a record."""
    return pool.derived("simulation:coordinates", lambda: coordinates(pool))
