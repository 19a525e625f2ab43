"""Files of pixels: arrays of NPZ and NPY files, JPEG images packed in one array; every fault in one line."""

from __future__ import annotations

import io
import lzma
import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from .base import Dataset
from .files import missing_file
from .folder import data_folder
from .hub import hub_rows
from .images import decode_image

_COLUMNS = (("img", "image"), ("label", "labels"))


def check_part(part: str) -> None:
    """`UsageError` for another part than train or test.

    >>> check_part("dev")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected train or test, got 'dev'
    """
    if part not in ("train", "test"):
        raise UsageError(f"expected train or test, got {part!r}")


def places(path: str | os.PathLike[str] | None, name: str) -> list[Path]:
    """Where a set that came by itself may lie: ``path``; else the folder of data, its ``images``, and ``name`` in both.

    >>> places("here", "stl10_binary")
    [PosixPath('here')]
    """
    if path is not None:
        return [Path(path)]
    folder = data_folder()
    return [] if folder is None else [one / last for one in (folder, folder / "images") for last in ("", name)]


def absent(what: str, path: str | os.PathLike[str] | None) -> InputError:
    """The error for a set that came by itself and is not there.

    >>> print(absent("STL10 (test_X.bin)", "here"))
    here: expected STL10 (test_X.bin), got no such file; name its folder, or put it into that of OODOMETER_DATA
    """
    return InputError(
        what,
        got="no such file",
        remedy="name its folder, or put it into that of OODOMETER_DATA",
        file=None if path is None else str(path),
    )


def read_npz(path: Path, *needed: str) -> tuple[Array, ...]:
    """Arrays of an NPZ file, unpacked where its name ends in .xz; `InputError` for one that is missing or damaged."""
    if not path.is_file():
        raise missing_file(path)
    try:
        source: Any = io.BytesIO(lzma.decompress(path.read_bytes())) if path.suffix == ".xz" else path
        with np.load(source, allow_pickle=False) as held:
            return tuple(held[name] for name in needed)
    except Exception as error:  # zip, xz and numpy raise many classes for damaged files
        raise _damaged(f"an NPZ file with the arrays {', '.join(needed)}", path, error) from error


def read_npy(path: Path) -> Array:
    """The array of an NPY file; `InputError` where it is missing, damaged, or holds objects."""
    if not path.is_file():
        raise missing_file(path)
    try:
        found: Array = np.load(path, allow_pickle=False)
    except Exception as error:  # as above
        raise _damaged("an NPY file of numbers", path, error) from error
    return found


def unpacked(path: Path, packed: Array, offset: Array, size: int) -> Array:
    """Images of which image i is the file ``packed[offset[i]:offset[i + 1]]``: uint8, shape (sample, size, size, 3).

    Raises `InputError` naming the row that does not decode, or has another size.
    """
    rising = offset.ndim == 1 and len(offset) > 1 and offset[0] >= 0 and (np.diff(offset) >= 0).all()
    if not rising or offset[-1] > len(packed):
        raise InputError(
            "offsets that rise up to the number of bytes",
            got="others",
            remedy="fetch the file again",
            file=str(path),
            column="offset",
        )
    out = np.empty((len(offset) - 1, size, size, 3), dtype=np.uint8)
    whole, ends = packed.tobytes(), offset.tolist()
    # One after the other: of small files most of the work is Python's, and threads only make it slower.
    for row, (start, stop) in enumerate(pairwise(ends)):
        _put(out, row, whole[start:stop], path)
    return out


def image_set(
    name: str, images: Any, labels: Any, part: str, path: Path, shape: Sequence[int], classes: int = 10
) -> Dataset:
    """A data set of uint8 images of one shape and labels from 0 to ``classes`` - 1; `InputError` for others."""
    if images.dtype != np.uint8 or images.shape[1:] != tuple(shape) or not len(images):
        raise InputError(
            f"uint8 images of shape (sample, {', '.join(map(str, shape))})",
            got=f"{images.dtype} of shape {images.shape}",
            remedy="fetch the file again",
            file=str(path),
        )
    if labels.shape != (len(images),) or labels.dtype.kind not in "iu":
        raise InputError(
            f"{len(images)} labels, one an image",
            got=f"{labels.dtype} of shape {labels.shape}",
            remedy="fetch the file again",
            file=str(path),
        )
    wrong = (labels < 0) | (labels >= classes)
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"a label from 0 to {classes - 1}",
            got=str(labels[row]),
            remedy="fetch the file again",
            file=str(path),
            row=row + 1,
        )
    ids = tuple(f"{part}/{i}" for i in range(len(images)))
    return Dataset(name, images, tuple(labels.tolist()), ids=ids, source=path.name, modality="image")


def hub_images(source: str, part: str, read: Callable[[Any], Array], shape: Sequence[int]) -> tuple[Array, Array, Any]:
    """Images, labels and the rows themselves of a set on the hub, whose columns are ``img`` or ``image`` and ``label``.

    ``read`` makes an array of the given shape of an image. Raises `InputError` naming the row that is no such image.
    """
    rows = hub_rows(source, part)
    image, label = (next((one for one in names if one in rows.column_names), None) for names in _COLUMNS)
    if image is None or label is None:
        raise InputError(
            "columns image and label",
            got=", ".join(rows.column_names),
            remedy="name another set on the hub",
            file=source,
        )
    out = np.empty((len(rows), *shape), dtype=np.uint8)
    for row, one in enumerate(rows[image]):
        _put(out, row, one, Path(source), read)
    return out, np.asarray(rows[label], dtype=np.int64), rows


def _put(out: Array, row: int, image: Any, path: Path, read: Callable[[Any], Array] = decode_image) -> None:
    try:
        found = read(image)
        if found.shape != out.shape[1:]:
            raise ValueError(f"an image of shape {found.shape}")
    except ValueError as error:
        wanted = " x ".join(map(str, out.shape[1:3]))
        raise InputError(
            f"an image of {wanted} pixels", got=str(error), remedy="fetch the data again", file=str(path), row=row + 1
        ) from error
    out[row] = found


def _damaged(expected: str, path: Path, error: Exception) -> InputError:
    got = f"{type(error).__name__}: {error}"[:120]
    return InputError(expected, got=got, remedy="fetch the file again", file=str(path))
