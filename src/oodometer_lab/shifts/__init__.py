"""Shifts: an example in, a shifted example out, seeded, with a severity; `training` compromises training data."""

from __future__ import annotations

from oodometer.errors import UsageError
from oodometer.registry import find, names

# The order of import is that of presentation.
# isort: off
from . import image, text, dialogue

# isort: on
from .base import ImageShift, Shift
from .text.base import TextShift

__all__ = [
    "DIALOGUE_SHIFTS",
    "EXTRA_IMAGE_SHIFTS",
    "IMAGE_SHIFTS",
    "TEXT_SHIFTS",
    "ImageShift",
    "Shift",
    "TextShift",
    "find_image_shift",
    "find_text_shift",
]

IMAGE_SHIFTS: tuple[str, ...] = tuple(kind.name for kind in image.KINDS)
EXTRA_IMAGE_SHIFTS: tuple[str, ...] = tuple(kind.name for kind in image.EXTRA)
TEXT_SHIFTS: tuple[str, ...] = tuple(kind.name for kind in text.KINDS)
DIALOGUE_SHIFTS: tuple[str, ...] = tuple(kind.name for kind in dialogue.KINDS)


def find_image_shift(name: str, preset: str = "cifar-10-c") -> ImageShift:
    """The shift of images under a name, of a plugin too, with the constants of a preset, "cifar-10-c" (32 pixels) or
    "imagenet-c" (224 pixels); `UsageError` for another preset, and with near names where there is no such kind.

    >>> find_image_shift("fog").constants[4], find_image_shift("fog", "imagenet-c").constants[4]
    ((1.5, 1.75), (3.0, 1.4))
    >>> find_image_shift("foggy")
    Traceback (most recent call last):
    oodometer.errors.UsageError: unknown shift 'foggy'; did you mean fog
    """
    kind: type[Shift] = find("shift", name)
    if not issubclass(kind, ImageShift):
        raise UsageError(f"{name} shifts no images; those that do are {', '.join(IMAGE_SHIFTS)}")
    return kind() if preset == kind.preset else kind(preset)


def find_text_shift(name: str, *, dialogues: bool = False) -> type[TextShift]:
    """The kind of shift of texts (or of ``dialogues``, which know those of texts, too) under a name, of a plugin too.
    Raises `UsageError` with near names, or with those that there are.

    >>> find_text_shift("casing").usual
    ('0.1', '0.2', '0.3', '0.4', '0.5')
    >>> find_text_shift("short-context")
    Traceback (most recent call last):
    oodometer.errors.UsageError: short-context shifts dialogues, and these are single texts; choose another kind
    """
    kind: type[Shift] = find("shift", name)
    if not issubclass(kind, TextShift):
        available = [
            kind_name
            for kind_name in names("shift")
            if issubclass(find("shift", kind_name), TextShift)
        ]
        raise UsageError(f"{name} shifts no texts; those that do are {', '.join(available)}")
    if kind.for_dialogues and not dialogues:
        raise UsageError(
            f"{name} shifts dialogues, and these are single texts; choose another kind"
        )
    return kind
