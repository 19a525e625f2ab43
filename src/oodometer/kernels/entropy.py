"""Entropy: the sum of p log p along each row."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .compiled import contiguous, passes, supports
from .threads import by_chunks


def entropy_sums(probabilities: Array) -> Array:
    """sum_k p_k log p_k of probabilities with axes (sample, class); shape (sample,), of the same type, never above 0.

    The logarithm of a subnormal number is taken to be that of the smallest normal one, so that 0 log 0 = 0.

    >>> entropy_sums(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4).tolist()
    [-0.6931, 0.0]
    """
    out = np.empty(len(probabilities), dtype=probabilities.dtype)
    if supports(probabilities) and probabilities.shape[1]:

        def run(start: int, stop: int) -> None:
            passes.negative_entropy(contiguous(probabilities[start:stop]), out[start:stop])

        by_chunks(run, *probabilities.shape, lock=False)
        return out
    tiny = np.finfo(probabilities.dtype).tiny

    def work(start: int, stop: int) -> None:
        p = probabilities[start:stop]
        logs = np.maximum(p, tiny)
        np.log(logs, out=logs)
        np.minimum(np.einsum("nk,nk->n", p, logs), 0, out=out[start:stop])

    by_chunks(work, *probabilities.shape)
    return out
