"""What the classifiers over words share: a vocabulary of the training texts, and word vectors if they use any."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...arrays import Ragged
from ...errors import InputError
from ...store import write_atomic
from ..artifacts import fingerprint
from ..base import Text
from ..embeddings.base import WordVectors
from ..tokens import Vocabulary, words
from ..torch.library import torch as load_torch
from ..torch.training import TrainingConfig
from .network import TextClassifier

_FILE = "vocabulary.json"


class WordsNetwork(TextClassifier):
    """A network over words.

    Parameters
    ----------
    vectors : word vectors to start from; None draws them at random and trains them.
    dimensions : length of the vectors where they are drawn at random.
    tune_vectors : whether training changes the vectors (always where they are drawn at random).
    vocab_size : size of the vocabulary.
    max_length : words of a text that are read; a longer one loses its middle.
    training, device : how and where to train.
    """

    def __init__(
        self,
        *,
        vectors: WordVectors | None = None,
        dimensions: int = 100,
        tune_vectors: bool = False,
        vocab_size: int = 30_000,
        max_length: int | None = 400,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(training=training, device=device)
        self.vectors = vectors
        self.dimensions = dimensions if vectors is None else vectors.dimensions
        self.tune_vectors, self.vocab_size, self.max_length = tune_vectors, vocab_size, max_length
        self._fixed = vectors is not None and not tune_vectors
        self.vocabulary: Vocabulary | None = None

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor, the vectors left out: the weights hold them."""
        return {
            "dimensions": self.dimensions,
            "tune_vectors": self.tune_vectors,
            "vocab_size": self.vocab_size,
            "max_length": self.max_length,
        }

    def _embedding(self) -> Any:
        """The layer number -> vector; padding has the vector 0."""
        torch = load_torch()
        assert self.vocabulary is not None
        layer = torch.nn.Embedding(len(self.vocabulary), self.dimensions, padding_idx=0)
        if self.vectors is not None:
            rows = self.vocabulary.rows_of(self.vectors.words, self.vectors.matrix)
            layer.weight.data.copy_(torch.from_numpy(rows))
        layer.weight.requires_grad_(not self._fixed)
        return layer

    def _learn(self, inputs: Sequence[Text]) -> None:
        self._fixed = self.vectors is not None and not self.tune_vectors
        split = [words(text) for text in inputs]
        self.vocabulary = Vocabulary.learn(split, most=self.vocab_size, least_count=2)
        if not self.vocabulary.words:
            raise InputError("texts with words that occur twice", got="none", remedy="give more texts", column="text")

    def _ids(self, texts: Sequence[Text]) -> Ragged:
        assert self.vocabulary is not None
        return self.vocabulary.encode([words(text) for text in texts], max_length=self.max_length)

    def _write_encoding(self, folder: Path) -> None:
        assert self.vocabulary is not None
        about = {"words": self.vocabulary.words, "fixed": self._fixed}
        write_atomic(folder / _FILE, json.dumps(about, ensure_ascii=False))

    def _read_encoding(self, folder: Path) -> None:
        about = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        self.vocabulary, self._fixed = Vocabulary(about["words"]), bool(about["fixed"])

    def _start(self) -> str:
        """A name of the vectors for the fingerprint of a training."""
        return "" if self.vectors is None else fingerprint({}, self.vectors.matrix)
