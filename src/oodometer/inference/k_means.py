"""k-means: clusters of a few thousand rows, without a library's start-up time."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..kernels import one_thread

_STEPS = 50
_CLOSE = 1e-4  # of the mean variance: centres that move less in all have settled


def k_means(points: Array, count: int) -> Array:
    """Cluster of each row, intp, shape (sample,): Lloyd's algorithm from greedy k-means++ centres, seeded.

    points are float64, axes (sample, column), of which at least ``count`` differ. The draws and the rule to stop are
    those of scikit-learn's ``KMeans(count, n_init=1, max_iter=50, random_state=0)``, and so are the clusters.

    Source: Lloyd (1982); Arthur and Vassilvitskii (2007).

    >>> k_means(np.array([[0.0], [0.1], [5.0], [5.1]]), 2).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """
    with one_thread():  # a few columns: threads would wait for each other, and for other work
        return _clustered(points - points.mean(axis=0), count)


def _clustered(points: Array, count: int) -> Array:
    """Cluster of each row; the columns of ``points`` have the mean 0."""
    norms = np.einsum("ij,ij->i", points, points)
    centres = _first_centres(points, norms, count)
    settled = _CLOSE * float(points.var(axis=0).mean())
    part: Array = np.full(len(points), -1)
    for _ in range(_STEPS):
        before, part = part, _nearest(points, centres)
        moved = _middles(points, part, centres, norms)
        shift = float(np.square(moved - centres).sum())
        centres = moved
        if np.array_equal(before, part):
            return part
        if shift <= settled:
            break
    return _nearest(points, centres)


def _first_centres(points: Array, norms: Array, count: int) -> Array:
    """Rows drawn with chances that grow with the squared distance to those drawn before, the best of a few each."""
    rng = np.random.RandomState(0)
    tries = 2 + int(np.log(count))
    centres = np.empty((count, points.shape[1]))
    centres[0] = points[rng.choice(len(points), p=np.full(len(points), 1 / len(points)))]
    nearest = _squared(centres[:1], points, norms)[0]
    for k in range(1, count):
        reach = np.cumsum(nearest)
        drawn = np.searchsorted(reach, rng.uniform(size=tries) * nearest.sum()).clip(max=len(points) - 1)
        left = np.minimum(nearest, _squared(points[drawn], points, norms))
        best = int(left.sum(axis=1).argmin())
        centres[k], nearest = points[drawn[best]], left[best]
    return centres


def _squared(some: Array, points: Array, norms: Array) -> Array:
    """Squared distances, axes (some, sample)."""
    out: Array = np.einsum("ij,ij->i", some, some)[:, None] - 2 * (some @ points.T) + norms
    return np.maximum(out, 0.0, out=out)


def _nearest(points: Array, centres: Array) -> Array:
    near: Array = (np.einsum("ij,ij->i", centres, centres)[:, None] - 2 * (centres @ points.T)).argmin(axis=0)
    return near


def _middles(points: Array, part: Array, centres: Array, norms: Array) -> Array:
    """Means of the clusters; one that has become empty takes the row that is farthest from its own centre."""
    count = len(centres)
    sizes = np.bincount(part, minlength=count)
    sums = np.stack([np.bincount(part, column, count) for column in points.T], axis=1)
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        apart = norms - 2 * np.einsum("ij,ij->i", points, centres[part]) + np.square(centres).sum(axis=1)[part]
        for k, row in zip(empty, np.argsort(-apart), strict=False):
            sums[part[row]] -= points[row]
            sizes[part[row]] -= 1
            sums[k], sizes[k] = points[row], 1
    out: Array = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
    return out
