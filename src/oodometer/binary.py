"""Binary: both classes of a model that gives the probability, or the logit, of one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array, as_cells
from .checks import check_finite
from .errors import InputError

_NEGATIVE_TOLERANCE = 1e-6


def both_of(value: Any, field: str) -> Any:
    """Numbers with one axis as those of both classes, class 1 last; anything else as it came.

    >>> both_of([0.25, 1.0], "probabilities").tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    cells = as_cells(value)
    return both_classes(cells, field, field) if cells.ndim == 1 and cells.dtype.kind in "fiu" else cells


def both_classes(values: Array, field: str, column: str, positive: int = 1) -> Array:
    """Probabilities or logits of both classes, shape (sample, 2), from those of the class at ``positive``.

    The other class has the probability 1 - p, or the logit 0: then p = 1 / (1 + exp(-logit)). Raises `InputError` for
    what is no probability.

    >>> both_classes(np.array([0.25, 1.0]), "probabilities", "p").tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    values = check_finite(values, column, "sample")
    if field == "probabilities":
        values = _between_0_and_1(values, column, "if these are logits, call the column logit_1")
        other = 1 - values
    else:
        other = np.zeros_like(values)
    return np.stack([other, values] if positive else [values, other], axis=1)


def _between_0_and_1(values: Array, column: str, otherwise: str) -> Array:
    """Numbers in [0, 1], where a little rounding is forgiven."""
    outside = (values < -_NEGATIVE_TOLERANCE) | (values > 1 + _NEGATIVE_TOLERANCE)
    if outside.any():
        row = int(np.argmax(outside))
        percents = values.min() >= 0 and 1 < values.max() <= 100
        raise InputError(
            "a probability between 0 and 1",
            got=f"{values[row]:.6g}",
            remedy="these look like percents: divide them by 100" if percents else otherwise,
            row=row + 1,
            column=column,
        )
    return np.clip(values, 0, 1)
