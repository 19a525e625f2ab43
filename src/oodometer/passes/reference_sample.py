"""Reference sample: labelled rows of a reference, all of them or a seeded uniform sample, and counts of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, Ragged
from ..fields import FIELDS
from ..inference.folds import scramble
from ..predictions import Predictions

MOST_ROWS = 1_000_000
SLACK = 1.25  # how far the limit may be passed before rows are dropped
MOST_VALUES = 52_000_000  # numbers kept of a reference: 208 MB of float32

Keyed = tuple[Array | None, Predictions]
"""Rows and their scrambled numbers; None where no row need be dropped."""


@dataclass(frozen=True)
class Reference:
    """A labelled record to fit on, and the exact counts of all its rows.

    ``sampled`` is true where only a sample was kept.
    """

    record: Predictions
    rows: int
    correct: int
    unlabelled: int
    sampled: bool


@dataclass(frozen=True)
class Gathered:
    """A reference as it was read: its batches are not one record yet.

    ``parts`` hold rows of known truth, each row with its scrambled number; without numbers no row need be dropped.
    ``whole`` is all of them in one record, where they were put there as they came.
    """

    parts: tuple[Keyed, ...]
    rows: int
    correct: int
    unlabelled: int
    limit: int
    whole: Predictions | None = None

    def joined(self) -> Reference:
        """One record, a sample where there are more rows than the limit."""
        if self.whole is not None and not self.unlabelled:
            return Reference(self.whole, self.rows, self.correct, 0, False)
        keys = [k for k, _ in self.parts if k is not None]
        parts = list(self.parts)
        if keys and sum(map(len, keys)) > self.limit:
            parts = smallest(parts, self.limit)[1]
        record = Predictions.concat([r for _, r in parts if len(r)])
        return Reference(record, self.rows, self.correct, self.unlabelled, len(record) < self.rows)


def most(record: Predictions, rows: int = MOST_ROWS, values: int = MOST_VALUES) -> int:
    """Rows like those of a record that are kept of a reference, at least one.

    >>> most(Predictions.from_probabilities([[0.5, 0.5]])), most(Predictions.from_probabilities([[0.01] * 100]))
    (1000000, 514851)
    """
    return max(min(rows, values // width(record)), 1)


def width(record: Predictions) -> int:
    """Numbers a row: those of fields with several, and one for all others together.

    >>> width(Predictions.from_probabilities([[0.9, 0.1]], label=[0]))
    3
    """
    total = 1
    for name, field in FIELDS.items():
        value = getattr(record, name)
        if isinstance(value, Ragged):
            total += len(value.values) // max(record.rows, 1)
        elif value is not None and len(field.axes) > 1:
            total += value.size // max(record.rows, 1)
    return total


def can_be_judged(batch: Predictions) -> bool:
    """Whether a batch tells of some rows whether they are right."""
    return batch.correct is not None or (batch.label is not None and batch.has_prediction)


def labelled_rows(batch: Predictions) -> tuple[Array, Predictions]:
    """Where the rows of a batch are labelled, bool, shape (sample,), and these rows; the batch itself where all are.

    >>> there, known = labelled_rows(Predictions.from_arrays(prediction=[0, 1, 1], label=[0, None, 0]))
    >>> there.tolist(), known.verdicts.tolist()
    ([True, False, True], [1, 0])
    """
    there = batch.verdicts >= 0 if can_be_judged(batch) else np.zeros(len(batch), dtype=bool)
    return there, batch if there.all() else batch.take(there)


def keys_of(batch: Predictions, known: Array) -> Array:
    """The scrambled numbers, in the whole data set, of the rows of a batch where ``known`` is true; uint64.

    They depend on the place of a row alone, so that batches, files and machines give the same sample.
    """
    return scramble(batch.first_row + np.flatnonzero(known))


def smallest(parts: Sequence[Keyed], limit: int) -> tuple[Any, list[Keyed]]:
    """The lowest number that is not kept, and the ``limit`` rows with the smallest."""
    keys = [k for k, _ in parts if k is not None]
    highest = np.partition(np.concatenate(keys), limit)[limit]
    return highest, [below(k, r, highest) for k, r in parts if k is not None]


def below(keys: Array, record: Predictions, highest: Any) -> tuple[Array, Predictions]:
    """The rows whose key is below the highest that is kept."""
    keep = keys < highest
    return (keys, record) if keep.all() else (keys[keep], record.take(keep))
