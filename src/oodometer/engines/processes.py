"""Separate processes on this machine."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from threading import Thread
from time import monotonic, sleep
from typing import Any
from weakref import ref

from ..errors import WorkError
from ..kernels import cores
from ..registry import register
from .base import Engine, Pool, at_once, check_workers
from .remote import Order, order_of, signals_waiting, work_of

_PAUSE = 0.2  # seconds between two looks at the workers
_GRACE = 2.0
_MOMENT = 0.005
_SMALL = 2**20  # bytes of a work that travels with every part, to processes that are there


@register("engine")
class ProcessEngine(Engine):
    """Works in separate processes, which start slower than threads and then share nothing.

    Parameters
    ----------
    workers : number of processes; None takes one for each core, at most one a part.

    Parts and work must be picklable, and a script needs the usual ``if __name__ == "__main__":``. `UsageError` for
    fewer than one worker, `WorkError` where a worker died.

    >>> ProcessEngine(workers=1).fold([1, 2, 3], lambda part: part * 10, lambda a, b: a + b)
    60
    """

    name = "processes"

    def __init__(self, workers: int | None = None) -> None:
        self.workers = check_workers(workers) or cores()
        self._running: Any = None  # a pool of `_started` that waits for the next work

    def __reduce__(self) -> tuple[Any, ...]:
        return ProcessEngine, (
            self.workers,
        )  # options that name it travel, and its processes do not

    @contextmanager
    def pool(self, work: Callable[[Any], Any], parts: int) -> Iterator[Pool]:
        """Processes where there are several parts; they stay for the next work, and end with this object."""
        from concurrent.futures.process import BrokenProcessPool

        if min(self.workers, parts) <= 1:
            yield at_once(work)
            return
        order = order_of(work, pickle.dumps)
        small = order if len(order.work) <= _SMALL else None
        before, self._running = self._running, None
        usable = (
            small is not None and before is not None and not before._broken
        )  # a worker may have died since
        executor = before if usable else _started(self.workers, None if small else order)
        try:
            yield Pool(lambda part: executor.submit(_work_on, small, part), parts)
            self._running = executor if small else before
        except BrokenProcessPool as error:
            remedy = "take fewer workers, or the engine local"
            raise WorkError(
                f"a worker process died, often of too little memory; {remedy}"
            ) from error
        finally:
            if self._running is not executor:
                executor.shutdown(wait=False, cancel_futures=True)


def _started(workers: int, order: Order | None) -> Executor:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    class Pool(ProcessPoolExecutor):
        given_up = False

        def submit(self, *args: Any, **named: Any) -> Any:
            """The first part starts the processes, which a Ctrl-C waits for: half of what one is sent would tell."""
            with signals_waiting(), _interrupts_held():
                return super().submit(*args, **named)

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            """Work that is given up is ended: nobody waits for what is under way, such as a training."""
            if self.given_up:
                return
            self.given_up = cancel_futures
            workers = list((self._processes or {}).values()) if cancel_futures else []
            manager: Any = self._executor_manager_thread
            end = monotonic() + _GRACE
            super().shutdown(wait and not workers, cancel_futures=cancel_futures)
            while workers and monotonic() < end:
                waiting = list(getattr(manager, "pending_work_items", {}).values())
                if not any(work_item.future.cancelled() for work_item in waiting):
                    break
                sleep(_MOMENT)
            for worker in workers:
                worker.kill()

    executor = Pool(workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(order,))
    Thread(target=_watch, args=(ref(executor),), daemon=True).start()
    return executor


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Inside, no Ctrl-C reaches this thread, nor, ever, a process that it starts: their imports would tell."""
    hold = getattr(signal, "pthread_sigmask", None)  # not on Windows
    if hold is None:
        yield
        return
    before = hold(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        hold(signal.SIG_SETMASK, before)


def _watch(executor: Callable[[], Any]) -> None:
    """End a pool whose sender was killed: it holds a sender's end of the pipe, too, and would read on for ever."""
    while (pool := executor()) is not None and not pool._shutdown_thread:
        workers = list((pool._processes or {}).values())
        if any(worker.exitcode is not None for worker in workers):
            sleep(_GRACE)  # in which the pool sees most deaths by itself
            if not pool._broken and not pool._shutdown_thread:
                for worker in workers:
                    worker.kill()
                    worker.join()
                pool._result_queue._writer.close()  # nobody can send any more: reading ends
            return
        del pool, workers
        sleep(_PAUSE)


_order: Any = None  # of a worker process, which is sent a large one once and not with every part


def _begin(order: Order | None) -> None:
    """In a worker process: it ends with its parent, however that ends; it would wait for ever, or go on writing."""
    from multiprocessing import parent_process

    global _order
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        Thread(target=_follow, args=(parent,), daemon=True).start()
    _order = order


def _follow(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _work_on(order: Order | None, part: Any) -> Any:
    """In a worker process: the state of a part."""
    if order is not None:
        os.chdir(order.folder)  # the sender may have gone elsewhere since this process began
    return work_of(order or _order)(part)
