"""Principal components by a random projection: where only the subspace of the widest directions matters."""

from __future__ import annotations

import numpy as np

from ..arrays import Array

__all__ = ["principal_components"]

_OVERSAMPLED = 10  # columns of the random projection beyond those that are wanted


def principal_components(centred: Array, width: int) -> Array:
    """Scores of the rows on the first ``width`` principal components, shape (sample, width), signs as they come.

    centred has axes (sample, column), columns with mean 0. One power iteration on a seeded random projection, as
    scikit-learn's ``PCA(width, svd_solver="randomized", iterated_power=1, random_state=0)``. Source: Halko et al.
    (2011).

    >>> x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.1], [0.0, -0.1]])
    >>> np.abs(principal_components(x, 1)).round(3).ravel().tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    wide = centred.shape[0] < centred.shape[1]
    tall = centred.T if wide else centred
    sketch = np.random.RandomState(0).normal(size=(tall.shape[1], width + _OVERSAMPLED))
    basis = np.linalg.qr(tall @ (tall.T @ (tall @ sketch)))[0]
    left, sizes, right = np.linalg.svd(basis.T @ tall, full_matrices=False)
    scores: Array = (right.T if wide else basis @ left)[:, :width] * sizes[:width]
    return scores
