"""Pieces: the word pieces that an encoder reads of an example, and which word each of them belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..models.text.encoder import Encoder
from ..models.tokens import ends
from .words import Words


@final
@dataclass(frozen=True, eq=False)
class Pieces:
    """What an encoder reads of one example.

    Parameters
    ----------
    ids : of the pieces and the special tokens, int64, shape (piece,).
    shares : how much of a piece belongs to each feature, float64, shape (piece, feature). The special tokens between
        the parts of a pair belong to the separator; rows of those at both ends are 0.
    cut : whether the example was too long, so that some of its words have no piece.
    """

    ids: Array
    shares: Array
    cut: bool

    @property
    def moves(self) -> Array:
        """Which pieces belong to a feature, bool, shape (piece,)."""
        found: Array = self.shares.sum(axis=1) > 0
        return found


def pieces_of(model: Encoder, examples: Sequence[Words]) -> list[Pieces]:
    """The pieces of each example, with the ids that the encoder itself asks about.

    A piece belongs to the word that its letters stand in; one over several words is shared by letters; one over none,
    such as a lone mark for a space, belongs to the next word. `UsageError` for a tokenizer that does not tell places.
    """
    if not getattr(model.tokenizer, "is_fast", False):
        raise UsageError("token-ig needs a fast tokenizer, which tells where its pieces stand; use lime or kernel-shap")
    ends_of_pair = _ends_of_pair(model.tokenizer)
    return [_pair(model, one, ends_of_pair) if one.is_pair else _single(model, one) for one in examples]


def _ends_of_pair(tokenizer: Any) -> tuple[int, int]:
    """How many special tokens stand before the first part of a pair, and behind its second one."""
    parts = tokenizer("a", "a").sequence_ids(0)
    return parts.index(0), parts[::-1].index(1)


def _single(model: Encoder, words: Words) -> Pieces:
    """A text too long loses its middle, or its end, as the encoder has it."""
    given = model.tokenizer(words.text, return_offsets_mapping=True, return_attention_mask=False, verbose=False)
    parts = given.sequence_ids(0)
    body = [at for at, part in enumerate(parts) if part is not None]
    room = model.max_length - model.tokenizer.num_special_tokens_to_add()
    kept = set(body[:room] if model._ends_cut else ends(body, room))
    places = [at for at, part in enumerate(parts) if part is None or at in kept]
    return _pieces(words, given, parts, places, len(body) > room)


def _pair(model: Encoder, words: Words, around: tuple[int, int]) -> Pieces:
    options: dict[str, Any] = {"return_offsets_mapping": True, "return_attention_mask": False, "verbose": False}
    given = model.tokenizer(*words.texts, **options)
    cut = len(given["input_ids"]) > model.max_length
    if cut:
        given = model.tokenizer(*words.texts, truncation="longest_first", max_length=model.max_length, **options)
    parts = given.sequence_ids(0)
    between = range(around[0], len(parts) - around[1])
    return _pieces(words, given, parts, list(range(len(parts))), cut, between)


def _pieces(
    words: Words, given: Any, parts: Sequence[int | None], places: list[int], cut: bool, between: range = range(0)
) -> Pieces:
    """The pieces at some places; a special token ``between`` the parts of a pair belongs to the separator."""
    ids, offsets = given["input_ids"], given["offset_mapping"]
    shares = np.zeros((len(places), words.features))
    for row, at in enumerate(places):
        part = parts[at]
        if part is not None:
            _share(shares[row], words, part, *offsets[at])
        elif at in between:
            shares[row, -1] = 1.0
    return Pieces(np.array([ids[at] for at in places], dtype=np.int64), shares, cut)


def _share(row: Array, words: Words, part: int, start: int, stop: int) -> None:
    """Share a piece from ``start`` to ``stop`` among the words of its part."""
    first = int(np.searchsorted(words.parts, part))
    spans = [span for span, place in zip(words.spans, words.parts, strict=True) if place == part]
    letters = np.array([max(0, min(stop, b) - max(start, a)) for a, b in spans], dtype=np.float64)
    if not len(letters):
        return
    if letters.sum() == 0:
        letters[min(sum(1 for _, b in spans if b <= start), len(spans) - 1)] = 1
    row[first : first + len(letters)] = letters / letters.sum()
