"""Defocus blur: a point becomes a disk, as with a lens that is out of focus."""

from __future__ import annotations

from functools import lru_cache
from typing import final

import numpy as np

from ...arrays import Array
from ...registry import register
from ..base import Draws, ImageShift, scale
from .filters import correlated


@final
@register("shift")
class DefocusBlur(ImageShift):
    """Correlation with a disk of radius r, its rim smoothed by a small Gaussian of deviation a.

    (r, a) = (0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1) pixels. Source: Hendrycks and Dietterich (2019).

    >>> point = np.zeros((1, 32, 32, 1), dtype=np.uint8)
    >>> point[0, 9, 9] = 255
    >>> DefocusBlur().apply(point, 5)[0, 8:11, 8:11, 0].tolist()
    [[28, 28, 28], [28, 28, 28], [28, 28, 28]]
    """

    name = "defocus_blur"
    about = "a point becomes a disk, as with a lens that is out of focus"
    citation = "hendrycks2019"
    constants = ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1))

    def _shifted(self, pixels: Array, constant: tuple[float, float], draws: Draws) -> Array:
        radius, rim = constant
        return correlated(pixels.astype(np.float32), disk(radius * scale(pixels), rim))


@lru_cache(maxsize=16)
def disk(radius: float, rim: float) -> Array:
    """The kernel: pixels within the radius share alike, then a Gaussian of 3 x 3 (above radius 8: 5 x 5) smooths."""
    from scipy.ndimage import convolve1d

    near = 1 if radius <= 8 else 2
    far = int(radius) + near
    at = np.arange(-far, far + 1)
    out = (at**2 + at[:, None] ** 2 <= radius**2).astype(float)
    out /= out.sum()
    weights = np.exp(-(np.arange(-near, near + 1) ** 2) / (2 * rim**2))
    for axis in (0, 1):
        out = convolve1d(out, weights / weights.sum(), axis=axis, mode="constant")
    return np.asarray(out)
