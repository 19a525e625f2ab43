"""Principal components by a random projection: where only the subspace of the widest directions matters."""

from __future__ import annotations

import numpy as np

from ..arrays import Array

_OVERSAMPLED = 10  # columns of the random projection beyond those that are wanted


def principal_components(centred: Array, width: int) -> Array:
    """Scores of the rows on the first ``width`` principal components, shape (sample, width); each component's
    largest loading is positive.

    centred has axes (sample, column), columns with mean 0. One power iteration on a seeded random projection, as
    scikit-learn's ``PCA(width, svd_solver="randomized", iterated_power=1, random_state=0)``. Source: Halko et al.
    (2011).

    >>> x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.1], [0.0, -0.1]])
    >>> (principal_components(x, 1).round(3) + 0.0).ravel().tolist()
    [1.0, -1.0, 0.0, 0.0]
    """
    wide = centred.shape[0] < centred.shape[1]
    tall = centred.T if wide else centred
    sketch = np.random.RandomState(0).normal(size=(tall.shape[1], width + _OVERSAMPLED))
    basis = np.linalg.qr(tall @ (tall.T @ (tall @ sketch)))[0]
    left, sizes, right = np.linalg.svd(basis.T @ tall, full_matrices=False)
    rows, axes = (right.T, (basis @ left).T) if wide else (basis @ left, right)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)[:, 0]
    scores: Array = (rows * sizes * np.sign(largest))[:, :width]
    return scores
