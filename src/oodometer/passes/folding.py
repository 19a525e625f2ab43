"""Folding: the parts of a data set through one engine to one state, whatever the pass is for, with progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..engines import Engine, create_engine

__all__ = ["Progress", "fold"]

S = TypeVar("S")
Progress = Callable[[int, int], None]


def fold(
    work: Callable[[Any], S],
    parts: Sequence[Any],
    merge: Callable[[S, S], S],
    *,
    engine: str | Engine = "local",
    workers: int | None = None,
    progress: Progress | None = None,
) -> S:
    """The merged state of all parts: ``work(part)`` gives the state of one, ``merge(a, b)`` joins two.

    ``engine`` is an engine or its name; ``progress`` is called with (parts done, parts in all).

    >>> fold(lambda part: part * 10, [1, 2, 3], lambda a, b: a + b, workers=1)
    60
    """
    runner = create_engine(engine, workers) if isinstance(engine, str) else engine
    done = 0

    def on_done(_: Any) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(parts))

    return runner.fold(parts, work, merge, on_done)
