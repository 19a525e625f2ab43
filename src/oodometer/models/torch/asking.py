"""Asking: one loop over batches for every network, its answers in the order of the samples; features, dropout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import UsageError, WorkError
from ..base import Progress
from .library import torch as load_torch

__all__ = ["in_batches", "last_linear", "only_dropout", "reading"]


def in_batches(
    batches: Sequence[Array],
    rows: int,
    one: Callable[[Array], tuple[Any, ...]],
    progress: Progress | None = None,
) -> tuple[Array, ...]:
    """Ask batch after batch, without gradients; what comes back is put where its samples stand.

    Parameters
    ----------
    batches :
        Positions of samples; all together hold each of ``rows`` once.
    rows :
        Number of samples.
    one :
        Gives tensors or arrays for the samples at some positions, the sample axis first, the same number each time.
    progress :
        Called with (samples done, samples).

    Raises `WorkError` where the device has not enough memory for one batch.
    """
    torch = load_torch()
    out: list[Array] = []
    done = 0
    with torch.inference_mode():
        for batch in batches:
            try:
                found = [_plain(value) for value in one(batch)]
            except torch.OutOfMemoryError as error:
                raise WorkError(
                    f"the device has not enough memory for {len(batch)} samples at once; ask for smaller batches"
                ) from error
            if not out:
                out = [np.empty((rows, *value.shape[1:]), dtype=value.dtype) for value in found]
            for whole, value in zip(out, found, strict=True):
                whole[batch] = value
            done += len(batch)
            if progress is not None:
                progress(done, rows)
    return tuple(out)


def _plain(value: Any) -> Array:
    if isinstance(value, np.ndarray):
        return value
    if value.is_floating_point():
        value = value.float()
    array: Array = value.cpu().numpy()
    return array


def last_linear(net: Any) -> Any:
    """The last linear layer of a network; `UsageError` where it has none."""
    torch = load_torch()
    found = [one for one in net.modules() if isinstance(one, torch.nn.Linear)]
    if not found:
        raise UsageError("this model has no linear layer whose inputs could be its features; leave features out")
    return found[-1]


@contextmanager
def reading(net: Any, wanted: bool) -> Iterator[Callable[[], Any]]:
    """Inside, what the last linear layer of a network read in its last call can be had; None where not wanted.

    Raises `UsageError` for a layer that reads more than one vector a sample.
    """
    if not wanted:
        yield lambda: None
        return
    seen: list[Any] = []
    hook = last_linear(net).register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))

    def had() -> Any:
        found = seen.pop()
        seen.clear()
        if found.ndim != 2:
            raise UsageError("the last linear layer of this model reads several vectors a sample; leave features out")
        return found

    try:
        yield had
    finally:
        hook.remove()


@contextmanager
def only_dropout(net: Any) -> Iterator[None]:
    """Inside, the dropout layers of a network are in training mode and nothing else is.

    Raises `UsageError` where it has no dropout, or one that never leaves anything out: all passes would be one.
    """
    torch = load_torch()
    kinds = (
        torch.nn.Dropout,
        torch.nn.Dropout1d,
        torch.nn.Dropout2d,
        torch.nn.Dropout3d,
        torch.nn.AlphaDropout,
    )
    layers = [one for one in net.modules() if isinstance(one, kinds) and one.p > 0]
    if not layers:
        raise UsageError("this model has no dropout: every pass would say the same; leave dropout out")
    net.eval()
    for one in layers:
        one.train()
    try:
        yield
    finally:
        net.eval()
