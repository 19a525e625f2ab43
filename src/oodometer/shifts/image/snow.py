"""Snow: white flakes that fall in streaks, and a paler picture."""

from __future__ import annotations

from typing import final

import numpy as np

from ...arrays import Array
from ...registry import register
from ..base import Draws, ImageShift, scale
from .filters import streaked, zoomed

_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)


@final
@register("shift")
class Snow(ImageShift):
    """b x + (1 - b) max(x, 1.5 grey(x) + 0.5), plus flakes, plus the flakes turned by 180 degrees; x in [0, 1].

    Flakes are normal noise (mean, deviation), enlarged, set to 0 below a threshold, and streaked (radius, sigma) along
    an angle from -135 to -45 degrees. Each of ``constants`` is (mean, deviation, enlargement, threshold, radius, sigma,
    b); enlargement, radius and sigma grow with the image. Source: Hendrycks and Dietterich (2019).

    >>> black = np.zeros((1, 32, 32, 3), dtype=np.uint8)
    >>> bool(Snow().apply(black, 5).mean() > 20)
    True
    """

    name = "snow"
    about = "white flakes fall in streaks over a paler picture"
    citation = "hendrycks2019"
    constants = (
        (0.1, 0.2, 1.0, 0.6, 8, 3.0, 0.95),
        (0.1, 0.2, 1.0, 0.5, 10, 4.0, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4.0, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6.0, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12.0, 0.8),
    )

    def _shifted(self, pixels: Array, constant: tuple[float, ...], draws: Draws) -> Array:
        mean, deviation, enlargement, threshold, radius, sigma, share = constant
        size = scale(pixels)
        flakes = draws.normal(*pixels.shape[1:3])[..., None] * np.float32(deviation) + np.float32(mean)
        flakes = zoomed(flakes, max(1.0, enlargement * size))
        flakes[flakes < threshold] = 0
        flakes = np.floor(np.clip(flakes, 0, 1) * 255)
        flakes = np.rint(streaked(flakes, radius * size, sigma * size, draws.uniform(-135.0, -45.0)))
        image = pixels.astype(np.float32)
        grey = sum(image[..., i : i + 1] * luma for i, luma in enumerate(_LUMA)) if image.shape[3] == 3 else image
        out: Array = np.maximum(image, grey * np.float32(1.5) + np.float32(127.5))
        out *= np.float32(1 - share)
        out += np.float32(share) * image
        out += flakes + flakes[:, ::-1, ::-1]
        return out
