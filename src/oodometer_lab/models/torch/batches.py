"""Batches of sequences of like length, and one loop that asks a network batch by batch; features, dropout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from oodometer.arrays import Array, Ragged
from oodometer.errors import UsageError, WorkError

from ..base import Progress
from .library import choose_device, seed_draws
from .library import torch as load_torch

POOL = 50  # batches that are sorted by length together: more pads less and shuffles less


def ragged(rows: Sequence[Sequence[int]]) -> Ragged:
    """Lists of token ids as one `Ragged` of int32."""
    lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    flat = np.fromiter(
        (number for row in rows for number in row), dtype=np.int32, count=int(offsets[-1])
    )
    return Ragged(flat, offsets)


def length_batches(
    lengths: Array, size: int, seed: int, epoch: int, *, tokens: int | None = None
) -> list[Array]:
    """Positions of all sequences once, in batches of at most ``size``, or with ``tokens`` of at most so many padded
    tokens; same seed and epoch, same batches. Sequences are shuffled, sorted by length (the sum over parts) within
    pools of 50 batches, cut, and batches shuffled.
    """
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths))
    totals = lengths if lengths.ndim == 1 else lengths.sum(1)
    if tokens is not None:
        size = max(1, int(tokens // max(1.0, float(totals.mean()))))
    pool = np.arange(len(order)) // (size * POOL)
    order = order[np.lexsort((totals[order], pool))]
    if tokens is None:
        batches = [order[start : start + size] for start in range(0, len(order), size)]
    else:
        batches = token_batches(lengths, order, tokens)
    return [batches[i] for i in rng.permutation(len(batches))]


def token_batches(lengths: Array, order: Array, tokens: int) -> list[Array]:
    """The positions in ``order``, cut into batches of at most ``tokens`` padded tokens; a longer sequence stands alone.
    Of sequences of several parts, lengths of shape (sample, part), each part is padded by itself.
    """
    parts = (lengths[:, None] if lengths.ndim == 1 else lengths)[order]
    batches, start = [], 0
    while start < len(order):
        max_rows = max(1, tokens // max(1, int(parts[start].sum())))
        widest = np.maximum.accumulate(parts[start : start + max_rows], axis=0).sum(1)
        padded_tokens = widest * np.arange(1, len(widest) + 1)
        rows = max(1, int(np.searchsorted(padded_tokens, tokens, side="right")))
        batches.append(order[start : start + rows])
        start += rows
    return batches


def tokens_at_once(device: str | None) -> int:
    """Padded tokens of a batch that is asked: on a CPU its values are to stay in the caches, a GPU is to be filled."""
    return 2048 if choose_device(device) == "cpu" else 65_536


def sorted_batches(lengths: Array, size: int, tokens: int = 0) -> list[Array]:
    """Positions of all sequences once, longest first, so that memory that does not suffice is found at once; batches
    of at most ``size``, or with ``tokens`` of at most so many padded ones.
    """
    order = np.argsort(-lengths, kind="stable")
    if tokens:
        return token_batches(lengths, order, tokens)
    return [order[start : start + size] for start in range(0, len(order), size)]


def padded(sequences: Ragged, index: Array, fill: int, *, least: int = 1) -> tuple[Array, Array]:
    """The sequences at ``index`` as a matrix (sample, position) padded with ``fill``, and the mask of what is real."""
    starts = sequences.offsets[:-1][index]
    lengths = sequences.offsets[1:][index] - starts
    at = np.arange(max(least, int(lengths.max(initial=0))))
    real = at < lengths[:, None]
    where = np.where(real, starts[:, None] + at, 0)
    values = sequences.values if len(sequences.values) else np.full(1, fill, dtype=np.int32)
    return np.where(real, values[where], fill).astype(np.int64), real


class Asking:
    """Batch after batch without gradients; ``found``: what was taken, by sample. `WorkError` where memory runs out."""

    found: tuple[Array, ...] = ()
    """What was taken, in the order of the samples."""

    def __init__(
        self, batches: Sequence[Array], rows: int, progress: Progress | None = None
    ) -> None:
        self._batches, self._rows, self._progress = batches, rows, progress
        self._batch = np.arange(0)
        self._without_gradients = load_torch().inference_mode()

    def __enter__(self) -> Self:
        self._without_gradients.__enter__()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._without_gradients.__exit__(kind, error, trace)
        if isinstance(error, load_torch().OutOfMemoryError):
            raise WorkError(
                f"the device has not enough memory for {len(self._batch)} samples at once; ask for smaller batches"
            ) from error

    def __iter__(self) -> Iterator[Array]:
        done = 0
        for batch in self._batches:
            self._batch = batch
            yield batch
            done += len(batch)
            if self._progress is not None:
                self._progress(done, self._rows)

    def take(self, *values: Any) -> None:
        """Keep tensors or arrays of the batch in hand, the sample axis first; the same number each time."""
        plain: list[Array] = []
        for value in values:
            array = (
                value
                if isinstance(value, np.ndarray) or not value.is_floating_point()
                else value.float()
            )
            plain.append(array if isinstance(array, np.ndarray) else array.cpu().numpy())
        if not self.found:
            self.found = tuple(
                np.empty((self._rows, *part.shape[1:]), dtype=part.dtype) for part in plain
            )
        for destination, part in zip(self.found, plain, strict=True):
            destination[self._batch] = part


@contextmanager
def reading(net: Any, enabled: bool) -> Iterator[Callable[[], tuple[Any, ...]]]:
    """Inside, what a network's last linear layer read last, if ``enabled``; `UsageError` where that is no vector."""
    if not enabled:
        yield tuple
        return
    layers = [module for module in net.modules() if isinstance(module, load_torch().nn.Linear)]
    if not layers:
        raise UsageError(
            "this model has no linear layer whose inputs could be its features; leave features out"
        )
    seen: list[Any] = []
    hook = layers[-1].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))

    def had() -> tuple[Any]:
        read = seen.pop()
        seen.clear()
        if read.ndim != 2:
            raise UsageError(
                "the last linear layer of this model reads several vectors a sample; leave features out"
            )
        return (read,)

    try:
        yield had
    finally:
        hook.remove()


@contextmanager
def only_dropout(net: Any, seed: int) -> Iterator[Callable[[], tuple[Any, ...]]]:
    """Inside, only dropout layers, and attention that drops by itself, are in training mode; they draw by a seed."""
    torch = load_torch()
    kinds = (
        torch.nn.Dropout,
        torch.nn.Dropout1d,
        torch.nn.Dropout2d,
        torch.nn.Dropout3d,
        torch.nn.AlphaDropout,
    )
    layers = [module for module in net.modules() if isinstance(module, kinds) and module.p > 0]
    if not layers:
        raise UsageError(
            "this model has no dropout: every pass would say the same; leave dropout out"
        )
    net.eval()
    attention = []
    # an attention may read the rate of a dropout layer, or a number, and drop by itself
    for module in net.modules():
        rate = getattr(module, "dropout", None)
        rate = rate.p if isinstance(rate, kinds) else rate
        if "Attention" in type(module).__name__ and isinstance(rate, float) and rate > 0:
            attention.append(module)
    for module in layers:
        module.train()
    for module in attention:
        module.training = True
    try:
        with torch.random.fork_rng():
            seed_draws(seed)
            yield tuple
    finally:
        net.eval()
