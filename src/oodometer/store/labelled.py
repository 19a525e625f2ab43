"""Labelled: a source whose truth stands in a file of its own, joined to its rows before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..classes import ClassNames
from ..predictions import Predictions
from .artifact_cache import checksum
from .axes import Axes
from .base import BATCH_ROWS, PART_ROWS, Each, Part, Source, in_threads
from .memory import realigned

if TYPE_CHECKING:
    from .encoding import FeatureEncoding


_TRUTH = ("label", "correct")


def with_truth(batch: Predictions, truth: Predictions, first_row: int = 0) -> Predictions:
    """A batch with the truth of its rows, whatever truth it had; ``truth`` begins with the row ``first_row``.

    >>> batch = Predictions.from_classes([1, 1], label=[0, 0])
    >>> with_truth(batch, Predictions.from_arrays(label=[0, 1])).label.tolist()
    [0, 1]
    """
    start = batch.first_row - first_row
    rows = truth.slice(start, start + len(batch))
    return replace(batch, label=rows.label, correct=rows.correct, _cache={})


def checksum_of_truth(truth: Predictions) -> str:
    """What tells these labels from others.

    >>> one = Predictions.from_arrays(label=[0, 1], classes=[0, 1])
    >>> checksum_of_truth(one) == checksum_of_truth(one.slice(0, 1))
    False
    """
    arrays = [one for one in (truth.label, truth.correct) if one is not None]
    return checksum(repr(truth.classes), str(len(truth)), *(one.tobytes() for one in arrays))


@dataclass(frozen=True)
class LabelledPart(Part):
    """Rows of a part with their truth."""

    part: Part
    truth: Predictions
    fields: tuple[str, ...]

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """The part's batches with their truth."""
        for batch in self.part.batches(_others(fields, self.fields), rows):
            yield with_truth(batch, self.truth)

    def identity(self) -> str | None:
        """The part within, and the truth of its rows."""
        told, rows = self.part.identity(), self.span()
        own = self.truth if rows is None else self.truth.slice(*rows)
        return None if told is None else checksum(told, checksum_of_truth(own))

    def span(self) -> tuple[int, int] | None:
        """Those of the part within."""
        return self.part.span()


class LabelledSource(Source):
    """A source and the truth of its rows: ``truth`` holds `label` or `correct` of every one, -1 where unknown.

    >>> from oodometer.store.memory import RecordSource
    >>> source = RecordSource(Predictions.from_classes([1, 0, 1]))
    >>> LabelledSource(source, Predictions.from_arrays(label=[1, 1, 1], classes=[0, 1])).read().accuracy
    0.6666666666666666
    """

    def __init__(self, source: Source, truth: Predictions) -> None:
        self.inner, self.truth = source, truth
        self.path, self.name, self.columns = source.path, source.name, source.columns
        self.encoding, self.where = source.encoding, source.where
        self.raw_text, self.decimal_comma = source.raw_text, source.decimal_comma
        self._given = tuple(name for name in _TRUTH if getattr(truth, name) is not None)

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of the source, and those of the truth."""
        own = (name for name in self.inner.fields if name not in _TRUTH)
        return (*own, *self._given)

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

    def encoded(self, encoding: FeatureEncoding) -> LabelledSource:
        """The source with features of its own columns, and its truth."""
        return LabelledSource(self.inner.encoded(encoding), self.truth)

    @property
    def axes(self) -> Axes:
        """Axes of the source."""
        return self.inner.axes

    def aligned(self, axes: Axes | None) -> LabelledSource:
        """The source aligned, and its truth by the names of its classes."""
        truth = self.truth if axes is None else realigned(self.truth, axes)
        return LabelledSource(self.inner.aligned(axes), truth)

    def parts(self, target_rows: int = PART_ROWS, each: Each = in_threads) -> list[Part]:
        """Parts of the source with their truth."""
        own = self.inner.fields
        return [LabelledPart(part, self.truth, own) for part in self.inner.parts(target_rows, each)]

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """Batches of the source with their truth."""
        for batch in self.inner.batches(_others(fields, self.inner.fields), rows):
            yield with_truth(batch, self.truth)


def _others(fields: Iterable[str] | None, own: tuple[str, ...]) -> tuple[str, ...]:
    """Fields to read of the source itself; one of them where the truth alone was asked for, since rows count."""
    others = tuple(name for name in (own if fields is None else fields) if name not in _TRUTH)
    readable = set(own) | ({"probabilities", "prediction"} if {"logits", "probabilities"} & set(own) else set())
    return others if readable & set(others) else (*others, *own[:1])
