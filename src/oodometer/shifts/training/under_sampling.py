"""Under-sampling: a share of the samples of some classes left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arguments import check_seed
from ...datasets import Dataset
from ...errors import InputError
from .given import check_share, coded, positions


def under_sample(data: Dataset, classes: int | str | Sequence[int | str], share: float = 0.2, seed: int = 0) -> Dataset:
    """Leave out round(share n_c) of the n_c samples of each class c that is named, drawn without replacement.

    The other samples keep their order.

    Parameters
    ----------
    data :
        A set whose targets are class names; it is not changed.
    classes :
        One class or several, as they stand among the targets.
    share :
        Of each class to leave out, in [0, 1].
    seed :
        Of the draw.

    Raises `UsageError` for a share outside [0, 1] or a class that is not there, `InputError` for an empty set, or
    where nothing would be left.

    Source: Trivedi et al. (2023), 20 % of automobile and bird (1 and 2) of CIFAR-10.

    >>> toy = Dataset("toy", tuple("abcdefgh"), ("cat",) * 4 + ("dog",) * 4)
    >>> under_sample(toy, "dog", 0.5, seed=0).inputs
    ('a', 'b', 'c', 'd', 'e', 'f')
    """
    share = check_share("share", share)
    codes, names = coded(data)
    wanted = positions([classes] if isinstance(classes, (int, str)) else list(classes), names)
    rng = np.random.default_rng(check_seed(seed))
    keep = np.ones(len(codes), dtype=bool)
    for one in sorted(set(wanted)):  # the order in which they are named changes nothing
        rows = np.flatnonzero(codes == one)
        keep[rng.choice(rows, round(share * len(rows)), replace=False)] = False
    if not keep.any():
        raise InputError(
            "samples that are left", got="none", remedy="leave out a smaller share", file=data.source or None
        )
    return data.take(np.flatnonzero(keep).tolist())
