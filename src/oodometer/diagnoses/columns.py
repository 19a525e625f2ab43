"""Columns: is there anything odd about the target's columns that no shift of the world would do?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array
from ..results import percent
from ..results.columns import UserColumn
from .base import Finding

_FAR = 0.5  # share of rows outside the reference's whole range


def columns_finding(
    features: tuple[Array, Array] | None,
    probabilities: tuple[Array, Array] | None,
    columns: Sequence[UserColumn] = (),
) -> Finding | None:
    """Columns that became constant, or lie mostly outside the reference's range; each pair is (reference, target).

    Statistic: number of odd columns. Such columns point to a broken pipeline (a unit, a missing value written as
    a number) rather than to a shift. None without columns. ``columns`` are the user's own, which `features` were made
    of: they are called as in the file.

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
            odd.append(_constant(columns if what == "feature" else (), what, int(k), float(there[0, k])))
        if what == "feature":
            for k in np.flatnonzero((outside > _FAR) & ~constant):
                odd.append(_outside(columns, int(k), float(outside[k])))
    odd = [one for one in odd if one]
    if features is None and probabilities is None:
        return None
    says = f"{len(odd)} odd columns: {'; '.join(odd[:3])}" if odd else "no column is odd"
    return Finding("columns", says, float(len(odd)), strength="strong" if odd else "none", details={"odd": odd[:20]})


def _column(columns: Sequence[UserColumn], feature: int) -> tuple[UserColumn | None, int]:
    """The column that a feature was made of, and which of its features it is."""
    for one in columns:
        if one.first <= feature < one.first + one.width:
            return one, feature - one.first
    return None, 0


def _constant(columns: Sequence[UserColumn], what: str, feature: int, value: float) -> str:
    """What is odd about a feature with one value alone; nothing where that only says that a category is not there."""
    user, place = _column(columns, feature)
    if user is None:
        return f"{what} {feature}: constant at {value:.6g}"
    if place < len(user.center) and user.kind != "category":
        name = user.features()[place]
        return f"{name}: constant at {value * user.scale[place] + user.center[place]:.6g}"
    if value < 1:
        return ""
    return f"{user.name}: missing in every row" if place == user.width - 1 else f"{user.features()[place]} in every row"


def _outside(columns: Sequence[UserColumn], feature: int, share: float) -> str:
    """What is odd about a feature that lies outside the reference's range in most rows."""
    user, place = _column(columns, feature)
    rows = f"{percent(share, 0)} of the rows"
    if user is None:
        return f"feature {feature}: {rows} lie outside the reference's range"
    if user.encoded and place == user.width - 1:
        return f"{user.name}: missing in {rows}, and never in the reference"
    if user.kind == "category":
        return f"{user.features()[place]} in {rows}, and never in the reference"
    return f"{user.features()[place]}: {rows} lie outside the reference's range"
