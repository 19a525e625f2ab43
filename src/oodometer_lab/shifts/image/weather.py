"""Weather: snow, frost, fog and a brighter day."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from oodometer.arrays import Array
from oodometer.registry import register

from ..base import Draws, ImageShift
from .filters import streaked, zoomed

LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)


@register("shift")
class Snow(ImageShift):
    """b x + (1 - b) max(x, 1.5 grey(x) + 0.5), plus flakes, plus the flakes turned by 180 degrees; x in [0, 1].

    Flakes are normal noise (mean, deviation), enlarged, set to 0 below a threshold, and streaked (radius, sigma) along
    an angle from -135 to -45 degrees. Each of ``constants`` is (mean, deviation, enlargement, threshold, radius, sigma,
    b); enlargement, radius and sigma grow with the image. Source: Hendrycks and Dietterich (2019).

    >>> black = np.zeros((1, 32, 32, 3), dtype=np.uint8)
    >>> bool(Snow().apply(black, 5).mean() > 20)
    True
    """

    name = "snow"
    about = "white flakes fall in streaks over a paler picture"
    constants = (
        (0.1, 0.2, 1.0, 0.6, 8, 3.0, 0.95),
        (0.1, 0.2, 1.0, 0.5, 10, 4.0, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4.0, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6.0, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12.0, 0.8),
    )
    imagenet = (
        (0.1, 0.3, 3.0, 0.5, 10, 4.0, 0.8),
        (0.2, 0.3, 2.0, 0.5, 12, 4.0, 0.7),
        (0.55, 0.3, 4.0, 0.9, 12, 8.0, 0.7),
        (0.55, 0.3, 4.5, 0.85, 12, 8.0, 0.65),
        (0.55, 0.3, 2.5, 0.85, 12, 12.0, 0.55),
    )

    def _shifted(self, pixels: Array, constant: tuple[float, ...], draws: Draws) -> Array:
        mean, deviation, enlargement, threshold, radius, sigma, share = constant
        size = self.scale(pixels)
        flakes = draws.normal(*pixels.shape[1:3])[..., None] * np.float32(deviation) + np.float32(
            mean
        )
        flakes = zoomed(flakes, max(1.0, enlargement * size))
        flakes[flakes < threshold] = 0
        flakes = np.floor(np.clip(flakes, 0, 1) * 255)
        flakes = np.rint(
            streaked(flakes, radius * size, sigma * size, draws.uniform(-135.0, -45.0))
        )
        image = pixels.astype(np.float32)
        grey = (
            sum(image[..., i : i + 1] * luma for i, luma in enumerate(LUMA))
            if image.shape[3] == 3
            else image
        )
        out: Array = np.maximum(image, grey * np.float32(1.5) + np.float32(127.5))
        out *= np.float32(1 - share)
        out += np.float32(share) * image
        out += flakes + flakes[:, ::-1, ::-1]
        return out


_TILE = 128
# Mean and deviation of red, green and blue of the five photographs that the published files were made with.
_LOOKS = (
    ((78, 149, 166), (27, 16, 15)),
    ((201, 205, 214), (21, 22, 23)),
    ((201, 205, 214), (21, 22, 23)),
    ((138, 153, 166), (29, 29, 30)),
    ((112, 123, 135), (44, 43, 42)),
)


@register("shift")
class Frost(ImageShift):
    """a x + b frost, frost a random cut of one of five pictures of ice crystals.

    (a, b) = (1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45). Source: Hendrycks and Dietterich (2019).

    >>> black = np.zeros((1, 32, 32, 3), dtype=np.uint8)
    >>> bool(Frost().apply(black, 5).mean() > 30)
    True
    """

    name = "frost"
    about = "ice crystals on a window lie over the picture"
    deviation = (
        "the crystals are computed, with the colours and the spread of the five photographs that the published files "
        "were made with; no photograph is shipped"
    )
    constants = ((1.0, 0.2), (1.0, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))
    imagenet = ((1.0, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75))

    def _shifted(self, pixels: Array, constant: tuple[float, float], draws: Draws) -> Array:
        share, added = constant
        which, top, left = draws.bits(3).astype(np.int64).T
        which, top, left = which * len(_LOOKS) >> 16, top * _TILE >> 16, left * _TILE >> 16
        # at 32 pixels the photographs are a fifth
        enlargement = self.scale(pixels) * {32: 1, 224: 5}[self.side]
        out: Array = _cuts(which, top, left, pixels.shape[1:3], enlargement)
        out = out.mean(axis=3, keepdims=True) if pixels.shape[3] == 1 else out
        out *= np.float32(added)
        out += np.float32(share) * pixels.astype(np.float32)
        return out


def _cuts(
    which: Array, top: Array, left: Array, size: tuple[int, ...], enlargement: float
) -> Array:
    """Cuts of the pictures, which go on where they end; larger images see larger crystals (bilinear)."""
    flat = crystals().reshape(-1, 3)
    steps = [np.arange(side) / enlargement for side in size]
    low = [step.astype(int) for step in steps]
    shares = [(step - below).astype(np.float32) for step, below in zip(steps, low, strict=True)]

    def cut(down: int, right: int) -> Array:
        rows = (which[:, None] * _TILE + (top[:, None] + low[0] + down) % _TILE) * _TILE
        columns = (left[:, None] + low[1] + right) % _TILE
        pixels: Array = flat.take(rows[:, :, None] + columns[:, None, :], axis=0)
        return pixels

    if not any(share.any() for share in shares):
        return cut(0, 0)
    y, x = shares[0][:, None, None], shares[1][None, :, None]
    above = cut(0, 0) * (1 - x) + cut(0, 1) * x
    out: Array = above * (1 - y) + (cut(1, 0) * (1 - x) + cut(1, 1) * x) * y
    return out


@lru_cache(maxsize=1)
def crystals() -> Array:
    """Five pictures of ice crystals without a seam, float32, (5, 128, 128, 3): crests of noise in few directions."""
    rng = np.random.Generator(np.random.PCG64DXSM(2019))
    y, x = np.meshgrid(*[np.fft.fftfreq(_TILE)] * 2, indexing="ij")
    out = np.empty((len(_LOOKS), _TILE, _TILE, 3), dtype=np.float32)
    for picture, (mean, deviation) in zip(out, _LOOKS, strict=True):
        total = 0.3 * rng.standard_normal((_TILE, _TILE))
        for length, weight in ((4, 0.4), (8, 0.5), (16, 0.6), (32, 0.6)):
            for turn in rng.uniform(0, np.pi, 3):
                along, across = (
                    x * np.cos(turn) + y * np.sin(turn),
                    y * np.cos(turn) - x * np.sin(turn),
                )
                shape = np.exp(-((2 * length * along) ** 2) - (length * across / 2) ** 2)
                field = np.fft.ifft2(np.fft.fft2(rng.standard_normal((_TILE, _TILE))) * shape).real
                # a crest where the field crosses 0
                total = total - weight * np.abs(field / field.std())
        total = (total - total.mean()) / total.std()
        picture[:] = np.clip(total[..., None] * deviation + mean, 0, 255)
    return out


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
    constants = ((0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75))
    imagenet = ((1.5, 2.0), (2.0, 2.0), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4))

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
        out[left] = (
            corners + below + middles + np.roll(middles, 1, axis=2)
        ) / 4 + amplitude**2 * noise[left]
        step, amplitude = half, amplitude / np.float32(decay)
    out -= out.min(axis=(1, 2), keepdims=True)
    highest = out.max(axis=(1, 2), keepdims=True)
    out /= np.where(highest > 0, highest, 1)  # one pixel has no clouds
    return out


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
    constants = (0.05, 0.1, 0.15, 0.2, 0.3)
    imagenet = (0.1, 0.2, 0.3, 0.4, 0.5)

    def _shifted(self, pixels: Array, constant: float, draws: Draws) -> Array:
        largest = pixels[..., 0]
        for channel in range(1, pixels.shape[3]):
            largest = np.maximum(largest, pixels[..., channel])
        largest = largest.astype(np.uint16) << 8
        return _raised(constant).take(largest[..., None] | pixels)


@lru_cache(maxsize=10)
def _raised(constant: float) -> Array:
    """New value of a channel, uint8, at (256 times the largest of the pixel's channels) + (its own)."""
    largest, channel = np.arange(256)[:, None], np.arange(256)[None, :]
    raised = np.minimum(largest + 255 * constant, 255)
    out = np.where(largest > 0, channel * (raised / np.maximum(largest, 1)), raised)
    table: Array = np.minimum(out + 1e-9, 255).astype(np.uint8).reshape(-1)
    return table
