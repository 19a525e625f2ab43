"""Threads: how many cores there are for us, work cut into pieces for them, and the passes of passes.c where they were
built and are wanted: `OODOMETER_PLAIN=1` in the environment leaves them out; the answers are the same (sums to
rounding), only later.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from ..arrays import Array

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))  # that compiled passes take

try:
    # where intp has 32 bits, bin numbers have another size than the passes write
    if os.environ.get("OODOMETER_PLAIN") == "1" or np.dtype(np.intp).itemsize != 8:
        raise ImportError("the plain passes are wanted")
    from . import _passes

    passes: Any = _passes
except ImportError:  # also an installation without a compiler
    passes = None


def is_compiled() -> bool:
    """Whether the compiled passes are used."""
    return passes is not None


FEW_CLASSES = 64
_CHUNK_VALUES = 1 << 19  # values in flight: they stay near the processor, and threads seldom meet
_SMALL_CHUNK_VALUES = 1 << 17  # of short rows: small enough for the nearest cache
THREADED_VALUES = 1 << 21  # below this many, threads cost more than they bring

T = TypeVar("T")

_limit: ContextVar[int | None] = ContextVar("oodometer_threads", default=None)


def cores() -> int:
    """Cores that this process may use, or fewer inside `limited_to`."""
    limit = _limit.get()
    if limit is not None:
        return limit
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


@contextmanager
def limited_to(workers: int | None) -> Iterator[None]:
    """Inside, at most ``workers`` threads work at a time; None leaves it as it is, by default to the machine.

    >>> with limited_to(1):
    ...     cores()
    1
    """
    token = _limit.set(workers if workers is not None else _limit.get())
    try:
        yield
    finally:
        _limit.reset(token)


class _LinearAlgebra:
    """How many ask that linear algebra use one thread, and the limit in force. To find its libraries takes
    milliseconds, as long as a small fit; what was found holds until something more is imported.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.asking = 0
        self._limits: list[Any] = []  # in force, each with what it can lift
        self._found: tuple[int, Any] = 0, None

    def to_one_thread(self) -> None:
        """Set the limit on every library of linear algebra, on one that was loaded since the last time, too."""
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

        modules = len(sys.modules)
        if self._found[0] != modules:
            self._found = modules, ThreadpoolController()
        elif self._limits:
            return
        self._let_go()
        self._limits.append(self._found[1].limit(limits=1))
        self._let_go()

    def to_many(self) -> None:
        """Lift it."""
        self._let_go()
        while self._limits:
            self._limits.pop().restore_original_limits()
        self._let_go()

    def _let_go(self) -> None:
        """Let any thread set limits: threadpoolctl 3.8 silently heeds none but the first one that set any."""
        for library in self._found[1].lib_controllers:
            clear = getattr(library, "clear_controlling_thread", None)
            if clear is not None:
                clear(force=True)


_linear_algebra = _LinearAlgebra()


@contextmanager
def one_thread() -> Iterator[None]:
    """Context in which linear algebra uses one thread: for fits so small that threads would mostly wait for each other.
    The limit is the whole process's: the first who asks sets it, the last who leaves lifts it, so that none lifts it
    for the others, and who asks inside another's context pays nothing.
    """
    with _linear_algebra.lock:
        _linear_algebra.to_one_thread()
        _linear_algebra.asking += 1
    try:
        yield
    finally:
        with _linear_algebra.lock:
            _linear_algebra.asking -= 1
            if not _linear_algebra.asking:
                _linear_algebra.to_many()


def pool(workers: int) -> ThreadPoolExecutor:
    """A pool of so many threads as ``workers`` says, none of which starts threads of its own."""
    return ThreadPoolExecutor(workers, initializer=_limit.set, initargs=(1,))


def by_chunks(
    work: Callable[[int, int], None],
    rows: int,
    width: int,
    *,
    threads: bool = True,
    lock: bool = True,
) -> None:
    """Call ``work(start, stop)`` over all rows in pieces that fit the cache, on all cores where there is much to do.

    work : called with the first row of a piece and the one behind its last.
    rows : how many there are.
    width : values in a row. Short rows are worked on by one thread in smaller pieces: their passes are so quick that
        threads would mostly wait for each other at the interpreter's lock.
    threads : False does all pieces in this thread.
    lock : whether the work holds the interpreter's lock. Work that is one compiled pass (``lock=False``) does not, and
        minds the cache itself: it gets one large piece for each core.
    """
    few = width <= FEW_CLASSES
    alone = (few and lock) or not threads or rows * width < THREADED_VALUES or cores() == 1
    if not lock:
        step = rows if alone else -(-rows // cores())
    else:
        step = (_SMALL_CHUNK_VALUES if few else _CHUNK_VALUES) // max(width, 1)
    step = max(step, 1)
    starts = range(0, rows, step)
    if alone:
        for start in starts:
            work(start, min(start + step, rows))
        return
    with pool(cores()) as workers:
        for _ in workers.map(lambda start: work(start, min(start + step, rows)), starts):
            pass


def side_by_side(jobs: Sequence[Callable[[], Any]], *, threads: bool = True) -> list[Any]:
    """Results of independent jobs, in order, worked on by as many threads as there are cores."""
    if not threads or cores() == 1 or len(jobs) < 2:
        return [job() for job in jobs]
    with pool(cores()) as workers:
        return list(workers.map(lambda job: job(), jobs))


def later(job: Callable[[], T]) -> Callable[[], T]:
    """Begin a job beside whatever comes next, where there is a second core; the function returned gives its result."""
    if cores() == 1:
        return job
    beside = pool(1)
    coming = beside.submit(job)
    beside.shutdown(wait=False)
    return coming.result


def concatenated(parts: Sequence[Array], axis: int = 0) -> Array:
    """`np.concatenate` of ``parts`` along ``axis``; large arrays are copied on all cores, since most of the time goes
    into fresh memory.

    >>> concatenated([np.array([1, 2]), np.array([3])]).tolist()
    [1, 2, 3]
    """
    if cores() == 1 or len(parts) < 2 or sum(part.size for part in parts) < THREADED_VALUES:
        return np.concatenate(parts, axis=axis)
    ends = np.cumsum([part.shape[axis] for part in parts])
    shape = list(parts[0].shape)
    shape[axis] = int(ends[-1])
    out = np.empty(shape, dtype=np.result_type(*parts))
    slices = [
        (slice(None),) * axis + (slice(int(end) - part.shape[axis], int(end)),)
        for part, end in zip(parts, ends, strict=True)
    ]
    side_by_side(
        [partial(np.copyto, out[target], part) for target, part in zip(slices, parts, strict=True)]
    )
    return out
