"""The contract of an engine: work on every part, merge the states in the order of the parts."""

from __future__ import annotations

import pickle
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, ClassVar, Generic, TypeVar, final

from ..errors import UsageError
from ..kernels import cores, limited_to, one_thread, pool
from ..registry import create, register

S = TypeVar("S")


class Engine(ABC):
    """Runs ``work(part) -> state`` over parts and folds the states with ``merge(a, b) -> state``.

    Parts are references (a file and its row groups), never rows; states are small. States are merged in the
    order of the parts, whatever the order in which they arrive, so that the result does not depend on the
    number of workers, nor on the engine.

    A subclass has a ``name``, says in ``requires`` what must be installed, and takes ``workers`` (None: as many as
    there are). One that can reach machines by an address takes it in ``from_argument(argument, workers=)``, which
    ``name:argument`` calls. A package brings its own under the entry-point group ``oodometer.engines``.
    """

    name: ClassVar[str]
    requires: ClassVar[str] = ""
    elsewhere: ClassVar[bool] = False  # whether its workers may be on other machines, which have the files nearer

    @abstractmethod
    def fold(
        self,
        parts: Sequence[Any],
        work: Callable[[Any], S],
        merge: Callable[[S, S], S],
        on_done: Callable[[Any], None] | None = None,
    ) -> S:
        """The merged state of all parts; ``on_done(part)`` is called as each part is finished."""


def check_workers(workers: int | None) -> int | None:
    """The number of workers if there can be so many; `UsageError` for fewer than one."""
    if workers is not None and workers < 1:
        raise UsageError(f"expected at least one worker, got {workers}")
    return workers


def fold_states(
    states: Iterable[S], parts: Sequence[Any], merge: Callable[[S, S], S], on_done: Callable[[Any], None] | None = None
) -> S:
    """One state of the states of all parts, which come in the order of the parts; `UsageError` where there is none.

    >>> fold_states(iter([1, 2, 3]), "abc", lambda a, b: a + b)
    6
    """
    total: S | None = None
    for part, state in zip(parts, states, strict=True):
        total = state if total is None else merge(total, state)
        if on_done is not None:
            on_done(part)
    if total is None:
        raise UsageError("there is nothing to work on: no parts")
    return total


def task_engine(engine: str | Engine | None, workers: int | None, *, gpu: bool = False) -> Engine | None:
    """Where tasks run; None where nothing was said: then the work is done in this process as it always is.

    Several ``workers`` without an engine are processes of this machine. The engine "local" does one task after
    another. ``gpu`` says that the tasks use the GPU of this machine: then one at a time, if nothing else is said,
    except on Ray, which shares out GPUs by itself. `UsageError` for several workers of the engine "local".

    >>> task_engine(None, None) is None
    True
    >>> task_engine(None, 4).name, task_engine("processes", None, gpu=True).workers
    ('processes', 1)
    """
    if engine is None and workers is None:
        return None
    if isinstance(engine, Engine) or (engine is not None and not isinstance(engine, str)):
        return engine
    name = engine or ("local" if workers == 1 else "processes")
    if name == LocalEngine.name:
        if workers not in (None, 1):
            raise UsageError(
                f"the engine local does one task after another in this process, not {workers} at a time; "
                "take --engine processes"
            )
        return LocalEngine(workers=1)
    if workers is None and gpu and name.partition(":")[0] != "ray":
        workers = 1
    found: Engine = create("engine", name, workers=workers)
    return found


@register("engine")
@final
class LocalEngine(Engine):
    """Works in this process: in threads, or, with one worker, in none.

    Parameters
    ----------
    workers : number of threads; None takes one for each core, at most one a part.

    `UsageError` for fewer than one worker.

    >>> LocalEngine(workers=1).fold([1, 2, 3], lambda part: part * 10, lambda a, b: a + b)
    60
    """

    name = "local"

    def __init__(self, workers: int | None = None) -> None:
        self.workers = check_workers(workers) or cores()

    def fold(
        self,
        parts: Sequence[Any],
        work: Callable[[Any], S],
        merge: Callable[[S, S], S],
        on_done: Callable[[Any], None] | None = None,
    ) -> S:
        """The merged state of all parts."""
        return fold_in(pool, self.workers, parts, work, merge, on_done)


def fold_in(
    open_pool: Callable[[int], Executor],
    workers: int,
    parts: Sequence[Any],
    work: Callable[[Any], S],
    merge: Callable[[S, S], S],
    on_done: Callable[[Any], None] | None,
) -> S:
    """The merged state of all parts, in a pool of workers that is opened where there is more than one part."""
    workers = min(workers, len(parts))
    if workers <= 1:
        return fold_states((work(part) for part in parts), parts, merge, on_done)
    with open_pool(workers) as executor:
        try:
            return fold_states(executor.map(work, parts), parts, merge, on_done)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


T = TypeVar("T")
R = TypeVar("R")

GPU = "gpu"
"""Attribute of a function whose tasks take a GPU each, where there is one; an engine that shares out GPUs heeds it."""

_Warned = tuple[str, type[Warning], str, int]


@dataclass
class _Finished:
    """Results of tasks with their places, and what they warned of: the state of a fold whose parts are items."""

    results: list[tuple[int, Any]] = field(default_factory=list)
    warned: list[_Warned] = field(default_factory=list)

    def joined(self, other: _Finished) -> _Finished:
        """These and what comes behind them."""
        self.results += other.results
        self.warned += other.warned
        return self


@dataclass(frozen=True)
class _Work:
    """A task on a worker: one thread, and warnings that travel back to whoever asked."""

    function: Callable[[Any], Any]
    gpu: bool

    def __call__(self, numbered: tuple[int, Any] | None) -> _Finished:
        if numbered is None:
            return _Finished()
        place, item = numbered
        with warnings.catch_warnings(record=True) as caught:
            found = _alone(self.function, item)
        told = [one for one in caught if issubclass(one.category, UserWarning)]  # others are for developers
        return _Finished([(place, found)], [(str(one.message), one.category, one.filename, one.lineno) for one in told])


@dataclass
class _Hearing(Generic[T, R]):
    """Tells of each result once, in the order of the items, whatever the order in which states are merged."""

    items: Sequence[T]
    on_result: Callable[[T, R], None]
    on_done: Callable[[T], None] | None
    waiting: dict[int, R] = field(default_factory=dict)  # results whose turn has not come
    told: int = 0

    def merge(self, a: _Finished, b: _Finished) -> _Finished:
        """Both states as one; what is new in them is heard."""
        self.hear(a)
        self.hear(b)
        return a.joined(b)

    def hear(self, state: _Finished) -> None:
        """Tell of the results of a state, the last of which is new or none is."""
        for place, result in reversed(state.results):
            if place < self.told or place in self.waiting:
                break
            self.waiting[place] = result
        while self.told in self.waiting:
            item = self.items[self.told]
            self.on_result(item, self.waiting.pop(self.told))
            self.told += 1
            if self.on_done is not None:
                self.on_done(item)


def run_tasks(
    engine: Engine,
    function: Callable[[T], R],
    items: Iterable[T],
    *,
    on_done: Callable[[T], None] | None = None,
    on_result: Callable[[T, R], None] | None = None,
) -> list[R]:
    """The results of ``function(item)`` for each item, in the order of the items.

    Parameters
    ----------
    engine :
        Where the tasks run, one an item. On `LocalEngine` they run in this process one after another: tasks may use
        what a process has once, such as torch's generator of chance.
    function, items :
        What must travel: paths, seeds, settings. A function with a true attribute ``gpu`` takes a GPU where there is
        one.
    on_done :
        Called with each item as it and all before it are finished.
    on_result :
        Called here with each item and its result, in that order, too, and before `on_done`: a result that was kept is
        not lost where a later task fails. Engines that merge states as they come, as those of the package, tell each
        at once (Spark those of several tasks together); any other at the end.

    Results should be small; what is large is a file that the task writes. Each task has one thread for linear algebra
    and for the package's own passes, on every engine and with any number of workers, so that sums are rounded alike.
    What a task warns of is told here, once. Raises `UsageError` where the function or an item cannot be sent, whatever
    error a task ended with, and `WorkError` for a worker that died; what other tasks have written stays.

    >>> run_tasks(LocalEngine(), abs, [-2, 1, -3])
    [2, 1, 3]
    >>> run_tasks(LocalEngine(), abs, [])
    []
    """
    given = list(items)
    if isinstance(engine, LocalEngine):
        found = []
        for item in given:
            found.append(_alone(function, item))
            if on_result is not None:
                on_result(item, found[-1])
            if on_done is not None:
                on_done(item)
        return found
    if not given:
        return []
    for what in (function, *given):
        try:
            pickle.dumps(what)
        except Exception as error:  # pickling runs code of the objects
            said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise UsageError(
                f"the work cannot be sent to workers ({said}); name models and data by their paths, use functions of a "
                "module, or take the engine local"
            ) from error
    work = _Work(function, bool(getattr(function, GPU, False)))
    numbered = list(enumerate(given))
    if on_result is None:
        told = None if on_done is None else (lambda part: on_done(part[1]))
        finished = engine.fold(numbered, work, _Finished.joined, told)
    else:
        hearing = _Hearing(given, on_result, on_done)
        parts = [None, *numbered] if len(numbered) > 1 else numbered
        finished = engine.fold(parts, work, hearing.merge)
        hearing.hear(finished)
    for message, category, file, line in dict.fromkeys(finished.warned):
        warnings.warn_explicit(message, category, file, line)
    return [result for _, result in sorted(finished.results, key=itemgetter(0))]


def _alone(function: Callable[[T], R], item: T) -> R:
    """The result of a task in one thread; the threads of the process are put back."""
    with limited_to(1), one_thread():
        return function(item)
