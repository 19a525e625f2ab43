"""A situation: a labelled reference, a target without labels, and the accuracy that only the benchmark knows."""

from __future__ import annotations

from dataclasses import dataclass

from oodometer import Predictions


@dataclass(frozen=True)
class Situation:
    """A labelled reference, a target without labels, and the accuracy of the target's rows."""

    bed: str
    name: str
    reference: Predictions
    target: Predictions
    truth: float
