"""Draws: random bits for each image from a stream of its own, so that batches do not matter."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import final

import numpy as np

from ..arrays import Array

_BITS = 16
_STEP = 0x9E3779B97F4A7C15F39CC0605CEDC835  # golden ratio of 2^128: streams this far apart do not meet
_PERIOD = (1 << 128) - 1


@final
class Draws:
    """Random numbers of some rows; those of a row depend on seed, kind and the row's number alone.

    Row i reads the generator PCG64-DXSM of (seed, kind) from its place i times a fixed step on. Only raw bits are read,
    whose stream numpy promises to keep; distributions are tables of 65,536 quantiles.

    rows : number of each image in its source. kind : whose draws these are.

    >>> whole, part = Draws(0, "fog", range(5)), Draws(0, "fog", [3])
    >>> bool((whole.bits(2, 2)[3] == part.bits(2, 2)[0]).all())
    True
    """

    def __init__(self, seed: int, kind: str, rows: Sequence[int]) -> None:
        self._generator = np.random.PCG64DXSM(np.random.SeedSequence([seed, zlib.crc32(kind.encode())]))
        self._start = self._generator.state
        self._rows = rows
        self._used = 0

    def bits(self, *shape: int) -> Array:
        """Whole numbers from 0 to 65,535, equally likely: uint16, shape (row, *shape)."""
        count = int(np.prod(shape, dtype=np.int64))
        words = -(-count // 4)
        out = np.empty((len(self._rows), words), dtype="<u8")
        generator = self._generator
        for place, row in enumerate(self._rows):
            generator.state = self._start
            generator.advance((int(row) * _STEP + self._used) & _PERIOD)
            out[place] = generator.random_raw(words)
        self._used += words
        found: Array = out.view("<u2")[:, :count].reshape(len(self._rows), *shape)
        return found

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
