"""Faults of training data: wrong labels, noisy measurements, missing samples, features that only seem to explain."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter

from oodometer.arrays import Array
from oodometer.errors import InputError, UsageError, near_names
from oodometer.options import check_seed

from ..datasets import Dataset


def check_number(name: str, value: Any, highest: float = math.inf) -> float:
    """A share, or another number from 0 on, as a float; `UsageError` outside [0, ``highest``] or not finite."""
    real = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not real or not 0 <= value <= highest or not value < math.inf:
        expected = "from 0 on" if highest == math.inf else f"in [0, {highest}]"
        raise UsageError(f"expected {name} to be a number {expected}, got {value!r}")
    return float(value)


def coded(data: Dataset) -> tuple[Array, tuple[Any, ...]]:
    """The position of each target among the classes, int64, shape (sample,), and the classes, sorted."""
    if not len(data):
        raise InputError(
            f"samples of {data.name}",
            got="none",
            remedy="give at least one",
            file=data.source or None,
        )
    if not len(data.targets) or np.ndim(data.targets[0]):
        expected, got = (
            "a class name as the label of each sample",
            "distributions" if len(data.targets) else "none",
        )
        remedy = "give the data set targets"
        raise InputError(expected, got=got, remedy=remedy, file=data.source or None, column="label")
    named = np.asarray(data.targets)
    kinds = {isinstance(target, str) for target in data.targets}
    if named.dtype.kind not in "iuU" or len(kinds) > 1:
        expected, got = (
            "labels that are all integers or all strings",
            "both" if len(kinds) > 1 else str(named.dtype),
        )
        raise InputError(
            expected, got=got, remedy="convert them", file=data.source or None, column="label"
        )
    classes, codes = np.unique(named, return_inverse=True)
    return codes.astype(np.int64), tuple(classes.tolist())


def positions(selected: Sequence[Any], classes: Sequence[Any]) -> list[int]:
    """Where each of some classes stands among all; `UsageError` for one that is not there, with those near by name."""
    for name in selected:
        if name not in classes:
            near = near_names(str(name), map(str, classes), 2)
            hint = (
                f"did you mean {' or '.join(near)}"
                if near
                else f"known: {', '.join(map(str, classes[:20]))}"
            )
            raise UsageError(f"unknown class {name!r}; {hint}")
    return [classes.index(name) for name in selected]


def pixels(data: Dataset) -> Array:
    """The images of a data set, uint8, shape (sample, height, width, channel); grey ones get a channel axis."""
    images = data.inputs
    if not isinstance(images, np.ndarray) or images.dtype != np.uint8 or images.ndim not in (3, 4):
        array = isinstance(images, np.ndarray)
        got = f"{images.dtype} of shape {images.shape}" if array else f"a {type(images).__name__}"
        expected = "uint8 images of one size, shape (sample, height, width, channel)"
        remedy = "decode them and bring them to one size"
        raise InputError(expected, got=got, remedy=remedy, file=data.source or None, column="image")
    if not images.size:
        raise InputError(
            f"images of {data.name}",
            got="none",
            remedy="give at least one",
            file=data.source or None,
        )
    return images[..., None] if images.ndim == 3 else images


def dominoes(
    simple: Dataset,
    complex: Dataset,
    correlation: float = 1.0,
    seed: int = 0,
    *,
    randomized: bool = False,
) -> Dataset:
    """Put an image of ``simple`` above each image of ``complex``; the target is the class y of the lower half.

    The upper half shows the class s paired with y with probability ``correlation``, else a class drawn uniformly from
    the other simple classes: P(s = pair(y)) = correlation. The image of class s is drawn uniformly, with replacement.

    simple, complex : Sets of uint8 images, each of one size, with class names as targets; neither is changed. Images of
        different sizes are padded with black to the larger sides, and grey ones repeated in three channels.
    correlation : In [0, 1]; not looked at where ``randomized``.
    seed : Of all draws.
    randomized : Whether s is drawn uniformly from all simple classes whatever y is: targets on which the simple half
        tells nothing.

    Classes of the same name are paired where every complex class is among the simple ones, else classes in sorted order
    where there are as many. Returns a set of the rows of ``complex``, in their order: uint8 images of shape (sample,
    2 height, width, channel). Raises `UsageError` for a correlation outside [0, 1], `InputError` for classes that do
    not pair, empty sets, images of several sizes or of channels that do not fit. Source: Shah et al. (2020); Trivedi et
    al. (2023), MNIST above CIFAR-10 at 0.95, 0.99 and 1.

    >>> digits = Dataset("digits", np.array([[[7]], [[9]]], dtype=np.uint8), (0, 1), modality="image")
    >>> photos = Dataset("photos", np.array([[[50]], [[60]]], dtype=np.uint8), ("cat", "dog"), modality="image")
    >>> found = dominoes(digits, photos)
    >>> found.inputs[..., 0].tolist(), found.targets
    ([[[7], [50]], [[9], [60]]], ('cat', 'dog'))
    """
    correlation = check_number("correlation", correlation, 1)
    upper, lower = _of_one_size(pixels(simple), pixels(complex))
    simple_codes, simple_names = coded(simple)
    codes, names = coded(complex)
    partner = np.array(_partners(names, simple_names), dtype=np.int64)[codes]
    rng = np.random.default_rng(check_seed(seed))
    classes = len(simple_names)
    if randomized:
        upper_classes = rng.integers(classes, size=len(partner))
    elif classes < 2 and correlation < 1:
        remedy = "with a single class the correlation can only be 1"
        raise InputError(
            "simple images of at least two classes", got="one", remedy=remedy, column="label"
        )
    else:
        paired = rng.random(len(partner)) < correlation
        other_classes = rng.integers(max(classes - 1, 1), size=len(partner))
        upper_classes = np.where(paired, partner, other_classes + (other_classes >= partner))
    # An image of each upper class: rows sorted by class, of which each class has a run.
    counts = np.bincount(simple_codes, minlength=len(simple_names))
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    chosen = np.argsort(simple_codes, kind="stable")[
        first[upper_classes] + rng.integers(counts[upper_classes])
    ]
    return replace(
        complex,
        name=f"{simple.name} above {complex.name}",
        inputs=np.concatenate([upper[chosen], lower], axis=1),
        source=", ".join(name for name in (simple.source, complex.source) if name),
    )


def _of_one_size(*halves: Array) -> list[Array]:
    """Images in the middle of black ones of the larger sides, grey ones in every channel."""
    channels = {images.shape[-1] for images in halves}
    if len(channels) > 1 and channels != {1, 3}:
        expected = "images of the same number of channels, or grey ones beside coloured ones"
        got = " and ".join(str(images.shape[-1]) for images in halves)
        raise InputError(expected, got=got, remedy="convert them to RGB", column="image")
    height, width = (max(images.shape[axis] for images in halves) for axis in (1, 2))
    padded = []
    for images in halves:
        more = [height - images.shape[1], width - images.shape[2]]
        around = [(side // 2, side - side // 2) for side in more]
        canvas = np.pad(images, [(0, 0), *around, (0, 0)]) if any(more) else images
        grey = canvas.shape[-1] < max(channels)
        padded.append(np.repeat(canvas, max(channels), axis=-1) if grey else canvas)
    return padded


def _partners(names: Sequence[Any], simple_names: Sequence[Any]) -> Sequence[int]:
    """The place of the simple class that each class is paired with."""
    if set(names) <= set(simple_names):
        return positions(names, simple_names)
    if len(names) == len(simple_names):
        return range(len(names))
    raise InputError(
        "a simple class for each complex class",
        got=f"{len(names)} complex and {len(simple_names)} simple classes of other names",
        remedy="give them the same names, or as many of one as of the other",
        column="label",
    )


class Flipped(NamedTuple):
    """A data set with wrong labels, and the rows that have one, rising, int64, shape (flipped,)."""

    data: Dataset
    rows: Array


def flip_labels(data: Dataset, rate: float, seed: int = 0) -> Flipped:
    """Flip the labels of round(rate n) samples, drawn without replacement, to a class drawn uniformly from the others.

    y'_i = a class of {1, ..., K} without y_i for i in S, |S| = round(rate n); y'_i = y_i elsewhere. Every flipped label
    is wrong: labels redrawn over all K classes, as in the code of Trivedi et al., would leave 1 in K as they are.

    data : A set whose targets are class names; it is not changed.
    rate : Share of the labels, in [0, 1].
    seed : Of the draw.

    Returns the set and the rows that were flipped. Raises `UsageError` for a rate outside [0, 1]; `InputError` for an
    empty set and for labels of fewer than two classes. Source: Trivedi et al. (2023), 5 % as a fault of the data, 2 %
    to make an ensemble more diverse.

    >>> toy = Dataset("toy", tuple("abcdefgh"), (0, 1) * 4)
    >>> found = flip_labels(toy, 0.25, seed=0)
    >>> found.rows.tolist(), found.data.targets
    ([5, 7], (0, 1, 0, 1, 0, 0, 0, 0))
    """
    rate = check_number("rate", rate, 1)
    codes, classes = coded(data)
    if len(classes) < 2:
        got, remedy = f"{classes[0]!r} alone", "a label can only be flipped to another class"
        raise InputError(
            "labels of at least two classes",
            got=got,
            remedy=remedy,
            file=data.source or None,
            column="label",
        )
    rng = np.random.default_rng(check_seed(seed))
    rows = np.sort(rng.choice(len(codes), round(rate * len(codes)), replace=False))
    new_codes = rng.integers(len(classes) - 1, size=len(rows))
    targets = list(data.targets)
    for row, code in zip(
        rows.tolist(), (new_codes + (new_codes >= codes[rows])).tolist(), strict=True
    ):
        targets[row] = classes[code]
    return Flipped(replace(data, targets=tuple(targets)), rows)


_ROWS = 512  # images that are held as floats at once


def measurement_noise(
    data: Dataset, blur: float = 0.5, noise: float = 0.07, seed: int = 0
) -> Dataset:
    """Images x' = clip(G_blur * x + noise z, 0, 1) in [0, 1], z standard normal for each pixel and channel.

    G_blur is a Gaussian filter with that standard deviation in pixels, cut at four of them; edges are repeated. The
    result is rounded to uint8 in the shape of the input, (sample, height, width) or with channels.

    data : A set of uint8 images of one size; it is not changed.
    blur, noise : Standard deviations of the filter, in pixels, and of the noise, where white is 1.
    seed : Of the noise; image i draws by (seed, i).

    Raises `UsageError` for a negative deviation, `InputError` for what is no image, or images of several sizes. Source:
    Trivedi et al. (2023), with blur 0.5 and noise 0.07.

    >>> grey = Dataset("grey", np.full((1, 2, 2, 3), 128, dtype=np.uint8), (0,), modality="image")
    >>> measurement_noise(grey, seed=1).inputs[0, 0].tolist()
    [[159, 103, 146], [162, 129, 135]]
    >>> measurement_noise(grey, noise=0).inputs[0, 0].tolist()
    [[128, 128, 128], [128, 128, 128]]
    """
    images, seed = pixels(data), check_seed(seed)
    blur, noise = check_number("blur", blur), check_number("noise", noise)
    out = np.empty_like(images)
    for start in range(0, len(images), _ROWS):
        part = slice(start, start + _ROWS)
        floats = images[part].astype(np.float32)
        if blur:
            floats = gaussian_filter(floats, (0, blur, blur, 0), mode="nearest", truncate=4.0)
        for row, image in enumerate(floats if noise else (), start):
            deviates = np.random.default_rng((seed, row)).standard_normal(
                image.shape, dtype=np.float32
            )
            image += np.float32(255 * noise) * deviates
        out[part] = np.clip(np.rint(floats), 0, 255).astype(np.uint8)
    return replace(data, inputs=out.reshape(data.inputs.shape))


def under_sample(
    data: Dataset, classes: int | str | Sequence[int | str], share: float = 0.2, seed: int = 0
) -> Dataset:
    """Leave out round(share n_c) of the n_c samples of each class c that is named, drawn without replacement.

    The other samples keep their order.

    data : A set whose targets are class names; it is not changed.
    classes : One class or several, as they stand among the targets.
    share : Of each class to leave out, in [0, 1].
    seed : Of the draw.

    Raises `UsageError` for a share outside [0, 1] or a class that is not there, `InputError` for an empty set, or where
    nothing would be left. Source: Trivedi et al. (2023), 20 % of automobile and bird (1 and 2) of CIFAR-10.

    >>> toy = Dataset("toy", tuple("abcdefgh"), ("cat",) * 4 + ("dog",) * 4)
    >>> under_sample(toy, "dog", 0.5, seed=0).inputs
    ('a', 'b', 'c', 'd', 'e', 'f')
    """
    share = check_number("share", share, 1)
    codes, names = coded(data)
    selected = positions([classes] if isinstance(classes, (int, str)) else list(classes), names)
    rng = np.random.default_rng(check_seed(seed))
    keep = np.ones(len(codes), dtype=bool)
    for code in sorted(set(selected)):  # the order in which they are named changes nothing
        rows = np.flatnonzero(codes == code)
        keep[rng.choice(rows, round(share * len(rows)), replace=False)] = False
    if not keep.any():
        remedy = "leave out a smaller share"
        raise InputError(
            "samples that are left", got="none", remedy=remedy, file=data.source or None
        )
    return data.take(np.flatnonzero(keep).tolist())
