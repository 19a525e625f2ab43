"""Impulse noise: some values turn black or white, as by faulty bits."""

from __future__ import annotations

from typing import final

from ...arrays import Array
from ...registry import register
from ..base import Draws, ImageShift


@final
@register("shift")
class ImpulseNoise(ImageShift):
    """Each value becomes 0 with probability c / 2 and 255 with probability c / 2; c = 0.01, 0.02, 0.03, 0.05, 0.07.
    Source: Hendrycks and Dietterich (2019), salt and pepper for each channel by itself.

    >>> import numpy as np
    >>> grey = np.full((1, 64, 64, 3), 128, dtype=np.uint8)
    >>> noisy = ImpulseNoise().apply(grey, 5)
    >>> bool(0.06 < (noisy != 128).mean() < 0.08), sorted(set(noisy.ravel().tolist()))
    (True, [0, 128, 255])
    """

    name = "impulse_noise"
    about = "some values of pixels turn black or white, as by faulty bits"
    citation = "hendrycks2019"
    constants = (0.01, 0.02, 0.03, 0.05, 0.07)

    def _shifted(self, pixels: Array, constant: float, draws: Draws) -> Array:
        bits = draws.bits(*pixels.shape[1:])
        black, white = round(constant / 2 * 2**16), round((1 - constant / 2) * 2**16)
        out = pixels.copy()
        out[bits < black] = 0
        out[bits >= white] = 255
        return out
