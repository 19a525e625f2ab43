"""The contract of a shift: an example in, a shifted example out, with a severity; and the seeded draws of an image."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, final

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import UsageError
from oodometer.options import is_whole, need

from ..datasets.images import no_images

_BITS = 16
# golden ratio of 2^128: streams this far apart do not meet
_STEP = 0x9E3779B97F4A7C15F39CC0605CEDC835
_PERIOD = (1 << 128) - 1


@final
class Draws:
    """Random numbers of some rows; those of a row depend on seed, kind and the row's number alone.

    Row i reads the generator PCG64-DXSM of (seed, kind) from its place i times a fixed step on. Only raw bits are read,
    whose stream numpy promises to keep; distributions are tables of 65,536 quantiles.
    """

    def __init__(self, seed: int, kind: str, rows: Sequence[int]) -> None:
        self._generator = np.random.PCG64DXSM(
            np.random.SeedSequence([seed, zlib.crc32(kind.encode())])
        )
        self._start = self._generator.state
        self._rows = rows
        self._used = 0

    def bits(self, *shape: int) -> Array:
        """Whole numbers from 0 to 65,535, equally likely: uint16, shape (row, *shape)."""
        count = int(np.prod(shape, dtype=np.int64))
        words = -(-count // 4)
        out = np.empty((len(self._rows), words), dtype="<u8")
        generator = self._generator
        for at, row in enumerate(self._rows):
            generator.state = self._start
            generator.advance((int(row) * _STEP + self._used) & _PERIOD)
            out[at] = generator.random_raw(words)
        self._used += words
        return out.view("<u2")[:, :count].reshape(len(self._rows), *shape)

    def uniform(self, low: float, high: float, *shape: int) -> Array:
        """Numbers between two bounds: float32, shape (row, *shape)."""
        out: Array = self.bits(*shape).astype(np.float32)
        out += np.float32(0.5)
        out *= np.float32((high - low) / 2**_BITS)
        out += np.float32(low)
        return out

    def normal(self, *shape: int) -> Array:
        """Standard normal numbers: float32, shape (row, *shape)."""
        return normal_quantiles().take(self.bits(*shape))


@lru_cache(maxsize=1)
def normal_quantiles() -> Array:
    """The 65,536 quantiles of the standard normal distribution at (i + 1/2) / 65,536; the outermost are +-4.3."""
    from scipy.special import ndtri

    out: Array = ndtri((np.arange(2**_BITS) + 0.5) / 2**_BITS).astype(np.float32)
    return out


_VALUES = 200_000  # pixel values that are worked on at once: what stays in a processor's cache
_ROUNDING = 2.0**-10  # what float32 may lack to a whole number, before it is cut to one
_FROM_ZERO = need("a whole number from 0 on", lambda value: is_whole(value, 0), int)
PRESETS = {"cifar-10-c": 32, "imagenet-c": 224}
"""Whose constants -> the side of the images that their lengths in pixels are stated for."""


class Shift(ABC):
    """One kind of shift. A subclass sets ``name``, ``about`` (one sentence), ``severities`` and ``citation``.

    ``deviation`` says what differs from the published form; empty where nothing does.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    severities: ClassVar[tuple[Any, ...]] = (1, 2, 3, 4, 5)
    deviation: ClassVar[str] = ""
    citation: ClassVar[str]

    @classmethod
    def reads(cls) -> str:
        """What it needs, in words, as lists of methods say it."""
        return ""

    def check_severity(self, severity: Any) -> Any:
        """The severity, where it is one of ``severities``; `UsageError` otherwise."""
        if not is_whole(severity) or severity not in self.severities:
            first, last = self.severities[0], self.severities[-1]
            raise UsageError(
                f"expected a severity from {first} to {last} of {self.name}, got {severity!r}; choose one"
            )
        return int(severity)


class ImageShift(Shift):
    """A corruption of images: ``apply(images, severity)`` gives as many images of the same sizes.

    A subclass is final and defines ``constants``, one for each severity, and ``_shifted``; of the published kinds these
    are those of CIFAR-10-C, and ``imagenet`` those of ImageNet-C. Lengths in pixels are stated for the ``side`` of the
    preset, 32 or 224; for other images they are multiplied by the shorter side / that.
    """

    constants: tuple[Any, ...]
    imagenet: ClassVar[tuple[Any, ...]] = ()
    preset, side = "cifar-10-c", PRESETS["cifar-10-c"]
    citation: ClassVar[str] = "hendrycks2019"

    @classmethod
    def reads(cls) -> str:
        """What it needs."""
        return "images"

    def __init__(self, preset: str = "cifar-10-c") -> None:
        if preset not in PRESETS:
            raise UsageError(
                f"expected a preset of {' or '.join(PRESETS)}, got {preset!r}; choose one"
            )
        self.preset, self.side = preset, PRESETS[preset]
        self.constants = self.imagenet if preset == "imagenet-c" else self.constants
        if not self.constants:
            raise UsageError(
                f"{self.name} has no constants of {preset}; leave the preset out, or choose another kind"
            )

    def scale(self, pixels: Array) -> float:
        """What a length in pixels is multiplied by: shorter side / side of the preset."""
        shorter: int = min(pixels.shape[1:3])
        return shorter / self.side

    def apply(self, images: Any, severity: int, *, seed: int = 0, first_row: int = 0) -> Any:
        """Shift images; the draw of image i depends on (seed, kind, first_row + i) alone, not on its batch.

        images : uint8, shape (sample, height, width, channel) with 3 channels or 1, or (sample, height, width); or a
        list of single images, whose sizes may differ. Gives uint8 of the same shape, or a list. The draws of a row are
        the same at every severity, which scales them. Raises `UsageError` for a severity that there is not, and
        `InputError` for what are no images.
        """
        severity = self.check_severity(severity)
        seed, first_row = (
            _FROM_ZERO(*option) for option in (("seed", seed), ("first_row", first_row))
        )
        if isinstance(images, np.ndarray) and images.dtype != object:
            return self._batch(
                _checked(images), severity, seed, range(first_row, first_row + len(images))
            )
        of_shape: dict[tuple[int, ...], list[int]] = {}  # images of one size are shifted together
        out: list[Array] = [np.asarray(image) for image in images]
        for at, image in enumerate(out):
            if image.ndim not in (2, 3):
                raise no_images(f"shape {image.shape} at position {at}")
            _checked(image[None])
            of_shape.setdefault(image.shape, []).append(at)
        for same in of_shape.values():
            shifted = self._batch(
                np.stack([out[i] for i in same]), severity, seed, [first_row + i for i in same]
            )
            for at, image in zip(same, shifted, strict=True):
                out[at] = image
        return out

    def _batch(self, images: Array, severity: int, seed: int, rows: Sequence[int]) -> Array:
        pixels = images[..., None] if images.ndim == 3 else images
        out = np.empty(pixels.shape, dtype=np.uint8)
        step = max(1, _VALUES // max(1, int(np.prod(pixels.shape[1:]))))
        for start in range(0, len(pixels), step):
            part = slice(start, min(start + step, len(pixels)))
            draws = Draws(seed, self.name, rows[part])
            values = self._shifted(pixels[part], self.constants[severity - 1], draws)
            # cut to [0, 255], then to whole numbers, as the published files were
            if values.dtype != np.uint8:
                values = values + np.float32(_ROUNDING)
                values = np.clip(values, 0, 255, out=values).astype(np.uint8)
            out[part] = values
        return out.reshape(images.shape)

    @abstractmethod
    def _shifted(self, pixels: Array, constant: Any, draws: Draws) -> Array:
        """Pixels uint8 (row, height, width, channel) shifted: uint8, or float32 from 0 to 255, which is cut."""


def _checked(images: Array) -> Array:
    if (
        images.dtype != np.uint8
        or images.ndim not in (3, 4)
        or (images.ndim == 4 and images.shape[-1] not in (1, 3))
    ):
        raise no_images(f"{images.dtype} of shape {images.shape}")
    if 0 in images.shape[1:]:
        raise no_images(f"images without pixels, shape {images.shape}")
    return images
