"""The local engine: threads on this machine, or separate processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, final

from ..errors import UsageError
from ..kernels import cores, pool
from .base import Engine

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = ["LocalEngine"]

S = TypeVar("S")


@final
class LocalEngine(Engine):
    """Works in this process, or in several workers on this machine.

    Parameters
    ----------
    workers : number of workers; None takes one for each core, at most one a part.
    processes : separate processes instead of threads (parts and work must be picklable).

    `UsageError` for fewer than one worker.

    >>> LocalEngine(workers=1).fold([1, 2, 3], lambda part: part * 10, lambda a, b: a + b)
    60
    """

    def __init__(self, workers: int | None = None, *, processes: bool = False) -> None:
        if workers is not None and workers < 1:
            raise UsageError(f"expected at least one worker, got {workers}")
        self.workers = workers or cores()
        self.processes = processes

    def fold(
        self,
        parts: Sequence[Any],
        work: Callable[[Any], S],
        merge: Callable[[S, S], S],
        on_done: Callable[[Any], None] | None = None,
    ) -> S:
        """The merged state of all parts."""
        workers = min(self.workers, len(parts))
        if workers <= 1:
            return _fold((work(part) for part in parts), parts, merge, on_done)
        with self._pool(workers) as pool:
            try:
                return _fold(pool.map(work, parts), parts, merge, on_done)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _pool(self, workers: int) -> Executor:
        if not self.processes:
            return pool(workers)
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_deaf)


def _deaf() -> None:
    """In a worker process: Ctrl-C reaches the whole group, and the parent decides what becomes of the work."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _fold(states: Any, parts: Sequence[Any], merge: Callable[[S, S], S], on_done: Callable[[Any], None] | None) -> S:
    total: S | None = None
    for part, state in zip(parts, states, strict=True):
        total = state if total is None else merge(total, state)
        if on_done is not None:
            on_done(part)
    if total is None:
        raise UsageError("there is nothing to work on: no parts")
    return total
