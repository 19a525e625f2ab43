"""Frost: ice crystals on a window in front of the picture."""

from __future__ import annotations

from functools import lru_cache
from typing import final

import numpy as np

from ...arrays import Array
from ...registry import register
from ..base import Draws, ImageShift, scale

_SIDE = 128
# Mean and deviation of red, green and blue of the five photographs that the published files were made with.
_LOOKS = (
    ((78, 149, 166), (27, 16, 15)),
    ((201, 205, 214), (21, 22, 23)),
    ((201, 205, 214), (21, 22, 23)),
    ((138, 153, 166), (29, 29, 30)),
    ((112, 123, 135), (44, 43, 42)),
)


@final
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
    citation = "hendrycks2019"
    constants = ((1.0, 0.2), (1.0, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))

    def _shifted(self, pixels: Array, constant: tuple[float, float], draws: Draws) -> Array:
        share, added = constant
        which, top, left = draws.bits(3).astype(np.int64).T
        which, top, left = which * len(_LOOKS) >> 16, top * _SIDE >> 16, left * _SIDE >> 16
        out: Array = _cuts(which, top, left, pixels.shape[1:3], scale(pixels))
        out = out.mean(axis=3, keepdims=True) if pixels.shape[3] == 1 else out
        out *= np.float32(added)
        out += np.float32(share) * pixels.astype(np.float32)
        return out


def _cuts(which: Array, top: Array, left: Array, size: tuple[int, ...], enlargement: float) -> Array:
    """Cuts of the pictures, which go on where they end; larger images see larger crystals (bilinear)."""
    flat = crystals().reshape(-1, 3)
    steps = [np.arange(side) / enlargement for side in size]
    low = [step.astype(int) for step in steps]
    shares = [(step - below).astype(np.float32) for step, below in zip(steps, low, strict=True)]

    def cut(down: int, right: int) -> Array:
        rows = (which[:, None] * _SIDE + (top[:, None] + low[0] + down) % _SIDE) * _SIDE
        columns = (left[:, None] + low[1] + right) % _SIDE
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
    """Five pictures of ice crystals: float32, shape (5, 128, 128, 3), without a seam; needles are the crests of noise
    stretched along a few directions, at four widths.
    """
    rng = np.random.Generator(np.random.PCG64DXSM(2019))
    y, x = np.meshgrid(*[np.fft.fftfreq(_SIDE)] * 2, indexing="ij")
    out = np.empty((len(_LOOKS), _SIDE, _SIDE, 3), dtype=np.float32)
    for picture, (mean, deviation) in zip(out, _LOOKS, strict=True):
        total = 0.3 * rng.standard_normal((_SIDE, _SIDE))
        for length, weight in ((4, 0.4), (8, 0.5), (16, 0.6), (32, 0.6)):
            for turn in rng.uniform(0, np.pi, 3):
                along, across = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
                shape = np.exp(-((2 * length * along) ** 2) - (length * across / 2) ** 2)
                field = np.fft.ifft2(np.fft.fft2(rng.standard_normal((_SIDE, _SIDE))) * shape).real
                total = total - weight * np.abs(field / field.std())  # a crest where the field crosses 0
        total = (total - total.mean()) / total.std()
        picture[:] = np.clip(total[..., None] * deviation + mean, 0, 255)
    return out
