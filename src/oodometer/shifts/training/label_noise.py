"""Label noise: a share of the labels flipped to another class."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...arguments import check_seed
from ...arrays import Array
from ...datasets import Dataset
from ...errors import InputError
from .given import check_share, coded


class Flipped(NamedTuple):
    """A data set with wrong labels, and the rows that have one, rising, int64, shape (flipped,)."""

    data: Dataset
    rows: Array


def flip_labels(data: Dataset, rate: float, seed: int = 0) -> Flipped:
    """Flip the labels of round(rate n) samples, drawn without replacement, to a class drawn uniformly from the others.

    y'_i = a class of {1, ..., K} without y_i for i in S, |S| = round(rate n); y'_i = y_i elsewhere. Every flipped label
    is wrong: labels redrawn over all K classes, as in the code of Trivedi et al., would leave 1 in K as they are.

    Parameters
    ----------
    data :
        A set whose targets are class names; it is not changed.
    rate :
        Share of the labels, in [0, 1].
    seed :
        Of the draw.

    Returns the set and the rows that were flipped. Raises `UsageError` for a rate outside [0, 1]; `InputError` for an
    empty set and for labels of fewer than two classes.

    Source: Trivedi et al. (2023), 5 % as a fault of the data, 2 % to make an ensemble more diverse.

    >>> toy = Dataset("toy", tuple("abcdefgh"), (0, 1) * 4)
    >>> found = flip_labels(toy, 0.25, seed=0)
    >>> found.rows.tolist(), found.data.targets
    ([5, 7], (0, 1, 0, 1, 0, 0, 0, 0))
    """
    rate = check_share("rate", rate)
    codes, classes = coded(data)
    if len(classes) < 2:
        raise InputError(
            "labels of at least two classes",
            got=f"{classes[0]!r} alone",
            remedy="a label can only be flipped to another class",
            file=data.source or None,
            column="label",
        )
    rng = np.random.default_rng(check_seed(seed))
    rows = np.sort(rng.choice(len(codes), round(rate * len(codes)), replace=False))
    others = rng.integers(len(classes) - 1, size=len(rows))
    targets = list(data.targets)
    for row, other in zip(rows.tolist(), (others + (others >= codes[rows])).tolist(), strict=True):
        targets[row] = classes[other]
    return Flipped(replace(data, targets=tuple(targets)), rows)
