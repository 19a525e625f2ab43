"""Images: files, bytes and arrays as uint8 pixels in three channels; what does not decode is named."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import InputError, needed

ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm")

# Bytes of pixels that are in memory at once; images that do not fit are decoded again when it is their turn.
HELD = 2**29
_ORIENTATION = 0x0112  # the EXIF tag; 1 is upright


class _UnknownRangeError(ValueError):
    """Pixels that do not say what is black and what is white."""


@final
class LateImages(Sequence[Any]):
    """Images that do not fit into memory together: one is made, uint8 (height, width, 3), when it is asked for."""

    def __init__(self, makers: Sequence[Callable[[], Array]], sizes: Sequence[int]) -> None:
        self._makers, self.sizes = tuple(makers), tuple(sizes)

    def __len__(self) -> int:
        return len(self._makers)

    def __getitem__(self, rows: Any) -> Any:
        """The image at a place; of a slice or a list of places, such a sequence of them."""
        if isinstance(rows, (int, np.integer)):
            return self._makers[rows]()
        chosen = range(len(self))[rows] if isinstance(rows, slice) else rows
        return LateImages([self._makers[i] for i in chosen], [self.sizes[i] for i in chosen])

    def changed(self, change: Callable[[Array, int], Array]) -> LateImages:
        """The same through a function of an image and its place, which keeps its shape."""
        makers = [
            partial(lambda make, i: change(make(), i), make, i)
            for i, make in enumerate(self._makers)
        ]
        return LateImages(makers, self.sizes)

    def parts(self, most: int = HELD) -> Iterator[LateImages]:
        """Consecutive images that take at most so many bytes together, or one alone."""
        first, total = 0, 0
        for row, size in enumerate(self.sizes):
            if row > first and total + size > most:
                yield self[first:row]
                first, total = row, 0
            total += size
        if first < len(self):
            yield self[first:]


def image_files(folder: Path) -> list[Path]:
    """Image files below a folder, by name, whatever their depth; links are followed, hidden files are left out."""
    is_folder = folder.is_dir()
    files = sorted(_below(folder, {os.path.realpath(folder)})) if is_folder else []
    if not files:
        got = "none in it" if is_folder else "no such folder"
        remedy = f"known endings: {', '.join(ENDINGS)}" if is_folder else "check the path"
        raise InputError("a folder of images", got=got, remedy=remedy, file=str(folder))
    return files


def _below(folder: Path, above: set[str]) -> Iterator[Path]:
    """Image files below a folder; a link to one of the folders ``above`` would lead round and round."""
    with os.scandir(folder) as entries:
        for entry in entries:
            path = Path(entry.path)
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                real = os.path.realpath(path)
                if real not in above:
                    yield from _below(path, above | {real})
            elif path.suffix.lower() in ENDINGS and (entry.is_file() or entry.is_symlink()):
                yield path  # a link to nowhere is an image that does not decode, and is told as one


def pillow_image(what: str) -> Any:
    """pillow's module of images; `MissingExtraError` where it is not installed."""
    return needed("PIL.Image", what, extra="image", package="pillow")


def no_images(got: str) -> InputError:
    """The error for arrays that are no images."""
    expected = "uint8 images of shape (sample, height, width, 3)"
    return InputError(
        expected, got=got, remedy="give arrays of 0 to 255 with the channels last", column="image"
    )


def decode_image(image: Any) -> Array:
    """A file, its bytes, a PIL image, an array, or a cell of a Hugging Face data set as uint8 (height, width, 3). A
    photograph is turned upright as its EXIF says, 16 bits lose their lower 8. `ValueError` says why it is no image.
    """
    if isinstance(image, dict):
        image = image.get("bytes") or image.get("path")
    if isinstance(image, np.ndarray):
        if image.dtype != np.uint8 or image.ndim not in (2, 3):
            raise ValueError(f"an array of {image.dtype}, shape {image.shape}, is no uint8 image")
        return np.stack([image] * 3, -1) if image.ndim == 2 else image
    library = pillow_image("reading images")
    if hasattr(image, "convert"):
        return _pixels(image)
    if not isinstance(image, (bytes, str, os.PathLike)):
        raise ValueError(f"{type(image).__name__} is no image")
    try:
        with library.open(io.BytesIO(image) if isinstance(image, bytes) else image) as opened:
            return _pixels(opened)
    except _UnknownRangeError:
        raise
    except library.DecompressionBombError as error:
        raise ValueError(
            f"more pixels than are safe to decode ({str(error).partition(',')[0]})"
        ) from error
    except Exception as error:  # decoders raise classes of their own for damaged files
        reason = "no such file" if isinstance(error, FileNotFoundError) else "it does not decode"
        raise ValueError(f"{reason} ({type(error).__name__})") from error


def _pixels(image: Any) -> Array:
    """A PIL image as uint8 (height, width, 3). Pillow itself would cut 16 bits off at 255: all would be white."""
    from PIL import ImageOps

    try:  # seen as its EXIF says
        turned = image.getexif().get(_ORIENTATION, 1) != 1
        image = ImageOps.exif_transpose(image) if turned else image
    except Exception:  # damaged EXIF beside good pixels; every reader of it raises something else
        pass
    if image.mode.startswith("I;16"):
        return np.stack([(np.asarray(image) >> 8).astype(np.uint8)] * 3, -1)
    if image.mode in ("I", "F"):
        raise _UnknownRangeError(
            f"pixels of 32 bits (mode {image.mode}), whose range nothing tells"
        )
    return np.asarray(image.convert("RGB"))
