"""Memory: a record as a source, and the axes of a record put into another order by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..classes import ClassNames, NewClassError, encode_positions
from ..errors import InputError, UsageError
from ..fields import FIELDS
from ..predictions import Predictions
from .axes import Axes, check_kind, listed_classes, order_along, order_of
from .base import BATCH_ROWS, PART_ROWS, Each, Part, Source, in_threads, no_column, no_rows
from .columns import AXES

if TYPE_CHECKING:
    from .encoding import FeatureEncoding


@dataclass(frozen=True)
class RecordPart(Part):
    """Rows of a record; the arrays travel with it."""

    record: Predictions

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """Slices without copying; every field comes along, since it costs nothing."""
        return self.record.batches(rows)


class RecordSource(Source):
    """A record in memory.

    >>> source = RecordSource(Predictions.from_classes([0, 1, 1], label=[0, 1, 0]))
    >>> source.rows, [len(batch) for batch in source.batches(rows=2)]
    (3, [2, 1])
    """

    def __init__(self, record: Predictions, extra: Sequence[str] = ()) -> None:
        if not record.rows:
            raise no_rows(record.source)
        held = dict(record.columns)
        for name in extra:
            if name not in held:
                value = getattr(record, name) if name in record.fields else None
                if not isinstance(value, np.ndarray) or value.ndim != 1:
                    raise UsageError(f"the record has no column {name}; it has {', '.join([*record.fields, *held])}")
                held[name] = value
        self.record = replace(record, columns=held, _cache={}) if extra else record
        self.path = record.source
        self.name = record.source or "record"
        self.columns = (*record.fields, *held)

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of the record."""
        return self.record.fields

    @property
    def classes(self) -> ClassNames | None:
        """Classes of the record."""
        return self.record.classes

    @property
    def rows(self) -> int:
        """Rows of the record."""
        return self.record.rows

    def holds(self, column: str) -> bool:
        """Whether the record has the field or column."""
        return column in self.columns

    def keys(self, column: str) -> Any:
        """A column, or a field with one value a row, as strings."""
        from .keys import key_array

        record = self.record
        values = record.columns[column] if column in record.columns else getattr(record, column)
        return key_array(values, column, self.path)

    @property
    def own_columns(self) -> tuple[str, ...]:
        """Further columns of the record."""
        return tuple(name for name, values in self.record.columns.items() if values.ndim == 1)

    def raw(self, columns: Sequence[str]) -> Iterator[Any]:
        """Columns of the record, or fields with one value a row, as one Arrow record batch."""
        import pyarrow as pa

        from .array_table import column_of

        record = self.record
        held = {name: record.columns.get(name, getattr(record, name, None)) for name in columns}
        for name, values in held.items():
            if not isinstance(values, np.ndarray) or values.ndim != 1:
                raise no_column(name, self.columns, self.path)
        yield pa.record_batch({name: column_of(np.asarray(values), "raw", name) for name, values in held.items()})

    def encoded(self, encoding: FeatureEncoding) -> RecordSource:
        """The record with features of its own columns."""
        names = [user.name for user in encoding.users]
        try:
            (batch,) = self.raw(names)
            features = encoding.encode({name: batch.column(name) for name in names}, text=False)
        except InputError as error:
            raise error.at(file=self.path, row_offset=self.record.first_row) from None
        columns = {**self.record.columns, **encoding.slices(features)}
        named = {**self.record.names, "feature": encoding.names}
        out = RecordSource(replace(self.record, features=features, columns=columns, names=named, _cache={}))
        out.encoding = encoding
        return out

    @property
    def axes(self) -> Axes:
        """Names of the record's axes, in the order of its arrays."""
        record = self.record
        listed: dict[str, tuple[int | str, ...]] = dict(record.names)
        if record.classes is not None and _of_classes(record):
            listed["class"] = record.classes
        return Axes(record.classes, dict(record.names), _sizes(record), listed, not record.has_classes)

    def aligned(self, axes: Axes | None) -> RecordSource:
        """The record with its classes, models, judges and so on in the order given."""
        if axes is None:
            return self
        record = realigned(self.record, axes)
        if record is self.record:
            return self
        out = RecordSource(record)
        out.encoding = self.encoding
        return out

    def parts(self, target_rows: int = PART_ROWS, each: Each = in_threads) -> list[Part]:
        """Slices of the record."""
        return [RecordPart(piece) for piece in self.record.batches(target_rows)]

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """Slices of the record."""
        return self.record.batches(rows)

    def read(self, fields: Iterable[str] | None = None) -> Predictions:
        """The record itself."""
        return self.record


def realigned(record: Predictions, axes: Axes | ClassNames) -> Predictions:
    """The record with its axes in the order of others, matched by name.

    >>> p = Predictions.from_probabilities([[0.9, 0.1]], label=["a"], classes=["a", "b"])
    >>> q = realigned(p, ("b", "a"))
    >>> q.probabilities.tolist(), q.label.tolist()
    ([[0.1, 0.9]], [1])
    """
    axes = axes if isinstance(axes, Axes) else Axes(axes, listed={"class": axes})
    changes: dict[str, Any] = {}
    names = dict(record.names)
    sizes = _sizes(record)
    for name, axis in AXES.items():
        if record.has(name):
            order, own = order_along(axis, names.get(axis), sizes[axis], False, axes, record.source)
            names |= {} if own is None else {axis: own}
            for field in (n for n, f in FIELDS.items() if axis in f.axes and record.has(n)):
                if order is not None:
                    changes[field] = np.take(getattr(record, field), order, axis=FIELDS[field].axes.index(axis))
    if changes or names != record.names:
        record = replace(record, names=names, _cache={}, **changes)
    if not record.has_classes:
        check_kind(True, axes, None, record.source)
    if axes.positions and record.classes is not None:
        return _with_positions(record, axes)
    return record if axes.classes is None else _with_classes(record, axes.classes, axes)


def _sizes(record: Predictions) -> dict[str, int]:
    """Lengths of the axes model, view, judge and feature that the record has."""
    return {
        axis: getattr(record, name).shape[FIELDS[name].axes.index(axis)]
        for name, axis in AXES.items()
        if record.has(name)
    }


def _of_classes(record: Predictions) -> list[str]:
    """Fields of the record with one entry for each class."""
    return [name for name, field in FIELDS.items() if field.of_classes and record.has(name)]


def _with_positions(record: Predictions, axes: Axes) -> Predictions:
    """Class numbers as the positions among candidates that they are, as the record to follow has them."""
    mixed = next(iter(_of_classes(record)), None)
    if mixed is not None:
        check_kind(False, axes, mixed, record.source)
    lookup = np.append(encode_positions(record.classes, "label"), np.int32(-1))
    changes = {n: lookup[getattr(record, n)] for n, field in FIELDS.items() if field.cell == "class" and record.has(n)}
    return replace(record, classes=None, _cache={}, **changes)


def _with_classes(record: Predictions, classes: ClassNames, axes: Axes) -> Predictions:
    own = record.classes
    if own is None or own == classes:
        return record
    changes: dict[str, Any] = {}
    axis = _of_classes(record)
    counted = own == tuple(range(len(own)))
    if axis and counted and len(own) == len(classes) and all(isinstance(name, str) for name in classes):
        own = listed_classes(len(own), axes, record.source, axis[0])  # numbers that only tell positions
    if axis:
        order = order_of(own, classes, record.source)
        if order == tuple(range(len(order))):
            return replace(record, classes=classes)
        changes = {name: np.ascontiguousarray(getattr(record, name)[..., order]) for name in axis}
    where = {str(name): i for i, name in enumerate(classes)}
    lookup = np.array([where.get(str(name), -2) for name in own] + [-1], dtype=np.int32)
    for name in (n for n, field in FIELDS.items() if field.cell == "class" and record.has(n)):
        codes: Array = getattr(record, name)
        changes[name] = np.where(codes < -1, -2, lookup[np.maximum(codes, -1)])
        if (changes[name] == -2).any() and not (axes.others and name == "label"):
            at = np.unravel_index(int(np.argmax(changes[name] == -2)), codes.shape)
            raise (NewClassError if name == "prediction" else InputError)(
                f"one of the {len(classes)} known classes",
                got=repr(own[codes[at]]),
                file=record.source,
                column=name,
                remedy="give every class probabilities, those of classes that the model does not know 0",
                row=record.first_row + int(at[-1]) + 1,
            )
    return replace(record, classes=classes, _cache={}, **changes)
