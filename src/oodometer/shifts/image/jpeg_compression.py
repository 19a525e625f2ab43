"""JPEG compression: the traces of a strongly compressed file."""

from __future__ import annotations

import io
from typing import final

import numpy as np

from ...arrays import Array
from ...datasets.images import pillow_image
from ...registry import register
from ..base import Draws, ImageShift


@final
@register("shift")
class JpegCompression(ImageShift):
    """Written as JPEG of quality c and read again; c = 80, 65, 58, 50, 40. No chance is in it; needs pillow.

    Blocks are 8 pixels wide whatever the size of the image. Source: Hendrycks and Dietterich (2019).

    >>> plain = np.full((1, 16, 16, 3), 80, dtype=np.uint8)
    >>> bool((abs(JpegCompression().apply(plain, 5).astype(int) - 80) <= 2).all())
    True
    """

    name = "jpeg_compression"
    about = "the picture bears the traces of a strongly compressed file"
    citation = "hendrycks2019"
    constants = (80, 65, 58, 50, 40)

    def _shifted(self, pixels: Array, constant: int, draws: Draws) -> Array:
        image = pillow_image("jpeg_compression")
        out = np.empty_like(pixels)
        for row, one in enumerate(pixels):
            file = io.BytesIO()
            whole = image.fromarray(one[..., 0] if one.shape[2] == 1 else np.ascontiguousarray(one))
            whole.save(file, "JPEG", quality=constant)
            with image.open(file) as read:
                out[row] = np.asarray(read).reshape(one.shape)
        return out
