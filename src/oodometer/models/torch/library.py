"""The library torch: loaded where it is used, one line where it is missing, threads that suit the machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from ...errors import MissingExtraError, UsageError
from ...kernels import cores

_DEVICE = re.compile(r"cpu|cuda(:\d+)?")


def torch() -> Any:
    """The module torch; `MissingExtraError` names the ``pip install`` line where it is absent."""
    try:
        import torch as found
    except ImportError as error:
        raise MissingExtraError("a live model", "torch", extra="hf") from error
    return found


def transformers() -> Any:
    """The module transformers, its own progress bars and advice switched off; `MissingExtraError` as for torch."""
    torch()
    try:
        import transformers as found
    except ImportError as error:
        raise MissingExtraError("a transformer encoder", "transformers", extra="hf") from error
    _silence(found)
    return found


@cache
def _silence(library: Any) -> None:
    """Once in a process: each time every logger's memory would be emptied, and a user's own choice undone."""
    library.utils.logging.set_verbosity_error()
    library.utils.logging.disable_progress_bar()


def seed_draws(seed: int) -> None:
    """Seed what a network in use draws from: the processor's generator, and those of GPUs that have begun to work.

    ``torch.manual_seed`` gives the same draws. Where no GPU is in use it writes down the stack three times for a later
    one, which takes longer than the step of a small network, and keeps it.
    """
    library = torch()
    library.default_generator.manual_seed(seed)
    if library.cuda.is_initialized():
        library.cuda.manual_seed_all(seed)


def choose_device(name: str | None) -> str:
    """``name``, or "cuda" where a GPU is there, else "cpu"; `UsageError` for another, or a GPU that is not there."""
    here = torch().cuda.is_available()
    if name is None:
        return "cuda" if here else "cpu"
    if not _DEVICE.fullmatch(name):
        raise UsageError(f"expected the device to be cpu, cuda or cuda:N, got {name!r}")
    number = int(name.partition(":")[2] or 0)
    if name != "cpu" and (not here or number >= torch().cuda.device_count()):
        raise UsageError(f"the device {name} is not there; leave the device out or say cpu")
    return name


@cache
def idle_cores() -> int:
    """Cores that nobody else keeps busy, at least 1: two threads on two busy cores are slower than one.

    Looked at once, before this process keeps any busy itself.

    >>> idle_cores() >= 1
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        busy = os.getloadavg()[0]
    except (AttributeError, OSError):  # not every system counts
        busy = 0.0
    return max(1, min(cores, round(cores - busy)))


def use_threads(count: int | None = None) -> int:
    """Let torch use ``count`` threads, by default as many as there are idle cores for us; returns the number."""
    count = count or min(idle_cores(), cores())
    torch().set_num_threads(count)
    return count


@contextmanager
def idle_threads() -> Iterator[None]:
    """Let torch use no more threads than there are idle cores, for as long as the work lasts."""
    library = torch()
    before = library.get_num_threads()
    library.set_num_threads(min(before, idle_cores()))
    try:
        yield
    finally:
        library.set_num_threads(before)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Inside, torch uses one thread, as every task does; the number of the process is put back.

    Sums of several threads are rounded otherwise: a network that is trained or asked by one thread here is the same to
    the last bit as one that a worker has. Without torch there is nothing to do: models from outside may need none.
    """
    try:
        library = torch()
    except MissingExtraError:
        yield
        return
    before = library.get_num_threads()
    library.set_num_threads(1)
    try:
        yield
    finally:
        library.set_num_threads(before)


def on_gpu(device: str | None) -> bool:
    """Whether a model that is told this device runs on a GPU of this machine; `UsageError` as of `choose_device`.

    Without torch none does.
    """
    try:
        return choose_device(device) != "cpu"
    except MissingExtraError:
        return False
