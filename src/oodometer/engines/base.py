"""The contract of an engine: work on every part, merge the states in order; and tasks, each when its needs are done."""

from __future__ import annotations

import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import takewhile
from typing import Any, ClassVar, Generic, TypeVar

from ..errors import UsageError
from ..kernels import cores, limited_to, one_thread, pool
from ..registry import create, register

S = TypeVar("S")


class Engine:
    """Runs ``work(part) -> state`` over parts and folds the states with ``merge(a, b) -> state``.

    Parts are references (a file and its row groups), never rows; states are small. States are merged in the
    order of the parts, whatever the order in which they arrive, so that the result does not depend on the
    number of workers, nor on the engine.

    A subclass has `pool` or, where it hands out all parts at once, `fold`. It has a ``name``, says in ``requires`` what
    must be installed, and takes ``workers`` (None: as many as there are). One that can reach machines by an address
    takes it in ``from_argument(argument, workers=)``, which ``name:argument`` calls. A package brings its own under the
    entry-point group ``oodometer.engines``.
    """

    name: ClassVar[str]
    requires: ClassVar[str] = ""
    elsewhere: ClassVar[bool] = (
        False  # whether its workers may be on other machines, which have the files nearer
    )

    def fold(
        self,
        parts: Sequence[Any],
        work: Callable[[Any], S],
        merge: Callable[[S, S], S],
        on_done: Callable[[Any], None] | None = None,
    ) -> S:
        """The merged state of all parts; ``on_done(part)`` is called as each part is finished."""
        with self.pool(work, len(parts)) as pool:
            assert pool is not None
            states: Iterator[S] = pool.states(parts)
            return fold_states(states, parts, merge, on_done)

    @contextmanager
    def pool(self, work: Callable[[Any], Any], parts: int) -> Iterator[Pool | None]:
        """Workers that have the work, for so many parts; None where an engine has `fold` alone."""
        yield None


@dataclass(frozen=True)
class Pool:
    """Workers that take parts: ``submit`` gives a part's future, ``most`` may be under way, ``state`` reads answers."""

    submit: Callable[[Any], Future[Any]]
    most: int
    state: Callable[[Any], Any] = lambda answer: answer

    def states(self, parts: Iterable[Any]) -> Iterator[Any]:
        """The states of all parts, in their order."""
        under_way: deque[Future[Any]] = deque()
        for part in parts:
            under_way.append(self.submit(part))
            if len(under_way) >= self.most:
                yield self.state(under_way.popleft().result())
        while under_way:
            yield self.state(under_way.popleft().result())


def at_once(work: Callable[[Any], Any]) -> Pool:
    """This process alone, which works on a part as it is submitted."""

    def submit(part: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(work(part))
        return future

    return Pool(submit, 1)


def check_workers(workers: int | None) -> int | None:
    """The number of workers if there can be so many; `UsageError` for fewer than one."""
    if workers is not None and workers < 1:
        raise UsageError(f"expected at least one worker, got {workers}")
    return workers


def fold_states(
    states: Iterable[S],
    parts: Sequence[Any],
    merge: Callable[[S, S], S],
    on_done: Callable[[Any], None] | None = None,
) -> S:
    """One state of the states of all parts, which come in the order of the parts; `UsageError` where there is none."""
    total: S | None = None
    for part, state in zip(parts, states, strict=True):
        total = state if total is None else merge(total, state)
        if on_done is not None:
            on_done(part)
    if total is None:
        raise UsageError("there is nothing to work on: no parts")
    return total


def task_engine(
    engine: str | Engine | None, workers: int | None, *, gpu: bool = False
) -> Engine | None:
    """Where tasks run; None where nothing was said: then the work is done in this process as it always is. Several
    ``workers`` without an engine are processes of this machine; the engine "local" does one task after another.
    ``gpu``: the tasks use the GPU of this machine: then one at a time, except on Ray, which shares out GPUs by itself.
    """
    if engine is None and workers is None:
        return None
    if isinstance(engine, Engine) or (engine is not None and not isinstance(engine, str)):
        return engine
    name = engine or ("local" if workers == 1 else "processes")
    if name == LocalEngine.name:
        if workers not in (None, 1):
            text = f"the engine local does one task after another in this process, not {workers} at a time"
            raise UsageError(f"{text}; take --engine processes")
        return LocalEngine(workers=1)
    if workers is None and gpu and name.partition(":")[0] != "ray":
        workers = 1
    return create("engine", name, workers=workers)  # type: ignore[no-any-return]


@register("engine")
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

    @contextmanager
    def pool(self, work: Callable[[Any], Any], parts: int) -> Iterator[Pool]:
        """Threads where there are several parts."""
        workers = min(self.workers, parts)
        if workers <= 1:
            yield at_once(work)
            return
        with pool(workers) as threads:
            try:
                yield Pool(lambda part: threads.submit(work, part), parts)
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                raise


T = TypeVar("T")
R = TypeVar("R")

GPU = "gpu"
"""Attribute of a function whose tasks take a GPU each, where there is one; an engine that shares out GPUs heeds it."""

_Finished = list[tuple[int, Any, list[tuple[str, type[Warning], str, int]]]]
"""Tasks that are done: index of the item, result, and what was warned of. States that merge by being added."""


@dataclass(frozen=True)
class _Work:
    """A task: one thread, which is given back, and, on a worker, warnings that travel back to whoever asked."""

    function: Callable[[Any], Any]
    gpu: bool
    here: bool = False

    def __call__(self, numbered: tuple[int, Any] | None) -> _Finished:
        if numbered is None:
            return []
        index, item = numbered
        catching: Any = nullcontext([]) if self.here else warnings.catch_warnings(record=True)
        with limited_to(1), one_thread(), catching as caught:
            result = self.function(item)
        user_warnings = [
            warning for warning in caught if issubclass(warning.category, UserWarning)
        ]  # others: for developers
        return [
            (
                index,
                result,
                [(str(w.message), w.category, w.filename, w.lineno) for w in user_warnings],
            )
        ]


def run_tasks(
    engine: Engine,
    function: Callable[[T], R],
    items: Iterable[T],
    *,
    needs: Mapping[int, Iterable[int]] | None = None,
    on_done: Callable[[T], None] | None = None,
    on_result: Callable[[T, R], None] | None = None,
) -> list[R]:
    """The results of ``function(item)`` for each item, in the order of the items, on `LocalEngine` one after another.
    What must travel are paths, seeds, settings; a function with a true attribute ``gpu`` takes a GPU where there is
    one. ``needs``: index of an item -> indices of those that must be done before it; of those that are ready the first
    is begun first. ``on_result(item, result)``, then ``on_done(item)``, are called here in the order of the items (with
    ``needs`` as they come), so that a result that was kept is not lost where a later task fails. Each task has one
    thread for linear algebra and for the package's own passes, on every engine, so that sums are rounded alike. What a
    task warns of is told here, once. Raises `UsageError` where the function or an item cannot be sent, whatever error a
    task ended with, and `WorkError` for a worker that died; tasks under way are waited for.
    """
    tasks, is_local = list(items), isinstance(engine, LocalEngine)
    if not tasks:
        return []
    if not is_local:
        _check_can_be_sent(function, *tasks)
    work = _Work(function, bool(getattr(function, GPU, False)), is_local)
    results: _Results[T, R] = _Results(tasks, on_result, on_done, in_order=not needs)
    order = TopologicalSorter({index: (needs or {}).get(index, ()) for index in range(len(tasks))})
    order.prepare()
    with engine.pool(work, 1 if is_local else len(tasks)) as pool:
        if pool is None:
            _fold_as_ready(engine, work, results, order)
        else:
            limit = min(pool.most, getattr(engine, "workers", None) or pool.most)
            _submit_as_ready(pool, limit, results, order)
    for message, category, file, line in results.warned:
        warnings.warn_explicit(message, category, file, line)
    return [results.of[index] for index in range(len(tasks))]


def _check_can_be_sent(*work: Any) -> None:
    """`UsageError` where the function or an item does not travel."""
    for what in work:
        try:
            pickle.dumps(what)
        except Exception as error:  # pickling runs code of the objects
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            remedy = "name models and data by their paths, use functions of a module, or take the engine local"
            raise UsageError(f"the work cannot be sent to workers ({reason}); {remedy}") from error


class _Results(Generic[T, R]):
    """Results of items by their index, told of as they come or ``in_order``, and what tasks warned of."""

    def __init__(
        self,
        items: Sequence[T],
        on_result: Callable[[T, R], None] | None,
        on_done: Callable[[T], None] | None,
        in_order: bool,
    ) -> None:
        self.items, self._on_result, self._on_done = items, on_result, on_done
        self.of: dict[int, R] = {}
        self.warned: dict[tuple[str, type[Warning], str, int], None] = {}
        self._waiting = list(range(len(items)))  # that are told of, in this order
        self._tellable: Any = takewhile if in_order else filter

    def add(self, finished: _Finished) -> None:
        """Tell of what is new in a state; one that was merged ends with it."""
        for index, result, warned in reversed(finished):
            if index in self.of:
                break
            self.of[index] = result
            self.warned.update(dict.fromkeys(warned))
        for index in list(self._tellable(self.of.__contains__, self._waiting)):
            self._waiting.remove(index)
            if self._on_result is not None:
                self._on_result(self.items[index], self.of[index])
            if self._on_done is not None:
                self._on_done(self.items[index])

    def merge(self, a: _Finished, b: _Finished) -> _Finished:
        """Two states as one, told of at once."""
        self.add(a)
        self.add(b)
        return a + b


def _fold_as_ready(
    engine: Engine, work: _Work, results: _Results[Any, Any], order: TopologicalSorter[int]
) -> None:
    """Run the tasks on an engine without a pool: all that are ready in one fold."""
    while order.is_active():
        ready = sorted(order.get_ready())
        parts = [None, *((index, results.items[index]) for index in ready)]
        parts = parts if len(ready) > 1 else parts[1:]
        results.add(engine.fold(parts, work, results.merge, lambda part: None))
        order.done(*ready)


def _submit_as_ready(
    pool: Pool, limit: int, results: _Results[Any, Any], order: TopologicalSorter[int]
) -> None:
    """Run the tasks in a pool, at most so many at a time; after a failure none begins."""
    ready: list[int] = []
    under_way: dict[Future[Any], int] = {}
    failed: dict[int, Exception] = {}
    while (order.is_active() and not failed) or under_way:
        ready = sorted([*ready, *order.get_ready()])
        while ready and len(under_way) < limit and not failed:
            index = ready.pop(0)
            under_way[pool.submit((index, results.items[index]))] = index
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            index = under_way.pop(future)
            try:
                results.add(pool.state(future.result()))
                order.done(index)
            except Exception as error:
                failed[index] = error
    if failed:
        raise failed[min(failed)]
