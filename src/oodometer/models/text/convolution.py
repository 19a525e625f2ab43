"""Convolution: filters over windows of word vectors, the largest answer of each, dropout, a linear layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ..embeddings.base import WordVectors
from ..torch.library import torch as load_torch
from ..torch.training import TrainingConfig
from .words_network import WordsNetwork


@final
class Convolution(WordsNetwork):
    """Logits of max over positions of relu(filter * vectors), for filters of several widths; shape (sample, class).

    Parameters
    ----------
    widths : words that a filter sees.
    filters : filters of each width.
    dropout : share of the pooled answers that training leaves out.
    vectors, dimensions, tune_vectors, vocab_size, max_length, training, device : as in `WordsNetwork`.

    Source: Kim (2014).

    >>> from oodometer.models import Convolution
    >>> Convolution(widths=(2, 3)).least_width
    3
    """

    kind = "convolution"

    def __init__(
        self,
        *,
        widths: Sequence[int] = (3, 4, 5),
        filters: int = 100,
        dropout: float = 0.5,
        vectors: WordVectors | None = None,
        dimensions: int = 100,
        tune_vectors: bool = False,
        vocab_size: int = 30_000,
        max_length: int | None = 400,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(
            vectors=vectors,
            dimensions=dimensions,
            tune_vectors=tune_vectors,
            vocab_size=vocab_size,
            max_length=max_length,
            training=training,
            device=device,
        )
        self.widths, self.filters, self.dropout = tuple(widths), filters, dropout
        self.least_width = max(self.widths)  # a shorter text is padded until the widest filter fits

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor, the vectors left out."""
        own = {"widths": list(self.widths), "filters": self.filters, "dropout": self.dropout}
        return {**super().options(), **own}

    def _build(self) -> Any:
        nn = load_torch().nn
        layers = [nn.Conv1d(self.dimensions, self.filters, width) for width in self.widths]
        return nn.ModuleDict(
            {
                "embedding": self._embedding(),
                "filters": nn.ModuleList(layers),
                "dropout": nn.Dropout(self.dropout),
                "linear": nn.Linear(self.filters * len(self.widths), len(self.classes)),
            }
        )

    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        torch = load_torch()
        # Windows that lie wholly in the padding must not win the maximum: they answer what their bias says, so
        # they are masked. A text shorter than a filter keeps its first window.
        vectors = net["embedding"](ids).transpose(1, 2)
        lengths = real.sum(1, keepdim=True)
        pooled = []
        for layer, width in zip(net["filters"], self.widths, strict=True):
            answers = torch.relu(layer(vectors))
            at = torch.arange(answers.shape[2], device=ids.device)
            inside = at <= (lengths - width).clamp(min=0)
            pooled.append((answers * inside[:, None, :]).amax(2))  # relu: 0 is the least there is
        return net["linear"](net["dropout"](torch.cat(pooled, 1)))
