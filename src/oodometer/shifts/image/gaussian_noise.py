"""Gaussian noise: each value moves by a normal number, as in low light."""

from __future__ import annotations

from functools import lru_cache
from typing import final

import numpy as np

from ...arrays import Array
from ...registry import register
from ..base import Draws, ImageShift, normal_quantiles


@final
@register("shift")
class GaussianNoise(ImageShift):
    """x' = x + 255 c N(0, 1) for each value; c = 0.04, 0.06, 0.08, 0.09, 0.10. Source: Hendrycks and Dietterich (2019).

    >>> grey = np.full((1, 64, 64, 3), 128, dtype=np.uint8)
    >>> bool(24 < GaussianNoise().apply(grey, 5).std() < 27)
    True
    """

    name = "gaussian_noise"
    about = "each value of a pixel moves by a normal number, as in low light"
    citation = "hendrycks2019"
    constants = (0.04, 0.06, 0.08, 0.09, 0.10)

    def _shifted(self, pixels: Array, constant: float, draws: Draws) -> Array:
        out = _moves(constant).take(draws.bits(*pixels.shape[1:]))
        out += pixels
        return np.clip(out, 0, 255, out=out).astype(np.uint8)


@lru_cache(maxsize=5)
def _moves(constant: float) -> Array:
    """Quantiles of the noise, cut to whole numbers: a whole pixel plus noise is cut to the same."""
    return np.floor(255 * constant * normal_quantiles()).astype(np.int16)
