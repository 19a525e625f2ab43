"""Classifiers over words: a vocabulary of the training texts, word vectors if they use any, a small network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, TypedDict, Unpack, final

from oodometer.arrays import Ragged
from oodometer.errors import InputError
from oodometer.store import write_atomic

from ..artifacts import fingerprint
from ..base import Text
from ..embeddings import WordVectors
from ..tokens import Vocabulary, words
from ..torch.library import torch as load_torch
from ..torch.training import TrainingConfig
from .network import TextClassifier

_FILE = "vocabulary.json"


class _OfWords(TypedDict, total=False):
    """Arguments of `WordsNetwork`, which its subclasses hand on."""

    vectors: WordVectors | None
    dimensions: int
    vocab_size: int
    max_length: int | None
    training: TrainingConfig | None
    device: str | None


class WordsNetwork(TextClassifier):
    """A network over words, with fixed ``vectors`` or drawn ones that it learns; a text too long loses its middle."""

    arguments: ClassVar[tuple[str, ...]] = ("dimensions", "vocab_size", "max_length")
    vocabulary: Vocabulary  # of the training texts; there is none before `fit`

    def __init__(
        self,
        *,
        vectors: WordVectors | None = None,
        dimensions: int = 100,
        vocab_size: int = 30_000,
        max_length: int | None = 400,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(training=training, device=device)
        self.vectors = vectors
        self.dimensions = dimensions if vectors is None else vectors.dimensions
        self.vocab_size, self.max_length = vocab_size, max_length
        self._fixed = vectors is not None

    def _embedding(self) -> Any:
        """The layer number -> vector; padding has the vector 0."""
        torch = load_torch()
        layer = torch.nn.Embedding(len(self.vocabulary), self.dimensions, padding_idx=0)
        if self.vectors is not None:
            rows = self.vocabulary.rows_of(self.vectors.words, self.vectors.matrix)
            layer.weight.data.copy_(torch.from_numpy(rows))
        layer.weight.requires_grad_(not self._fixed)
        return layer

    def _learn(self, inputs: Sequence[Text]) -> None:
        self._fixed = self.vectors is not None
        split = [words(text) for text in inputs]
        self.vocabulary = Vocabulary.learn(split, most=self.vocab_size, least_count=2)
        if not self.vocabulary.words:
            raise InputError(
                "texts with words that occur twice",
                got="none",
                remedy="give more texts",
                column="text",
            )

    def _ids(self, texts: Sequence[Text]) -> Ragged:
        return self.vocabulary.encode([words(text) for text in texts], max_length=self.max_length)

    def _write_encoding(self, folder: Path) -> None:
        about = {"words": self.vocabulary.words, "fixed": self._fixed}
        write_atomic(folder / _FILE, json.dumps(about, ensure_ascii=False))

    def _read_encoding(self, folder: Path) -> None:
        about = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        self.vocabulary, self._fixed = Vocabulary(about["words"]), bool(about["fixed"])

    def _start(self) -> str:
        return "" if self.vectors is None else fingerprint({}, self.vectors.matrix)


@final
class BagOfWords(WordsNetwork):
    """Logits z_k = b_k + sum over words w of the text of W[w, k]; shape (sample, class).

    vocab_size : size of the vocabulary, taken from the training texts.
    max_length : words of a text that are read; None reads all.
    training, device : how and where to train.

    Source: Harris (1954).

    >>> from oodometer_lab.models import BagOfWords
    >>> BagOfWords(vocab_size=10).options()["vocab_size"]
    10
    """

    kind, arguments = "bag-of-words", ("vocab_size", "max_length")

    def __init__(
        self,
        *,
        vocab_size: int = 30_000,
        max_length: int | None = None,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(
            vocab_size=vocab_size, max_length=max_length, training=training, device=device
        )

    def _build(self) -> Any:
        nn = load_torch().nn
        weights = nn.Embedding(len(self.vocabulary), len(self.classes), padding_idx=0)
        nn.init.zeros_(weights.weight)
        bias = nn.Parameter(load_torch().zeros(len(self.classes)))
        return nn.ModuleDict({"weights": weights, "bias": nn.ParameterList([bias])})

    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        return net["weights"](ids).sum(1) + net["bias"][0]


@final
class Convolution(WordsNetwork):
    """Logits of max over positions of relu(filter * vectors), for filters of several widths; shape (sample, class).

    widths : words that a filter sees.
    filters : filters of each width.
    dropout : share of the pooled answers that training leaves out.
    vectors, dimensions, vocab_size, max_length, training, device : as in `WordsNetwork`.

    Source: Kim (2014).

    >>> from oodometer_lab.models import Convolution
    >>> Convolution(widths=(2, 3)).least_width
    3
    """

    kind = "convolution"
    arguments = (*WordsNetwork.arguments, "widths", "filters", "dropout")

    def __init__(
        self,
        *,
        widths: Sequence[int] = (3, 4, 5),
        filters: int = 100,
        dropout: float = 0.5,
        **words: Unpack[_OfWords],
    ) -> None:
        super().__init__(**words)
        self.widths, self.filters, self.dropout = list(widths), filters, dropout
        self.least_width = max(self.widths)  # a shorter text is padded until the widest filter fits

    def _build(self) -> Any:
        nn = load_torch().nn
        layers = [nn.Conv1d(self.dimensions, self.filters, width) for width in self.widths]
        parts = {
            "embedding": self._embedding(),
            "filters": nn.ModuleList(layers),
            "dropout": nn.Dropout(self.dropout),
        }
        return nn.ModuleDict(
            {**parts, "linear": nn.Linear(self.filters * len(self.widths), len(self.classes))}
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
            valid = at <= (lengths - width).clamp(min=0)
            pooled.append((answers * valid[:, None, :]).amax(2))  # relu: 0 is the least there is
        return net["linear"](net["dropout"](torch.cat(pooled, 1)))


@final
class EmbeddingSum(WordsNetwork):
    """Logits z = W (sum over words w of v_w) + b, shape (sample, class).

    Source: Mishra et al. (2022); the vectors are those of Mikolov et al. (2013) or Pennington et al. (2014).

    >>> from oodometer_lab.models import EmbeddingSum
    >>> EmbeddingSum(dimensions=8).options()["dimensions"]
    8
    """

    kind = "embedding-sum"

    def __init__(self, **words: Unpack[_OfWords]) -> None:
        words.setdefault("max_length", None)
        super().__init__(**words)

    def _build(self) -> Any:
        nn = load_torch().nn
        embedding = self._embedding()
        return nn.ModuleDict(
            {"embedding": embedding, "linear": nn.Linear(self.dimensions, len(self.classes))}
        )

    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        summed = load_torch().nn.functional.embedding_bag(
            ids, net["embedding"].weight, mode="sum", padding_idx=0
        )
        return net["linear"](summed)


@final
class Recurrent(WordsNetwork):
    """Logits z = W h + b of the state h of a long short-term memory after the last word; shape (sample, class).

    units : length of the state.
    dropout : share of the state that training leaves out.
    vectors, dimensions, vocab_size, max_length, training, device : as in `WordsNetwork`.

    Source: Hochreiter and Schmidhuber (1997).

    >>> from oodometer_lab.models import Recurrent
    >>> Recurrent(units=64).units
    64
    """

    kind = "recurrent"
    arguments = (*WordsNetwork.arguments, "units", "dropout")

    def __init__(
        self, *, units: int = 128, dropout: float = 0.2, **words: Unpack[_OfWords]
    ) -> None:
        super().__init__(**words)
        self.units, self.dropout = units, dropout

    def _build(self) -> Any:
        nn = load_torch().nn
        states = {
            "embedding": self._embedding(),
            "lstm": nn.LSTM(self.dimensions, self.units, batch_first=True),
        }
        head = {
            "dropout": nn.Dropout(self.dropout),
            "linear": nn.Linear(self.units, len(self.classes)),
        }
        return nn.ModuleDict({**states, **head})

    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        torch = load_torch()
        # Padding stands at the end and the states before it do not see it, so no packing is needed.
        states, _ = net["lstm"](net["embedding"](ids))
        last = states[torch.arange(len(ids), device=ids.device), real.sum(1).clamp(min=1) - 1]
        return net["linear"](net["dropout"](last))
