"""Pairs: inputs with their outputs as an encoder-decoder learns them, and the loss of a batch of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...datasets import Dataset
from ...errors import InputError, UsageError
from ..torch.batches import padded
from ..torch.library import torch as load_torch
from .codec import Codec, check_strings
from .scoring import IGNORED

__all__ = ["EncodedPairs", "pairs_of", "same_length"]


@final
class EncodedPairs:
    """Token ids of inputs and outputs."""

    def __init__(self, codec: Codec, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self.padding = codec.padding
        self.read, self.written = codec.read(inputs), codec.learnt(outputs)

    @property
    def lengths(self) -> Array:
        """Tokens of each input and output, shape (sample, 2)."""
        return np.stack([self.read.lengths, self.written.lengths], axis=1)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All numbers: they name the data in a fingerprint."""
        return self.read.values, self.read.offsets, self.written.values, self.written.offsets

    def loss(self, net: Any, batch: Array, device: str) -> Any:
        """The mean cross-entropy of the output tokens of the pairs at some positions."""
        torch = load_torch()
        ids, real = padded(self.read, batch, self.padding)
        labels, _ = padded(self.written, batch, IGNORED)
        return net(
            input_ids=torch.from_numpy(ids).to(device),
            attention_mask=torch.from_numpy(real).to(device).long(),
            labels=torch.from_numpy(labels).to(device),
        ).loss


def pairs_of(data: Any, outputs: Sequence[str] | None = None) -> tuple[list[str], list[str]]:
    """Inputs and outputs of a data set, or as given, checked.

    >>> pairs_of(["a b"], ["A"])
    (['a b'], ['A'])
    >>> pairs_of(["a b"])
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected outputs, got inputs alone; give fit(inputs, outputs) or a Dataset
    """
    if isinstance(data, Dataset):
        data, outputs = data.inputs, data.targets if outputs is None else outputs
    if outputs is None:
        raise UsageError("expected outputs, got inputs alone; give fit(inputs, outputs) or a Dataset")
    inputs, outputs = check_strings(data, "input"), check_strings(outputs, "output", filled=True)
    same_length(inputs, outputs)
    return inputs, outputs


def same_length(inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """`InputError` where there is not one output an input."""
    if len(inputs) != len(outputs):
        raise InputError(
            f"{len(inputs)} outputs, one an input",
            got=str(len(outputs)),
            remedy="align them by sample",
            column="output",
        )
