"""What is given: shares, labels, classes and images, checked before a shift of training data begins."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Array
from ...datasets import Dataset
from ...errors import InputError, UsageError


def check_share(name: str, value: Any) -> float:
    """A share as a float; `UsageError` for what is not in [0, 1].

    >>> check_share("rate", 1.5)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected rate to be a number in [0, 1], got 1.5
    """
    real = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not real or not 0 <= value <= 1:
        raise UsageError(f"expected {name} to be a number in [0, 1], got {value!r}")
    return float(value)


def spread(name: str, value: Any) -> float:
    """A standard deviation as a float; `UsageError` for what is negative or not finite."""
    real = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not real or not 0 <= value < math.inf:
        raise UsageError(f"expected {name} to be a number from 0 on, got {value!r}")
    return float(value)


def coded(data: Dataset) -> tuple[Array, tuple[Any, ...]]:
    """The position of each target among the classes, int64, shape (sample,), and the classes, sorted.

    Raises `InputError` for an empty set, one without labels, and distributions as targets.
    """
    if not len(data):
        raise InputError(f"samples of {data.name}", got="none", remedy="give at least one", file=data.source or None)
    if not len(data.targets) or np.ndim(data.targets[0]):
        got = "distributions" if len(data.targets) else "none"
        raise InputError(
            "a class name as the label of each sample",
            got=got,
            remedy="give the data set targets",
            file=data.source or None,
            column="label",
        )
    named = np.asarray(data.targets)
    kinds = {isinstance(one, str) for one in data.targets}
    if named.dtype.kind not in "iuU" or len(kinds) > 1:
        raise InputError(
            "labels that are all integers or all strings",
            got="both" if len(kinds) > 1 else str(named.dtype),
            remedy="convert them",
            file=data.source or None,
            column="label",
        )
    classes, codes = np.unique(named, return_inverse=True)
    return codes.astype(np.int64), tuple(classes.tolist())


def positions(wanted: Sequence[Any], classes: Sequence[Any]) -> list[int]:
    """Where each of some classes stands among all; `UsageError` for one that is not there, with those near by name.

    >>> positions(["brid"], ["automobile", "bird"])
    Traceback (most recent call last):
    oodometer.errors.UsageError: unknown class 'brid'; did you mean bird
    """
    for one in wanted:
        if one not in classes:
            near = difflib.get_close_matches(str(one), list(map(str, classes)), n=2)
            known = f"did you mean {' or '.join(near)}" if near else f"known: {', '.join(map(str, classes[:20]))}"
            raise UsageError(f"unknown class {one!r}; {known}")
    return [classes.index(one) for one in wanted]


def pixels(data: Dataset) -> Array:
    """The images of a data set, uint8, shape (sample, height, width, channel).

    Grey images without a channel axis get one. Raises `InputError` for what is no image, for images of several sizes
    and for none at all.
    """
    images = data.inputs
    if not isinstance(images, np.ndarray) or images.dtype != np.uint8 or images.ndim not in (3, 4):
        got = (
            f"{images.dtype} of shape {images.shape}"
            if isinstance(images, np.ndarray)
            else f"a {type(images).__name__}"
        )
        raise InputError(
            "uint8 images of one size, shape (sample, height, width, channel)",
            got=got,
            remedy="decode them and bring them to one size",
            file=data.source or None,
            column="image",
        )
    if not images.size:
        raise InputError(f"images of {data.name}", got="none", remedy="give at least one", file=data.source or None)
    return images[..., None] if images.ndim == 3 else images
