"""Run config: how many texts, which sizes of word vectors; the only numbers that a test makes smaller."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, final


@final
@dataclass(frozen=True)
class RunConfig:
    """How large a run is.

    train_rows, test_rows : IMDb texts (None for all), as many of each class. encoder_rows : training texts of the
    encoders that start from MiniLM. dimensions : of the word vectors that are trained here. word2vec_epochs,
    glove_epochs, scratch_epochs : passes. trained_vectors : whether word vectors are trained here or downloaded.
    """

    train_rows: int | None = None
    test_rows: int | None = 5_000
    encoder_rows: int | None = 3_000
    dimensions: int = 100
    word2vec_epochs: int = 3
    glove_epochs: int = 6
    scratch_epochs: int = 2
    trained_vectors: bool = True
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return asdict(self)


RUN_CONFIGS = {
    "small": RunConfig(),
    "paper": RunConfig(test_rows=None, encoder_rows=None, dimensions=300, trained_vectors=False),
}
