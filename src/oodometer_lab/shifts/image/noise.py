"""Noise: values of pixels move by chance, as in low light, by single photons, by faulty bits."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from oodometer.arrays import Array
from oodometer.registry import register

from ..base import Draws, ImageShift, normal_quantiles


@register("shift")
class GaussianNoise(ImageShift):
    """x' = x + 255 c N(0, 1) for each value; c = 0.04, 0.06, 0.08, 0.09, 0.10. Source: Hendrycks and Dietterich (2019).

    >>> grey = np.full((1, 64, 64, 3), 128, dtype=np.uint8)
    >>> bool(24 < GaussianNoise().apply(grey, 5).std() < 27)
    True
    """

    name = "gaussian_noise"
    about = "each value of a pixel moves by a normal number, as in low light"
    constants = (0.04, 0.06, 0.08, 0.09, 0.10)
    imagenet = (0.08, 0.12, 0.18, 0.26, 0.38)

    def _shifted(self, pixels: Array, constant: float, draws: Draws) -> Array:
        out = _moves(constant).take(draws.bits(*pixels.shape[1:]))
        out += pixels
        return np.clip(out, 0, 255, out=out).astype(np.uint8)


@lru_cache(maxsize=10)
def _moves(constant: float) -> Array:
    """Quantiles of the noise, cut to whole numbers: a whole pixel plus noise is cut to the same."""
    return np.floor(255 * constant * normal_quantiles()).astype(np.int16)


_LEVELS = 14


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
    constants = (500, 250, 100, 75, 50)
    imagenet = (60, 25, 12, 5, 3)

    def _shifted(self, pixels: Array, constant: int, draws: Draws) -> Array:
        index = pixels.astype(np.int32)
        index <<= _LEVELS
        index |= draws.bits(*pixels.shape[1:]) >> (16 - _LEVELS)
        return _counts(constant).take(index)


@lru_cache(maxsize=10)
def _counts(constant: int) -> Array:
    """Value after the noise, uint8, shape (256 * 2 ** 14,): of every value before it, by quantile."""
    from scipy.special import pdtr

    means = np.arange(256) / 255 * constant
    counts = np.arange(int(means[-1] + 12 * np.sqrt(means[-1]) + 30))
    values = np.minimum(counts * 255 / constant + 1e-9, 255).astype(np.uint8)
    out = np.empty((256, 2**_LEVELS), dtype=np.uint8)
    for level, mean in enumerate(means):
        edges = np.floor(pdtr(counts, mean) * 2**_LEVELS + 0.5).astype(int)
        edges[-1] = 2**_LEVELS
        out[level] = np.repeat(values, np.diff(edges, prepend=0))
    return out.reshape(-1)


@register("shift")
class ImpulseNoise(ImageShift):
    """Each value becomes 0 with probability c / 2 and 255 with probability c / 2; c = 0.01, 0.02, 0.03, 0.05, 0.07.
    Source: Hendrycks and Dietterich (2019), salt and pepper for each channel by itself.

    >>> grey = np.full((1, 64, 64, 3), 128, dtype=np.uint8)
    >>> noisy = ImpulseNoise().apply(grey, 5)
    >>> bool(0.06 < (noisy != 128).mean() < 0.08), sorted(set(noisy.ravel().tolist()))
    (True, [0, 128, 255])
    """

    name = "impulse_noise"
    about = "some values of pixels turn black or white, as by faulty bits"
    constants = (0.01, 0.02, 0.03, 0.05, 0.07)
    imagenet = (0.03, 0.06, 0.09, 0.17, 0.27)

    def _shifted(self, pixels: Array, constant: float, draws: Draws) -> Array:
        bits = draws.bits(*pixels.shape[1:])
        black, white = round(constant / 2 * 2**16), round((1 - constant / 2) * 2**16)
        out = pixels.copy()
        out[bits < black] = 0
        out[bits >= white] = 255
        return out
