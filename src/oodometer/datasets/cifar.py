"""CIFAR-10 and its kin: train and test images, the labels that people gave them, and the new test set CIFAR-10.1."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ..errors import InputError, UsageError
from .base import Dataset
from .folder import data_folder
from .hub import without_hub
from .images import decode_image
from .pixel_files import absent, check_part, hub_images, image_set, places, read_npy, read_npz, unpacked

CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
"""What the targets 0 to 9 are."""

CIFAR10N = ("aggre", "worse", "random1", "random2", "random3")
"""Labels that people gave: the majority of three, one that is wrong if any is, and each of the three."""

_SHAPE = (32, 32, 3)
_HUB = "uoft-cs/cifar10"


def cifar10(part: str = "train") -> Dataset:
    """CIFAR-10, ``train`` (50,000) or ``test`` (10,000): uint8 images (sample, 32, 32, 3), targets 0 to 9.

    `CIFAR10_CLASSES` names the targets. Read from ``images/<part>_jpegs.npz.xz``, where image i is the JPEG file
    ``jpeg[offset[i]:offset[i + 1]]`` and its target ``label[i]``, or from the hub's ``uoft-cs/cifar10``. Raises
    `UsageError` for another part, `InputError` for a file that is missing or damaged, with the row of an image that
    does not decode.

    Source: Krizhevsky (2009).
    """
    check_part(part)
    folder = data_folder()
    if folder is None:
        images, labels, _ = hub_images(_HUB, part, decode_image, _SHAPE)
        return image_set("cifar10", images, labels, part, Path(_HUB), _SHAPE)
    path = folder / "images" / f"{part}_jpegs.npz.xz"
    packed, offset, labels = read_npz(path, "jpeg", "offset", "label")
    return image_set("cifar10", unpacked(path, packed, offset, _SHAPE[0]), labels, part, path, _SHAPE)


def cifar10n(labels: str = "aggre") -> Dataset:
    """The training images of CIFAR-10 with labels that people gave them, wrong by 9 % (``aggre``) to 40 % (``worse``).

    ``labels`` is one of `CIFAR10N`. Read from ``images/cifar10n_labels.npz`` beside the images.
    Raises `UsageError` for other labels, `WorkError` without a folder of data. Source: Wei et al. (2022).

    >>> cifar10n("worst")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected labels aggre, worse, random1, random2, random3, got 'worst'
    """
    if labels not in CIFAR10N:
        raise UsageError(f"expected labels {', '.join(CIFAR10N)}, got {labels!r}")
    folder = data_folder()
    if folder is None:
        raise without_hub("CIFAR-10N", "images/cifar10n_labels.npz")
    path = folder / "images" / "cifar10n_labels.npz"
    name = labels.replace("random", "random_label") if labels.startswith("random") else f"{labels}_label"
    clean, given = read_npz(path, "clean_label", name)
    data = cifar10("train")
    if clean.tolist() != list(data.targets):
        raise InputError(
            "labels in the order of the training images",
            got="another order",
            remedy="fetch both files again",
            file=str(path),
        )
    noisy = image_set("cifar10n", data.inputs, given, "train", path, _SHAPE)
    return replace(noisy, name=f"cifar10n-{labels}")


def find_cifar10_1(path: str | os.PathLike[str] | None = None, *, version: str = "v6") -> Path | None:
    """The file of the images of CIFAR-10.1, ``v6`` or ``v4``; None where it is not there.

    ``path`` is the file or its folder; by default it is looked for in the folder OODOMETER_DATA, its ``images`` and its
    ``cifar10.1``. Raises `UsageError` for another version.

    >>> find_cifar10_1("no-such-folder") is None
    True
    """
    if version not in ("v4", "v6"):
        raise UsageError(f"expected version v4 or v6, got {version!r}")
    name = f"cifar10.1_{version}_data.npy"
    return next((found for one in places(path, "cifar10.1") if (found := _file(one, name)).is_file()), None)


def cifar10_1(path: str | os.PathLike[str] | None = None, *, version: str = "v6", hub: str | None = None) -> Dataset:
    """CIFAR-10.1, a new test set for CIFAR-10: uint8 images (sample, 32, 32, 3), targets 0 to 9.

    Parameters
    ----------
    path :
        ``cifar10.1_<version>_data.npy`` or its folder, the labels beside it; see `find_cifar10_1` for the default.
    version :
        "v6" (2,000 images) or "v4" (2,021).
    hub :
        Name of a copy on the hub (columns ``image`` and ``label``, split ``test``), asked where no file is found.

    Raises `InputError` where it is not there. Source: Recht et al. (2019).
    """
    found = find_cifar10_1(path, version=version)
    name = f"cifar10.1-{version}"
    if found is None and hub is not None:
        images, labels, _ = hub_images(hub, "test", decode_image, _SHAPE)
        return image_set(name, images, labels, "test", Path(hub), _SHAPE)
    if found is None:
        files = f"cifar10.1_{version}_data.npy and cifar10.1_{version}_labels.npy"
        raise absent(f"CIFAR-10.1 ({files})", path)
    labels = read_npy(found.with_name(found.name.replace("_data", "_labels")))
    return image_set(name, read_npy(found), labels, version, found, _SHAPE)


def _file(place: Path, name: str) -> Path:
    return place / name if place.suffix != ".npy" else place
