"""GloVe: vectors whose products approach the logarithm of how often two words stand near each other."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from ...arrays import Array, Ragged
from ...errors import InputError
from ..artifacts import fingerprint
from ..base import Progress
from ..tokens import Vocabulary
from ..torch.library import torch as load_torch
from ..torch.training import Hooks, TrainingConfig, train
from .base import WordVectors

BATCH = 32_768  # pairs a step


def cooccurrences(sequences: Ragged, words: int, window: int) -> tuple[Array, Array, Array]:
    """X_ij = sum of 1/distance over the places where words i and j stand within ``window``; as (i, j, X), i <= j.

    Numbers below 2 (padding, unknown words) are left out. Symmetric, so only i <= j is given.

    >>> from oodometer.models.torch.batches import ragged
    >>> i, j, x = cooccurrences(ragged([[2, 3, 2]]), 4, window=2)
    >>> list(zip(i.tolist(), j.tolist(), x.tolist()))
    [(2, 2, 0.5), (2, 3, 2.0)]
    """
    from scipy.sparse import coo_array, csr_array

    text = np.repeat(np.arange(len(sequences.offsets) - 1), np.diff(sequences.offsets))
    ids = sequences.values.astype(np.int64)
    total: Any = csr_array((words, words), dtype=np.float64)
    for distance in range(1, window + 1):
        left, right = ids[:-distance], ids[distance:]
        near = (text[:-distance] == text[distance:]) & (left > 1) & (right > 1)
        low, high = np.minimum(left, right)[near], np.maximum(left, right)[near]
        total = total + coo_array((np.full(len(low), 1 / distance), (low, high)), shape=(words, words)).tocsr()
    found = total.tocoo()
    return found.row.astype(np.int64), found.col.astype(np.int64), found.data


@dataclass(frozen=True)
class GloveOptions:
    """How vectors are trained by `train_glove`; words that occur fewer than ``least_count`` times are left out."""

    dimensions: int = 100
    window: int = 8
    epochs: int = 6
    learning_rate: float = 0.04
    least_count: int = 5
    vocab_size: int = 30_000
    x_max: float = 10.0
    alpha: float = 0.75
    seed: int = 0


def train_glove(
    texts: Sequence[Sequence[str]],
    *,
    options: GloveOptions | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **more: Any,
) -> WordVectors:
    """Train vectors on texts that are split into words.

    Minimises sum over pairs of f(X_ij) (u_i . v_j + b_i + c_j - log X_ij)^2 with f(X) = min(1, (X/x_max)^alpha); the
    answer is u + v. X counts pairs within ``window`` by 1/distance, in both directions. Two things differ from the
    paper, for texts of some million words rather than billions: ``x_max`` is 10 rather than 100, and Adam with a
    falling rate takes the place of AdaGrad, which had learnt little after as many passes.

    Fields of ``options`` may also be given by name: ``train_glove(texts, dimensions=50)``.

    The folder ``checkpoint`` is written after each pass; interrupted, the same call goes on from there to the same
    vectors. ``progress`` is called with (steps done, steps in all).

    Raises `InputError` where no two words stand near each other.

    Source: Pennington et al. (2014).
    """
    how = replace(options or GloveOptions(), **more)
    vocabulary = Vocabulary.learn(texts, most=how.vocab_size, least_count=how.least_count)
    i, j, x = cooccurrences(vocabulary.encode(texts), len(vocabulary), how.window)
    if not len(x):
        raise InputError(
            f"words that occur {how.least_count} times near each other",
            got="none",
            remedy="give more texts",
            column="text",
        )
    training = TrainingConfig(
        epochs=how.epochs, batch_size=BATCH, learning_rate=how.learning_rate, clip=None, seed=how.seed, epsilon=1e-12
    )
    found = fit_factors(
        (i, j, x),
        len(vocabulary),
        dimensions=how.dimensions,
        training=training,
        x_max=how.x_max,
        alpha=how.alpha,
        checkpoint=checkpoint,
        progress=progress,
    )
    matrix = (found[0] + found[1])[2:, :-1]
    return WordVectors(vocabulary.words, np.ascontiguousarray(matrix, dtype=np.float32))


def fit_factors(
    pairs: tuple[Array, Array, Array],
    words: int,
    *,
    dimensions: int,
    training: TrainingConfig,
    x_max: float = 10.0,
    alpha: float = 0.75,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> tuple[Array, Array]:
    """The two factors of `train_glove`, each of shape (word, dimension + 1) with the bias in the last column.

    ``pairs`` is what `cooccurrences` gives.
    """
    torch = load_torch()
    i, j, x = pairs
    rng = torch.Generator().manual_seed(training.seed)
    shape = (words, dimensions + 1)  # the last column is the bias
    u, v = (torch.nn.Parameter((torch.rand(shape, generator=rng) - 0.5) / dimensions) for _ in range(2))
    row, column = torch.from_numpy(i), torch.from_numpy(j)
    logs = torch.from_numpy(np.log(x)).float()
    weights = torch.from_numpy(np.minimum(1.0, (x / x_max) ** alpha)).float()

    def loss(batch: Array) -> Any:
        swap = torch.from_numpy(batch >= len(x))
        at = torch.from_numpy(batch % len(x))
        one, other = torch.where(swap, column[at], row[at]), torch.where(swap, row[at], column[at])
        centre, near = u[one], v[other]
        error = (centre[:, :-1] * near[:, :-1]).sum(1) + centre[:, -1] + near[:, -1] - logs[at]
        return (weights[at] * error.square()).sum()

    settings = {"kind": "glove", "words": words, "dimensions": dimensions, "x_max": x_max, "alpha": alpha}
    train(
        torch.nn.ParameterDict({"u": u, "v": v}),
        loss,
        _Shuffled(len(x), training.batch_size, rng),
        training,
        name=fingerprint(settings, i, j, x),
        checkpoint=None if checkpoint is None else Path(checkpoint),
        hooks=Hooks(progress, keep_epochs=True),
    )
    return u.detach().numpy(), v.detach().numpy()


@final
class _Shuffled:
    """All pairs once an epoch, in a new order; a swapped one is its position + the number of pairs."""

    def __init__(self, pairs: int, size: int, rng: Any) -> None:
        self.pairs, self.size, self.rng = pairs, size, rng
        self.begins = [rng.get_state()]  # of the random numbers, at the beginning of each epoch that is known

    def of_epoch(self, epoch: int) -> list[Array]:
        """Replayed from the beginning of the epoch, or of the last before it that is known."""
        found: list[Array] = []
        for one in range(min(epoch, len(self.begins) - 1), epoch + 1):
            found = self._drawn(one)
        return found

    def steps(self, epochs: int) -> list[int]:
        """As many in each."""
        return [-(-self.pairs // self.size)] * epochs

    def _drawn(self, epoch: int) -> list[Array]:
        torch = load_torch()
        self.rng.set_state(self.begins[epoch])
        order = torch.randperm(self.pairs, generator=self.rng)
        found = [
            (at + self.pairs * (torch.rand(len(at), generator=self.rng) < 0.5)).numpy() for at in order.split(self.size)
        ]
        if epoch + 1 == len(self.begins):
            self.begins.append(self.rng.get_state())
        return found
