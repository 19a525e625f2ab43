"""The local engine: threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, TypeVar, final

from ..kernels import cores, pool
from ..registry import register
from .base import Engine, check_workers, fold_states

S = TypeVar("S")


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
