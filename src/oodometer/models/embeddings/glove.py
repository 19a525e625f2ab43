"""GloVe: vectors whose products approach the logarithm of how often two words stand near each other."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array, Ragged
from ...errors import InputError
from ..artifacts import fingerprint
from ..base import Progress
from ..tokens import Vocabulary
from ..torch import checkpoint as checkpoints
from ..torch.library import torch as load_torch
from .base import WordVectors

__all__ = ["cooccurrences", "fit_factors", "train_glove"]

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
        total = (
            total + coo_array((np.full(len(low), 1 / distance), (low, high)), shape=(words, words)).tocsr()
        )
    found = total.tocoo()
    return found.row.astype(np.int64), found.col.astype(np.int64), found.data


def train_glove(
    texts: Sequence[Sequence[str]],
    *,
    dimensions: int = 100,
    window: int = 8,
    epochs: int = 6,
    learning_rate: float = 0.04,
    least_count: int = 5,
    vocab_size: int = 30_000,
    x_max: float = 10.0,
    alpha: float = 0.75,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> WordVectors:
    """Train vectors on texts that are split into words.

    Minimises sum over pairs of f(X_ij) (u_i . v_j + b_i + c_j - log X_ij)^2 with f(X) = min(1, (X/x_max)^alpha); the
    answer is u + v. X counts pairs within ``window`` by 1/distance, in both directions. Two things differ from the
    paper, for texts of some million words rather than billions: ``x_max`` is 10 rather than 100, and Adam with a
    falling rate takes the place of AdaGrad, which had learnt little after as many passes.

    The folder ``checkpoint`` is written after each pass; interrupted, the same call goes on from there to the same
    vectors. ``progress`` is called with (steps done, steps in all).

    Raises `InputError` where no two words stand near each other.

    Source: Pennington et al. (2014).
    """
    vocabulary = Vocabulary.learn(texts, most=vocab_size, least_count=least_count)
    i, j, x = cooccurrences(vocabulary.encode(texts), len(vocabulary), window)
    if not len(x):
        raise InputError(
            f"words that occur {least_count} times near each other",
            got="none",
            remedy="give more texts",
            column="text",
        )
    found = fit_factors(
        i,
        j,
        x,
        len(vocabulary),
        dimensions=dimensions,
        epochs=epochs,
        learning_rate=learning_rate,
        x_max=x_max,
        alpha=alpha,
        seed=seed,
        checkpoint=checkpoint,
        progress=progress,
    )
    matrix = (found[0] + found[1])[2:, :-1]
    return WordVectors(vocabulary.words, np.ascontiguousarray(matrix, dtype=np.float32))


def fit_factors(
    i: Array,
    j: Array,
    x: Array,
    words: int,
    *,
    dimensions: int,
    epochs: int,
    learning_rate: float,
    x_max: float = 10.0,
    alpha: float = 0.75,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> tuple[Array, Array]:
    """The two factors of `train_glove`, each of shape (word, dimension + 1) with the bias in the last column."""
    torch = load_torch()
    rng = torch.Generator().manual_seed(seed)
    shape = (words, dimensions + 1)  # the last column is the bias
    u, v = (torch.nn.Parameter((torch.rand(shape, generator=rng) - 0.5) / dimensions) for _ in range(2))
    optimizer = torch.optim.Adam([u, v], lr=learning_rate, eps=1e-12)
    row, column = torch.from_numpy(i), torch.from_numpy(j)
    logs = torch.from_numpy(np.log(x)).float()
    weights = torch.from_numpy(np.minimum(1.0, (x / x_max) ** alpha)).float()
    steps = -(-len(x) // BATCH)
    net, folder, done, mark = torch.nn.ParameterDict({"u": u, "v": v}), None, 0, ""
    if checkpoint is not None:
        folder = Path(checkpoint)
        settings = {
            "words": words,
            "dimensions": dimensions,
            "epochs": epochs,
            "rate": learning_rate,
            "x_max": x_max,
        }
        mark = fingerprint({**settings, "alpha": alpha, "seed": seed}, i, j, x)
        done = checkpoints.restore(folder, net, optimizer, fingerprint=mark)
    for epoch in range(epochs):
        order = torch.randperm(len(x), generator=rng)
        for step in range(steps):
            at = order[step * BATCH : (step + 1) * BATCH]
            # X is symmetric and each pair is kept once: a coin says which of the two words is the centre.
            swap = torch.rand(len(at), generator=rng) < 0.5
            if epoch * steps + step < done:
                continue  # behind a checkpoint only the random numbers are drawn again
            one, other = torch.where(swap, column[at], row[at]), torch.where(swap, row[at], column[at])
            centre, near = u[one], v[other]
            error = (centre[:, :-1] * near[:, :-1]).sum(1) + centre[:, -1] + near[:, -1] - logs[at]
            optimizer.param_groups[0]["lr"] = learning_rate * (1 - (epoch * steps + step) / (epochs * steps))
            optimizer.zero_grad()
            (weights[at] * error.square()).sum().backward()
            optimizer.step()
            if progress is not None:
                progress(epoch * steps + step + 1, epochs * steps)
        if folder is not None and done < (epoch + 1) * steps:
            checkpoints.store(folder, net, optimizer, fingerprint=mark, step=(epoch + 1) * steps)
    return u.detach().numpy(), v.detach().numpy()
