"""Decided: a source whose predictions are made by a threshold on the probability of one of two classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..classes import ClassNames
from ..errors import InputError, UsageError
from ..fields import FIELDS
from ..predictions import Predictions
from .artifact_cache import checksum
from .axes import Axes
from .base import BATCH_ROWS, PART_ROWS, Each, Part, Source, in_threads

if TYPE_CHECKING:
    from .encoding import FeatureEncoding


def check_threshold(threshold: float) -> float:
    """A probability; `UsageError` for anything else."""
    if not 0 <= threshold <= 1:
        raise UsageError(f"expected a threshold between 0 and 1 such as 0.6, got {threshold:g}; divide percents by 100")
    return threshold


def decided(record: Predictions, threshold: float, positive: int | str | None = None) -> Predictions:
    """The record with the decision for the positive class, by default the second of two, where p >= threshold.

    Raises `InputError` without the probabilities of two classes, and where there is a `prediction` already.

    >>> p = Predictions.from_probabilities([[0.45, 0.55], [0.3, 0.7]], label=[0, 1])
    >>> decided(p, 0.6).predicted.tolist(), decided(p, 0.6).accuracy
    ([0, 1], 1.0)
    """
    if record.probabilities is None:
        raise InputError(
            "probabilities beside a threshold",
            got=", ".join(record.fields),
            file=record.source,
            remedy="name the column of the positive class with --positive, or leave --threshold out",
        )
    if record.num_classes != 2 or record.classes is None:
        raise InputError(
            "two classes beside a threshold", got=str(record.num_classes), file=record.source, remedy="leave it out"
        )
    if record.prediction is not None:
        raise InputError(
            "no `prediction` beside a threshold",
            got="both",
            file=record.source,
            column="prediction",
            remedy="leave --threshold out: the column is judged as it is",
        )
    at = 1 if positive is None else [str(one) for one in record.classes].index(str(positive))
    chosen = np.where(record.probabilities[:, at] >= threshold, at, 1 - at).astype(np.int32)
    return record.with_prediction(chosen)


def _decides(fields: Iterable[str] | None) -> bool:
    """Whether what is read has to do with the decision; ids and labels alone are read as they are."""
    return fields is None or any(name == "prediction" or FIELDS[name].of_classes for name in fields)


@dataclass(frozen=True)
class DecidedPart(Part):
    """Rows of a part, decided."""

    part: Part
    threshold: float
    positive: int | str | None

    def identity(self) -> str | None:
        """The part within, and the decision."""
        told = self.part.identity()
        return None if told is None else checksum(told, repr((self.threshold, self.positive)))

    def span(self) -> tuple[int, int] | None:
        """Those of the part within."""
        return self.part.span()

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """The part's batches, decided."""
        for batch in self.part.batches(fields, rows):
            yield decided(batch, self.threshold, self.positive) if _decides(fields) else batch


class DecidedSource(Source):
    """A source of a binary model, decided by a threshold; everything else is that of the source within."""

    def __init__(self, source: Source, threshold: float, positive: int | str | None = None) -> None:
        self.inner, self.threshold = source, check_threshold(threshold)
        self.positive = self.lone_class if positive is None else positive
        self.path, self.name, self.columns = source.path, source.name, source.columns
        self.encoding, self.where = source.encoding, source.where
        self.raw_text, self.decimal_comma = source.raw_text, source.decimal_comma

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of the source, and the decision."""
        return tuple(dict.fromkeys((*self.inner.fields, "prediction")))

    @property
    def classes(self) -> ClassNames | None:
        """Classes of the source."""
        return self.inner.classes

    @property
    def lone_class(self) -> int | str | None:
        """The class that the one column of a binary model is about, as in the source."""
        found: int | str | None = getattr(self.inner, "lone_class", None)
        return found

    @property
    def rows(self) -> int | None:
        """Rows of the source."""
        return self.inner.rows

    def holds(self, column: str) -> bool:
        """Whether the source holds the column."""
        return self.inner.holds(column)

    def keys(self, column: str) -> Any:
        """Ids of the source."""
        return self.inner.keys(column)

    @property
    def own_columns(self) -> tuple[str, ...]:
        """Columns of the source that are no field."""
        return self.inner.own_columns

    def raw(self, columns: Sequence[str]) -> Iterator[Any]:
        """Columns of the source as they are."""
        return self.inner.raw(columns)

    def encoded(self, encoding: FeatureEncoding) -> DecidedSource:
        """The source with features of its own columns, decided by the same threshold."""
        return DecidedSource(self.inner.encoded(encoding), self.threshold, self.positive)

    @property
    def axes(self) -> Axes:
        """Axes of the source."""
        return self.inner.axes

    def aligned(self, axes: Axes | None) -> DecidedSource:
        """The source aligned, decided by the same threshold."""
        return DecidedSource(self.inner.aligned(axes), self.threshold, self.positive)

    def parts(self, target_rows: int = PART_ROWS, each: Each = in_threads) -> list[Part]:
        """Parts of the source, decided."""
        return [DecidedPart(part, self.threshold, self.positive) for part in self.inner.parts(target_rows, each)]

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """Batches of the source, decided."""
        for batch in self.inner.batches(fields, rows):
            yield decided(batch, self.threshold, self.positive) if _decides(fields) else batch

    def read(self, fields: Iterable[str] | None = None) -> Predictions:
        """All rows, decided."""
        record = self.inner.read(fields)
        return decided(record, self.threshold, self.positive) if _decides(fields) else record
