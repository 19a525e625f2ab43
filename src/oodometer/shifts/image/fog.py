"""Fog: clouds of light over the picture, made by the diamond-square method."""

from __future__ import annotations

from typing import final

import numpy as np

from ...arrays import Array
from ...registry import register
from ..base import Draws, ImageShift


@final
@register("shift")
class Fog(ImageShift):
    """(x + c f) m / (m + c), f in [0, 1] a cloud by the diamond-square method, m the largest value of x in [0, 1].

    (c, decay of the cloud's detail) = (0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75). The cloud covers a square
    whose side is the next power of two. Source: Hendrycks and Dietterich (2019).

    >>> black = np.zeros((1, 32, 32, 3), dtype=np.uint8)
    >>> int(Fog().apply(black, 5).max())  # no light, no fog
    0
    """

    name = "fog"
    about = "clouds of light lie over the picture"
    citation = "hendrycks2019"
    constants = ((0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75))

    def _shifted(self, pixels: Array, constant: tuple[float, float], draws: Draws) -> Array:
        density, decay = constant
        height, width = pixels.shape[1:3]
        side = 1 << (max(height, width) - 1).bit_length()
        cloud = clouds(draws.uniform(-1.0, 1.0, side, side), decay)[:, :height, :width, None]
        brightest = pixels.max(axis=(1, 2, 3), keepdims=True).astype(np.float32)
        out = pixels + np.float32(255 * density) * cloud
        out *= brightest / (brightest + np.float32(255 * density))
        return out


def clouds(noise: Array, decay: float) -> Array:
    """Clouds in [0, 1] from noise in [-1, 1], both float32 of shape (row, side, side), side a power of two. Midpoints
    of squares, then of edges, are the mean of their four corners plus noise, which falls by decay^2 from step to step.
    """
    out = np.zeros_like(noise)
    step, amplitude = noise.shape[1], np.float32(100.0)
    while step >= 2:
        half = step // 2
        corner, middle = np.s_[:, ::step, ::step], np.s_[:, half::step, half::step]
        top, left = np.s_[:, ::step, half::step], np.s_[:, half::step, ::step]
        corners = out[corner]
        below = np.roll(corners, -1, axis=1)
        across = corners + np.roll(corners, -1, axis=2)
        out[middle] = (across + np.roll(across, -1, axis=1)) / 4 + amplitude**2 * noise[middle]
        middles = out[middle]
        out[top] = (across + middles + np.roll(middles, 1, axis=1)) / 4 + amplitude**2 * noise[top]
        out[left] = (corners + below + middles + np.roll(middles, 1, axis=2)) / 4 + amplitude**2 * noise[left]
        step, amplitude = half, amplitude / np.float32(decay)
    out -= out.min(axis=(1, 2), keepdims=True)
    highest = out.max(axis=(1, 2), keepdims=True)
    out /= np.where(highest > 0, highest, 1)  # one pixel has no clouds
    return out
