"""L-BFGS: the minimum of a function with its gradient, as scipy's L-BFGS-B finds it where there are no bounds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from ..arrays import Array
from .line_search import LineSearch

__all__ = ["lbfgs"]

_MOST_TRIALS = 20  # in a line search
_EPSILON = float(np.finfo(np.float64).eps)

Loss = Callable[[Array], tuple[float, Array]]
_Pairs = deque[tuple[Array, Array, float]]


def lbfgs(
    loss: Loss, start: Array, *, steps: int, least_fall: float = 2.2e-9, least_slope: float = 1e-5, memory: int = 10
) -> Array:
    """Minimise ``loss``, which gives its value and gradient, from ``start``, shape (parameter,); where it ended.

    The inverse Hessian is built from the last ``memory`` changes of point and gradient. It ends after so many ``steps``,
    where the value falls by less than ``least_fall`` of itself (of 1, where it is smaller), or where no entry of the
    gradient is above ``least_slope``. With the line search and the rules of L-BFGS-B, so that the path is scipy's up to
    rounding; `scipy.optimize` itself takes a third of a second to load.

    Source: Liu and Nocedal (1989); Byrd et al. (1995) and Morales and Nocedal (2011) for L-BFGS-B.

    >>> lbfgs(lambda x: (float(np.square(x - 3).sum()), 2 * (x - 3)), np.zeros(2), steps=9).round(6).tolist()
    [3.0, 3.0]
    """
    point = start.astype(np.float64)
    value, slope = loss(point)
    pairs: _Pairs = deque(maxlen=memory)
    longest_first: float | None = 1.0  # length of the first step
    for _ in range(steps):
        if np.abs(slope).max(initial=0.0) <= least_slope:
            break
        found = _searched(loss, point, (value, slope), _direction(pairs, slope), longest_first)
        if found is None and pairs:  # forget what was learnt, and try straight down
            pairs.clear()
            found = _searched(loss, point, (value, slope), -slope, longest_first)
        if found is None:
            break
        before, steep, longest_first = value, slope, None
        change, value, slope = found
        point = point + change
        if before - value <= least_fall * max(abs(before), abs(value), 1.0):
            break
        bent = slope - steep
        along = float(bent @ change)
        if along > -_EPSILON * float(steep @ change):  # else it is not convex here
            pairs.append((change, bent, along))
    return point


def _direction(pairs: _Pairs, slope: Array) -> Array:
    """Less the inverse Hessian, as the pairs tell it, times the gradient (the two loops of Nocedal 1980)."""
    out = -slope
    if not pairs:
        return out
    shares = []
    for change, bent, along in reversed(pairs):
        share = float(change @ out) / along
        out -= share * bent
        shares.append(share)
    _, bent, along = pairs[-1]
    out *= along / float(bent @ bent)
    for (change, bent, along), share in zip(pairs, reversed(shares), strict=True):
        out += (share - float(bent @ out) / along) * change
    return out


def _searched(
    loss: Loss, point: Array, here: tuple[float, Array], direction: Array, longest_first: float | None
) -> tuple[Array, float, Array] | None:
    """A change of the point along the direction, with value and gradient there; None where no step will do."""
    value, slope = here
    steep = float(slope @ direction)
    if not steep < 0:
        return None
    step = 1.0 if longest_first is None else longest_first / float(np.linalg.norm(direction))
    search = LineSearch(value, steep, step)
    for _ in range(_MOST_TRIALS):
        change = search.step * direction
        value, slope = loss(point + change)
        if search.done(value, float(slope @ direction)):
            return change, value, slope
    return None
