"""Training: a loss minimised by AdamW over length-sorted batches, seeded by step, so that it can stop and go on."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import UsageError
from ..base import Progress
from . import checkpoint as checkpoints
from .batches import length_batches
from .library import torch as load_torch

__all__ = ["Plan", "fingerprint", "train"]


@dataclass(frozen=True)
class Plan:
    """How a network is trained.

    Parameters
    ----------
    epochs : passes over the data.
    batch_size : sequences a step; not read where ``batch_tokens`` is given.
    batch_tokens : padded tokens a step at most, all that a sample has (an input and its output) counted; a sample that
        is longer makes a step of its own. None: batches by ``batch_size``.
    learning_rate : the largest; it rises linearly over the share ``warmup`` of the steps, then falls linearly to 0.
    weight_decay : of AdamW. Source: Loshchilov and Hutter (2019).
    warmup : share of the steps, in [0, 1).
    clip : largest norm of the gradient.
    seed : of the order of batches and of dropout.
    checkpoint_seconds : time between two checkpoints.

    >>> Plan(epochs=0)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected at least 1 epoch, 1 sequence a batch and a positive learning rate, got ...
    """

    epochs: int = 3
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    warmup: float = 0.0
    clip: float = 1.0
    seed: int = 0
    checkpoint_seconds: float = 60.0
    batch_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch_size < 1 or not self.learning_rate > 0 or not 0 <= self.warmup < 1:
            raise UsageError(
                "expected at least 1 epoch, 1 sequence a batch and a positive learning rate, got "
                f"{self.epochs}, {self.batch_size} and {self.learning_rate}"
            )
        if self.batch_tokens is not None and self.batch_tokens < 1:
            raise UsageError(f"expected at least 1 token a batch, got {self.batch_tokens}")

    def named(self, name: str) -> str:
        """`fingerprint` of a training with this plan, for the data and settings called ``name``."""
        own = {**asdict(self), "checkpoint_seconds": 0}
        if self.batch_tokens is None:
            del own["batch_tokens"]
        return fingerprint({"name": name, **own})


def fingerprint(settings: Mapping[str, Any], *arrays: Array) -> str:
    """A short name of settings and data: a checkpoint of another training is not taken for this one's.

    >>> fingerprint({"a": 1}, np.zeros(3)) == fingerprint({"a": 1}, np.zeros(3))
    True
    >>> fingerprint({"a": 1}, np.zeros(3)) == fingerprint({"a": 1}, np.ones(3))
    False
    """
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:24]


def train(
    net: Any,
    loss: Callable[[Array], Any],
    lengths: Array,
    plan: Plan,
    *,
    name: str,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
    on_step: Callable[[int], None] | None = None,
    stop_after: int | None = None,
    goes_on: Callable[[int], bool] | None = None,
) -> None:
    """Minimise the mean of ``loss(positions)`` over batches; the network is left in evaluation mode.

    Parameters
    ----------
    net :
        Torch module.
    loss :
        Gives the mean loss, a torch scalar, of the sequences at some positions.
    lengths :
        Length of each sequence, shape (sample,), or of its parts, each padded by itself, shape (sample, part).
    plan :
        How to train.
    name :
        `fingerprint` of the settings and the data.
    checkpoint :
        Folder for checkpoints; None keeps none. Interrupted, the state is written before leaving.
    progress :
        Called with (steps done, steps in all).
    on_step :
        Called with the number of steps done after each, the weights being those after it; and once more where a
        training goes on, since an interruption may have hit the call.
    stop_after :
        Steps after which training ends early, its state kept in the checkpoint; the learning rate is that of the whole
        plan. None: the whole plan.
    goes_on :
        Asked with the steps done in a checkpoint that was found: False starts again from the first step.
    """
    torch = load_torch()
    trained = [one for one in net.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=plan.learning_rate, weight_decay=plan.weight_decay)
    first_steps = np.cumsum([0, *_steps(lengths, plan)])
    total = int(first_steps[-1])
    last = total if stop_after is None else min(total, stop_after)
    name = plan.named(name)

    def fits(step: int) -> bool:
        return step <= last and (goes_on is None or goes_on(step))

    done = 0
    if checkpoint is not None:
        done = checkpoints.restore(checkpoint, net, optimizer, fingerprint=name, fits=fits)
    net.train()
    written = time.monotonic()
    first, whole = done, True  # whole: the weights are those after `done` steps, not in the middle of one
    try:
        if on_step is not None and done:
            on_step(done)
        while done < last:
            epoch = int(np.searchsorted(first_steps, done, side="right")) - 1
            batches = length_batches(lengths, plan.batch_size, plan.seed, epoch, tokens=plan.batch_tokens)
            for batch in batches[done - int(first_steps[epoch]) : last - int(first_steps[epoch])]:
                # Dropout is seeded by the step: a training that goes on draws what it would have drawn.
                torch.manual_seed(plan.seed * 1_000_003 + done)
                for group in optimizer.param_groups:
                    group["lr"] = plan.learning_rate * _share(done, total, plan.warmup)
                optimizer.zero_grad(set_to_none=True)
                value = loss(batch)
                value.backward()
                torch.nn.utils.clip_grad_norm_(trained, plan.clip)
                whole = False
                optimizer.step()
                done += 1
                whole = True
                if on_step is not None:
                    on_step(done)
                if progress is not None:
                    progress(done, last)
                if checkpoint is not None and time.monotonic() - written > plan.checkpoint_seconds:
                    checkpoints.store(checkpoint, net, optimizer, fingerprint=name, step=done)
                    written = time.monotonic()
    except KeyboardInterrupt:
        if checkpoint is not None and whole and done > first:
            checkpoints.store(checkpoint, net, optimizer, fingerprint=name, step=done)
        raise
    if checkpoint is not None and last < total and done > first:
        checkpoints.store(checkpoint, net, optimizer, fingerprint=name, step=done)
    net.eval()


def _steps(lengths: Array, plan: Plan) -> list[int]:
    """Steps of each epoch: known before the first, though token budgets cut each epoch's order differently."""
    if plan.batch_tokens is None:
        return [-(-len(lengths) // plan.batch_size)] * plan.epochs
    return [
        len(length_batches(lengths, plan.batch_size, plan.seed, epoch, tokens=plan.batch_tokens))
        for epoch in range(plan.epochs)
    ]


def _share(step: int, total: int, warmup: float) -> float:
    """Share of the largest learning rate at a step: up over the warm-up, then down to 0 after the last.

    >>> [_share(step, 4, 0.5) for step in range(4)]
    [0.5, 1.0, 1.0, 0.5]
    """
    rising = int(warmup * total)
    if step < rising:
        return (step + 1) / rising
    return (total - step) / (total - rising)
