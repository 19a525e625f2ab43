"""Attention: the weight that a transformer gives each word of a text in its last layer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...shifts.text.words import words_of
from ..torch.library import choose_device, load_pretrained, torch


@final
class AttentionImportance:
    """Importance of words: the attention of the first token to them in the last layer, mean over heads.

    A word is the sum of its pieces. ``model`` is the folder (or the hub name) of a Hugging Face encoder with a fast
    tokenizer, best one that was trained on the task; ``device`` as in torch, by default a GPU where there is one. A
    text longer than the model's limit loses its oldest words, whose importance is 0. Calling it with the turns of a
    text gives a float64 for each word and punctuation mark, in order. Raises `InputError` for a folder that is no
    model, `MissingExtraError` without torch and transformers.

    Source: Lee et al. (2021) take the attention of the ranker; heads, layer and pieces are not told, and are ours.
    """

    def __init__(self, model: str | os.PathLike[str], *, device: str | None = None) -> None:
        name, expected = str(model), "an encoder"
        self._tokenizer = load_pretrained("AutoTokenizer", name, expected=expected, use_fast=True)
        net = load_pretrained("AutoModel", name, expected=expected, attn_implementation="eager")
        self._device = choose_device(device)
        self._net = net.to(self._device).eval()
        limit = getattr(net.config, "max_position_embeddings", None) or 512
        self._limit = min(int(limit), int(self._tokenizer.model_max_length))
        self._kept: dict[tuple[str, ...], Array] = {}

    def __call__(self, turns: Sequence[str]) -> Array:
        """The importance of each word and punctuation mark of these turns, shape (word,)."""
        key = tuple(turns)
        if key not in self._kept:
            self._kept[key] = self._weights(key)
        return self._kept[key]

    def _weights(self, turns: tuple[str, ...]) -> Array:
        words = [word.text for turn in turns for word in words_of(turn)]
        if not words:
            return np.zeros(0)
        first = self._left_out(words)
        given: Any = self._tokenizer(words[first:], is_split_into_words=True, return_tensors="pt", verbose=False)
        return np.concatenate([np.zeros(first), self._read(given, len(words) - first)])

    def _left_out(self, words: list[str]) -> int:
        """How many of the oldest words a text loses that is longer than the model's limit."""
        given: Any = self._tokenizer(words, is_split_into_words=True, verbose=False)
        owners = [place for place in given.word_ids(0) if place is not None]
        pieces = np.bincount(owners, minlength=len(words))
        room = self._limit - (len(given["input_ids"]) - len(owners))
        from_here_on = np.cumsum(pieces[::-1])[::-1]
        return int((from_here_on > room).sum())

    def _read(self, given: Any, many: int) -> Array:
        places = given.word_ids(0)
        library = torch()
        with library.inference_mode():
            held = self._net(**{name: value.to(self._device) for name, value in given.items()}, output_attentions=True)
        from_first = held.attentions[-1][0, :, 0].double().mean(0).cpu().numpy()
        out = np.zeros(many)
        for place, weight in zip(places, from_first, strict=True):
            if place is not None:
                out[place] += weight
        return out
