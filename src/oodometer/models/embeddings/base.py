"""Word vectors as a record: words and a matrix, saved as safetensors."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import final

from ...arrays import Array
from ...errors import InputError
from ..torch.checkpoint import read_tensors, write_tensors
from ..torch.library import torch as load_torch


@final
@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors, float32, shape (word, dimension).

    >>> import numpy as np
    >>> WordVectors(("a", "b"), np.eye(2, 3, dtype=np.float32)).dimensions
    3
    """

    words: tuple[str, ...]
    matrix: Array

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.words) != len(self.matrix):
            raise InputError(
                "one vector a word",
                got=f"{len(self.words)} words and shape {self.matrix.shape}",
                remedy="give a matrix (word, dimension)",
            )

    @property
    def dimensions(self) -> int:
        """Length of the vectors."""
        return int(self.matrix.shape[1])

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write to one safetensors file."""
        matrix = load_torch().from_numpy(self.matrix)
        return write_tensors(Path(path), {"matrix": matrix}, {"words": json.dumps(self.words, ensure_ascii=False)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> WordVectors:
        """Read what `save` wrote; `InputError` for another file."""
        tensors, about = read_tensors(path)
        if "matrix" not in tensors or "words" not in about:
            raise InputError(
                "word vectors saved by oodometer", got="another file", remedy="train them again", file=str(path)
            )
        return cls(tuple(json.loads(about["words"])), tensors["matrix"].numpy())
