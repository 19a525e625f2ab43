"""The contract of an engine: work on every part, merge the states in the order of the parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar

from ..errors import UsageError

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
