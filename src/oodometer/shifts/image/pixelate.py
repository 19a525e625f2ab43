"""Pixelate: fewer, larger pixels."""

from __future__ import annotations

from typing import final

import numpy as np

from ...arrays import Array
from ...datasets.images import pillow_image
from ...registry import register
from ..base import Draws, ImageShift


@final
@register("shift")
class Pixelate(ImageShift):
    """Reduced to int(c times the side) pixels by a box filter, and enlarged again; c = 0.95, 0.9, 0.85, 0.75, 0.65.

    No chance is in it; needs pillow. A share of the side is no length in pixels: it is the same for every size.
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
        image = pillow_image("pixelate")
        box = image.Resampling.BOX
        height, width, channels = pixels.shape[1:]
        fewer = (max(1, int(width * constant)), max(1, int(height * constant)))
        out = np.empty_like(pixels)
        for row, one in enumerate(pixels):
            whole = image.fromarray(one[..., 0] if channels == 1 else np.ascontiguousarray(one))
            small = whole.resize(fewer, box)
            out[row] = np.asarray(small.resize((width, height), box)).reshape(height, width, channels)
        return out
