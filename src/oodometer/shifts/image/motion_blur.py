"""Motion blur: a point becomes a streak, as when the camera moves."""

from __future__ import annotations

from typing import final

from ...arrays import Array
from ...registry import register
from ..base import Draws, ImageShift, scale
from .filters import streaked


@final
@register("shift")
class MotionBlur(ImageShift):
    """Weights exp(-i^2 / (2 sigma^2)) on the pixels i = 0 ... 2 r away along an angle from -45 to 45 degrees.

    (r, sigma) = (6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5) pixels. Source: Hendrycks and Dietterich (2019).

    >>> import numpy as np
    >>> plain = np.full((1, 8, 8, 3), 77, dtype=np.uint8)
    >>> bool((MotionBlur().apply(plain, 3) == 77).all())
    True
    """

    name = "motion_blur"
    about = "a point becomes a streak, as when the camera moves"
    citation = "hendrycks2019"
    constants = ((6, 1.0), (6, 1.5), (6, 2.0), (8, 2.0), (9, 2.5))

    def _shifted(self, pixels: Array, constant: tuple[float, float], draws: Draws) -> Array:
        radius, sigma = (length * scale(pixels) for length in constant)
        return streaked(pixels, radius, sigma, draws.uniform(-45.0, 45.0))
