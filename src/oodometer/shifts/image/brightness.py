"""Brightness: a brighter picture of the same colours."""

from __future__ import annotations

from functools import lru_cache
from typing import final

import numpy as np

from ...arrays import Array
from ...registry import register
from ..base import Draws, ImageShift


@final
@register("shift")
class Brightness(ImageShift):
    """Value of the HSV colour raised: V' = min(V + c, 1), hue and saturation kept; c = 0.05, 0.1, 0.15, 0.2, 0.3.

    So each of red, green and blue is multiplied by V' / V, V being the largest of them; black becomes grey. No
    chance is in it. Source: Hendrycks and Dietterich (2019).

    >>> Brightness().apply(np.array([[[[100, 50, 0]]]], dtype=np.uint8), 4)[0, 0, 0].tolist()
    [151, 75, 0]
    """

    name = "brightness"
    about = "the picture becomes brighter, its hues stay"
    citation = "hendrycks2019"
    constants = (0.05, 0.1, 0.15, 0.2, 0.3)

    def _shifted(self, pixels: Array, constant: float, draws: Draws) -> Array:
        largest = pixels[..., 0]
        for channel in range(1, pixels.shape[3]):
            largest = np.maximum(largest, pixels[..., channel])
        largest = largest.astype(np.uint16) << 8
        return _raised(constant).take(largest[..., None] | pixels)


@lru_cache(maxsize=5)
def _raised(constant: float) -> Array:
    """New value of a channel, uint8, at (256 times the largest of the pixel's channels) + (its own)."""
    largest, own = np.arange(256)[:, None], np.arange(256)[None, :]
    raised = np.minimum(largest + 255 * constant, 255)
    out = np.where(largest > 0, own * (raised / np.maximum(largest, 1)), raised)
    table: Array = np.minimum(out + 1e-9, 255).astype(np.uint8).reshape(-1)
    return table
