"""Contrast: values move towards the mean of their channel."""

from __future__ import annotations

from typing import final

import numpy as np

from ...arrays import Array
from ...registry import register
from ..base import Draws, ImageShift


@final
@register("shift")
class Contrast(ImageShift):
    """x' = m + c (x - m), m the mean of the image's channel; c = 0.75, 0.5, 0.4, 0.3, 0.15. No chance is in it. Source:
    Hendrycks and Dietterich (2019).

    >>> Contrast().apply(np.array([[[[0], [200]]]], dtype=np.uint8), 2).ravel().tolist()
    [50, 150]
    """

    name = "contrast"
    about = "values move towards the mean of their channel"
    citation = "hendrycks2019"
    constants = (0.75, 0.5, 0.4, 0.3, 0.15)

    def _shifted(self, pixels: Array, constant: float, draws: Draws) -> Array:
        out = pixels.astype(np.float32)
        columns = pixels.sum(axis=1, keepdims=True, dtype=np.uint32)  # whole numbers: the order does not matter
        total = columns.sum(axis=2, keepdims=True, dtype=np.uint64)
        means = (total / (pixels.shape[1] * pixels.shape[2])).astype(np.float32)
        out *= np.float32(constant)
        out += means * np.float32(1 - constant)
        return out
