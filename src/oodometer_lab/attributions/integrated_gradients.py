"""Token integrated gradients: the gradient along a line from a text of masks to the text, word piece by word piece."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import InputError, UsageError, needed
from oodometer.registry import register

from ..models.base import Progress, Text
from ..models.text.encoder import Encoder
from ..models.tokens import ends
from ..models.torch.batches import tokens_at_once
from ..models.torch.library import choose_device
from ..models.torch.library import torch as load_torch
from .base import (
    Attribution,
    Model,
    WordAttributions,
    Words,
    as_words,
    checked_probabilities,
    checked_targets,
    class_at,
)
from .black_box import whole_number


@final
@dataclass(frozen=True, eq=False)
class Pieces:
    """What an encoder reads of one example: ``ids``, and ``shares`` (piece, feature) of each piece that belong to each
    feature; special tokens between the parts belong to the separator, those at both ends to none. ``cut``: too long.
    """

    ids: Array
    shares: Array
    cut: bool

    @property
    def moves(self) -> Array:
        """Which pieces belong to a feature, bool, shape (piece,)."""
        return np.asarray(self.shares.sum(axis=1) > 0)


def pieces_of(model: Encoder, examples: Sequence[Words]) -> list[Pieces]:
    """The pieces of each example, with the ids that the encoder itself asks about. A piece belongs to the word that its
    letters stand in, or is shared by letters; one over none belongs to the next word.
    """
    if not getattr(model.tokenizer, "is_fast", False):
        raise UsageError(
            "token-ig needs a fast tokenizer, which tells where its pieces stand; use lime or kernel-shap"
        )
    # How many special tokens stand before the first part of a pair, and behind its second one
    parts = model.tokenizer("a", "a").sequence_ids(0)
    ends_of_pair = parts.index(0), parts[::-1].index(1)
    return [_pieces(model, example, ends_of_pair) for example in examples]


def _pieces(model: Encoder, words: Words, around: tuple[int, int]) -> Pieces:
    encode = partial(
        model.tokenizer,
        *words.texts,
        return_offsets_mapping=True,
        return_attention_mask=False,
        verbose=False,
    )
    encoding = encode()
    between = range(0)
    if words.is_pair:
        cut = len(encoding["input_ids"]) > model.max_length
        if cut:
            encoding = encode(truncation="longest_first", max_length=model.max_length)
        parts = encoding.sequence_ids(0)
        positions, between = list(range(len(parts))), range(around[0], len(parts) - around[1])
    else:  # a text too long loses its middle, or its end, as the encoder has it
        parts = encoding.sequence_ids(0)
        body = [at for at, part in enumerate(parts) if part is not None]
        room = model.max_length - model.tokenizer.num_special_tokens_to_add()
        stays, cut = set(body[:room] if model._ends_cut else ends(body, room)), len(body) > room
        positions = [at for at, part in enumerate(parts) if part is None or at in stays]
    shares = np.zeros((len(positions), words.features))
    for row, at in enumerate(positions):
        if parts[at] is not None:
            first, letters = _letters_of(words, parts[at], encoding["offset_mapping"][at])
            if len(letters):
                shares[row, first : first + len(letters)] = letters / letters.sum()
        elif at in between:  # a special token between the parts belongs to the separator
            shares[row, -1] = 1.0
    return Pieces(
        np.array([encoding["input_ids"][at] for at in positions], dtype=np.int64), shares, cut
    )


def _letters_of(words: Words, part: int, piece: tuple[int, int]) -> tuple[int, Array]:
    """The place of a part's first word, and how many letters of each of its words a piece holds; one over none counts
    as a letter of the next word.
    """
    start, stop = piece
    spans = [span for span, at in zip(words.spans, words.parts, strict=True) if at == part]
    letters = np.array([max(0, min(stop, b) - max(start, a)) for a, b in spans], dtype=np.float64)
    if len(letters) and letters.sum() == 0:
        letters[min(sum(1 for _, b in spans if b <= start), len(spans) - 1)] = 1
    return int(np.searchsorted(words.parts, part)), letters


BASELINES = ("mask", "pad", "zero")


@register("attribution")
@dataclass
class IntegratedGradients(Attribution):
    r"""The gradient of the probability by the embeddings of the pieces, along the line from a baseline to the text.

    With x the embeddings of the pieces and x' those of the baseline, a piece t has the value

        (x_t - x'_t) · ∫_0^1 ∂p(x' + u (x - x')) / ∂x_t du,

    by Gauss-Legendre quadrature (captum). A word is the sum of its pieces; the separator of a pair has a value of its
    own. The special tokens at both ends stay as they are. All values together are p(x) - p(x'), up to the quadrature:
    ``fit`` is p(x) - p(x') minus their sum, ``base`` is p(x'). Words of a text beyond the limit of the model have 0;
    ``truncated`` counts such texts.

    steps : points of the quadrature; the cost is one forward and one backward pass for each.
    baseline : what a piece starts from: the mask token, the padding token, or a vector of zeros.

    Raises `UsageError` for a model that is no `Encoder`, for an encoder without the token of the baseline and for
    options out of range, `MissingExtraError` without captum, `InputError` as `BlackBox.explain` does, and for gradients
    that are not finite. Source: Sundararajan et al. (2017); masks as the baseline as in Singhal et al. (2022).

    >>> IntegratedGradients(steps=16).explain(lambda texts: [[0.5, 0.5]] * len(texts), ["a good film"])
    Traceback (most recent call last):
    oodometer.errors.UsageError: token-ig reads the gradients of an Encoder, got function; use lime or kernel-shap
    """

    name = "token-ig"
    about = "gradients along the line from masks to the text, summed over the pieces of a word"
    needs = ("encoder",)
    citation = "sundararajan2017"

    steps: int = 50
    baseline: str = "mask"

    def __post_init__(self) -> None:
        whole_number("steps", self.steps, 1)
        if self.baseline not in BASELINES:
            raise UsageError(f"unknown baseline {self.baseline!r}; known: {', '.join(BASELINES)}")

    def explain(
        self,
        model: Model,
        texts: Sequence[Text | Words],
        *,
        targets: Sequence[int] | None = None,
        progress: Progress | None = None,
    ) -> list[WordAttributions]:
        """Attributions of each text, in order, of the predicted class or of the classes at ``targets``.

        ``progress`` is called with (examples done, all).
        """
        model = _encoder(model)
        path = _Path(model, self.steps, self._start(model))
        examples = as_words(texts)
        classes = checked_targets(targets, len(examples))
        pieces = pieces_of(model, examples)
        results: dict[int, WordAttributions] = {}
        for batch in _batches(model, pieces, self.steps):
            results |= dict(zip(batch, path.explain(batch, examples, pieces, classes), strict=True))
            if progress is not None:
                progress(len(results), len(examples))
        self._truncated = sum(piece.cut for piece in pieces)
        return [results[row] for row in range(len(examples))]

    def groups_for(self, model: Model, texts: Sequence[Text | Words]) -> list[list[int]]:
        """The batches that the texts are explained in: alone, each is the same batch again."""
        model = _encoder(model)
        return _batches(model, pieces_of(model, as_words(texts)), self.steps)

    def _start(self, model: Encoder) -> int | None:
        """The token of the baseline; None for zeros."""
        if self.baseline == "zero":
            return None
        token = model.tokenizer.mask_token_id if self.baseline == "mask" else model.padding
        if token is None:
            raise UsageError("this encoder has no mask token; take the baseline 'pad' or 'zero'")
        return int(token)


class _Path:
    """An encoder that is asked along lines between embeddings."""

    def __init__(self, model: Encoder, steps: int, start: int | None) -> None:
        captum = needed("captum.attr", "token-ig", extra="explain")
        self._integrate = captum.IntegratedGradients(self._probabilities)
        self._model, self._steps, self._start = model, steps, start
        self._device = choose_device(model.device)
        self._net = model.net.to(self._device).eval()
        self._layer = self._net.get_input_embeddings()
        self._tokens = tokens_at_once(model.device)

    def explain(
        self,
        batch: Sequence[int],
        examples: Sequence[Words],
        pieces: Sequence[Pieces],
        classes: list[int] | None,
    ) -> list[WordAttributions]:
        """Attributions of the examples at some positions, in the order of these."""
        torch = load_torch()
        shape = (len(batch), max(len(pieces[row].ids) for row in batch))
        arrays = (
            np.full(shape, self._model.padding, dtype=np.int64),
            np.zeros(shape, bool),
            np.zeros(shape, bool),
        )
        # ids, which of them are real, and which move along the line
        for at, row in enumerate(batch):
            for array, filling in zip(
                arrays, (pieces[row].ids, True, pieces[row].moves), strict=True
            ):
                array[at, : len(pieces[row].ids)] = filling
        ids, real, moves = (torch.from_numpy(array).to(self._device) for array in arrays)
        with torch.no_grad():
            embedded = self._layer(ids)
            away = (
                torch.zeros_like(embedded)
                if self._start is None
                else self._layer(torch.full_like(ids, self._start))
            )
            start = torch.where(moves[..., None], away, embedded)
            answers = [
                self._probabilities(array, ids, real).double().cpu().numpy()
                for array in (embedded, start)
            ]
        both = [checked_probabilities(array, len(batch)) for array in answers]
        targets = [class_at(classes, row, p) for row, p in zip(batch, both[0], strict=True)]
        values = self._integrate.attribute(
            embedded,
            baselines=start,
            target=torch.tensor(targets, device=self._device),
            additional_forward_args=(ids, real),
            n_steps=self._steps,
            internal_batch_size=max(len(batch), self._tokens // ids.shape[1]),
        )
        summed = values.detach().double().sum(-1).cpu().numpy()
        if not np.isfinite(summed).all():
            raise InputError(
                "gradients that are finite", got="nan or an infinity", remedy="check the model"
            )
        out = []
        for at, (row, target) in enumerate(zip(batch, targets, strict=True)):
            p, base = (float(values[at, target]) for values in both)
            words, added = examples[row], summed[at, : len(pieces[row].ids)] @ pieces[row].shares
            separator, lack = (
                float(added[-1]) if words.is_pair else math.nan,
                p - base - float(added.sum()),
            )
            out.append(
                WordAttributions(words, added[: len(words.words)], separator, target, p, base, lack)
            )
        return out

    def _probabilities(self, embedded: Any, ids: Any, real: Any) -> Any:
        """Probabilities of all classes, shape (sample, class), with these embeddings in place of those of the ids."""
        hook = self._layer.register_forward_hook(lambda *_: embedded)
        try:
            return self._model._scores(self._net, ids, real).float().softmax(-1)
        finally:
            hook.remove()


def _encoder(model: Model) -> Encoder:
    if isinstance(model, Encoder):
        model._must_be_fitted()
        return model
    got = (
        "function"
        if hasattr(model, "__name__") and not isinstance(model, type)
        else type(model).__name__
    )
    raise UsageError(
        f"token-ig reads the gradients of an Encoder, got {got}; use lime or kernel-shap"
    )


def _batches(model: Encoder, pieces: Sequence[Pieces], steps: int) -> list[list[int]]:
    """Examples of about one length, the longest first, as many as can be held with all their steps."""
    lengths, budget = (
        np.array([len(piece.ids) for piece in pieces]),
        tokens_at_once(model.device) // steps,
    )
    batches: list[list[int]] = []
    for row in np.argsort(-lengths, kind="stable").tolist():
        if batches and len(batches[-1]) < budget // lengths[batches[-1][0]]:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches
