"""Sets of images: CIFAR-10 and its kin, STL10, MNIST, from files of pixels or the hub; every fault in one line."""

from __future__ import annotations

import io
import lzma
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import InputError

from .base import Dataset
from .files import check_name, damaged, data_folder, hub_rows, missing_file
from .images import decode_image, pillow_image
from .reading import StackedExamples

_COLUMNS = (("img", "image"), ("label", "labels"))


def _found(inner: str, *names: str) -> Path | None:
    """The first file of these names in the folder of data, in its ``images``, or in the folder ``inner`` of either."""
    folder = data_folder()
    folders = (
        []
        if folder is None
        else [top / last for top in (folder, folder / "images") for last in ("", inner)]
    )
    return next((file for top in folders for name in names if (file := top / name).is_file()), None)


def _absent(what: str, path: Path | None = None) -> InputError:
    remedy = "put it into the folder of OODOMETER_DATA"
    return InputError(
        what, got="no such file", remedy=remedy, file=None if path is None else str(path)
    )


def _load(path: Path, *needed: str) -> Any:
    """The array of an NPY file, or arrays of an NPZ file, unpacked where its name ends in .xz."""
    if not path.is_file():
        raise missing_file(path)
    what = (
        f"an NPZ file with the arrays {', '.join(needed)}" if needed else "an NPY file of numbers"
    )
    try:
        source: Any = (
            io.BytesIO(lzma.decompress(path.read_bytes())) if path.suffix == ".xz" else path
        )
        arrays = np.load(source, allow_pickle=False)
        if not needed:
            return arrays
        with arrays:
            return tuple(arrays[name] for name in needed)
    except Exception as error:  # zip, xz and numpy raise many classes for damaged files
        raise damaged(what, f"{type(error).__name__}: {error}"[:120], path) from error


def image_set(
    name: str,
    images: Any,
    labels: Any,
    part: str,
    path: Path,
    shape: Sequence[int],
    classes: int = 10,
) -> Dataset:
    """A data set of uint8 images of one shape and labels from 0 to ``classes`` - 1; `InputError` for others."""
    if images.dtype != np.uint8 or images.shape[1:] != tuple(shape) or not len(images):
        expected = f"uint8 images of shape (sample, {', '.join(map(str, shape))})"
        raise damaged(expected, f"{images.dtype} of shape {images.shape}", path)
    if labels.shape != (len(images),) or labels.dtype.kind not in "iu":
        raise damaged(
            f"{len(images)} labels, one an image", f"{labels.dtype} of shape {labels.shape}", path
        )
    wrong = (labels < 0) | (labels >= classes)
    if wrong.any():
        row = int(wrong.argmax())
        raise damaged(f"a label from 0 to {classes - 1}", str(labels[row]), path, row + 1)
    ids = tuple(f"{part}/{i}" for i in range(len(images)))
    return Dataset(
        name, images, tuple(labels.tolist()), ids=ids, source=path.name, modality="image"
    )


def hub_images(
    source: str, part: str, read: Callable[[Any], Array], shape: Sequence[int]
) -> tuple[Array, Array]:
    """Images, as ``read`` makes them of a cell, and labels of a set on the hub."""
    rows = hub_rows(source, part)
    image, label = (
        next((name for name in names if name in rows.column_names), None) for names in _COLUMNS
    )
    if image is None or label is None:
        expected = "columns image and label"
        raise InputError(
            expected,
            got=", ".join(rows.column_names),
            remedy="name another set on the hub",
            file=source,
        )
    out = np.empty((len(rows), *shape), dtype=np.uint8)
    for row, cell in enumerate(rows[image]):
        _put(out, row, cell, Path(source), read)
    return out, np.asarray(rows[label], dtype=np.int64)


def _put(
    out: Array, row: int, image: Any, path: Path, read: Callable[[Any], Array] = decode_image
) -> None:
    try:
        pixels = read(image)
        if pixels.shape != out.shape[1:]:
            raise ValueError(f"an image of shape {pixels.shape}")
    except ValueError as error:
        size = " x ".join(map(str, out.shape[1:3]))
        raise damaged(
            f"an image of {size} pixels", str(error), path, row + 1, what="the data"
        ) from error
    out[row] = pixels


_MNIST, _MNIST_SHAPE = "ylecun/mnist", (28, 28, 1)


def mnist(part: str = "train") -> Dataset:
    """MNIST, ``train`` (60,000) or ``test`` (10,000): uint8 images (sample, 28, 28, 1), targets 0 to 9. Read from
    ``images/mnist_<part>.npz`` (``x``, ``y``), or from the hub's ``ylecun/mnist``. Raises `UsageError` for another
    part, `InputError` for a file that is missing or damaged. Source: LeCun et al. (1998).
    """
    check_name(part, ("train", "test"))
    folder = data_folder()
    if folder is None:
        images, labels = hub_images(
            _MNIST, part, lambda image: decode_image(image)[..., :1], _MNIST_SHAPE
        )
        return image_set("mnist", images, labels, part, Path(_MNIST), _MNIST_SHAPE)
    path = folder / "images" / f"mnist_{part}.npz"
    images, labels = _load(path, "x", "y")
    images = images[..., np.newaxis] if images.ndim == 3 else images
    return image_set("mnist", images, labels, part, path, _MNIST_SHAPE)


CIFAR10_CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
"""What the targets 0 to 9 are."""

_HUB, _SHAPE = "uoft-cs/cifar10", (32, 32, 3)


def cifar10(part: str = "train") -> Dataset:
    """CIFAR-10, ``train`` (50,000) or ``test`` (10,000): uint8 images (sample, 32, 32, 3), targets 0 to 9.

    `CIFAR10_CLASSES` names the targets. Read from ``images/<part>_jpegs.npz.xz``, where image i is the JPEG file
    ``jpeg[offset[i]:offset[i + 1]]`` and its target ``label[i]``, or from the hub's ``uoft-cs/cifar10``. Raises
    `UsageError` for another part, `InputError` for a file that is missing or damaged, with the row of an image that
    does not decode. Source: Krizhevsky (2009).
    """
    check_name(part, ("train", "test"))
    folder = data_folder()
    if folder is None:
        images, labels = hub_images(_HUB, part, decode_image, _SHAPE)
        return image_set("cifar10", images, labels, part, Path(_HUB), _SHAPE)
    path = folder / "images" / f"{part}_jpegs.npz.xz"
    packed, offset, labels = _load(path, "jpeg", "offset", "label")
    rising = (
        offset.ndim == 1 and len(offset) > 1 and offset[0] >= 0 and (np.diff(offset) >= 0).all()
    )
    if not rising or offset[-1] > len(packed):
        raise damaged(
            "offsets that rise up to the number of bytes", "others", path, column="offset"
        )
    images = np.empty((len(offset) - 1, *_SHAPE), dtype=np.uint8)
    content = packed.tobytes()
    # One after the other: of small files most of the work is Python's, and threads only make it slower.
    for row, (start, stop) in enumerate(pairwise(offset.tolist())):
        _put(images, row, content[start:stop], path)
    return image_set("cifar10", images, labels, part, path, _SHAPE)


def find_cifar10_1() -> Path | None:
    """The file of CIFAR-10.1 in the folder of data, or None."""
    return _found("cifar10.1", "cifar10.1_v6_data.npy")


def cifar10_1() -> Dataset:
    """CIFAR-10.1 v6, a new test set for CIFAR-10: 2,000 uint8 images (sample, 32, 32, 3), targets 0 to 9.

    Read from ``cifar10.1_v6_data.npy`` and ``cifar10.1_v6_labels.npy`` in the folder of data, its ``images``, or the
    folder ``cifar10.1`` of either. Raises `InputError` where they are not there. Source: Recht et al. (2019).
    """
    file = find_cifar10_1()
    if file is None:
        raise _absent("CIFAR-10.1 (cifar10.1_v6_data.npy and cifar10.1_v6_labels.npy)")
    labels = _load(file.with_name("cifar10.1_v6_labels.npy"))
    return image_set("cifar10.1-v6", _load(file), labels, "v6", file, _SHAPE)


def cifar10_c(kind: str, severity: int) -> Dataset:
    """CIFAR-10-C at one kind and severity: 10,000 uint8 images (sample, 32, 32, 3), targets 0 to 9; only they are read.

    From ``<kind>.npy`` and ``labels.npy`` in the folder of data, its ``images``, or ``CIFAR-10-C`` of either. Raises
    `UsageError` for another severity, `InputError` for files that are not there or of another form. Source: Hendrycks
    and Dietterich (2019).
    """
    check_name(str(severity), ("1", "2", "3", "4", "5"))
    file = _found("CIFAR-10-C", f"{kind}.npy")
    if file is None:
        raise _absent(f"CIFAR-10-C ({kind}.npy and labels.npy)")
    examples = StackedExamples(file, ("image",))
    return replace(
        next(examples.batches(len(examples.labels) // 5, first=severity - 1)).data,
        name="cifar-10-c",
    )


STL10_CLASSES = (
    "airplane",
    "bird",
    "car",
    "cat",
    "deer",
    "dog",
    "horse",
    "monkey",
    "ship",
    "truck",
)
"""Its own classes, in its own order."""

_SIDE = 96
_STL10_SHAPE = (_SIDE, _SIDE, 3)
_NAMES = {"car": "automobile"}  # in CIFAR-10; a frog is in CIFAR-10 alone, a monkey in STL10 alone
_NAMED = [_NAMES.get(name, name) for name in STL10_CLASSES]
_TO_CIFAR = np.array(
    [CIFAR10_CLASSES.index(name) if name in CIFAR10_CLASSES else -1 for name in _NAMED]
)


def find_stl10() -> Path | None:
    """STL10's ``test_X.bin`` or ``stl10_test.npz`` in the folder of data, or None."""
    return _found("stl10_binary", "test_X.bin", "stl10_test.npz")


def stl10() -> Dataset:
    """The test images of STL10 as a shifted CIFAR-10: uint8 (sample, 32, 32, 3), targets as in `CIFAR10_CLASSES`.

    Monkeys are left out, and there are no frogs: 7,200 of 8,000 images in nine classes. Images of 96 x 96 become
    32 x 32 by the mean of each block of 3 x 3 pixels (pillow's box filter). Read from ``test_X.bin`` as published
    (uint8; axes image, channel, column, row), with labels 1 to 10 in ``test_y.bin``, or from ``stl10_test.npz`` with
    ``x`` (sample, 96, 96, 3) and ``y`` (0 to 9 in the order of `STL10_CLASSES`): in the folder of data, its
    ``images``, or the folder ``stl10_binary`` of either. Raises `InputError` where it is not there.
    Source: Coates et al. (2011).
    """
    file = find_stl10()
    if file is None:
        raise _absent("STL10 (test_X.bin and test_y.bin, or stl10_test.npz)")
    if file.suffix == ".npz":
        images, labels = _load(file, "x", "y")
    else:
        beside = file.with_name(file.name.replace("_X", "_y"))
        try:
            raw, ends = np.fromfile(file, dtype=np.uint8), np.fromfile(beside, dtype=np.uint8)
        except OSError as error:
            raise _absent(f"the labels of STL10 beside {file.name}", beside) from error
        if len(raw) % (3 * _SIDE * _SIDE) or not len(raw):
            raise damaged(f"images of {3 * _SIDE * _SIDE} bytes", f"{len(raw)} bytes in all", file)
        if not ends.all():
            raise damaged(
                "a label from 1 to 10", "0", beside, int((ends == 0).argmax()) + 1, what="it"
            )
        images, labels = (
            raw.reshape(-1, 3, _SIDE, _SIDE).transpose(0, 3, 2, 1),
            ends.astype(np.int64) - 1,
        )
    full = image_set("stl10", images, labels, "test", file, _STL10_SHAPE)
    targets = _TO_CIFAR[list(full.targets)]
    rows = np.flatnonzero(targets >= 0)
    if not len(rows):
        raise damaged("images of classes of CIFAR-10", "monkeys alone", file, what="it")
    image = pillow_image("resizing images")
    out = np.empty((len(rows), *_SHAPE), dtype=np.uint8)
    for row, at in enumerate(rows):  # each pixel the mean of a block
        small = image.fromarray(np.ascontiguousarray(images[at]))
        out[row] = np.asarray(small.resize(_SHAPE[:2], image.Resampling.BOX))
    return replace(
        full,
        inputs=out,
        targets=tuple(targets[rows].tolist()),
        ids=tuple(full.ids[i] for i in rows),
    )
