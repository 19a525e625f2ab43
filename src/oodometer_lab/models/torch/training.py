"""Training: a loss minimised step by step in seeded batches; checkpoints to go on from; best weights of a dev set."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import InputError, UsageError, needed
from oodometer.store import write_atomic
from oodometer.store.artifact_cache import checksum, made_anew

from ..artifacts import fingerprint
from ..base import Progress
from .batches import length_batches
from .library import seed_draws
from .library import torch as load_torch

CHECKPOINT = "checkpoint.safetensors"
_CHECKSUM = "checksum"


def kept_tensors(path: Path, fingerprint: str) -> tuple[dict[str, Any], dict[str, str]] | None:
    """Tensors of this very training and what is said of them; None where there are none, or none that can be read."""
    if not path.is_file():
        return None
    try:
        tensors, about = read_tensors(path)
    except InputError as error:  # the training starts again
        made_anew(path, f"expected {error.expected}, got {error.got}")
        return None
    return (tensors, about) if about.get("fingerprint") == fingerprint else None


def weights(net: Any) -> dict[str, Any]:
    """Parameters and buffers by name; one that goes by several names, such as a tied embedding, is there once."""
    tensors: dict[str, Any] = {}
    seen: set[tuple[Any, ...]] = set()
    for name, value in net.state_dict().items():
        same = (value.data_ptr(), tuple(value.shape), tuple(value.stride()), value.dtype)
        if value.numel() == 0 or same not in seen:
            tensors[name] = value
        seen.add(same)
    return tensors


def load_weights(net: Any, tensors: Mapping[str, Any]) -> None:
    """Set what `weights` gave, in a network of the same build; `InputError` where names or shapes differ."""
    expected = set(weights(net))
    if expected != set(tensors):
        odd = sorted(expected ^ set(tensors))
        got = f"others, such as {odd[0]}"
        raise InputError(
            "weights of the same network", got=got, remedy="train it again", column="weights"
        )
    try:
        net.load_state_dict(dict(tensors), strict=False)
    except RuntimeError as error:
        got = "other shapes"
        raise InputError(
            "weights of the same network", got=got, remedy="train it again", column="weights"
        ) from error


def write_tensors(path: Path, tensors: dict[str, Any], about: dict[str, str]) -> Path:
    """Write named tensors and a mapping of strings as safetensors, whole or not at all."""
    save = needed("safetensors.torch", "saving a model", extra="hf").save
    plain = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    return write_atomic(path, save(plain, metadata={**about, _CHECKSUM: _checksum(plain)}))


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Named tensors and the mapping beside them; `InputError` where they are not those that the checksum names."""
    library = needed("safetensors.torch", "saving a model", extra="hf")
    content = Path(path).read_bytes()
    try:
        tensors: dict[str, Any] = library.load(content)
        size = int.from_bytes(content[:8], "little")
        about: dict[str, str] = json.loads(content[8 : 8 + size]).get("__metadata__", {})
    # the library raises a class of its own, which it does not export everywhere
    except Exception as error:
        got = "something else"
        raise InputError(
            "a safetensors file", got=got, remedy="remove it and train again", file=str(path)
        ) from error
    if about.pop(_CHECKSUM, None) not in (None, _checksum(tensors)):
        got, remedy = (
            "others: the checksum differs",
            "the file is damaged: remove it and train again",
        )
        raise InputError("tensors as they were written", got=got, file=str(path), remedy=remedy)
    return tensors, about


def _checksum(tensors: Mapping[str, Any]) -> str:
    parts: list[str | bytes] = []
    for name in sorted(tensors):
        value = tensors[name].contiguous()
        flat = value.reshape(-1).view(load_torch().uint8) if value.numel() else value.reshape(-1)
        parts += [f"{name} {value.dtype} {tuple(value.shape)}", flat.numpy().tobytes()]
    return checksum(*parts)


LOOKS = 10
BEST = "best.safetensors"


@final
class Best:
    """Looks at the dev loss ten times in a training, evenly, the last step included, and keeps the best weights (of
    equal losses the earlier), in the checkpoint folder where there is one. So a training runs to its end, and its
    learning rates do not depend on the dev set.
    """

    def __init__(
        self, net: Callable[[], Any], loss: Callable[[], float], *, name: str, folder: Path | None
    ) -> None:
        self.net, self.loss, self.name = net, loss, name
        self.path = None if folder is None else folder / BEST
        self.value, self.step = math.inf, 0
        self.weights: dict[str, Any] = {}
        if self.path is not None and self.path.is_file():
            with suppress(InputError):  # an unreadable file is none
                tensors, about = read_tensors(self.path)
                if about.get("fingerprint") == self.name:
                    self.weights, self.value, self.step = (
                        tensors,
                        float.fromhex(about["loss"]),
                        int(about["step"]),
                    )

    def watching(self, progress: Progress | None) -> Progress:
        """The progress to give to a training: it looks first, then tells ``progress``."""

        def look_then_tell(done: int, total: int) -> None:
            if done == 1:  # the training began anew, whatever was left here
                self.value, self.step, self.weights = math.inf, 0, {}
            if done in look_steps(total):
                self.look(done)
            if progress is not None:
                progress(done, total)

        return look_then_tell

    def look(self, step: int) -> None:
        """Ask the dev set; keep the weights if they are the best so far. An interruption waits until this is done."""
        net = self.net()
        net.eval()
        stopped: KeyboardInterrupt | None = None
        try:
            value = float(self.loss())
        # a training that goes on would not look at this step again
        except KeyboardInterrupt as error:
            stopped, value = error, float(self.loss())
        net.train()
        if value < self.value:
            self.value, self.step = value, step
            self.weights = {k: v.detach().cpu().clone() for k, v in weights(net).items()}
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                about = {"fingerprint": self.name, "step": str(step), "loss": value.hex()}
                write_tensors(self.path, self.weights, about)
        if stopped is not None:
            raise stopped

    def restore(self) -> None:
        """Put the best weights into the module; where no loss was a number, the last ones stay."""
        net = self.net()
        if self.weights:
            load_weights(net, self.weights)
        net.eval()


def look_steps(total: int) -> frozenset[int]:
    """The steps, counted from 1, after which the dev set is asked."""
    return frozenset(-(-total * i // LOOKS) for i in range(1, LOOKS + 1))


OPTIMIZERS = ("adamw", "fused_adamw", "sgd")
SCHEDULES = ("linear", "cosine", "constant")
PRECISIONS = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class TrainingConfig:
    """How a network is trained.

    epochs : passes over the data.
    batch_size : samples a step; not read where ``batch_tokens`` is given.
    batch_tokens : padded tokens a step at most, all that a sample has (an input and its output) counted; a sample that
        is longer makes a step of its own. None: batches by ``batch_size``.
    learning_rate : the largest; it rises linearly over the share ``warmup`` of the steps, then follows ``schedule``.
    weight_decay : decoupled (AdamW) or of the gradient (SGD). Source: Loshchilov and Hutter (2019).
    warmup : share of the steps, in [0, 1).
    clip : largest norm of the gradient; None does not clip.
    seed : of the order of batches, of dropout and of augmentation.
    checkpoint_seconds : time between two checkpoints.
    optimizer : "adamw", "fused_adamw", the same up to rounding in torch's one kernel, where a step is short beside the
        number of weights; or "sgd" with Nesterov's ``momentum``.
    schedule : "linear" or "cosine", both down to 0 after the last step, or "constant".
    precision : "float32", or "bfloat16" or "float16" for the forward pass where the device is faster with it; weights
        and optimizer stay in float32.
    epsilon : of AdamW.

    >>> TrainingConfig(epochs=0)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected at least 1 epoch, 1 sample a batch and a positive learning rate, got ...
    """

    epochs: int = 3
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    warmup: float = 0.0
    clip: float | None = 1.0
    seed: int = 0
    checkpoint_seconds: float = 60.0
    batch_tokens: int | None = None
    optimizer: str = "adamw"
    momentum: float = 0.9
    schedule: str = "linear"
    precision: str = "float32"
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        if (
            self.epochs < 1
            or self.batch_size < 1
            or not self.learning_rate > 0
            or not 0 <= self.warmup < 1
        ):
            raise UsageError(
                "expected at least 1 epoch, 1 sample a batch and a positive learning rate, got "
                f"{self.epochs}, {self.batch_size} and {self.learning_rate}"
            )
        if self.batch_tokens is not None and self.batch_tokens < 1:
            raise UsageError(f"expected at least 1 token a batch, got {self.batch_tokens}")
        for name, choices in (
            ("optimizer", OPTIMIZERS),
            ("schedule", SCHEDULES),
            ("precision", PRECISIONS),
        ):
            if getattr(self, name) not in choices:
                raise UsageError(
                    f"expected {name} among {', '.join(choices)}, got {getattr(self, name)!r}"
                )

    def fingerprint(self, name: str) -> str:
        """Name of a training with this config, for the data and settings called ``name``."""
        return fingerprint({"name": name, **asdict(self), "checkpoint_seconds": 0})

    def rate(self, step: int, total: int) -> float:
        """Learning rate at a step: up over the warm-up, then by the schedule."""
        rising = int(self.warmup * total)
        if step < rising:
            return self.learning_rate * ((step + 1) / rising)
        remaining = (total - step) / (total - rising)
        share = {
            "linear": remaining,
            "cosine": (1 - math.cos(math.pi * remaining)) / 2,
            "constant": 1.0,
        }[self.schedule]
        return self.learning_rate * share

    def optimizer_of(self, parameters: list[Any]) -> Any:
        """The optimizer of torch."""
        library, how = (
            load_torch().optim,
            {"lr": self.learning_rate, "weight_decay": self.weight_decay},
        )
        if self.optimizer == "sgd":
            return library.SGD(
                parameters, **how, momentum=self.momentum, nesterov=self.momentum > 0
            )
        # The kernel is not asked for by default: it rounds otherwise, and finished trainings are to stay what they are.
        kernel = {"fused": True} if self.optimizer == "fused_adamw" else {}
        return library.AdamW(parameters, **how, eps=self.epsilon, **kernel)


@dataclass(frozen=True)
class LengthBatches:
    """Batches by `length_batches`; ``lengths`` (sample,), or (sample, part) of parts that are padded by themselves."""

    lengths: Array
    config: TrainingConfig

    def of_epoch(self, epoch: int) -> list[Array]:
        """Shuffled by the seed and the epoch."""
        config = self.config
        return length_batches(
            self.lengths, config.batch_size, config.seed, epoch, tokens=config.batch_tokens
        )

    def steps(self, epochs: int) -> list[int]:
        """Known before the first, though token budgets cut each epoch's order differently."""
        if self.config.batch_tokens is None:
            return [-(-len(self.lengths) // self.config.batch_size)] * epochs
        return [len(self.of_epoch(epoch)) for epoch in range(epochs)]


@dataclass(frozen=True)
class Hooks:
    """What is called as a training goes: ``progress(steps, all)``; ``on_step(steps)`` after each step, and once more
    where a training goes on, since an interruption may have hit the call; ``goes_on(steps)`` of a checkpoint, False
    starts anew.
    ``stop_after`` ends the training early, its state kept; ``keep_epochs`` writes the checkpoint after each epoch, too.
    """

    progress: Progress | None = None
    on_step: Callable[[int], None] | None = None
    goes_on: Callable[[int], bool] | None = None
    stop_after: int | None = None
    keep_epochs: bool = False

    def last_of(self, steps: int) -> int:
        """The last step of a training of so many."""
        return steps if self.stop_after is None else min(steps, self.stop_after)

    def before_steps(self, done: int) -> None:
        """Tell of the step that an earlier training ended with, if any."""
        if self.on_step is not None and done:
            self.on_step(done)

    def after_step(self, done: int, last: int) -> None:
        """Tell of a step."""
        if self.on_step is not None:
            self.on_step(done)
        if self.progress is not None:
            self.progress(done, last)


@final
class _State:
    """Weights and optimizer of a training after ``done`` steps, and the folder in which they are kept, or None."""

    def __init__(self, net: Any, optimizer: Any, folder: Path | None, mark: str) -> None:
        self.net, self.optimizer, self.folder, self.mark = net, optimizer, folder, mark
        self.done, self._kept, self._whole, self._written = 0, 0, True, time.monotonic()

    def resume(self, last: int, goes_on: Callable[[int], bool] | None) -> None:
        """Go on from the folder where it holds this training, not beyond the last step, and nobody objects."""
        stored = None if self.folder is None else kept_tensors(self.folder / CHECKPOINT, self.mark)
        if stored is None:
            return
        tensors, step = stored[0], int(stored[1]["step"])
        if step > last or not (goes_on is None or goes_on(step)):
            return
        of_net = {k.removeprefix("net."): v for k, v in tensors.items() if k.startswith("net.")}
        load_weights(self.net, of_net)
        states: dict[int, dict[str, Any]] = {}
        for key, value in tensors.items():
            if key.startswith("adam."):
                _, number, field = key.split(".", 2)
                states.setdefault(int(number), {})[field] = value
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": states, "param_groups": groups})
        self.done = self._kept = step

    def step(self) -> None:
        """Let the optimizer change the weights."""
        self._whole = False  # not the weights after so many steps
        self.optimizer.step()
        self.done, self._whole = self.done + 1, True

    def keep(self) -> None:
        """Write what is new to the folder, unless a step was interrupted."""
        if self.folder is None or not self._whole or self.done <= self._kept:
            return
        tensors = {f"net.{key}": value for key, value in weights(self.net).items()}
        for i, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"adam.{i}.{key}": value for key, value in state.items()}
        self.folder.mkdir(parents=True, exist_ok=True)
        about = {"fingerprint": self.mark, "step": str(self.done)}
        write_tensors(self.folder / CHECKPOINT, tensors, about)
        self._written = time.monotonic()

    def keep_after(self, seconds: float) -> None:
        """Keep it where so long a time has passed since."""
        if time.monotonic() - self._written > seconds:
            self.keep()


def train(
    net: Any,
    loss: Callable[[Array], Any],
    batches: Any,
    config: TrainingConfig,
    *,
    name: str,
    checkpoint: Path | None = None,
    hooks: Hooks | None = None,
    dev_loss: Callable[[], float] | None = None,
) -> None:
    """Minimise the mean of ``loss(positions)`` over batches; the network is left in evaluation mode. ``batches`` gives
    those ``of_epoch(epoch)``, the same whenever asked, and ``steps(epochs)``: `LengthBatches`. ``name`` is the
    `fingerprint` of settings and data, ``checkpoint`` the folder of an interrupted state. With ``dev_loss`` the weights
    are the `Best`.
    """
    torch, hooks, best = load_torch(), hooks or Hooks(), None
    if dev_loss is not None:
        best = Best(lambda: net, dev_loss, name=name, folder=checkpoint)
        hooks = replace(hooks, progress=best.watching(hooks.progress))
    trained = [parameter for parameter in net.parameters() if parameter.requires_grad]
    optimizer = config.optimizer_of(trained)
    first_steps = np.cumsum([0, *batches.steps(config.epochs)])
    total = int(first_steps[-1])
    last = hooks.last_of(total)
    state = _State(net, optimizer, checkpoint, config.fingerprint(name))
    state.resume(last, hooks.goes_on)
    net.train()
    cast = autocast(config.precision, next(iter(net.parameters())).device.type)

    def learn(batch: Array) -> None:
        # Dropout is seeded by the step: a training that goes on draws what it would have drawn.
        seed_draws(config.seed * 1_000_003 + state.done)
        for group in optimizer.param_groups:
            group["lr"] = config.rate(state.done, total)
        optimizer.zero_grad(set_to_none=True)
        with cast():
            value = loss(batch)
        value.backward()
        if config.clip is not None:
            torch.nn.utils.clip_grad_norm_(trained, config.clip)
        state.step()

    try:
        hooks.before_steps(state.done)
        while state.done < last:
            epoch = int(np.searchsorted(first_steps, state.done, side="right")) - 1
            begin = int(first_steps[epoch])
            for batch in batches.of_epoch(epoch)[state.done - begin : last - begin]:
                learn(batch)
                hooks.after_step(state.done, last)
                state.keep_after(config.checkpoint_seconds)
            if hooks.keep_epochs and state.done == first_steps[epoch + 1]:
                state.keep()
    except KeyboardInterrupt:
        state.keep()
        raise
    if last < total:
        state.keep()
    net.eval()
    if best is not None:
        best.restore()


def autocast(precision: str, device: str) -> Callable[[], AbstractContextManager[Any]]:
    """Makes contexts in which a network computes in ``precision`` on the kind of device, "cpu" or "cuda"."""
    if precision == "float32":
        return nullcontext
    torch = load_torch()
    kind = getattr(torch, precision)
    return lambda: torch.autocast(device, dtype=kind)
