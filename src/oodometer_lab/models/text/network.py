"""What the torch classifiers of text share: token ids of one length, where texts are cut, copies with words dropped."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from oodometer.arrays import Array, Ragged

from ...shifts.text.words import words_of
from ..base import Text, only_shift
from ..tokens import ends
from ..torch.batches import padded, ragged
from ..torch.classifier import TorchClassifier
from ..torch.library import choose_device, load_pretrained
from ..torch.library import torch as load_torch


@final
class AttentionImportance:
    """Importance of words: the attention of the first token to them in the last layer, mean over heads.

    A word is the sum of its pieces. ``model`` is the folder (or the hub name) of a Hugging Face encoder with a fast
    tokenizer, best one that was trained on the task; ``device`` as in torch, by default a GPU where there is one. A
    text longer than the model's limit loses its oldest words, whose importance is 0. Calling it with the turns of a
    text gives a float64 for each word and punctuation mark, in order. Raises `InputError` for a folder that is no
    model, `MissingExtraError` without torch and transformers. Source: Lee et al. (2021) take the attention of the
    ranker; heads, layer and pieces are not told, and are ours.
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
        if key in self._kept:
            return self._kept[key]
        words = [word.text for turn in turns for word in words_of(turn)]
        if not words:
            return np.zeros(0)
        # How many of the oldest words a text loses that is longer than the model's limit.
        full: Any = self._tokenizer(words, is_split_into_words=True, verbose=False)
        owners = [owner for owner in full.word_ids(0) if owner is not None]
        pieces = np.bincount(owners, minlength=len(words))
        room = self._limit - (len(full["input_ids"]) - len(owners))
        first = int((np.cumsum(pieces[::-1])[::-1] > room).sum())
        encoding: Any = self._tokenizer(
            words[first:], is_split_into_words=True, return_tensors="pt", verbose=False
        )
        with load_torch().inference_mode():
            states = self._net(**encoding.to(self._device), output_attentions=True)
        from_first = states.attentions[-1][0, :, 0].double().mean(0).cpu().numpy()
        out = np.zeros(len(words))
        for owner, weight in zip(encoding.word_ids(0), from_first, strict=True):
            if owner is not None:
                out[first + owner] += weight
        self._kept[key] = out
        return out


def with_words_dropped(texts: Sequence[Text], seed: Sequence[int]) -> list[Text]:
    """Each text with every word left out with probability 0.1, at least one in a text of several words, drawn by
    (seed, view, position of the text). Source: Wei and Zou (2019), random deletion.
    """
    base_seed, view, first = seed
    out: list[Text] = []
    for row, text in enumerate(texts, first):
        rng = np.random.default_rng((base_seed, view, row))
        out.append(
            _dropped(text, rng)
            if isinstance(text, str)
            else (_dropped(text[0], rng), _dropped(text[1], rng))
        )
    return out


def _dropped(text: str, rng: np.random.Generator) -> str:
    words = text.split()
    if len(words) < 2:
        return text
    draws = rng.random(len(words))
    stay = draws >= 0.1
    if stay.all():
        stay[int(draws.argmin())] = False
    if not stay.any():
        stay[int(draws.argmax())] = True
    return " ".join(word for word, keep in zip(words, stay, strict=True) if keep)


class TextClassifier(TorchClassifier):
    """A classifier of texts, or of pairs of them, that is a torch network over token ids."""

    padding = 0
    least_width = 1

    @abstractmethod
    def _ids(self, texts: Sequence[Text]) -> Ragged:
        """Token ids of each text."""

    @abstractmethod
    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        """Logits, shape (sample, class), of padded ids (sample, position) and the mask of real positions."""

    def _encode(self, inputs: Any) -> Ragged:
        return self._ids(inputs)

    def _tensors(self, encoded: Ragged, batch: Array, device: str) -> tuple[Any, ...]:
        """Padded ids of the samples at some positions and the mask of what is real, as tensors."""
        torch = load_torch()
        ids, real = padded(encoded, batch, self.padding, least=self.least_width)
        return torch.from_numpy(ids).to(device), torch.from_numpy(real).to(device)

    def _view(self, inputs: Any, seed: Sequence[int], augmentation: str = "shift") -> list[Text]:
        only_shift(augmentation, "texts")
        return with_words_dropped(inputs, seed)


def _ids_of_pairs(tokenizer: Any, texts: Sequence[Text], max_length: int) -> tuple[Ragged, int]:
    """Those of pairs, and of single texts as pairs with an empty second part."""
    first = [text if isinstance(text, str) else text[0] for text in texts]
    second = ["" if isinstance(text, str) else text[1] for text in texts]
    rows = tokenizer(first, second, return_attention_mask=False, verbose=False)["input_ids"]
    cut = [at for at, row in enumerate(rows) if len(row) > max_length]
    if cut:
        shortened = tokenizer(
            *([texts[at] for at in cut] for texts in (first, second)),
            truncation="longest_first",
            max_length=max_length,
            return_attention_mask=False,
        )["input_ids"]
        for at, row in zip(cut, shortened, strict=True):
            rows[at] = row
    return ragged(rows), len(cut)


def counted_ids(
    tokenizer: Any, texts: Sequence[Text], max_length: int, *, end: bool = False
) -> tuple[Ragged, int]:
    """Ids of word pieces with special tokens, and how many texts were too long: those lose their middle, or with
    ``end`` their end; of a pair the longer part does, then both. Source: Sun et al. (2019) for the middle.
    """
    if any(not isinstance(text, str) for text in texts):
        return _ids_of_pairs(tokenizer, texts, max_length)
    room = max_length - tokenizer.num_special_tokens_to_add()
    plain = tokenizer(
        list(texts), add_special_tokens=False, return_attention_mask=False, verbose=False
    )["input_ids"]
    # Ids that the tokenizer puts before and after a single text.
    body, framed = (
        tokenizer("a", add_special_tokens=False)["input_ids"],
        tokenizer("a")["input_ids"],
    )
    windows = np.lib.stride_tricks.sliding_window_view(np.array(framed), len(body))
    start = int(np.flatnonzero((windows == np.array(body)).all(1))[0])
    before, after = framed[:start], framed[start + len(body) :]
    shortened = (row[:room] if end else ends(row, room) for row in plain)
    return ragged([[*before, *row, *after] for row in shortened]), sum(
        len(row) > room for row in plain
    )


def room_of_each(first: Array, second: Array, room: int) -> tuple[Array, Array]:
    """Tokens kept of each side where both have ``room``: the shorter keeps up to half, the longer what is left."""
    half = np.minimum(np.minimum(first, second), room // 2)
    kept_first = np.where(first <= second, half, np.minimum(first, room - half))
    kept_second = np.where(first <= second, np.minimum(second, room - half), half)
    return kept_first, kept_second


def cut_longer_side(
    tokenizer: Any, inputs: Sequence[str], outputs: Sequence[str], room: int
) -> tuple[list[str], list[str], int]:
    """The two sides of each pair cut to ``room`` tokens together, and the number of pairs that were too long."""
    sides = [list(inputs), list(outputs)]
    stops = []  # where each token of each text ends, counted in letters
    for side in sides:
        encoded = tokenizer(
            side,
            add_special_tokens=False,
            return_offsets_mapping=True,
            return_attention_mask=False,
            verbose=False,
        )
        stops.append([[end for _, end in row] for row in encoded["offset_mapping"]])
    lengths = [np.array([len(row) for row in rows], dtype=np.int64) for rows in stops]
    rooms = room_of_each(lengths[0], lengths[1], room)
    long = np.flatnonzero(lengths[0] + lengths[1] > room)
    for side, stop, limits in zip(sides, stops, rooms, strict=True):
        for row in long:
            if limits[row] < len(stop[row]):
                side[row] = side[row][: stop[row][limits[row] - 1]] if limits[row] else ""
    return sides[0], sides[1], len(long)
