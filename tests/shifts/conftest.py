"""Images for the tests of shifts: real ones of CIFAR-10 where they are, and made ones that look natural."""

from __future__ import annotations

import io
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="session")
def cifar(data_dir: Path) -> Any:
    """The first 300 test images of CIFAR-10, uint8 (300, 32, 32, 3); skipped where there are no data."""
    from PIL import Image

    with lzma.open(data_dir / "images" / "test_jpegs.npz.xz") as packed:
        found = np.load(io.BytesIO(packed.read()))
    files, offset = found["jpeg"], found["offset"]
    images = [
        Image.open(io.BytesIO(files[offset[i] : offset[i + 1]].tobytes())) for i in range(300)
    ]
    return np.stack([np.asarray(one.convert("RGB")) for one in images])


def natural_images(rows: int, height: int, width: int, channels: int = 3, seed: int = 0) -> Any:
    """Noise whose spectrum falls as 1 / frequency, as that of photographs does, with some flat areas."""
    rng = np.random.default_rng(seed)
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)[None, :])
    frequency[0, 0] = 1 / max(height, width)
    noise = rng.standard_normal((rows, channels, height, width)) + 2 * rng.standard_normal(
        (rows, 1, height, width)
    )
    field = np.fft.ifft2(np.fft.fft2(noise) / frequency).real
    field = (field - field.mean(axis=(2, 3), keepdims=True)) / (
        field.std(axis=(2, 3), keepdims=True) + 1e-9
    )
    level, spread = rng.uniform(90, 150, (rows, 1, 1, 1)), rng.uniform(30, 60, (rows, 1, 1, 1))
    return np.clip(field * spread + level, 0, 255).astype(np.uint8).transpose(0, 2, 3, 1)
