"""Dominoes: a simple image above a complex one, whose class it gives away in a share of the samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...arguments import check_seed
from ...arrays import Array
from ...datasets import Dataset
from ...errors import InputError
from .given import check_share, coded, pixels, positions


def dominoes(
    simple: Dataset,
    complex: Dataset,
    correlation: float = 1.0,
    seed: int = 0,
    *,
    randomized: bool = False,
    pairs: Mapping[Any, Any] | None = None,
) -> Dataset:
    """Put an image of ``simple`` above each image of ``complex``; the target is the class y of the lower half.

    The upper half shows the class s paired with y with probability ``correlation``, else a class drawn uniformly from
    the other simple classes: P(s = pair(y)) = correlation. The image of class s is drawn uniformly, with replacement.

    Parameters
    ----------
    simple, complex :
        Sets of uint8 images, each of one size, with class names as targets; neither is changed. Images of
        different sizes are padded with black to the larger sides, and grey ones repeated in three channels.
    correlation :
        In [0, 1]; not looked at where ``randomized``.
    seed :
        Of all draws.
    randomized :
        Whether s is drawn uniformly from all simple classes whatever y is: targets on which the simple half tells
        nothing.
    pairs :
        Complex class -> simple class. By default classes of the same name are paired where every complex class is
        among the simple ones, else classes in sorted order where there are as many.

    Returns a set of the rows of ``complex``, in their order: uint8 images of shape (sample, 2 height, width, channel).
    Raises `UsageError` for a correlation outside [0, 1] or an unknown class in ``pairs``, `InputError` for classes that
    do not pair, empty sets, images of several sizes or of channels that do not fit.

    Source: Shah et al. (2020); Trivedi et al. (2023), MNIST above CIFAR-10 at 0.95, 0.99 and 1.

    >>> digits = Dataset("digits", np.array([[[7]], [[9]]], dtype=np.uint8), (0, 1), modality="image")
    >>> photos = Dataset("photos", np.array([[[50]], [[60]]], dtype=np.uint8), ("cat", "dog"), modality="image")
    >>> found = dominoes(digits, photos)
    >>> found.inputs[..., 0].tolist(), found.targets
    ([[[7], [50]], [[9], [60]]], ('cat', 'dog'))
    """
    correlation = check_share("correlation", correlation)
    upper, lower = _alike(pixels(simple), pixels(complex))
    simple_codes, simple_names = coded(simple)
    codes, names = coded(complex)
    partner = _partners(names, simple_names, pairs)[codes]
    rng = np.random.default_rng(check_seed(seed))
    shown = _shown(partner, len(simple_names), correlation, randomized, rng)
    # An image of each class that is shown: rows sorted by class, of which each class has a run.
    counts = np.bincount(simple_codes, minlength=len(simple_names))
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    chosen = np.argsort(simple_codes, kind="stable")[first[shown] + rng.integers(counts[shown])]
    return replace(
        complex,
        name=f"{simple.name} above {complex.name}",
        inputs=np.concatenate([upper[chosen], lower], axis=1),
        source=", ".join(one for one in (simple.source, complex.source) if one),
    )


def _shown(partner: Array, classes: int, correlation: float, randomized: bool, rng: np.random.Generator) -> Array:
    """The simple class above each sample, int64, shape (sample,)."""
    if randomized:
        return rng.integers(classes, size=len(partner))
    if classes < 2 and correlation < 1:
        raise InputError(
            "simple images of at least two classes",
            got="one",
            remedy="with a single class the correlation can only be 1",
            column="label",
        )
    paired = rng.random(len(partner)) < correlation
    others = rng.integers(max(classes - 1, 1), size=len(partner))
    return np.where(paired, partner, others + (others >= partner))


def _partners(names: tuple[Any, ...], simple: tuple[Any, ...], pairs: Mapping[Any, Any] | None) -> Array:
    """The position of the simple class that belongs to each complex class."""
    if pairs is not None:
        missing = [one for one in names if one not in pairs]
        if missing:
            raise _unpaired(f"no partner of {', '.join(map(repr, missing[:5]))}", "name one for each in pairs")
        found = positions([pairs[one] for one in names], simple)
    elif set(names) <= set(simple):
        found = positions(names, simple)
    elif len(names) == len(simple):
        found = list(range(len(names)))
    else:
        got = f"{len(names)} complex and {len(simple)} simple classes of other names"
        raise _unpaired(got, "say with pairs which belong together")
    if len(set(found)) < len(found):
        raise _unpaired("one simple class for several", "give each complex class a simple one of its own")
    return np.array(found, dtype=np.int64)


def _unpaired(got: str, remedy: str) -> InputError:
    return InputError("a simple class for each complex class", got=got, remedy=remedy, column="label")


def _alike(upper: Array, lower: Array) -> tuple[Array, Array]:
    """Both sets with the same sides and channels."""
    channels = {upper.shape[-1], lower.shape[-1]}
    if len(channels) > 1 and channels != {1, 3}:
        raise InputError(
            "images of the same number of channels, or grey ones beside coloured ones",
            got=f"{upper.shape[-1]} and {lower.shape[-1]}",
            remedy="convert them to RGB",
            column="image",
        )
    sides = [max(upper.shape[axis], lower.shape[axis]) for axis in (1, 2)]
    found = [_padded(one, sides, max(channels)) for one in (upper, lower)]
    return found[0], found[1]


def _padded(images: Array, sides: list[int], channels: int) -> Array:
    """Images in the middle of a black one with the given sides, and grey ones in every channel."""
    around = [
        ((side - own) // 2, side - own - (side - own) // 2) for side, own in zip(sides, images.shape[1:3], strict=True)
    ]
    images = np.pad(images, [(0, 0), *around, (0, 0)]) if any(map(any, around)) else images
    return np.repeat(images, channels, axis=-1) if images.shape[-1] < channels else images
