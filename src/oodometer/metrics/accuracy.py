"""Accuracy: the share of correct samples, with the exact binomial interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from ..arrays import Array
from ..classes import truth_values
from ..errors import InputError, NotApplicable
from ..intervals import clopper_pearson
from ..predictions import Predictions
from ..registry import register
from .base import VERDICT, Measure, Metric, measure


def accuracy(correct: Any) -> float:
    """Share of samples that are correct, a fraction; ``correct`` of shape (sample,).

    Raises `InputError` for no sample, or for verdicts that are not true or false.

    >>> accuracy([True, True, False, True])
    0.75
    """
    verdict = truth_values(correct, "correct")
    if not verdict.size or (verdict < 0).any():
        got = "null" if verdict.size else "none"
        raise InputError("a verdict for every sample", got=got, remedy="drop unlabelled rows", column="correct")
    return float(verdict.mean())


@dataclass(frozen=True)
class Counts:
    """Samples and how many of them are correct."""

    rows: int
    hits: int

    @classmethod
    def of(cls, verdict: Array) -> Counts:
        """State of verdicts 0 or 1, shape (sample,)."""
        return cls(len(verdict), int(verdict.sum()))

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.rows + other.rows, self.hits + other.hits)


@final
@register("metric")
class Accuracy(Metric[Counts, Measure]):
    """Accuracy, hits / n, with the interval of Clopper and Pearson (1934), which holds for every n.

    Source: Clopper and Pearson (1934) for the interval.

    >>> from oodometer import Predictions
    >>> Accuracy().compute(Predictions.from_classes([0, 1, 1, 1], label=[0, 1, 1, 0])).value
    0.75
    """

    name = "accuracy"
    needs = VERDICT
    bigger_is_better = True
    citation = "clopper1934"

    def summarize(self, batch: Predictions) -> Counts:
        """Count the rows of known truth."""
        return Counts.of(batch.known().verdicts)

    def finish(self, state: Counts, level: float = 0.95, seed: int = 0) -> Measure:
        """The share and its exact interval."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        return measure(state.hits / state.rows, clopper_pearson(state.hits, state.rows, level), level, "exact")
