"""Quantiles: those of the first axis, by one sort."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array


def quantiles(values: Array, shares: Sequence[float]) -> Array:
    """`np.quantile` along the first axis, linear between neighbours; axes (share, ...).

    At the first call numpy's own loads its masked arrays, 10 ms: as long as all else that finishes an estimate. Values
    have at least one entry and no NaN.

    >>> quantiles(np.array([3.0, 1.0, 2.0]), [0.0, 0.25, 1.0]).tolist()
    [1.0, 1.5, 3.0]
    """
    ordered = np.sort(values, axis=0)
    place = np.asarray(shares, dtype=np.float64) * (len(ordered) - 1)
    below = np.floor(place).astype(np.intp)
    part = (place - below).reshape(-1, *[1] * (values.ndim - 1))
    low, high = ordered[below], ordered[np.minimum(below + 1, len(ordered) - 1)]
    # from the nearer neighbour, as numpy does, so that the result is the same to the last digit
    out: Array = np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part))
    return out
