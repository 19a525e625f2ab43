"""word2vec: vectors that predict the neighbours of a word (skip-gram with negative sampling), by gensim."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError, MissingExtraError
from ...store.artifact_cache import made_anew
from ..artifacts import fingerprint
from ..base import Progress
from ..torch.checkpoint import read_tensors, write_tensors
from ..torch.library import torch as load_torch
from .base import WordVectors

_FILE = "checkpoint.safetensors"


@dataclass(frozen=True)
class Word2VecOptions:
    """How vectors are trained by `train_word2vec`; words that occur fewer than ``least_count`` times are left out."""

    dimensions: int = 100
    window: int = 5
    negative: int = 5
    epochs: int = 5
    least_count: int = 5
    vocab_size: int | None = 30_000
    seed: int = 0
    threads: int = 1


def train_word2vec(
    texts: Sequence[Sequence[str]],
    *,
    options: Word2VecOptions | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **more: Any,
) -> WordVectors:
    """Train vectors on texts that are split into words.

    Maximises log s(v_c . u_w) + sum over ``negative`` random words n of log s(-v_n . u_w) over pairs of a word w and
    a neighbour c within ``window``; s is the logistic function. With one thread the same seed gives the same vectors,
    also where the training was interrupted and goes on from ``checkpoint``, a folder that is written after each pass.
    ``progress`` is called with (passes done, passes in all). Fields of ``options`` may also be given by name:
    ``train_word2vec(texts, dimensions=50)``.

    Raises `InputError` where no word occurs ``least_count`` times, `MissingExtraError` without gensim (extra `text`).

    Source: Mikolov et al. (2013).
    """
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise MissingExtraError("training word2vec", "gensim", extra="text") from error
    how = replace(options or Word2VecOptions(), **more)
    settings = {
        "vector_size": how.dimensions,
        "window": how.window,
        "negative": how.negative,
        "sg": 1,
        "min_count": how.least_count,
        "max_final_vocab": how.vocab_size,
        "seed": how.seed + 1,
        "workers": how.threads,
        "sample": 1e-4,
    }
    model: Any = Word2Vec(**settings)
    folder = None if checkpoint is None else Path(checkpoint)
    try:
        model.build_vocab(texts)
        name = "" if folder is None else _fingerprint(texts, {**settings, "epochs": how.epochs})
        done = 0 if folder is None else _restore(folder, model, name)
        # The rate falls evenly over all passes, so the passes that are left begin where the others ended.
        rate = model.alpha - (model.alpha - model.min_alpha) * done / how.epochs
        if done < how.epochs:
            watch = _Watch(folder, name, done, how.epochs, progress)
            model.train(
                texts, total_examples=model.corpus_count, epochs=how.epochs - done, start_alpha=rate, callbacks=[watch]
            )
    except RuntimeError as error:
        raise InputError(
            f"words that occur {how.least_count} times", got="none", remedy="give more texts", column="text"
        ) from error
    return WordVectors(tuple(model.wv.index_to_key), np.asarray(model.wv.vectors, dtype=np.float32))


class _Watch:
    """What gensim calls as it trains: writes a checkpoint and tells the progress after each pass."""

    def __init__(self, folder: Path | None, name: str, done: int, total: int, progress: Progress | None) -> None:
        self.folder, self.name, self.done, self.total, self.progress = folder, name, done, total, progress

    def on_train_begin(self, model: Any) -> None:
        """Nothing is done."""

    def on_epoch_begin(self, model: Any) -> None:
        """Nothing is done."""

    def on_epoch_end(self, model: Any) -> None:
        """Keep the state behind a pass."""
        self.done += 1
        if self.folder is not None:
            _store(self.folder, model, self.name, self.done)
        if self.progress is not None:
            self.progress(self.done, self.total)

    def on_train_end(self, model: Any) -> None:
        """Nothing is done."""


def _fingerprint(texts: Sequence[Sequence[str]], settings: dict[str, Any]) -> str:
    content = "\n".join(" ".join(text) for text in texts).encode()
    return fingerprint(settings, np.frombuffer(content, dtype=np.uint8))


def _store(folder: Path, model: Any, name: str, done: int) -> None:
    """Both matrices and the state of the random numbers; gensim's own way to save would be a pickle."""
    torch = load_torch()
    _, keys, place, _, _ = model.random.get_state()
    tensors = {
        "vectors": torch.from_numpy(model.wv.vectors),
        "negative": torch.from_numpy(model.syn1neg),
        "random": torch.from_numpy(keys.astype(np.int64)),
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / _FILE, tensors, {"fingerprint": name, "epochs": str(done), "place": str(place)})


def _restore(folder: Path, model: Any, name: str) -> int:
    """Load the state if there is one of this very training; returns the passes done, 0 where there is none."""
    try:
        tensors, about = read_tensors(folder / _FILE)
    except OSError:
        return 0
    except InputError as error:  # an unreadable checkpoint is none: the training starts again
        made_anew(folder / _FILE, f"expected {error.expected}, got {error.got}")
        return 0
    if about.get("fingerprint") != name:
        return 0
    model.wv.vectors[:] = tensors["vectors"].numpy()
    model.syn1neg[:] = tensors["negative"].numpy()
    model.random.set_state(("MT19937", tensors["random"].numpy().astype(np.uint32), int(about["place"])))
    return int(about["epochs"])
