"""word2vec: vectors that predict the neighbours of a word (skip-gram with negative sampling), by gensim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError, MissingExtraError
from .base import WordVectors

__all__ = ["train_word2vec"]


def train_word2vec(
    texts: Sequence[Sequence[str]],
    *,
    dimensions: int = 100,
    window: int = 5,
    negative: int = 5,
    epochs: int = 5,
    least_count: int = 5,
    most_words: int | None = 30_000,
    seed: int = 0,
    threads: int = 1,
) -> WordVectors:
    """Train vectors on texts that are split into words.

    Maximises log s(v_c . u_w) + sum over ``negative`` random words n of log s(-v_n . u_w) over pairs of a word w and
    a neighbour c within ``window``; s is the logistic function. With one thread the same seed gives the same vectors.

    Raises `InputError` where no word occurs ``least_count`` times, `MissingExtraError` without gensim (extra `text`).

    Source: Mikolov et al. (2013).
    """
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise MissingExtraError("training word2vec", "gensim", extra="text") from error
    model: Any = Word2Vec(
        vector_size=dimensions, window=window, negative=negative, sg=1, min_count=least_count,
        max_final_vocab=most_words, seed=seed + 1, workers=threads, sample=1e-4,
    )  # fmt: skip
    try:
        model.build_vocab(texts)
        model.train(texts, total_examples=model.corpus_count, epochs=epochs)
    except RuntimeError as error:
        raise InputError(
            f"words that occur {least_count} times", got="none", remedy="give more texts", column="text"
        ) from error
    return WordVectors(tuple(model.wv.index_to_key), np.asarray(model.wv.vectors, dtype=np.float32))
