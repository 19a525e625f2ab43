"""Clusters: other shares of subgroups that the data themselves suggest (subpopulation shift)."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..inference.k_means import k_means
from ..predictions import Predictions
from ..registry import register
from .base import Simulation, coordinates, draw_by_shares

_ALPHAS = {0.25: 10.0, 0.5: 1.0, 1.0: 0.1}
_MOST_CLUSTERS = 10
_ROWS_A_CLUSTER = 40
_FIRST_ROWS = 200


@final
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
        return None if _count(pool) >= 2 else "needs `features`, `probabilities` or `confidence` that vary"

    def draw(self, pool: Predictions, severity: float, rng: np.random.Generator) -> Predictions | None:
        """Rows of each cluster by the drawn shares."""
        part = _clusters(pool)
        return None if part is None else draw_by_shares(pool, part, _ALPHAS[severity], rng)


def _count(pool: Predictions) -> int:
    """How many clusters there will be; fewer than two where rows cannot be told apart."""
    points = _points(pool)
    most = min(_MOST_CLUSTERS, len(pool) // _ROWS_A_CLUSTER)
    if points is None or most < 2:
        return 0
    few = len(np.unique(points[:_FIRST_ROWS], axis=0))  # sorting rows takes long, and a few mostly suffice
    return min(most, few if few >= most else len(np.unique(points, axis=0)))


def _points(pool: Predictions) -> Array | None:
    made: Array | None = pool.derived("simulation:coordinates", lambda: coordinates(pool))
    return made


def _clusters(pool: Predictions) -> Array | None:
    """Cluster of each row, worked out once a record; None where rows cannot be told apart."""

    def make() -> Array | None:
        points, count = _points(pool), _count(pool)
        return None if points is None or count < 2 else k_means(points, count)

    made: Array | None = pool.derived("simulation:clusters", make)
    return made
