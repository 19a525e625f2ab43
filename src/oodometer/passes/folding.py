"""Folding: the parts of a data set through one engine to one state, whatever the pass is for, with progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..engines import Engine, create_engine

__all__ = ["Execution", "Progress"]

S = TypeVar("S")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Execution:
    """Where a pass runs and who hears of it: engine (or its name), workers, ``progress(parts done, parts in all)``.

    >>> Execution(workers=1).fold(lambda part: part * 10, [1, 2, 3], lambda a, b: a + b)
    60
    """

    engine: str | Engine = "local"
    workers: int | None = None
    progress: Progress | None = None

    def fold(self, work: Callable[[Any], S], parts: Sequence[Any], merge: Callable[[S, S], S]) -> S:
        """The merged state of all parts: ``work(part)`` gives the state of one, ``merge(a, b)`` joins two."""
        runner = create_engine(self.engine, self.workers) if isinstance(self.engine, str) else self.engine
        done = 0

        def on_done(_: Any) -> None:
            nonlocal done
            done += 1
            if self.progress is not None:
                self.progress(done, len(parts))

        return runner.fold(parts, work, merge, on_done)
