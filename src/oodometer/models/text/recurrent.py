"""Recurrent: an LSTM reads the word vectors in order; its states are pooled and a linear layer answers."""

from __future__ import annotations

from typing import Any, final

from ...errors import UsageError
from ..embeddings.base import WordVectors
from ..torch.library import torch as load_torch
from ..torch.training import TrainingConfig
from .words_network import WordsNetwork

POOLING = ("last", "max", "mean")


@final
class Recurrent(WordsNetwork):
    """Logits z = W pool_t h_t + b of the states h_t of a long short-term memory, t over words; shape (sample, class).

    Parameters
    ----------
    units : length of the state.
    pooling : "last" (the state after the last word), "max" or "mean" over words.
    dropout : share of the pooled state that training leaves out.
    vectors, dimensions, tune_vectors, vocab_size, max_length, training, device : as in `WordsNetwork`.

    Source: Hochreiter and Schmidhuber (1997).

    >>> from oodometer.models import Recurrent
    >>> Recurrent(pooling="first")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected pooling last, max or mean, got 'first'
    """

    kind = "recurrent"

    def __init__(
        self,
        *,
        units: int = 128,
        pooling: str = "last",
        dropout: float = 0.2,
        vectors: WordVectors | None = None,
        dimensions: int = 100,
        tune_vectors: bool = False,
        vocab_size: int = 30_000,
        max_length: int | None = 400,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        if pooling not in POOLING:
            raise UsageError(f"expected pooling last, max or mean, got {pooling!r}")
        super().__init__(
            vectors=vectors,
            dimensions=dimensions,
            tune_vectors=tune_vectors,
            vocab_size=vocab_size,
            max_length=max_length,
            training=training,
            device=device,
        )
        self.units, self.pooling, self.dropout = units, pooling, dropout

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor, the vectors left out."""
        return {**super().options(), "units": self.units, "pooling": self.pooling, "dropout": self.dropout}

    def _build(self) -> Any:
        nn = load_torch().nn
        return nn.ModuleDict(
            {
                "embedding": self._embedding(),
                "lstm": nn.LSTM(self.dimensions, self.units, batch_first=True),
                "dropout": nn.Dropout(self.dropout),
                "linear": nn.Linear(self.units, len(self.classes)),
            }
        )

    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        torch = load_torch()
        # Padding stands at the end and the states before it do not see it, so no packing is needed.
        states, _ = net["lstm"](net["embedding"](ids))
        lengths = real.sum(1).clamp(min=1)
        if self.pooling == "last":
            pooled = states[torch.arange(len(ids), device=ids.device), lengths - 1]
        elif self.pooling == "max":
            pooled = states.masked_fill(~real[:, :, None], -1).amax(1)  # a state lies in (-1, 1)
        else:
            pooled = (states * real[:, :, None]).sum(1) / lengths[:, None]
        return net["linear"](net["dropout"](pooled))
