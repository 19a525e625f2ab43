"""Zoom blur: the mean of an image at several magnifications, as when the camera comes nearer."""

from __future__ import annotations

from typing import final

from ...arrays import Array
from ...registry import register
from ..base import Draws, ImageShift
from .filters import zoom_blurred


@final
@register("shift")
class ZoomBlur(ImageShift):
    """Mean of the image and of its middle enlarged 1, 1.01, 1.02, ... times, bilinear.

    The last is 1.06, 1.11, 1.15, 1.20, 1.25: ranges of floats, of which the first two hold their end by rounding.
    No chance is in it. Source: Hendrycks and Dietterich (2019).

    >>> import numpy as np
    >>> plain = np.full((1, 8, 8, 3), 77, dtype=np.uint8)
    >>> bool((ZoomBlur().apply(plain, 3) == 77).all())
    True
    """

    name = "zoom_blur"
    about = "the mean of an image at several magnifications, as when the camera comes nearer"
    citation = "hendrycks2019"
    constants = (6, 11, 15, 20, 25)

    def _shifted(self, pixels: Array, constant: int, draws: Draws) -> Array:
        return zoom_blurred(pixels, constant)
