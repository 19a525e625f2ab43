"""Shot noise: light comes in single photons, so that a value is a Poisson count."""

from __future__ import annotations

from functools import lru_cache
from typing import final

import numpy as np

from ...arrays import Array
from ...registry import register
from ..base import Draws, ImageShift

_BITS = 14


@final
@register("shift")
class ShotNoise(ImageShift):
    """x' = 255 Poisson(c x / 255) / c for each value; c = 500, 250, 100, 75, 50 photons.

    A count is read from a table of 16,384 quantiles for each of the 256 values.
    Source: Hendrycks and Dietterich (2019).

    >>> grey = np.full((1, 64, 64, 3), 51, dtype=np.uint8)
    >>> noisy = ShotNoise().apply(grey, 5)  # the counts are Poisson with mean 10: deviation 255 / 50 * 10 ** 0.5
    >>> round(float(noisy.std()))
    16
    """

    name = "shot_noise"
    about = "each value of a pixel becomes a Poisson count, as light comes in single photons"
    citation = "hendrycks2019"
    constants = (500, 250, 100, 75, 50)

    def _shifted(self, pixels: Array, constant: int, draws: Draws) -> Array:
        index = pixels.astype(np.int32)
        index <<= _BITS
        index |= draws.bits(*pixels.shape[1:]) >> (16 - _BITS)
        return _counts(constant).take(index)


@lru_cache(maxsize=5)
def _counts(constant: int) -> Array:
    """Value after the noise, uint8, shape (256 * 2 ** 14,): of every value before it, by quantile."""
    from scipy.special import pdtr

    means = np.arange(256) / 255 * constant
    counts = np.arange(int(means[-1] + 12 * np.sqrt(means[-1]) + 30))
    values = np.minimum(counts * 255 / constant + 1e-9, 255).astype(np.uint8)
    out = np.empty((256, 2**_BITS), dtype=np.uint8)
    for level, mean in enumerate(means):
        edges = np.floor(pdtr(counts, mean) * 2**_BITS + 0.5).astype(int)
        edges[-1] = 2**_BITS
        out[level] = np.repeat(values, np.diff(edges, prepend=0))
    return out.reshape(-1)
