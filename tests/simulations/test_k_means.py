"""k-means against scikit-learn, whose import it spares."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from oodometer.simulations.clusters import k_means


@pytest.mark.parametrize(("rows", "columns", "count"), [(100, 1, 2), (400, 3, 10), (3000, 10, 10), (500, 20, 7)])
def test_clusters_are_those_of_sklearn(rows: int, columns: int, count: int) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(rows, columns)) + rng.integers(0, 4, size=(rows, 1))
        oracle = KMeans(count, n_init=1, max_iter=50, random_state=0).fit_predict(points)
        assert (k_means(points, count) == oracle).mean() > 0.999


def test_clusters_of_repeated_rows() -> None:
    points = np.repeat(np.array([[0.0], [1.0], [5.0]]), [50, 3, 1], axis=0)
    assert len(np.unique(k_means(points, 3))) == 3
