"""Pixels: images of any size as one uint8 array, and augmented copies of them, drawn row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Array
from ...datasets.images import LateImages, no_images
from ...errors import MissingExtraError


def check_images(images: Any) -> Any:
    """Images as a uint8 array (sample, height, width, 3), or as a list of arrays (height, width, 3) of several sizes.

    Grey images are repeated in the three channels; `LateImages` stay what they are. Raises `InputError` for none at
    all, and for what is no image.

    >>> check_images(np.zeros((2, 4, 4), dtype=np.uint8)).shape
    (2, 4, 4, 3)
    """
    if isinstance(images, LateImages):
        return images
    if isinstance(images, np.ndarray) and images.dtype != object:
        if images.dtype != np.uint8 or images.ndim not in (3, 4) or images.shape[-1] not in (images.shape[-1], 3):
            raise no_images(f"{images.dtype} of shape {images.shape}")
        if images.ndim == 3:
            images = np.repeat(images[..., None], 3, axis=-1)
        if not len(images):
            raise no_images("none")
        if images.shape[-1] == 1:
            images = np.repeat(images, 3, axis=-1)
        if images.shape[-1] != 3:
            raise no_images(f"{images.shape[-1]} channels")
        return images
    found = [check_images(np.asarray(one)[None])[0] for one in images]
    if not found:
        raise no_images("none")
    return np.stack(found) if len({one.shape for one in found}) == 1 else found


def in_one_size(images: Any, sides: tuple[int, int]) -> Array:
    """The images as one array (sample, height, width, 3) of some sides: others are resized, bilinear, to fit them.

    Raises `MissingExtraError` where one has to be resized and pillow is missing.
    """
    if isinstance(images, np.ndarray) and images.shape[1:3] == tuple(sides):
        return images
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("resizing images", "pillow", extra="image") from error
    out = np.empty((len(images), *sides, 3), dtype=np.uint8)
    for row, one in enumerate(images):
        whole = Image.fromarray(np.ascontiguousarray(one))
        out[row] = np.asarray(whole.resize(sides[::-1], Image.Resampling.BILINEAR))
    return out


def augmented(images: Any, seed: Sequence[int]) -> Any:
    """Each image mirrored or not, and shifted by up to an eighth of its sides; what is laid bare is black.

    ``seed`` is (seed, view, position of the first image): image i draws by (seed, view, position + i), so that it does
    not matter how the images are batched. Source: He et al. (2016), the augmentation of CIFAR-10.
    """
    whole, view, first = seed
    if isinstance(images, LateImages):
        return images.changed(lambda one, row: _moved(one, np.random.default_rng((whole, view, first + row))))
    out = [_moved(one, np.random.default_rng((whole, view, row))) for row, one in enumerate(images, first)]
    return np.stack(out) if isinstance(images, np.ndarray) else out


def _moved(image: Array, rng: np.random.Generator) -> Array:
    height, width = image.shape[:2]
    down, right = (int(rng.integers(-(side // 8), side // 8 + 1)) for side in (height, width))
    image = image[:, ::-1] if rng.random() < 0.5 else image
    out = np.zeros_like(image)
    out[max(down, 0) : height + min(down, 0), max(right, 0) : width + min(right, 0)] = image[
        max(-down, 0) : height + min(-down, 0), max(-right, 0) : width + min(-right, 0)
    ]
    return out
