"""The contract of a ranker: a record in, one number for the whole record out; it ranks and never estimates."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import ClassVar, Self

from ..arrays import present
from ..errors import NotApplicable
from ..inference.method import Method
from ..plain import Json, Strings
from ..predictions import Predictions
from ..scores.base import lacking

State = Json


class Ranker(Method[State, float]):
    """One number for a whole record, larger = more likely accurate: good for an order, not for an accuracy.

    A subclass is final: it sets ``name``, ``needs`` (fields of the record; ``"a|b"`` means either), ``citation`` and
    ``across_models`` (whether numbers of different models share one scale; if not, it orders data sets of one
    model), and defines ``summarize`` and ``finish``. A state is small and merges, and the number does not
    depend on the batches, on the order of rows or (but for chance) on how many there are. Labels of the scored
    record are never looked at.
    """

    needs: ClassVar[Strings]
    across_models: ClassVar[bool] = True

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record does not suffice, or None."""
        return lacking(self.needs, record)

    def fit(self, reference: Predictions | None = None) -> Self:
        """A copy that has learnt what it may use of a reference; most rankers use nothing."""
        fitted = copy.copy(self)
        if reference is not None and len(reference):
            fitted._fit(reference)
        return fitted

    def _fit(self, reference: Predictions) -> None:
        """Learn from the reference; called on a fresh copy."""

    def merge(self, a: State, b: State) -> State:
        """Two states as one: entries are added unless a ranker says otherwise."""
        return {key: a[key] + b[key] for key in a}

    def score(self, record: Predictions, *, batch_rows: int = 65_536) -> float:
        """The number of a record in memory; `NotApplicable` without rows or without a needed field."""
        return self.finish(self.state_of(record, batch_rows=batch_rows))

    def state_of(self, record: Predictions, *, batch_rows: int = 65_536) -> State:
        """The state of a record in memory; errors as in `score`."""
        if not len(record):
            raise NotApplicable("needs at least one row")
        why = self.why_not(record)
        if why is not None:
            raise NotApplicable(why)
        return present(self.folded(record.batches(batch_rows)))

    def settled(self, states: Mapping[str, State]) -> tuple[Self, Strings]:
        """A ranker whose numbers compare over all these records, and notes on what it decided; most decide nothing."""
        return self, ()
