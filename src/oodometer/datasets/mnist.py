"""MNIST: handwritten digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .base import Dataset
from .folder import data_folder
from .images import decode_image
from .pixel_files import check_part, hub_images, image_set, read_npz

_SHAPE = (28, 28, 1)
_HUB = "ylecun/mnist"


def mnist(part: str = "train") -> Dataset:
    """MNIST, ``train`` (60,000) or ``test`` (10,000): uint8 images (sample, 28, 28, 1), targets 0 to 9.

    Read from ``images/mnist_<part>.npz`` (``x``, ``y``), or from the hub's ``ylecun/mnist``. Raises `UsageError` for
    another part, `InputError` for a file that is missing or damaged. Source: LeCun et al. (1998).
    """
    check_part(part)
    folder = data_folder()
    if folder is None:
        images, labels, _ = hub_images(_HUB, part, lambda one: decode_image(one)[..., :1], _SHAPE)
        return image_set("mnist", images, labels, part, Path(_HUB), _SHAPE)
    path = folder / "images" / f"mnist_{part}.npz"
    images, labels = read_npz(path, "x", "y")
    images = images[..., np.newaxis] if images.ndim == 3 else images
    return image_set("mnist", images, labels, part, path, _SHAPE)
