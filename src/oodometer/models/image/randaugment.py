"""RandAugment: each image changed by a few operations drawn at random, all images of one operation at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...arrays import Array
from ...datasets.images import LateImages
from ...errors import UsageError
from . import operations as operate
from .pixels import check_images

_Operation = Callable[[Array, Array], Array]
_Strength = Callable[[Array, Array], Array]

_TURN = 512  # images that are changed at once: they and the numbers on the way stay small


def _either(most: float) -> _Strength:
    """Up to ``most`` to one side or the other."""
    return lambda share, side: most * share * side


def _around_one(share: Array, side: Array) -> Array:
    return 1 + 0.9 * share * side


def _bits(share: Array, _: Array) -> Array:
    bits: Array = 8 - np.rint(4 * share)
    return bits


def _threshold(share: Array, _: Array) -> Array:
    threshold: Array = np.rint(256 * (1 - share))
    return threshold


def _none(share: Array, _: Array) -> Array:
    return share


OPERATIONS: dict[str, tuple[_Operation, _Strength]] = {
    "identity": (lambda images, _: images, _none),
    "autocontrast": (operate.autocontrast, _none),
    "equalize": (operate.equalize, _none),
    "rotate": (operate.rotate, _either(30.0)),
    "solarize": (operate.solarize, _threshold),
    "color": (operate.color, _around_one),
    "posterize": (operate.posterize, _bits),
    "contrast": (operate.contrast, _around_one),
    "brightness": (operate.brightness, _around_one),
    "sharpness": (operate.sharpness, _around_one),
    "shear_x": (operate.shear_x, _either(0.3)),
    "shear_y": (operate.shear_y, _either(0.3)),
    "translate_x": (operate.translate_x, _either(0.45)),
    "translate_y": (operate.translate_y, _either(0.45)),
}
"""The 14 operations, each with its strength by the share m / 10 of the largest magnitude, and the side, -1 or 1."""


def randaugment(
    images: Any, seed: Sequence[int] = (0, 0, 0), operations: int = 2, magnitude: float = 3.0, spread: float = 0.5
) -> Any:
    """Each image after ``operations`` of the 14 operations of RandAugment, drawn uniformly, with replacement.

    Each has a magnitude of its own, m = clip(magnitude + spread z, 0, 10) with z standard normal; 0 changes nothing but
    in autocontrast and equalize, which have no strength. Rotation by 3 m degrees, shear by 0.03 m, translation
    by 0.045 m of a side, to either side, the nearest pixel taken and grey laid bare; colour, contrast, brightness and
    sharpness by a factor 1 + 0.09 m or 1 - 0.09 m; posterize to 8 - 0.4 m bits and solarize from 25.6 (10 - m) on, both
    rounded.

    Parameters
    ----------
    images :
        uint8, shape (sample, height, width, 3), or a list of arrays (height, width, 3) of several sizes.
    seed :
        (seed, view, position of the first image): image i draws by (seed, view, position + i), so that it does not
        matter how the images are batched.
    operations, magnitude, spread :
        By default those of the code of Trivedi et al. (2023) for smoothness: 2, 3 and 0.5.

    Returns images of the same shapes. Raises `UsageError` for a magnitude outside [0, 10], a negative spread or fewer
    than one operation, `InputError` for what is no image.

    The ranges are those of AutoAugment; here a larger m is a stronger change in every operation, while the first code
    of RandAugment turns solarize, posterize and the factors round. Source: Cubuk et al. (2020).

    >>> grey = np.full((2, 4, 4, 3), 100, dtype=np.uint8)
    >>> randaugment(grey, (1, 0, 0), magnitude=5).mean((1, 2)).round(1).tolist()
    [[100.0, 100.0, 100.0], [107.2, 107.2, 107.2]]
    """
    _check(operations, magnitude, spread)
    images = check_images(images)
    if isinstance(images, LateImages):
        whole, view, first = seed
        how = operations, magnitude, spread
        return images.changed(lambda one, row: randaugment(one[None], (whole, view, first + row), *how)[0])
    drawn = _draws(len(images), seed, operations)
    share = np.clip(magnitude + spread * drawn[1], 0, 10) / 10
    kinds, side = drawn[0].astype(np.int64), np.where(drawn[2] < 0.5, -1.0, 1.0)
    if isinstance(images, np.ndarray):
        return _changed(images, kinds, share, side)
    out: list[Array] = list(images)
    for shape in {one.shape for one in images}:
        rows = [row for row, one in enumerate(images) if one.shape == shape]
        found = _changed(np.stack([images[row] for row in rows]), kinds[:, rows], share[:, rows], side[:, rows])
        for row, one in zip(rows, found, strict=True):
            out[row] = one
    return out


def _draws(rows: int, seed: Sequence[int], operations: int) -> Array:
    """Which operation, a normal number and a uniform one, shape (3, operation, sample)."""
    whole, view, first = seed
    out = np.empty((rows, 3, operations))
    for row in range(rows):
        rng = np.random.default_rng((whole, view, first + row))
        out[row, 0] = rng.integers(len(OPERATIONS), size=operations)
        out[row, 1] = rng.standard_normal(operations)
        out[row, 2] = rng.random(operations)
    return out.transpose(1, 2, 0)


def _changed(images: Array, kinds: Array, share: Array, side: Array) -> Array:
    """One operation after the other on images of one size; the others have the axes (operation, sample)."""
    out = images.copy()
    for kind, shares, sides in zip(kinds, share, side, strict=True):
        for place, (operation, strength) in enumerate(OPERATIONS.values()):
            rows = np.flatnonzero(kind == place)
            for start in range(0, len(rows), _TURN):
                some = rows[start : start + _TURN]
                out[some] = operation(out[some], strength(shares[some], sides[some]))
    return out


def _check(operations: int, magnitude: float, spread: float) -> None:
    if not 0 <= magnitude <= 10:
        raise UsageError(f"expected a magnitude in [0, 10], got {magnitude}")
    if not 0 <= spread < math.inf or operations < 1:
        raise UsageError(f"expected a spread from 0 on and operations from 1 on, got {spread} and {operations}")
