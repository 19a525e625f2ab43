"""Cut: a pair that is too long loses the end of its longer side, so that the other is read whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Array

__all__ = ["cut_longer_side", "room_of_each"]


def room_of_each(first: Array, second: Array, room: int) -> tuple[Array, Array]:
    """Tokens that are kept of each side where both together have ``room``; the longer is cut, both if both are long.

    The shorter side keeps up to half of the room, the longer one what is left. int64, shape (sample,).

    >>> [side.tolist() for side in room_of_each(np.array([3, 90, 90, 3]), np.array([4, 90, 4, 90]), 20)]
    [[3, 10, 16, 3], [4, 10, 4, 17]]
    """
    half = np.minimum(np.minimum(first, second), room // 2)
    kept_first = np.where(first <= second, half, np.minimum(first, room - half))
    kept_second = np.where(first <= second, np.minimum(second, room - half), half)
    return kept_first, kept_second


def cut_longer_side(
    tokenizer: Any, inputs: Sequence[str], outputs: Sequence[str], room: int
) -> tuple[list[str], list[str], int]:
    """The two sides of each pair cut to ``room`` tokens together, and the number of pairs that were too long.

    ``tokenizer`` is one of transformers.
    """
    sides = [list(inputs), list(outputs)]
    starts = [_token_ends(tokenizer, side) for side in sides]
    lengths = [np.array([len(row) for row in rows], dtype=np.int64) for rows in starts]
    kept = room_of_each(lengths[0], lengths[1], room)
    long = np.flatnonzero(lengths[0] + lengths[1] > room)
    for side, ends, most in zip(sides, starts, kept, strict=True):
        for row in long:
            if most[row] < len(ends[row]):
                side[row] = side[row][: ends[row][most[row] - 1]] if most[row] else ""
    return sides[0], sides[1], len(long)


def _token_ends(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    """Where each token of each text ends, counted in letters."""
    found = tokenizer(
        texts,
        add_special_tokens=False,
        return_offsets_mapping=True,
        return_attention_mask=False,
        verbose=False,
    )
    return [[end for _, end in row] for row in found["offset_mapping"]]
