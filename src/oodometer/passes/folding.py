"""Folding: the parts of a data set through one engine to one state, whatever the pass is for, with progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import add
from typing import TYPE_CHECKING, Any, TypeVar

from ..engines import Engine, LocalEngine
from ..registry import create
from ..store.base import in_threads

if TYPE_CHECKING:
    from .run_folder import RunFolder


S = TypeVar("S")
Progress = Callable[[int, int], None]


def enter_phase(progress: Progress | None, name: str) -> Progress | None:
    """Tell that another phase of the work begins; gives back what hears of phases, or None."""
    listener: Any = hearing_phases(progress)
    if listener is not None:
        listener.phase(name)
    return progress if listener is not None else None


def hearing_phases(progress: Progress | None) -> Progress | None:
    """What hears of phases, not of the target's parts alone as a plain function does; None where nothing does."""
    return progress if callable(getattr(progress, "phase", None)) else None


@dataclass(frozen=True)
class _Listed:
    work: Callable[[Any], Any]

    def __call__(self, item: Any) -> list[Any]:
        return [self.work(item)]


@dataclass(frozen=True)
class Execution:
    """Where a pass runs and who hears of it (``progress(done, in all)``); ``folder`` keeps states."""

    engine: str | Engine = "local"
    workers: int | None = None
    progress: Progress | None = None
    folder: RunFolder | None = None

    @cached_property
    def runner(self) -> Engine:
        """The engine, one for all passes: a cluster is started once."""
        return (
            create("engine", self.engine, workers=self.workers)
            if isinstance(self.engine, str)
            else self.engine
        )

    @property
    def is_plain(self) -> bool:
        """Whether threads of this process read, and no state is kept: then a pass need not go part by part."""
        return self.folder is None and (
            self.engine == LocalEngine.name or self.runner.name == LocalEngine.name
        )

    def heard_by(self, progress: Progress | None) -> Execution:
        """The same on the same engine, which is not started twice, of which somebody else hears, or nobody."""
        return replace(
            self,
            engine=self.engine if self.engine == LocalEngine.name else self.runner,
            progress=progress,
        )

    def each(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """What small work, such as counting, gives for each item: on the machines of a cluster, or in threads."""
        if len(items) < 2:
            return [work(item) for item in items]
        if not self.runner.elsewhere:
            return in_threads(work, items)
        return self.runner.fold(items, _Listed(work), add)

    def fold(self, work: Callable[[Any], S], parts: Sequence[Any], merge: Callable[[S, S], S]) -> S:
        """The merged state of all parts: ``work(part)`` gives the state of one, ``merge(a, b)`` joins two."""
        done = 0

        def on_done(_: Any) -> None:
            nonlocal done
            done += 1
            if self.progress is not None:
                self.progress(done, len(parts))

        if len(parts) == 1 and self.is_plain:  # nothing is handed out or merged
            state = work(parts[0])
            on_done(None)
            return state
        if self.folder is not None:
            return self.folder.fold(self.runner, work, parts, merge, on_done)  # type: ignore[no-any-return]
        return self.runner.fold(parts, work, merge, on_done)
