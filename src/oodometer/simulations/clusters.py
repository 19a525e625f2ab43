"""Clusters, groups and periods: other shares of the parts that rows fall into."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..kernels import one_thread
from ..predictions import Predictions
from ..registry import register
from .base import LEAST_ROWS, Simulation, draw_by_shares, points_of

_PERIODS = 5


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
        return (
            None
            if len(_large(pool)) > 1
            else f"needs `group` with at least two values of {LEAST_ROWS} rows"
        )

    def draw(
        self, pool: Predictions, severity: float, rng: np.random.Generator
    ) -> Predictions | None:
        """The rows of a random group, and at severity 0.5 as many others."""
        large = _large(pool)
        if len(large) < 2:
            return None
        return _with_others(pool, large[int(rng.integers(len(large)))], severity, rng)


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
        if pool.time is None or pool.rows < _PERIODS * LEAST_ROWS:
            return f"needs `time` and at least {_PERIODS * LEAST_ROWS} rows"
        return None

    def draw(
        self, pool: Predictions, severity: float, rng: np.random.Generator
    ) -> Predictions | None:
        """The rows of a random stretch, and at severity 0.5 as many others."""
        if pool.time is None:
            return None
        stretches = np.array_split(np.argsort(pool.time, kind="stable"), _PERIODS)
        return _with_others(pool, stretches[int(rng.integers(_PERIODS))], severity, rng)


def _large(pool: Predictions) -> list[Array]:
    """Rows of each group that has enough of them."""

    def make() -> list[Array]:
        if pool.group is None:
            return []
        names = np.array([str(g) for g in pool.group.tolist()], dtype=object)
        distinct, codes = np.unique(names.astype(str), return_inverse=True)
        rows = (
            [np.flatnonzero(codes == k) for k in range(len(distinct))]
            if len(distinct) <= 200
            else []
        )
        return [r for r in rows if len(r) >= LEAST_ROWS]

    return pool.derived("simulation:groups", make)


def _with_others(
    pool: Predictions, rows: Array, severity: float, rng: np.random.Generator
) -> Predictions | None:
    if severity < 1:
        outside = np.setdiff1d(np.arange(pool.rows), rows)
        rows = np.concatenate(
            [rows, rng.choice(outside, min(len(rows), len(outside)), replace=False)]
        )
    return pool.take(np.sort(rows)) if len(rows) >= LEAST_ROWS else None


_MOST_STEPS = 50
_CLOSE = 1e-4  # of the mean variance: centres that move less in all have settled


def k_means(points: Array, count: int) -> Array:
    """Cluster of each row, intp, (sample,): greedy k-means++ and Lloyd, with scikit-learn's draws and rule to stop."""
    with one_thread():  # a few columns: threads would wait for each other, and for other work
        # cluster of each row; the columns of ``points`` have the mean 0
        points = points - points.mean(axis=0)
        norms = np.einsum("ij,ij->i", points, points)
        rng = np.random.RandomState(0)
        tries = 2 + int(np.log(count))
        centres = np.empty((count, points.shape[1]))
        centres[0] = points[rng.choice(len(points), p=np.full(len(points), 1 / len(points)))]
        nearest = _squared(centres[:1], points, norms)[0]
        for k in range(1, count):
            reach = np.cumsum(nearest)
            candidates = np.searchsorted(reach, rng.uniform(size=tries) * nearest.sum()).clip(
                max=len(points) - 1
            )
            remaining = np.minimum(nearest, _squared(points[candidates], points, norms))
            best = int(remaining.sum(axis=1).argmin())
            centres[k], nearest = points[candidates[best]], remaining[best]
        settled = _CLOSE * float(points.var(axis=0).mean())
        part: Array = np.full(len(points), -1)
        for _ in range(_MOST_STEPS):
            before, part = part, _nearest(points, centres)
            moved = _middles(points, part, centres, norms)
            shift = float(np.square(moved - centres).sum())
            centres = moved
            if np.array_equal(before, part):
                return part
            if shift <= settled:
                break
        return _nearest(points, centres)


def _squared(chosen: Array, points: Array, norms: Array) -> Array:
    """Squared distances, axes (chosen, sample)."""
    return np.asarray(
        np.maximum(
            np.einsum("ij,ij->i", chosen, chosen)[:, None] - 2 * (chosen @ points.T) + norms, 0.0
        )
    )


def _nearest(points: Array, centres: Array) -> Array:
    return np.asarray(
        (np.einsum("ij,ij->i", centres, centres)[:, None] - 2 * (centres @ points.T)).argmin(axis=0)
    )


def _middles(points: Array, part: Array, centres: Array, norms: Array) -> Array:
    """Means of the clusters; one that has become empty takes the row that is farthest from its own centre."""
    count = len(centres)
    sizes = np.bincount(part, minlength=count)
    sums = np.stack([np.bincount(part, column, count) for column in points.T], axis=1)
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        distance = (
            norms
            - 2 * np.einsum("ij,ij->i", points, centres[part])
            + np.square(centres).sum(axis=1)[part]
        )
        for k, row in zip(empty, np.argsort(-distance), strict=False):
            sums[part[row]] -= points[row]
            sizes[part[row]] -= 1
            sums[k], sizes[k] = points[row], 1
    return np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)


_CLUSTER_ALPHAS = {0.25: 10.0, 0.5: 1.0, 1.0: 0.1}
_MOST_CLUSTERS, _ROWS_A_CLUSTER, _FIRST_ROWS = 10, 40, 200


@register("simulation")
class Clusters(Simulation):
    """Shares ~ Dirichlet(alpha) of k-means clusters of features (else of log-probabilities, else of confidence).

    alpha = 10, 1 or 0.1 at severity 0.25, 0.5 or 1; up to 10 clusters. P(y | x) stays: a covariate shift
    within the support of the reference. Source: Santurkar et al. (2021), subpopulation shift.

    >>> rng = np.random.default_rng(0)
    >>> p = Predictions.from_arrays(features=rng.normal(size=(400, 2)), correct=[1, 0] * 200)
    >>> len(Clusters().draw(p, 1.0, rng)) >= 30
    True
    """

    name = "clusters"
    about = "other shares of clusters of features or probabilities"
    severities = (0.25, 0.5, 1.0)

    def why_not(self, pool: Predictions) -> str | None:
        """Something to cluster is needed."""
        return (
            None
            if _count(pool) >= 2
            else "needs `features`, `probabilities` or `confidence` that vary"
        )

    def draw(
        self, pool: Predictions, severity: float, rng: np.random.Generator
    ) -> Predictions | None:
        """Rows of each cluster by the drawn shares."""

        def make() -> Array | None:
            points, count = points_of(pool), _count(pool)
            return None if points is None or count < 2 else k_means(points, count)

        part: Array | None = pool.derived("simulation:clusters", make)
        return None if part is None else draw_by_shares(pool, part, _CLUSTER_ALPHAS[severity], rng)


def _count(pool: Predictions) -> int:
    """How many clusters there will be; fewer than two where rows cannot be told apart."""
    points = points_of(pool)
    limit = min(_MOST_CLUSTERS, pool.rows // _ROWS_A_CLUSTER)
    if points is None or limit < 2:
        return 0
    few = len(
        np.unique(points[:_FIRST_ROWS], axis=0)
    )  # sorting rows takes long, and a few mostly suffice
    return min(limit, few if few >= limit else len(np.unique(points, axis=0)))
