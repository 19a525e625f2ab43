"""Pixelate: fewer, larger pixels."""

from __future__ import annotations

from typing import final

import numpy as np

from ...arrays import Array
from ...registry import register
from ..base import ImageShift
from ..draws import Draws

__all__ = ["Pixelate"]


@final
@register("shift")
class Pixelate(ImageShift):
    """Reduced to int(c times the side) pixels by a box filter, and enlarged again; c = 0.95, 0.9, 0.85, 0.75, 0.65.

    No chance is in it. A share of the side is no length in pixels: it is the same for every size of image.
    Source: Hendrycks and Dietterich (2019).

    >>> row = np.arange(0, 200, 50, dtype=np.uint8).reshape(1, 1, 4, 1)
    >>> Pixelate().apply(row, 5).ravel().tolist()
    [25, 25, 125, 125]
    """

    name = "pixelate"
    about = "the picture has fewer, larger pixels"
    citation = "hendrycks2019"
    constants = (0.95, 0.9, 0.85, 0.75, 0.65)

    def _shifted(self, pixels: Array, constant: float, draws: Draws) -> Array:
        out = pixels
        sides = [(axis, pixels.shape[axis], max(1, int(pixels.shape[axis] * constant))) for axis in (2, 1)]
        for axis, side, fewer in sides:
            out = _boxes(out, axis, side, fewer)
        for axis, side, fewer in sides:
            out = out.take(((np.arange(side) + 0.5) * fewer / side).astype(int), axis=axis)
        return out


def _boxes(pixels: Array, axis: int, side: int, fewer: int) -> Array:
    """One axis with fewer pixels: each the mean of those whose middle its box covers, rounded."""
    centre = (np.arange(fewer) + 0.5) * side / fewer
    first = np.ceil(centre - side / fewer / 2 - 0.5 + 1e-9).astype(int)
    last = np.ceil(centre + side / fewer / 2 - 0.5 - 1e-9).astype(int)
    first, last = np.maximum(first, 0), np.minimum(np.maximum(last, first + 1), side)
    shape = [-1 if i == axis else 1 for i in range(4)]
    total = pixels.take(first, axis=axis).astype(np.float32)
    for more in range(1, int((last - first).max())):
        there = (first + more < last).astype(np.float32).reshape(shape)
        total += pixels.take(np.minimum(first + more, side - 1), axis=axis) * there
    total /= (last - first).astype(np.float32).reshape(shape)
    out: Array = (total + np.float32(0.5)).astype(np.uint8)
    return out
