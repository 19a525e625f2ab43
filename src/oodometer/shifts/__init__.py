"""Shifts: an example in, a shifted example out, seeded, with a severity; `training` compromises training data."""

from __future__ import annotations

from ..errors import UsageError
from ..registry import create
from . import image
from .base import ImageShift, Shift

__all__ = ["IMAGE_SHIFTS", "ImageShift", "Shift", "find_image_shift"]

# Their order is that of CIFAR-10-C, and of presentation.
IMAGE_SHIFTS: tuple[str, ...] = tuple(kind.name for kind in image.KINDS)


def find_image_shift(name: str) -> ImageShift:
    """The shift of images under a name, of a plugin too; `UsageError` with near names where there is none.

    >>> find_image_shift("fog").severities
    (1, 2, 3, 4, 5)
    >>> find_image_shift("foggy")
    Traceback (most recent call last):
    oodometer.errors.UsageError: unknown shift 'foggy'; did you mean fog
    """
    found = create("shift", name)
    if not isinstance(found, ImageShift):
        raise UsageError(f"{name} shifts no images; those that do are {', '.join(IMAGE_SHIFTS)}")
    return found
