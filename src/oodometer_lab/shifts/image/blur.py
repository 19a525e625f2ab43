"""Blur: a lens out of focus, frosted glass, a camera that moves or comes nearer."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from oodometer.arrays import Array
from oodometer.registry import register

from ..base import Draws, ImageShift
from .filters import correlated, gaussian_blurred, streaked, zoom_blurred


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
    constants = ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1))
    imagenet = ((3.0, 0.1), (4.0, 0.5), (6.0, 0.5), (8.0, 0.5), (10.0, 0.5))

    def _shifted(self, pixels: Array, constant: tuple[float, float], draws: Draws) -> Array:
        radius, rim = constant
        return correlated(pixels.astype(np.float32), disk(radius * self.scale(pixels), rim))


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


@register("shift")
class GlassBlur(ImageShift):
    """Gaussian blur, then i times each pixel takes the colour of one at most d away, then the same blur again.

    (sigma, d, i) = (0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2), in pixels.
    The paper swaps pixels; the published files were made by a loop that copies, from the last pixel to the first, so
    that a copy from below or from the right reads what the loop has changed already.
    Source: Hendrycks and Dietterich (2019).

    >>> image = np.arange(192, dtype=np.uint8).reshape(1, 8, 8, 3)
    >>> bool((GlassBlur().apply(image, 1)[0, 2:] <= image[0, 2:]).all())  # colours come from above and from the left
    True
    """

    name = "glass_blur"
    about = "pixels take the colour of a near one, as seen through frosted glass"
    constants = ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2))
    imagenet = ((0.7, 1, 2), (0.9, 2, 1), (1.0, 2, 3), (1.1, 3, 2), (1.5, 4, 2))

    def _shifted(self, pixels: Array, constant: tuple[float, int, int], draws: Draws) -> Array:
        sigma, farthest, times = constant
        sigma, farthest = sigma * self.scale(pixels), max(1, round(farthest * self.scale(pixels)))
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
    interior = np.zeros((height, width), dtype=np.int32)
    # others stay
    interior[farthest + 1 : height - farthest + 1, farthest + 1 : width - farthest + 1] = 1
    index = np.arange(count * height * width, dtype=np.int32)
    first = index + (away * interior).reshape(-1)
    # the loop has changed what these read
    source, later = (first.copy(), np.flatnonzero(first > index))
    while len(later):
        before, source[later] = source[later], first[source[later]]
        later = later[source[later] > before]
    out: Array = pixels.reshape(-1, channels).take(source, axis=0)
    return out.reshape(pixels.shape)


@register("shift")
class MotionBlur(ImageShift):
    """Weights exp(-i^2 / (2 sigma^2)) on the pixels i = 0 ... 2 r away along an angle from -45 to 45 degrees.

    (r, sigma) = (6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5) pixels. Source: Hendrycks and Dietterich (2019).

    >>> plain = np.full((1, 8, 8, 3), 77, dtype=np.uint8)
    >>> bool((MotionBlur().apply(plain, 3) == 77).all())
    True
    """

    name = "motion_blur"
    about = "a point becomes a streak, as when the camera moves"
    constants = ((6, 1.0), (6, 1.5), (6, 2.0), (8, 2.0), (9, 2.5))
    imagenet = ((10, 3.0), (15, 5.0), (15, 8.0), (15, 12.0), (20, 15.0))

    def _shifted(self, pixels: Array, constant: tuple[float, float], draws: Draws) -> Array:
        radius, sigma = (length * self.scale(pixels) for length in constant)
        return streaked(pixels, radius, sigma, draws.uniform(-45.0, 45.0))


@register("shift")
class ZoomBlur(ImageShift):
    """Mean of the image and of its middle enlarged 1, 1.01, 1.02, ... times, bilinear; no chance is in it.

    The last is 1.06, 1.11, 1.15, 1.20, 1.25: ranges of floats, of which the first two hold their end by rounding.
    ``constants`` are (steps, hundredths of a step). Source: Hendrycks and Dietterich (2019).

    >>> plain = np.full((1, 8, 8, 3), 77, dtype=np.uint8)
    >>> bool((ZoomBlur().apply(plain, 3) == 77).all())
    True
    """

    name = "zoom_blur"
    about = "the mean of an image at several magnifications, as when the camera comes nearer"
    constants = ((6, 1), (11, 1), (15, 1), (20, 1), (25, 1))
    imagenet = ((11, 1), (15, 1), (10, 2), (12, 2), (10, 3))

    def _shifted(self, pixels: Array, constant: tuple[int, int], draws: Draws) -> Array:
        steps, hundredths = constant
        # as ranges of floats do: the 25th is above 1.25, which decides a rounding
        step = 1 + hundredths / 100 - 1
        return zoom_blurred(pixels, tuple(1 + i * step for i in range(steps + 1)))
