"""The 1,797 handwritten digits that the demonstration trains and drifts on."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from ...arrays import Array


def digits(seed: int) -> tuple[Array, Array]:
    """Images of shape (sample, 64), values 0 to 16, and their labels 0 to 9, in a seeded order.

    The test part of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak (1998), UCI Machine
    Learning Repository, doi:10.24432/C50P49, under CC BY 4.0; the same rows as scikit-learn's ``load_digits``.

    >>> images, labels = digits(0)
    >>> images.shape, float(images.max()), sorted(set(labels.tolist()))
    ((1797, 64), 16.0, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    with (files(__package__) / "digits.npz").open("rb") as file, np.load(file, allow_pickle=False) as data:
        images, labels = data["images"].astype(np.float64), data["labels"].astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(labels))
    return images[order], labels[order]
