"""The contract that estimators and metrics share: a batch leaves a small state, states merge, a state is finished."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import reduce
from typing import Any, ClassVar, Generic, TypeVar

from ..predictions import Predictions

S = TypeVar("S")
R = TypeVar("R")


class Sums(dict[str, Any]):
    """A state whose entries (numbers or arrays) are added entry by entry: fixed size, merges in any order."""

    def __add__(self, other: Sums) -> Sums:
        if self.keys() != other.keys():
            raise ValueError("states of different methods cannot be merged")
        return Sums({key: self[key] + other[key] for key in self})

    @property
    def rows(self) -> Any:
        """Number of samples."""
        return self["rows"]


class Method(ABC, Generic[S, R]):
    """What is read off a data set through a small state, so that batches, files and machines are one code path:

        state = method.merge(method.summarize(batch_1), method.summarize(batch_2))
        method.finish(state)

    States of one method add with ``+``, which is associative and commutative.
    """

    name: ClassVar[str]
    citation: ClassVar[str]

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method needs, or None."""
        return None

    @abstractmethod
    def summarize(self, batch: Predictions) -> S:
        """What the method needs to know of a batch: small, and mergeable."""

    def merge(self, a: S, b: S) -> S:
        """Two states as one; the order does not matter."""
        both: S = a + b  # type: ignore[operator]
        return both

    @abstractmethod
    def finish(self, state: S) -> R:
        """What a state amounts to, with its interval."""

    def folded(self, batches: Iterable[Predictions]) -> S | None:
        """The state of all batches; None without any."""
        states = map(self.summarize, batches)
        first = next(states, None)
        return None if first is None else reduce(self.merge, states, first)
