"""Label counts: samples counted by (predicted class, quantile bin of confidence), on the reference by class as well."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..calibrators.binned_map import bins_for
from ..errors import NotApplicable
from ..predictions import Predictions
from ..scores import ModelAgreement, Score, natural_confidence
from .base import Estimator, Sums
from .confidence import confidence_bins, counts_by_class_and_bin

_MOST_BINS = 10
_ROWS_PER_CELL = 25
_FEW_ROWS = 30
_FEW_ROWS_A_CLASS = 20
_DENSE, _DENSE_SIZE = (
    4,
    1 << 16,
)  # cells a row, and beside them, up to which a count over all cells is quickest


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """A division of samples into cells, learnt on a labelled reference, with the reference's own counts.

    Parameters
    ----------
    score : the confidence that is binned; None where there is none and a predicted class is one cell.
    classes : length of the class axis.
    table : cell of each (predicted class, fine confidence bin), shape (class * bin,), and at its end the cell of
        predicted classes that the reference does not know.
    owner : predicted class of each cell, shape (cell,); -1 for that last cell.
    pair_cell, pair_label, pair_rows, pair_hits : the reference's filled pairs of (cell, true class) with their rows and
        correct rows, shape (pair,); a dense table of 1,000 classes would be zeros mostly.
    """

    score: Score | None
    classes: int
    table: Array
    owner: Array
    pair_cell: Array
    pair_label: Array
    pair_rows: Array
    pair_hits: Array

    def __len__(self) -> int:
        return len(self.owner)

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record cannot be counted, or None."""
        return None if self.score is None else self.score.why_not(record)

    def count(self, record: Predictions) -> Array:
        """Samples of a record in each cell, int, shape (cell,); counts of batches add up."""
        if self.score is not None and len(self.table) <= len(record) and _all_known(record, self.classes):
            fine = counts_by_class_and_bin(record, self.score, self.classes).reshape(-1)
            name = f"label counts:{self.score.name}:{self.classes}:{self._digest}"
            found: Array = record.derived(  # exact below 2^53
                name, lambda: np.bincount(self.table[:-1], fine, len(self)).astype(np.int64)
            )
            return found
        return np.bincount(self.cells(record), minlength=len(self))

    def cells(self, record: Predictions) -> Array:
        """The cell of each sample, shape (sample,)."""
        found: Array = self.table[_places(record, self.score, self.classes)]
        return found

    @cached_property
    def _digest(self) -> str:
        """What tells this division from another one."""
        return blake2b(self.table.tobytes(), digest_size=16).hexdigest()

    @cached_property
    def rows_by_cell_and_label(self) -> Array:
        """Reference rows, int, shape (cell, class)."""
        out = np.zeros((len(self), self.classes), dtype=np.int64)
        out[self.pair_cell, self.pair_label] = self.pair_rows
        return out

    @cached_property
    def rows(self) -> Array:
        """Reference rows in each cell, int, shape (cell,)."""
        return np.bincount(self.pair_cell, self.pair_rows, len(self)).astype(np.int64)

    @cached_property
    def rows_by_label(self) -> Array:
        """Reference rows of each true class, int, shape (class,)."""
        return np.bincount(self.pair_label, self.pair_rows, self.classes).astype(np.int64)

    @cached_property
    def hits(self) -> Array:
        """Correct reference rows in each cell, int, shape (cell,)."""
        return np.bincount(self.pair_cell, self.pair_hits, len(self)).astype(np.int64)

    @cached_property
    def hits_by_label(self) -> Array:
        """Correct reference rows of each true class, int, shape (class,)."""
        return np.bincount(self.pair_label, self.pair_hits, self.classes).astype(np.int64)

    @property
    def total(self) -> int:
        """Reference rows in all."""
        return int(self.pair_rows.sum())

    @property
    def is_thin(self) -> bool:
        """Whether there are so few reference rows a class that a test of the fitted prior says nothing."""
        return self.total < _FEW_ROWS_A_CLASS * int(np.count_nonzero(self.rows_by_label))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of the reference before believing a class prior that was fitted with it."""
        notes = []
        absent = int(np.count_nonzero(self.rows_by_label == 0))
        present = self.classes - absent
        if self.total < _FEW_ROWS:
            notes.append(f"the reference has only {self.total} rows")
        elif self.is_thin:
            notes.append(
                f"the reference has about {self.total / present:.0f} rows a class; too few to tell classes apart well"
            )
        if absent:
            notes.append(f"{absent} of {self.classes} classes have no reference row and are taken to be absent")
        return tuple(notes)

    @property
    def prior(self) -> Array:
        """Share of each class in the reference, shape (class,)."""
        out: Array = self.rows_by_label / self.total
        return out

    def by_prediction(self, counts: Array) -> Array:
        """Counts (..., cell) summed over the cells of each predicted class, shape (..., class)."""
        inside = np.flatnonzero(self.owner >= 0)  # owners ascend, each has a cell
        starts = np.searchsorted(self.owner[inside], np.arange(self.classes))
        out: Array = np.add.reduceat(counts[..., inside], starts, axis=-1)
        return out


def count_labels(
    reference: Predictions, *, most_bins: int = _MOST_BINS, rows_per_cell: int = _ROWS_PER_CELL
) -> LabelCounts:
    """Divide by predicted class and, within it, by quantile of confidence: at most ``most_bins`` bins a class.

    A predicted class of n reference rows has min(sqrt(n)/2.5, n/``rows_per_cell``) bins, one at the least. Confidence
    is that of `natural_confidence`; without one, the agreement of `members`; without these, there are no bins. Raises
    `NotApplicable` without true and predicted classes.

    >>> p = Predictions.from_classes([0, 0, 1], label=[0, 1, 1])
    >>> cells = count_labels(p)
    >>> cells.rows_by_cell_and_label.tolist(), cells.count(p).tolist()  # the last cell is for unknown classes
    ([[1, 1], [0, 1], [0, 0]], [2, 1, 0])
    """
    if reference.label is None or not reference.num_classes:
        raise NotApplicable("needs the true class (`label`) of reference rows; `correct` alone does not tell it")
    if not reference.has_prediction:
        raise NotApplicable("needs the predicted class of each row (`prediction` or `probabilities`)")
    if not (reference.label >= 0).all():
        reference = reference.take(reference.label >= 0)
    if not len(reference):
        raise NotApplicable("needs reference rows with a `label`")
    assert reference.label is not None
    score = _cell_score(reference) if most_bins > 1 else None  # a single bin needs no confidence
    classes = reference.num_classes
    place = _places(reference, score, classes)
    width = _width(score, classes)
    table, owner = _quantile_cells(place, classes, width, most_bins, rows_per_cell)
    pair = table[place] * classes + reference.label
    filled, rows, hits = _counted(pair, reference.verdicts == 1, len(owner) * classes)
    return LabelCounts(score, classes, table, owner, filled // classes, filled % classes, rows, hits)


def label_counts_of(reference: Predictions) -> LabelCounts:
    """`count_labels` with its usual bins, worked out once a record."""
    made: LabelCounts = reference.derived("label_counts", lambda: count_labels(reference))
    return made


def _counted(pair: Array, right: Array, size: int) -> tuple[Array, Array, Array]:
    """The numbers below ``size`` that occur, how often each does, and how often it is right; int64."""
    if size > _DENSE * len(pair) + _DENSE_SIZE:  # far more cells than rows: sorting the rows takes less
        filled, which, rows = np.unique(pair, return_inverse=True, return_counts=True)
        return filled, rows, np.bincount(which, right, len(filled)).astype(np.int64)
    every = np.bincount(pair, minlength=size)
    filled = np.flatnonzero(every)
    return filled, every[filled], np.bincount(pair[right], minlength=size)[filled]


def _cell_score(reference: Predictions) -> Score | None:
    try:
        return natural_confidence(reference)
    except NotApplicable:
        agreement = ModelAgreement().fit(reference)
        return None if agreement.why_not(reference) else agreement


def _places(record: Predictions, score: Score | None, classes: int) -> Array:
    """Position of each sample in `LabelCounts.table`."""
    predicted = record.predicted.astype(np.intp)
    width = _width(score, classes)
    fine: Array | int = 0 if score is None else confidence_bins(record, score, classes)
    known = (predicted >= 0) & (predicted < classes)
    place: Array = np.where(known, predicted * width + fine, classes * width)
    return place


def _all_known(record: Predictions, classes: int) -> bool:
    """Whether every predicted class is one of the reference's."""

    def make() -> bool:
        predicted = record.predicted
        return not len(predicted) or bool(predicted.min() >= 0 and predicted.max() < classes)

    found: bool = record.derived(f"predicted below {classes}", make)
    return found


def _width(score: Score | None, classes: int) -> int:
    return 1 if score is None else bins_for(classes)


def _quantile_cells(place: Array, classes: int, width: int, most_bins: int, rows_per_cell: int) -> tuple[Array, Array]:
    """`LabelCounts.table` and `LabelCounts.owner` from the places of the reference rows."""
    rows = np.bincount(place, minlength=classes * width)[: classes * width].reshape(classes, width)
    total = rows.sum(axis=1, keepdims=True)
    bins = np.clip(np.minimum(total / rows_per_cell, np.sqrt(total) / 2.5).astype(np.intp), 1, most_bins)
    middle = np.cumsum(rows, axis=1) - rows / 2
    raw = np.minimum((bins * middle / np.maximum(total, 1)).astype(np.intp), bins - 1)
    # a fine bin without reference rows goes with the last one below it that has some, the lowest with the first
    filled = rows > 0
    last = np.maximum.accumulate(np.where(filled, np.arange(width), -1), axis=1)
    last = np.where(last < 0, filled.argmax(axis=1)[:, None], last)
    code = np.take_along_axis(raw, last, axis=1) + np.arange(classes)[:, None] * most_bins
    used, table = np.unique(code, return_inverse=True)
    return np.append(table.ravel(), len(used)), np.append(used // most_bins, -1)


class LabelCountEstimator(Estimator):
    """What estimators share that need of the target its counts in the reference's cells; subclasses finish.

    `NotApplicable` where the reference has no true classes.
    """

    needs: ClassVar[tuple[str, ...]] = ("class", "prediction|probabilities|members")

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method (once fitted, its cells too) needs, or None."""
        cells: LabelCounts | None = getattr(self, "_label_counts", None)
        return super().why_not(record) or (None if cells is None else cells.why_not(record))

    def _fit(self, reference: Predictions) -> None:
        self._label_counts: LabelCounts = label_counts_of(reference)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows in each cell."""
        return Sums(rows=len(batch), counts=self._label_counts.count(batch))
