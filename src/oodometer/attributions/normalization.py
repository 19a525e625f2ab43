"""Normalization: the values of an example on a scale that does not depend on how sure a model is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from .base import WordAttributions

_SIZES: dict[str, Callable[[Array], float]] = {
    "none": lambda values: 1.0,
    "l1": lambda values: float(np.abs(values).sum()),
    "l2": lambda values: float(np.sqrt((values**2).sum())),
    "max": lambda values: float(np.abs(values).max()),
}
NORMALIZATIONS = tuple(_SIZES)
"""Names that `normalized` knows."""


def normalized(found: WordAttributions, how: str = "none") -> WordAttributions:
    """The same attributions, the values of words and separator divided by their size.

    The size is Σ|v| ("l1"), sqrt(Σ v²) ("l2") or max|v| ("max"); "none" leaves all as it is. A separator that the
    method says nothing of does not count; values that are all 0 stay 0. Factors depend on it, as Singhal et al. (2022)
    warn, and say nothing of theirs. Raises `UsageError` for another name.

    >>> from oodometer.attributions import Words, WordAttributions
    >>> found = WordAttributions(Words(("a film", "it")), np.array([0.3, -0.1, 0.4]), -0.2, 1, 0.9)
    >>> normalized(found, "l1").values.round(3).tolist(), round(normalized(found, "l1").separator, 3)
    ([0.3, -0.1, 0.4], -0.2)
    >>> normalized(found, "max").values.round(3).tolist()
    [0.75, -0.25, 1.0]
    """
    if how not in _SIZES:
        raise UsageError(f"unknown normalization {how!r}; known: {', '.join(NORMALIZATIONS)}")
    known = found.values if math.isnan(found.separator) else np.append(found.values, found.separator)
    size = _SIZES[how](known)
    if how == "none" or size == 0:
        return found
    return replace(found, values=found.values / size, separator=found.separator / size)
