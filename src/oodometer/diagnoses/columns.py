"""Columns: is there anything odd about the target's columns that no shift of the world would do?"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..results import percent
from .base import Finding

__all__ = ["columns_finding"]

_FAR = 0.5  # share of rows outside the reference's whole range


def columns_finding(features: tuple[Array, Array] | None, probabilities: tuple[Array, Array] | None) -> Finding | None:
    """Columns that became constant, or lie mostly outside the reference's range; each pair is (reference, target).

    Statistic: number of odd columns. Such columns point to a broken pipeline (a unit, a missing value written as
    a number) rather than to a shift. None without columns.

    >>> rng = np.random.default_rng(0)
    >>> here, there = rng.normal(size=(50, 2)), rng.normal(size=(50, 2))
    >>> there[:, 1] = -999
    >>> columns_finding((here, there), None).details["odd"]
    ['feature 1: constant at -999']
    """
    odd: list[str] = []
    for what, pair in (("feature", features), ("probability", probabilities)):
        if pair is None:
            continue
        here, there = pair
        low, high = here.min(axis=0), here.max(axis=0)
        constant = (there.min(axis=0) == there.max(axis=0)) & (low < high) & (len(there) > 1)
        outside = ((there < low) | (there > high)).mean(axis=0)
        for k in np.flatnonzero(constant):
            odd.append(f"{what} {k}: constant at {there[0, k]:.6g}")
        if what == "feature":
            for k in np.flatnonzero((outside > _FAR) & ~constant):
                odd.append(f"{what} {k}: {percent(outside[k], 0)} of the rows lie outside the reference's range")
    if features is None and probabilities is None:
        return None
    says = f"{len(odd)} odd columns: {'; '.join(odd[:3])}" if odd else "no column is odd"
    return Finding("columns", says, float(len(odd)), strength="strong" if odd else "none", details={"odd": odd[:20]})
