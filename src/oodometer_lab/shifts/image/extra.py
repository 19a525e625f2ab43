"""The four extra kinds, which the paper keeps for validation: speckle noise, Gaussian blur, spatter, saturation."""

from __future__ import annotations

import numpy as np

from oodometer.arrays import Array
from oodometer.registry import register

from ..base import Draws, ImageShift
from .filters import gaussian_blurred
from .weather import LUMA


@register("shift")
class SpeckleNoise(ImageShift):
    """x' = x + x c N(0, 1) for each value; c = 0.06, 0.1, 0.12, 0.16, 0.2. Source: Hendrycks and Dietterich (2019).

    >>> grey = np.full((1, 64, 64, 3), 100, dtype=np.uint8)
    >>> bool(19 < SpeckleNoise().apply(grey, 5).std() < 21)
    True
    """

    name = "speckle_noise"
    about = (
        "each value of a pixel moves by a normal number in proportion to it, as in radar pictures"
    )
    constants = (0.06, 0.1, 0.12, 0.16, 0.2)
    imagenet = (0.15, 0.2, 0.35, 0.45, 0.6)

    def _shifted(self, pixels: Array, constant: float, draws: Draws) -> Array:
        out: Array = pixels * (1 + np.float32(constant) * draws.normal(*pixels.shape[1:]))
        return out


@register("shift")
class GaussianBlur(ImageShift):
    """Gaussian blur; sigma = 0.4, 0.6, 0.7, 0.8, 1 pixels. No chance is in it. Source: Hendrycks and Dietterich (2019).

    >>> point = (255 * (np.arange(1024) == 300)).astype(np.uint8).reshape(1, 32, 32)
    >>> int(GaussianBlur().apply(point, 5).max())  # 255 / (2 pi)
    40
    """

    name = "gaussian_blur"
    about = "the picture is smoothed by a bell curve"
    constants = (0.4, 0.6, 0.7, 0.8, 1.0)
    imagenet = (1.0, 2.0, 3.0, 4.0, 6.0)

    def _shifted(self, pixels: Array, constant: float, draws: Draws) -> Array:
        return gaussian_blurred(pixels, constant * self.scale(pixels))


_WATER, _MUD = np.array([[175, 238, 238], [63, 42, 20]], dtype=np.float32)


@register("shift")
class Spatter(ImageShift):
    """Drops where smoothed noise exceeds a threshold: water, x + a m (175, 238, 238); mud, (1 - m) x + m (63, 42, 20).

    Each of ``constants`` is (mean, deviation, sigma, threshold, a, whether mud). Water: m is the noise times the light
    on a drop, as a share of the largest. Mud: m is the drop smoothed by sigma a, without what is below 0.8. Sigmas are
    in pixels; the noise's deviation grows with them, so that drops of large images are larger and not fewer.
    Source: Hendrycks and Dietterich (2019).

    >>> Spatter().apply(np.zeros((1, 32, 32, 3), dtype=np.uint8), 5).max(axis=(0, 1, 2)).tolist()  # mud
    [62, 41, 19]
    """

    name = "spatter"
    about = "drops of water or mud lie on the lens"
    deviation = "distances from the edge of a drop of water are exact, where the published ones are within 2 %"
    constants = (
        (0.62, 0.1, 0.7, 0.7, 0.5, 0),
        (0.65, 0.1, 0.8, 0.7, 0.5, 0),
        (0.65, 0.3, 1.0, 0.69, 0.5, 0),
        (0.65, 0.1, 0.7, 0.69, 0.6, 1),
        (0.65, 0.1, 0.5, 0.68, 0.6, 1),
    )
    imagenet = (
        (0.65, 0.3, 4.0, 0.69, 0.6, 0),
        (0.65, 0.3, 3.0, 0.68, 0.6, 0),
        (0.65, 0.3, 2.0, 0.68, 0.5, 0),
        (0.65, 0.3, 1.0, 0.65, 1.5, 1),
        (0.67, 0.4, 1.0, 0.65, 1.5, 1),
    )

    def _shifted(self, pixels: Array, constant: tuple[float, ...], draws: Draws) -> Array:
        mean, deviation, sigma, threshold, strength, mud = constant
        size, colour = self.scale(pixels), _MUD if mud else _WATER
        noise = draws.normal(*pixels.shape[1:3], 1) * np.float32(deviation * size) + np.float32(
            mean
        )
        drops, out = gaussian_blurred(noise, sigma * size), pixels.astype(np.float32)
        drops[drops < threshold] = 0
        if mud:
            drops = gaussian_blurred(drops > threshold, strength * size)
            drops[drops < 0.8] = 0
            out *= 1 - drops
        else:
            drops = np.floor(np.clip(drops, 0, 1) * np.float32(255))
            drops *= np.stack([lit(layer) for layer in drops[..., 0]])[..., None]
            drops *= np.float32(strength) / np.maximum(drops.max(axis=(1, 2), keepdims=True), 1)
        out += drops * (colour if pixels.shape[3] == 3 else colour @ LUMA)
        return out


def lit(drops: Array) -> Array:
    """The light on drops of water, whole numbers from 0 to 255, shape (height, width) as theirs: the distance from an
    edge (Canny's, thresholds 50 and 150) up to 20 pixels, with equalized histogram, lit from above and left.
    """
    from scipy.ndimage import correlate, distance_transform_edt, label, sobel, uniform_filter

    right, down = (sobel(drops, axis=axis, mode="nearest") for axis in (1, 0))
    padded = np.pad(np.abs(right) + np.abs(down), 1)
    size, steep = padded[1:-1, 1:-1], np.abs(down) / np.maximum(np.abs(right), 1e-6)
    line = np.select(
        [steep < np.sqrt(2) - 1, steep > np.sqrt(2) + 1, right * down < 0], [0, 1, 2], 3
    )
    # steeper than the pixels on either side of it along the gradient
    peak = np.zeros(drops.shape, dtype=bool)
    for at, (y, x) in enumerate(((0, 1), (1, 0), (-1, 1), (1, 1))):
        before, after = (
            padded[1 + s * y :, 1 + s * x :][: len(drops), : drops.shape[1]] for s in (-1, 1)
        )
        peak |= (line == at) & (size > before) & ((size > after) if at > 1 else (size >= after))
    edges, _ = label(peak & (size > 50), structure=np.ones((3, 3)))
    strong = np.isin(edges, np.unique(edges[peak & (size > 150)])) & (edges > 0)
    near = (
        np.minimum(distance_transform_edt(~strong), 20)
        if strong.any()
        else np.full(drops.shape, 20.0)
    )
    near = (uniform_filter(near, 3, mode="mirror") + 1e-6).astype(np.uint8)
    below = np.cumsum(np.bincount(near.reshape(-1), minlength=256))
    if (lowest := below[near.min()]) < near.size:
        near = np.rint((below - lowest) * (255 / (near.size - lowest)))[near]
    light = correlate(
        near.astype(float), np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]), mode="mirror"
    )
    out: Array = np.rint(uniform_filter(np.clip(light, 0, 255), 3, mode="mirror")).astype(
        np.float32
    )
    return out


@register("shift")
class Saturate(ImageShift):
    """Saturation of the HSV colour S' = a S + b, cut to [0, 1], hue and value kept; (a, b) = (0.3, 0), (0.1, 0),
    (1.5, 0), (2, 0.1), (2.5, 0.2). A pixel without hue counts as red. No chance is in it; images of one channel stay.
    Source: Hendrycks and Dietterich (2019).

    >>> Saturate().apply(np.array([[[[200, 100, 150]]]], dtype=np.uint8), 3)[0, 0, 0].tolist()
    [200, 50, 125]
    """

    name = "saturate"
    about = "colours become paler or stronger"
    constants = ((0.3, 0.0), (0.1, 0.0), (1.5, 0.0), (2.0, 0.1), (2.5, 0.2))
    imagenet = ((0.3, 0.0), (0.1, 0.0), (2.0, 0.0), (5.0, 0.1), (20.0, 0.2))

    def _shifted(self, pixels: Array, constant: tuple[float, float], draws: Draws) -> Array:
        largest = pixels.max(axis=3, keepdims=True).astype(np.float32)
        below = largest - pixels
        # without hue: a trace of red
        below[..., 1:] += np.float32(1e-6) * (below.max(axis=3, keepdims=True) == 0)
        spread = np.maximum(below.max(axis=3, keepdims=True), np.float32(1e-6))
        saturation = np.clip(spread * (constant[0] / np.maximum(largest, 1)) + constant[1], 0, 1)
        out: Array = largest - below * (largest * saturation / spread)
        return out
