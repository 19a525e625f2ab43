"""Compiled: the passes of passes.c where they were built and are wanted, and the types they support.

`OODOMETER_PLAIN=1` in the environment leaves them out: the answers are the same (sums to rounding), only later.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..arrays import Array

__all__ = ["contiguous", "is_compiled", "passes", "supports"]

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))

try:
    # where intp has 32 bits, bin numbers have another size than the passes write
    if os.environ.get("OODOMETER_PLAIN") == "1" or np.dtype(np.intp).itemsize != 8:
        raise ImportError("the plain passes are wanted")
    from . import _passes as passes
except ImportError:  # also an installation without a compiler
    passes = None  # type: ignore[assignment]


def is_compiled() -> bool:
    """Whether the compiled passes are used."""
    return passes is not None


def supports(values: Array) -> bool:
    """Whether the compiled passes are used for values of this type: native float32 and float64."""
    return is_compiled() and values.dtype in _FLOATS


def contiguous(values: Array, dtype: Any = None) -> Array:
    """The values in one piece of memory, of the given type; they themselves where they are so already."""
    return np.ascontiguousarray(values, dtype=dtype)
