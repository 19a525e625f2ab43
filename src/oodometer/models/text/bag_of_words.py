"""Bag of words: the sum over words of one weight for each class; logistic regression on word counts."""

from __future__ import annotations

from typing import Any, final

from ..torch.library import torch as load_torch
from ..torch.training import TrainingConfig
from .words_network import WordsNetwork


@final
class BagOfWords(WordsNetwork):
    """Logits z_k = b_k + sum over words w of the text of W[w, k]; shape (sample, class).

    Parameters
    ----------
    vocab_size : size of the vocabulary, taken from the training texts.
    max_length : words of a text that are read; None reads all.
    training, device : how and where to train.

    Source: Harris (1954).

    >>> from oodometer.models import BagOfWords
    >>> BagOfWords(vocab_size=10).options()["vocab_size"]
    10
    """

    kind = "bag-of-words"

    def __init__(
        self,
        *,
        vocab_size: int = 30_000,
        max_length: int | None = None,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(vocab_size=vocab_size, max_length=max_length, training=training, device=device)

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"vocab_size": self.vocab_size, "max_length": self.max_length}

    def _build(self) -> Any:
        nn = load_torch().nn
        assert self.vocabulary is not None
        weights = nn.Embedding(len(self.vocabulary), len(self.classes), padding_idx=0)
        nn.init.zeros_(weights.weight)
        return nn.ModuleDict({"weights": weights, "bias": nn.ParameterList([nn.Parameter(_zeros(len(self.classes)))])})

    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        return net["weights"](ids).sum(1) + net["bias"][0]


def _zeros(count: int) -> Any:
    return load_torch().zeros(count)
