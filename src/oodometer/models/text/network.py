"""What the torch classifiers of text share: token ids of different lengths become padded tensors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Array, Ragged
from ..base import Text, only_shift
from ..torch.batches import padded, token_batches
from ..torch.classifier import TorchClassifier
from ..torch.library import torch as load_torch
from .views import with_words_dropped


class Tokens:
    """Token ids of texts, as `Encoded` wants them."""

    def __init__(self, ids: Ragged) -> None:
        self.ids = ids

    @property
    def lengths(self) -> Array:
        """Tokens of each text."""
        found: Array = np.diff(self.ids.offsets)
        return found

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The ids."""
        return (self.ids.values,)


class TextClassifier(TorchClassifier):
    """A classifier of texts, or of pairs of them, that is a torch network over token ids."""

    padding = 0
    least_width = 1
    asking_tokens: int | None = None
    """Padded tokens of a batch that is asked; None: as `TorchClassifier` has it."""

    @abstractmethod
    def _ids(self, texts: Sequence[Text]) -> Ragged:
        """Token ids of each text."""

    @abstractmethod
    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        """Logits, shape (sample, class), of padded ids (sample, position) and the mask of real positions."""

    def _encode(self, inputs: Any) -> Tokens:
        return Tokens(self._ids(inputs))

    def _tensors(self, encoded: Tokens, batch: Array, device: str) -> tuple[Any, ...]:
        """Padded ids of the samples at some positions and the mask of what is real, as tensors."""
        torch = load_torch()
        ids, real = padded(encoded.ids, batch, self.padding, least=self.least_width)
        return torch.from_numpy(ids).to(device), torch.from_numpy(real).to(device)

    def _asking_batches(self, encoded: Tokens) -> list[Array]:
        if self.asking_tokens is None:
            return super()._asking_batches(encoded)
        lengths = encoded.lengths
        return token_batches(lengths, np.argsort(-lengths, kind="stable"), self.asking_tokens)

    def _view(self, inputs: Any, seed: Sequence[int], augmentation: str = "shift") -> list[Text]:
        only_shift(augmentation, "texts")
        return with_words_dropped(inputs, seed)
