"""The contract of a pass: a batch leaves states by slice and name, states merge, an engine folds the parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..predictions import Predictions
from .folding import Execution
from .guarding import merged
from .slicing import WHOLE, Key, check_slices

State = dict[Key, dict[str, Any]]


def merge_states(a: State, b: State, methods: Mapping[str, Any] | None = None) -> State:
    """Two states as one, slice by slice and name by name; ``methods`` merge their own, all else is added.

    >>> merge_states({WHOLE: {"rows": 1}}, {WHOLE: {"rows": 2, "read": 1}})
    {('whole', None): {'rows': 3, 'read': 1}}
    """
    out = dict(a)
    for key, states in b.items():
        mine = dict(out.get(key, {}))
        for name, state in states.items():
            method = (methods or {}).get(name)
            if name not in mine:
                mine[name] = state
            elif method is None:
                mine[name] = mine[name] + state
            else:
                mine[name] = merged(method.name, method, method.merge, mine[name], state)
        out[key] = mine
    return out


class Pass(ABC):
    """What is read of every batch; small, picklable, and the same for all of them.

    A subclass is a frozen dataclass. It has ``rows`` (of a batch), ``fields`` (to be read; None: all), ``by`` (a column
    to slice by, or None) and ``makers`` (name of a state -> the method that merges it).
    """

    rows: int
    by: str | None
    fields: Sequence[str] | None

    @property
    @abstractmethod
    def makers(self) -> Mapping[str, Any]:
        """The methods that merge their own states."""

    @abstractmethod
    def summarize(self, batch: Predictions) -> State:
        """The state of one batch: the whole of it, and each slice or chunk."""

    def __call__(self, part: Any) -> State:
        """The state of one part, read batch by batch."""
        total: State = {}
        for batch in part.batches(fields=self.fields, rows=self.rows):
            total = self.merge(total, self.summarize(batch))
        return total

    def merge(self, a: State, b: State) -> State:
        """Two states as one; `UsageError` where that makes too many slices or chunks."""
        out = merge_states(a, b, self.makers)
        self.check_slices([key for key in out if key[0] not in (WHOLE[0], "cluster")])
        return out

    def check_slices(self, keys: Collection[Key]) -> None:
        """A bounded number of slices or chunks."""
        if self.by is not None:
            check_slices(keys, self.by)

    def fold(self, parts: Sequence[Any], execution: Execution) -> State:
        """The state of all parts, wherever they are read."""
        return execution.fold(self, parts, self.merge)
