"""Embedding sum: the vectors of a text's words are summed (or averaged) and a linear layer reads the sum."""

from __future__ import annotations

from typing import Any, final

from ...errors import UsageError
from ..embeddings.base import WordVectors
from ..torch.library import torch as load_torch
from ..torch.training import TrainingConfig
from .words_network import WordsNetwork


@final
class EmbeddingSum(WordsNetwork):
    """Logits z = W (sum over words w of v_w) + b, shape (sample, class); ``pooling="mean"`` divides by the length.

    Source: Mishra et al. (2022) name the model; the vectors are those of Mikolov et al. (2013) or Pennington et al.
    (2014).

    >>> from oodometer.models import EmbeddingSum
    >>> EmbeddingSum(pooling="median")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected pooling sum or mean, got 'median'
    """

    kind = "embedding-sum"

    def __init__(
        self,
        *,
        vectors: WordVectors | None = None,
        pooling: str = "sum",
        dimensions: int = 100,
        tune_vectors: bool = False,
        vocab_size: int = 30_000,
        max_length: int | None = None,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        if pooling not in ("sum", "mean"):
            raise UsageError(f"expected pooling sum or mean, got {pooling!r}")
        super().__init__(
            vectors=vectors,
            dimensions=dimensions,
            tune_vectors=tune_vectors,
            vocab_size=vocab_size,
            max_length=max_length,
            training=training,
            device=device,
        )
        self.pooling = pooling

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor, the vectors left out."""
        return {**super().options(), "pooling": self.pooling}

    def _build(self) -> Any:
        nn = load_torch().nn
        embedding = self._embedding()
        return nn.ModuleDict({"embedding": embedding, "linear": nn.Linear(self.dimensions, len(self.classes))})

    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        summed = load_torch().nn.functional.embedding_bag(ids, net["embedding"].weight, mode="sum", padding_idx=0)
        if self.pooling == "mean":
            summed = summed / real.sum(1, keepdim=True).clamp(min=1)
        return net["linear"](summed)
