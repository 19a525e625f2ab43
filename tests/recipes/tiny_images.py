"""Tiny image sets in the forms that are published: what a run of the recipe on images reads."""

from __future__ import annotations

import io
import lzma
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = 10


def pictures(rows: int, seed: int, side: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """Images whose colour and brightest quarter tell their class, with noise."""
    rng = np.random.default_rng(seed)
    labels = np.arange(rows) % CLASSES
    colours = np.random.default_rng(7).integers(40, 200, (CLASSES, 3))
    images = colours[labels][:, None, None, :] + rng.normal(0, 25, (rows, side, side, 3))
    for row, label in enumerate(labels):
        down, right = divmod(int(label) % 4, 2)
        images[
            row,
            down * side // 2 : (down + 1) * side // 2,
            right * side // 2 : (right + 1) * side // 2,
        ] += 40
    return np.clip(images, 0, 255).astype(np.uint8), labels


def jpegs(path: Path, rows: int, seed: int) -> None:
    """An NPZ file of JPEG files one after the other, packed, as CIFAR-10 stands among the data."""
    images, labels = pictures(rows, seed)
    files = []
    for one in images:
        held = io.BytesIO()
        Image.fromarray(one).save(held, "JPEG", quality=90)
        files.append(held.getvalue())
    offset = np.cumsum([0, *map(len, files)])
    whole = io.BytesIO()
    np.savez(
        whole, jpeg=np.frombuffer(b"".join(files), dtype=np.uint8), offset=offset, label=labels
    )
    path.write_bytes(lzma.compress(whole.getvalue()))


def write_images(home: Path, *, natural: bool = False) -> Path:
    """CIFAR-10 and MNIST, and with ``natural`` CIFAR-10.1 and STL10, below a folder of data."""
    folder = home / "images"
    folder.mkdir(parents=True)
    jpegs(folder / "train_jpegs.npz.xz", 200, 0)
    jpegs(folder / "test_jpegs.npz.xz", 120, 1)
    for part, rows in (("train", 100), ("test", 80)):
        rng = np.random.default_rng(len(part))
        labels = np.arange(rows) % CLASSES
        digits = rng.integers(0, 60, (rows, 28, 28))
        digits[np.arange(rows), labels * 2 + 2] = 255
        np.savez(folder / f"mnist_{part}.npz", x=digits.astype(np.uint8), y=labels)
    if natural:
        images, labels = pictures(60, 2)
        np.save(folder / "cifar10.1_v6_data.npy", images)
        np.save(folder / "cifar10.1_v6_labels.npy", labels)
        images, labels = pictures(60, 3, side=96)
        np.savez(folder / "stl10_test.npz", x=images, y=labels)
    return home
