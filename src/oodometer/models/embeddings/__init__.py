"""Word vectors: trained here (word2vec, GloVe) or read from a file or a hub."""

from __future__ import annotations

from .base import WordVectors
from .files import read_vectors
from .glove import train_glove
from .word2vec import train_word2vec

__all__ = ["WordVectors", "read_vectors", "train_glove", "train_word2vec"]
