"""Diagnosing: the pass of a diagnosis alone, small and picklable, so that any engine can run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from ..calibrators import Choice
from ..diagnoses import Diagnostician
from ..errors import InputError
from ..estimators import Sums

__all__ = ["DiagnosisPass"]


@final
@dataclass(frozen=True)
class DiagnosisPass:
    """A fitted diagnostician and the calibrator that its rows go through, batch by batch."""

    diagnostician: Diagnostician
    choice: Choice
    rows: int

    def __call__(self, part: Any) -> Sums:
        """The state of one part."""
        total: Sums | None = None
        for batch in part.batches(rows=self.rows):
            if len(batch):
                state = self.diagnostician.summarize(self.choice.apply(batch))
                total = state if total is None else self.diagnostician.merge(total, state)
        if total is None:
            raise InputError("at least one row", got="none", remedy="check what wrote it")
        return total
