"""Line search: a step that lowers a function enough and flattens it, by the interpolations of More and Thuente."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

__all__ = ["LineSearch"]

_FALL = 1e-3  # share of the fall that the slope promises
_FLATTER = 0.9  # share of the first slope that may be left
_NARROW = 0.1  # relative width of an interval that is not cut further
_SHRINK = 0.66
_FURTHER = (1.1, 4.0)  # of the last step, before a minimum is enclosed


@dataclass
class _Point:
    """A step, the function there and its slope."""

    step: float
    value: float
    slope: float


@dataclass
class LineSearch:
    """Proposes steps until f(step) <= f(0) + 0.001 step f'(0) and |f'(step)| <= 0.9 |f'(0)|, or none is better.

    Parameters
    ----------
    value, slope : of the function at 0; the slope is below 0.
    step : the first to be tried. longest : the longest.

    Source: More and Thuente (1994), Line search algorithms with guaranteed sufficient decrease, as in MINPACK-2 and in
    L-BFGS-B.

    >>> search = LineSearch(value=4.0, slope=-4.0, step=0.1)  # of (x - 2)^2
    >>> while not search.done((search.step - 2) ** 2, 2 * (search.step - 2)):
    ...     pass
    >>> search.step
    0.5
    """

    value: float
    slope: float
    step: float
    longest: float = 1e10
    _enclosed: bool = False
    _first_stage: bool = True
    _best: _Point = field(init=False)
    _other: _Point = field(init=False)
    _low: float = 0.0
    _high: float = field(init=False)
    _width: float = field(init=False)
    _width_before: float = field(init=False)

    def __post_init__(self) -> None:
        self._best = _Point(0.0, self.value, self.slope)
        self._other = _Point(0.0, self.value, self.slope)
        self._high = self.step + _FURTHER[1] * self.step
        self._width, self._width_before = self.longest, 2 * self.longest

    def done(self, value: float, slope: float) -> bool:
        """Whether the step will do, given function and slope there; else `step` is the next one."""
        least = _FALL * self.slope
        enough = self.value + self.step * least
        if self._first_stage and value <= enough and slope >= 0:
            self._first_stage = False
        if value <= enough and abs(slope) <= -_FLATTER * self.slope:
            return True
        stuck = self._enclosed and not self._low < self.step < self._high
        stuck |= self._enclosed and self._high - self._low <= _NARROW * self._high
        stuck |= self.step == self.longest and value <= enough and slope <= least
        stuck |= self.step == 0
        if stuck:
            return True
        if self._first_stage and enough < value <= self._best.value:
            self._tilt(-least)  # the function less the fall that is asked for, which has its minimum there
            self._next(_Point(self.step, value - self.step * least, slope - least))
            self._tilt(least)
        else:
            self._next(_Point(self.step, value, slope))
        self._cut()
        return False

    def _tilt(self, slope: float) -> None:
        for one in (self._best, self._other):
            one.value += one.step * slope
            one.slope += slope

    def _cut(self) -> None:
        """The interval in which the next step may lie, and the step in it."""
        best, other = self._best.step, self._other.step
        if self._enclosed:
            if abs(other - best) >= _SHRINK * self._width_before:
                self.step = best + 0.5 * (other - best)
            self._width_before, self._width = self._width, abs(other - best)
            self._low, self._high = min(best, other), max(best, other)
        else:
            self._low, self._high = (self.step + far * (self.step - best) for far in _FURTHER)
        self.step = min(max(self.step, 0.0), self.longest)
        narrow = self._high - self._low <= _NARROW * self._high
        if self._enclosed and (narrow or not self._low < self.step < self._high):
            self.step = best

    def _next(self, here: _Point) -> None:
        """A step from what is known of three points; the interval then holds the minimum if it did, or encloses it."""
        best, other = self._best, self._other
        turned = here.slope * math.copysign(1.0, best.slope) < 0
        if here.value > best.value:
            cubic = best.step + _cubic(best, here) * (here.step - best.step)
            fall = (best.value - here.value) / (here.step - best.step) + best.slope
            square = best.step + best.slope / fall / 2 * (here.step - best.step)
            near = abs(cubic - best.step) <= abs(square - best.step)
            new, self._enclosed = cubic if near else cubic + (square - cubic) / 2, True
        elif turned:
            cubic = here.step + _cubic(here, best) * (best.step - here.step)
            secant = _secant(here, best)
            new = cubic if abs(cubic - here.step) > abs(secant - here.step) else secant
            self._enclosed = True
        elif abs(here.slope) < abs(best.slope):
            new = self._flatter(here)
        elif self._enclosed:
            new = here.step + _cubic(here, other) * (other.step - here.step)
        else:
            new = self._high if here.step > best.step else self._low
        if here.value > best.value:
            self._other = here
        else:
            if turned:
                self._other = best
            self._best = here
        self.step = new

    def _flatter(self, here: _Point) -> float:
        """The step where the slope falls and has the sign of before: the cubic may have no minimum on that side."""
        best = self._best
        theta, gamma = _curve(here, best)
        part = (gamma - here.slope + theta) / (gamma + (best.slope - here.slope) + gamma)
        beyond = self._high if here.step > best.step else self._low
        cubic = here.step + part * (best.step - here.step) if part < 0 and gamma != 0 else beyond
        secant = _secant(here, best)
        to_cubic, to_secant = abs(cubic - here.step), abs(secant - here.step)
        if not self._enclosed:
            return min(max(cubic if to_cubic > to_secant else secant, self._low), self._high)
        new = cubic if to_cubic < to_secant else secant
        bound = here.step + _SHRINK * (self._other.step - here.step)
        return min(bound, new) if here.step > best.step else max(bound, new)


def _curve(a: _Point, b: _Point) -> tuple[float, float]:
    """Of the cubic through two points with their slopes: theta and gamma, whose sign is that of b's step less a's."""
    theta = 3 * (b.value - a.value) / (a.step - b.step) + a.slope + b.slope
    size = max(abs(theta), abs(a.slope), abs(b.slope)) or 1.0
    gamma = size * math.sqrt(max((theta / size) ** 2 - a.slope / size * (b.slope / size), 0.0))
    return theta, gamma if b.step > a.step else -gamma


def _cubic(a: _Point, b: _Point) -> float:
    """Where the cubic through two points has its minimum, as a share of the way from a to b."""
    theta, gamma = _curve(a, b)
    return (gamma - a.slope + theta) / (gamma - a.slope + gamma + b.slope)


def _secant(a: _Point, b: _Point) -> float:
    return a.step + a.slope / (a.slope - b.slope) * (b.step - a.step)
