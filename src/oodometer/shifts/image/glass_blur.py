"""Glass blur: pixels take the colour of a near one, as seen through frosted glass."""

from __future__ import annotations

from typing import final

import numpy as np

from ...arrays import Array
from ...registry import register
from ..base import Draws, ImageShift, scale
from .filters import gaussian_blurred


@final
@register("shift")
class GlassBlur(ImageShift):
    """Gaussian blur, then i times each pixel takes the colour of one at most d away, then the same blur again.

    (sigma, d, i) = (0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2), in pixels.
    The paper swaps pixels; the published files were made by a loop that copies, and with d = 1 every copy reads a pixel
    that the loop has not changed yet, so that all can be made at once, as here.
    Source: Hendrycks and Dietterich (2019).

    >>> image = np.arange(192, dtype=np.uint8).reshape(1, 8, 8, 3)
    >>> bool((GlassBlur().apply(image, 1)[0, 2:] <= image[0, 2:]).all())  # colours come from above and from the left
    True
    """

    name = "glass_blur"
    about = "pixels take the colour of a near one, as seen through frosted glass"
    citation = "hendrycks2019"
    constants = ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2))

    def _shifted(self, pixels: Array, constant: tuple[float, int, int], draws: Draws) -> Array:
        sigma, farthest, times = constant
        sigma, farthest = sigma * scale(pixels), max(1, round(farthest * scale(pixels)))
        out = (gaussian_blurred(pixels, sigma) + np.float32(2.0**-10)).astype(np.uint8)
        for _ in range(times):
            out = _copied(out, farthest, draws.bits(*pixels.shape[1:3]))
        return gaussian_blurred(out, sigma)


def _copied(pixels: Array, farthest: int, bits: Array) -> Array:
    """Each pixel as one of its neighbours, from ``farthest`` above and left to ``farthest - 1`` below and right."""
    count, height, width, channels = pixels.shape
    down = ((bits >> 8) * (2 * farthest) >> 8).astype(np.int32)
    right = ((bits & 255) * (2 * farthest) >> 8).astype(np.int32)
    away = (down - farthest) * width + (right - farthest)
    inside = np.zeros((height, width), dtype=np.int32)
    inside[farthest + 1 : height - farthest + 1, farthest + 1 : width - farthest + 1] = 1  # others stay
    source = np.arange(count * height * width, dtype=np.int32).reshape(count, height, width) + away * inside
    out: Array = pixels.reshape(-1, channels).take(source.reshape(-1), axis=0)
    return out.reshape(pixels.shape)
