"""STL10: photographs of nearly the classes of CIFAR-10 from another source, brought to its classes and its size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, MissingExtraError
from .base import Dataset
from .cifar import CIFAR10_CLASSES
from .images import decode_image
from .pixel_files import absent, check_part, hub_images, image_set, places, read_npz

STL10_CLASSES = ("airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck")
"""Its own classes, in its own order."""

_SIDE = 96
_SHAPE = (_SIDE, _SIDE, 3)
_NAMES = {"car": "automobile"}  # in CIFAR-10; a frog is in CIFAR-10 alone, a monkey in STL10 alone
_TO_CIFAR = np.array(
    [CIFAR10_CLASSES.index(one) if (one := _NAMES.get(name, name)) in CIFAR10_CLASSES else -1 for name in STL10_CLASSES]
)


def find_stl10(path: str | os.PathLike[str] | None = None, part: str = "test") -> Path | None:
    """The file of the images of STL10, ``test`` or ``train``; None where it is not there.

    It is ``<part>_X.bin`` as published, with ``<part>_y.bin`` beside it, or ``stl10_<part>.npz``. ``path`` is the file
    or its folder; by default it is looked for in the folder OODOMETER_DATA, its ``images`` and its ``stl10_binary``.

    >>> find_stl10("no-such-folder") is None
    True
    """
    check_part(part)
    names = (f"{part}_X.bin", f"stl10_{part}.npz")
    for place in places(path, "stl10_binary"):
        for found in (place / one for one in names) if place.suffix not in (".bin", ".npz") else (place,):
            if found.is_file():
                return found
    return None


def stl10(path: str | os.PathLike[str] | None = None, part: str = "test", *, hub: str | None = None) -> Dataset:
    """STL10 as a shifted CIFAR-10: uint8 images (sample, 32, 32, 3), targets 0 to 9 as in `CIFAR10_CLASSES`.

    Monkeys are left out, and there are no frogs: 7,200 of 8,000 test images in nine classes. Images of 96 x 96 become
    32 x 32 by the mean of each block of 3 x 3 pixels (pillow's box filter).

    Parameters
    ----------
    path :
        ``<part>_X.bin`` as published (uint8; axes image, channel, column, row), with labels 1 to 10 in
        ``<part>_y.bin``; or an NPZ file with ``x`` (sample, 96, 96, 3) and ``y`` (0 to 9 in the order of
        `STL10_CLASSES`); or the folder of one of them. See `find_stl10` for the default.
    part :
        "test" (8,000) or "train" (5,000).
    hub :
        Name of a copy on the hub (columns ``image`` and ``label``), asked where no file is found.

    Raises `InputError` where it is not there. Source: Coates et al. (2011).
    """
    found = find_stl10(path, part)
    if found is None and hub is None:
        raise absent(f"STL10 ({part}_X.bin and {part}_y.bin, or stl10_{part}.npz)", path)
    source = found or Path(str(hub))
    if found is None:
        images, labels, rows = hub_images(str(hub), part, decode_image, _SHAPE)
        labels = _by_name(labels, rows)
    elif found.suffix == ".npz":
        images, labels = read_npz(found, "x", "y")
    else:
        images, labels = _published(found)
    whole = image_set("stl10", images, labels, part, source, _SHAPE)
    targets = _TO_CIFAR[list(whole.targets)]
    kept = np.flatnonzero(targets >= 0)
    if not len(kept):
        raise InputError(
            "images of classes of CIFAR-10", got="monkeys alone", remedy="fetch it again", file=str(source)
        )
    return Dataset(
        "stl10",
        _smaller(images[kept]),
        tuple(targets[kept].tolist()),
        ids=tuple(whole.ids[i] for i in kept),
        source=whole.source,
        modality="image",
    )


def _published(path: Path) -> tuple[Array, Array]:
    """Images and labels from 0 on of the two files as published."""
    beside = path.with_name(path.name.replace("_X", "_y"))
    try:
        raw, labels = np.fromfile(path, dtype=np.uint8), np.fromfile(beside, dtype=np.uint8)
    except OSError as error:
        raise absent(f"the labels of STL10 beside {path.name}", beside) from error
    if len(raw) % (3 * _SIDE * _SIDE) or not len(raw):
        raise InputError(
            f"images of {3 * _SIDE * _SIDE} bytes",
            got=f"{len(raw)} bytes in all",
            remedy="fetch the file again",
            file=str(path),
        )
    if not labels.all():
        row = int((labels == 0).argmax())
        raise InputError("a label from 1 to 10", got="0", remedy="fetch it again", file=str(beside), row=row + 1)
    return raw.reshape(-1, 3, _SIDE, _SIDE).transpose(0, 3, 2, 1), labels.astype(np.int64) - 1


def _by_name(labels: Array, rows: Any) -> Array:
    """Labels of the hub in the order of `STL10_CLASSES`, where the set there names its classes in another."""
    about = getattr(rows, "features", None) or {}
    names = next((one.names for key in ("label", "labels") if (one := about.get(key)) and hasattr(one, "names")), None)
    if names is None:
        return labels
    try:
        place = np.array([STL10_CLASSES.index({"automobile": "car"}.get(one, one)) for one in names])
    except ValueError as error:
        raise InputError(
            f"the classes {', '.join(STL10_CLASSES)}",
            got=", ".join(map(str, names)),
            remedy="name another set on the hub",
            column="label",
        ) from error
    found: Array = place[labels]
    return found


def _smaller(images: Array) -> Array:
    """Images of 96 x 96 as images of 32 x 32, each pixel the mean of a block."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("resizing images", "pillow", extra="image") from error
    out = np.empty((len(images), _SIDE // 3, _SIDE // 3, 3), dtype=np.uint8)
    for row, one in enumerate(images):
        whole = Image.fromarray(np.ascontiguousarray(one))
        out[row] = np.asarray(whole.resize(out.shape[1:3], Image.Resampling.BOX))
    return out
