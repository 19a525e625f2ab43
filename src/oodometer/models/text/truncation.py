"""Truncation: the one place where texts and pairs that are too long are cut: a text in its middle, a pair at an end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Array, Ragged
from ..base import Text
from ..tokens import ends
from ..torch.batches import ragged


def piece_ids(tokenizer: Any, texts: Sequence[Text], max_length: int) -> Ragged:
    """Ids of word pieces with the tokenizer's special tokens; a text too long loses its middle.

    Of a pair the longer part loses its end, until both are of one length, then both do. Source: Sun et al. (2019) for
    the middle.
    """
    return counted_ids(tokenizer, texts, max_length)[0]


def counted_ids(tokenizer: Any, texts: Sequence[Text], max_length: int, *, end: bool = False) -> tuple[Ragged, int]:
    """The ids of `piece_ids`, and the number of texts that were too long; ``end``: they lose their end instead."""
    if any(not isinstance(text, str) for text in texts):
        first = [text if isinstance(text, str) else text[0] for text in texts]
        second = ["" if isinstance(text, str) else text[1] for text in texts]
        rows = tokenizer(first, second, return_attention_mask=False, verbose=False)["input_ids"]
        cut = [place for place, row in enumerate(rows) if len(row) > max_length]
        if cut:
            short = tokenizer(
                [first[place] for place in cut],
                [second[place] for place in cut],
                truncation="longest_first",
                max_length=max_length,
                return_attention_mask=False,
            )["input_ids"]
            for place, row in zip(cut, short, strict=True):
                rows[place] = row
        return ragged(rows), len(cut)
    room = max_length - tokenizer.num_special_tokens_to_add()
    plain = tokenizer(list(texts), add_special_tokens=False, return_attention_mask=False, verbose=False)["input_ids"]
    before, after = _special_ids(tokenizer)
    kept = (row[:room] if end else ends(row, room) for row in plain)
    return ragged([[*before, *row, *after] for row in kept]), sum(len(row) > room for row in plain)


def _special_ids(tokenizer: Any) -> tuple[list[int], list[int]]:
    """Ids that the tokenizer puts before and after a single text."""
    body = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    windows = np.lib.stride_tricks.sliding_window_view(np.array(whole), len(body))
    start = int(np.flatnonzero((windows == np.array(body)).all(1))[0])
    return whole[:start], whole[start + len(body) :]


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
    stops = [_token_stops(tokenizer, side) for side in sides]
    lengths = [np.array([len(row) for row in rows], dtype=np.int64) for rows in stops]
    kept = room_of_each(lengths[0], lengths[1], room)
    long = np.flatnonzero(lengths[0] + lengths[1] > room)
    for side, stop, most in zip(sides, stops, kept, strict=True):
        for row in long:
            if most[row] < len(stop[row]):
                side[row] = side[row][: stop[row][most[row] - 1]] if most[row] else ""
    return sides[0], sides[1], len(long)


def _token_stops(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    """Where each token of each text ends, counted in letters."""
    found = tokenizer(
        texts, add_special_tokens=False, return_offsets_mapping=True, return_attention_mask=False, verbose=False
    )
    return [[end for _, end in row] for row in found["offset_mapping"]]
