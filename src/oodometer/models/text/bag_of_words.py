"""Bag of words: the sum over words of one weight for each class; logistic regression on word counts."""

from __future__ import annotations

from typing import Any, final

from ..torch.library import torch as load_torch
from ..torch.training import Plan
from .words_network import WordsNetwork

__all__ = ["BagOfWords"]


@final
class BagOfWords(WordsNetwork):
    """Logits z_k = b_k + sum over words w of the text of W[w, k]; shape (sample, class).

    Parameters
    ----------
    most_words : size of the vocabulary, taken from the training texts.
    longest : words of a text that are read; None reads all.
    plan, device : how and where to train.

    Source: Harris (1954).

    >>> from oodometer.models import BagOfWords
    >>> BagOfWords(most_words=10).options()["most_words"]
    10
    """

    kind = "bag-of-words"

    def __init__(
        self,
        *,
        most_words: int = 30_000,
        longest: int | None = None,
        plan: Plan | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(most_words=most_words, longest=longest, plan=plan, device=device)

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"most_words": self.most_words, "longest": self.longest}

    def _build(self) -> Any:
        nn = load_torch().nn
        assert self.vocabulary is not None
        weights = nn.Embedding(len(self.vocabulary), len(self.classes), padding_idx=0)
        nn.init.zeros_(weights.weight)
        return nn.ModuleDict(
            {"weights": weights, "bias": nn.ParameterList([nn.Parameter(_zeros(len(self.classes)))])}
        )

    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        return net["weights"](ids).sum(1) + net["bias"][0]


def _zeros(count: int) -> Any:
    return load_torch().zeros(count)
