"""The contract of an engine: work on every part, merge the states in the order of the parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

__all__ = ["Engine"]

S = TypeVar("S")


class Engine(ABC):
    """Runs ``work(part) -> state`` over parts and folds the states with ``merge(a, b) -> state``.

    Parts are references (a file and its row groups), never rows; states are small. States are merged in the
    order of the parts, whatever the order in which they arrive, so that the result does not depend on the
    number of workers.
    """

    @abstractmethod
    def fold(
        self,
        parts: Sequence[Any],
        work: Callable[[Any], S],
        merge: Callable[[S, S], S],
        on_done: Callable[[Any], None] | None = None,
    ) -> S:
        """The merged state of all parts; ``on_done(part)`` is called as each part is finished."""
