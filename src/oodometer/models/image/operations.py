"""Operations on many images at once, each with a strength of its own: the values that pillow gives image by image."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array

FILL = 128  # what lies outside an image that is moved, as in AutoAugment
_LEVELS = np.arange(256)


# ---------------------------------------------------------------- values looked up


def brightness(images: Array, factor: Array) -> Array:
    """Every value times the factor of its image; 0 gives black, 1 the image.

    All operations take uint8 images, shape (sample, height, width, 3), and one strength an image, and give new images.

    >>> brightness(np.full((1, 1, 1, 3), 100, dtype=np.uint8), np.array([1.5])).tolist()
    [[[[150, 150, 150]]]]
    """
    return _looked_up(images, _blended(np.zeros(1, dtype=np.int64), _LEVELS, factor[:, None])[:, None])


def contrast(images: Array, factor: Array) -> Array:
    """Away from the mean grey of the image, rounded, by a factor; 0 gives that grey, 1 the image."""
    mean = (_grey(images).mean((1, 2)) + 0.5).astype(np.int64)
    return _looked_up(images, _blended(mean[:, None], _LEVELS, factor[:, None])[:, None])


def posterize(images: Array, bits: Array) -> Array:
    """The highest bits of every value, 0 to 8 of them."""
    masks = 256 - (1 << (8 - bits.astype(np.int64)))
    return _looked_up(images, (_LEVELS & masks[:, None])[:, None])


def solarize(images: Array, threshold: Array) -> Array:
    """Every value from a threshold on inverted; 256 inverts none."""
    return _looked_up(images, np.where(threshold[:, None] > _LEVELS, _LEVELS, 255 - _LEVELS)[:, None])


def autocontrast(images: Array, _: Array) -> Array:
    """Each channel stretched to the values from 0 to 255; one of a single value stays as it is."""
    low = images.min((1, 2)).astype(np.float64)[..., None]
    reach = images.max((1, 2))[..., None] - low
    scale = 255 / np.where(reach > 0, reach, 255)
    tables = np.clip(_LEVELS * scale - np.where(reach > 0, low, 0) * scale, 0, 255)
    return _looked_up(images, tables.astype(np.uint8))


def equalize(images: Array, _: Array) -> Array:
    """Each channel with its values spread so that all are about as frequent.

    The table is (step / 2 + number of smaller values) / step in whole numbers, with step the number of values but those
    of the highest level, divided by 255; a channel with step 0 stays as it is.
    """
    samples, _, _, channels = images.shape
    place = np.arange(samples * channels).reshape(samples, 1, 1, channels) * 256
    counts = np.bincount((place + images).ravel(), minlength=samples * channels * 256).reshape(samples, channels, 256)
    highest = 255 - (counts[..., ::-1] > 0).argmax(-1)
    last = np.take_along_axis(counts, highest[..., None], -1)
    step = (counts.sum(-1, keepdims=True) - last) // 255
    smaller = np.cumsum(counts, -1) - counts
    tables = np.minimum((step // 2 + smaller) // np.maximum(step, 1), 255)
    return _looked_up(images, np.where(step > 0, tables, _LEVELS))


def _looked_up(images: Array, tables: Array) -> Array:
    """Every value replaced by that of a table, shape (sample, channel or 1, 256)."""
    samples, channels, _ = tables.shape
    place = np.arange(samples * channels).reshape(samples, 1, 1, channels) * 256
    found: Array = tables.astype(np.uint8).ravel()[place + images]
    return found


# ---------------------------------------------------------------- blends with another image


def color(images: Array, factor: Array) -> Array:
    """Away from the grey form of the image by a factor; 0 gives grey, 1 the image."""
    return _blended(_grey(images)[..., None], images, factor[:, None, None, None]).astype(np.uint8)


def sharpness(images: Array, factor: Array) -> Array:
    """Away from a smoothed form of the image by a factor; 0 gives that, 1 the image.

    A pixel is smoothed with its eight neighbours, with weight 5 of 13; pixels at the edge are not.
    """
    wide = images.astype(np.int64)
    smooth = wide.copy()
    rows = wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]
    total = rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:] + 4 * wide[:, 1:-1, 1:-1]
    if total.size:
        smooth[:, 1:-1, 1:-1] = (2 * total + 13) // 26
    return _blended(smooth, wide, factor[:, None, None, None]).astype(np.uint8)


def _grey(images: Array) -> Array:
    """ITU-R 601-2 luma in whole numbers, int64, shape (sample, height, width)."""
    wide = images.astype(np.int64)
    return (wide[..., 0] * 19595 + wide[..., 1] * 38470 + wide[..., 2] * 7471 + (1 << 15)) >> 16


def _blended(other: Any, own: Any, factor: Array) -> Array:
    """Other + factor (own - other), kept in [0, 255] and cut to whole numbers; in float32, as in pillow."""
    start, end = (np.asarray(one).astype(np.float32) for one in (other, own))
    found: Array = np.clip(start + factor.astype(np.float32) * (end - start), 0, 255).astype(np.int64)
    return found


# ---------------------------------------------------------------- moves


def rotate(images: Array, degrees: Array) -> Array:
    """Turned about the middle, against the clock; the nearest pixel is taken, and what is laid bare is grey."""
    height, width = images.shape[1:3]
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    x, y = width / 2, height / 2
    return _moved(images, cos, -sin, x - cos * x + sin * y, sin, cos, y - sin * x - cos * y)


def shear_x(images: Array, level: Array) -> Array:
    """Row y moved to the left by level y."""
    return _moved(images, 1, level, 0, 0, 1, 0)


def shear_y(images: Array, level: Array) -> Array:
    """Column x moved up by level x."""
    return _moved(images, 1, 0, 0, level, 1, 0)


def translate_x(images: Array, share: Array) -> Array:
    """Moved to the left by a share of the width."""
    return _moved(images, 1, 0, share * images.shape[2], 0, 1, 0)


def translate_y(images: Array, share: Array) -> Array:
    """Moved up by a share of the height."""
    return _moved(images, 1, 0, 0, 0, 1, share * images.shape[1])


def _moved(images: Array, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Array:
    """The pixel at (x, y) is that at (a x + b y + c, d x + e y + f), middles of pixels at 0.5."""
    samples, height, width = images.shape[:3]
    a, b, c, d, e, f = (np.reshape(one, (-1, 1, 1)) for one in (a, b, c, d, e, f))
    x, y = np.arange(width) + 0.5, np.arange(height)[:, None] + 0.5
    across = np.floor(a * x + b * y + c).astype(np.int64)
    down = np.floor(d * x + e * y + f).astype(np.int64)
    inside = (across >= 0) & (across < width) & (down >= 0) & (down < height)
    source = np.where(inside, down * width + across, 0) + np.arange(samples)[:, None, None] * (height * width)
    out: Array = images.reshape(-1, images.shape[-1])[source]
    out[~np.broadcast_to(inside, out.shape[:3])] = FILL
    return out
