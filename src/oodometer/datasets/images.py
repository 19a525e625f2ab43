"""Images: files, bytes and arrays as uint8 pixels in three channels; what does not decode is named."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, MissingExtraError

__all__ = ["ENDINGS", "decode_image", "image_files"]

ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm")


def image_files(folder: Path) -> list[Path]:
    """Image files below a folder, by name, whatever their depth. Raises `InputError` where there is none.

    >>> image_files(Path("no-such-folder"))
    Traceback (most recent call last):
    oodometer.errors.InputError: no-such-folder: expected a folder of images, got no such folder; check the path
    """
    if not folder.is_dir():
        raise InputError("a folder of images", got="no such folder", remedy="check the path", file=str(folder))
    found = sorted(one for one in folder.rglob("*") if one.suffix.lower() in ENDINGS and one.is_file())
    if not found:
        raise InputError(
            "a folder of images",
            got="none in it",
            remedy=f"known endings: {', '.join(ENDINGS)}",
            file=str(folder),
        )
    return found


def decode_image(image: Any) -> Array:
    """A file, its bytes, a PIL image, an array, or a cell of a Hugging Face data set as uint8 (height, width, 3).

    A cell is a mapping with ``bytes`` or ``path``. Raises `ValueError` with a short reason where it is no image,
    `MissingExtraError` without pillow.
    """
    if isinstance(image, dict):
        image = image.get("bytes") or image.get("path")
    if isinstance(image, np.ndarray):
        if image.dtype != np.uint8 or image.ndim not in (2, 3):
            raise ValueError(f"an array of {image.dtype}, shape {image.shape}, is no uint8 image")
        return np.stack([image] * 3, -1) if image.ndim == 2 else image
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("reading images", "pillow", extra="image") from error
    if hasattr(image, "convert"):
        return np.asarray(image.convert("RGB"))
    if not isinstance(image, (bytes, str, os.PathLike)):
        raise ValueError(f"{type(image).__name__} is no image")
    try:
        with Image.open(io.BytesIO(image) if isinstance(image, bytes) else image) as whole:
            return np.asarray(whole.convert("RGB"))
    except Image.DecompressionBombError as error:
        raise ValueError("more pixels than are safe to decode") from error
    except Exception as error:  # decoders raise classes of their own for damaged files
        reason = "no such file" if isinstance(error, FileNotFoundError) else "it does not decode"
        raise ValueError(f"{reason} ({type(error).__name__})") from error
