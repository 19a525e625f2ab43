"""Memory: a record as a source, and the axes of a record put into another order by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, final

import numpy as np

from ..arrays import Array, Ragged
from ..classes import ClassNames, NewClassError, encode_positions, one_form
from ..errors import ClassesError, InputError, UsageError
from ..fields import FIELDS
from ..kernels import Top
from ..plain import Json, Strings
from ..predictions import Predictions
from .artifact_cache import checksum
from .base import (
    BATCH_ROWS,
    PART_ROWS,
    Axes,
    Each,
    Order,
    Part,
    Source,
    check_kind,
    in_threads,
    listed_classes,
    no_column,
    no_rows,
    only_counts,
    order_along,
    order_of,
)
from .columns import AXES

if TYPE_CHECKING:
    from .encoding import FeatureEncoding


@final
class InPlace:
    """One record of ``rows`` rows, filled by several threads; less memory than batches that are joined at the end.

    A batch goes where its ``first_row`` says. The first one decides which fields, types and shapes there are; one
    that differs, or holds token sequences of several lengths, stays as it is. With ``rows`` None, or where
    ``wanted`` says no to the first batch, all stay as they are.

    >>> together = InPlace(3)
    >>> record = Predictions.from_classes([0, 1, 1])
    >>> [together.put(batch).prediction.tolist() for batch in record.batches(2)]
    [[0, 1], [1]]
    >>> together.whole().prediction.tolist()
    [0, 1, 1]
    """

    def __init__(
        self, rows: int | None, wanted: Callable[[Predictions], bool] | None = None
    ) -> None:
        self._rows, self._wanted = rows, wanted
        self._whole: Predictions | None = None
        self._lock, self._filled = Lock(), 0

    def put(self, batch: Predictions) -> Predictions:
        """The same rows as a view of the whole record, or the batch itself where it has no place there."""
        start, stop = batch.first_row, batch.first_row + batch.rows
        with self._lock:
            if self._whole is None and self._rows is not None:
                self._whole = self._made_for(batch, self._rows)
                self._rows = None if self._whole is None else self._rows
            record = self._whole
        if record is None or start < 0 or stop > record.rows:
            return batch
        piece = record.slice(start, stop)
        if "verdicts" in record._cache and "verdicts" in batch._cache:
            piece._cache["verdicts"] = record._cache["verdicts"][start:stop]
        targets, values = _arrays(piece), _arrays(batch)
        if targets.keys() != values.keys():
            return batch
        if any(
            (targets[name].dtype, targets[name].shape) != (array.dtype, array.shape)
            for name, array in values.items()
        ):
            return batch
        for name, array in values.items():
            np.copyto(targets[name], array)
        with self._lock:
            self._filled += batch.rows
            if batch.noted:
                # first: the piece may be the whole
                noted = dict(Counter(record.noted) + Counter(batch.noted))
                piece._cache["noted"], record._cache["noted"] = batch.noted, noted
        return piece

    def whole(self) -> Predictions | None:
        """The whole record; None where not every row has come to its place."""
        return self._whole if self._whole is not None and self._filled == self._whole.rows else None

    def _made_for(self, batch: Predictions, rows: int) -> Predictions | None:
        if self._wanted is not None and not self._wanted(batch):
            return None
        if any(isinstance(value, Ragged) for value in _arrays(batch).values()):
            return None

        def room(value: Array, axis: int = 0) -> Any:
            return np.empty(
                (*value.shape[:axis], rows, *value.shape[axis + 1 :]), dtype=value.dtype
            )

        cache: Json = {}
        if "top" in batch._cache:
            cache["top"] = Top(*map(room, batch._cache["top"]))
        if "verdicts" in batch._cache:
            cache["verdicts"] = room(batch._cache["verdicts"])
        columns = {name: room(value) for name, value in batch.columns.items()}
        return replace(
            batch,
            rows=rows,
            first_row=0,
            columns=columns,
            _cache=cache,
            **{name: room(getattr(batch, name), FIELDS[name].sample) for name in batch.fields},
        )


def _arrays(record: Predictions) -> Json:
    """Every array that a record holds or has worked out, by a name of its own."""
    out = {name: getattr(record, name) for name in record.fields}
    out |= {f"column {name}": values for name, values in record.columns.items()}
    if "top" in record._cache:
        out |= zip(("best", "first", "second"), record._cache["top"], strict=True)
    return out | {name: record._cache[name] for name in ("verdicts",) if name in record._cache}


def check_threshold(threshold: float) -> float:
    """The ``threshold`` if it is a probability; `UsageError` for anything else."""
    if not 0 <= threshold <= 1:
        raise UsageError(
            f"expected a threshold between 0 and 1 such as 0.6, got {threshold:g}; divide percents by 100"
        )
    return threshold


def decided(
    record: Predictions, threshold: float, positive: int | str | None = None
) -> Predictions:
    """The record with the decision for the positive class, by default the second of two, where p >= threshold."""
    fault = partial(InputError, file=record.source)
    if record.probabilities is None:
        remedy = "name the column of the positive class with --positive, or leave --threshold out"
        raise fault("probabilities beside a threshold", got=", ".join(record.fields), remedy=remedy)
    if record.num_classes != 2 or record.classes is None:
        raise fault(
            "two classes beside a threshold", got=str(record.num_classes), remedy="leave it out"
        )
    if record.prediction is not None:
        remedy = "leave --threshold out: the decisions in the column are used as they are"
        raise fault(
            "no `prediction` beside a threshold", got="both", column="prediction", remedy=remedy
        )
    at = (
        1
        if positive is None
        else [str(name) for name in record.classes].index(one_form(str(positive)))
    )
    chosen = np.where(record.probabilities[:, at] >= threshold, at, 1 - at).astype(np.int32)
    return record.with_prediction(chosen)


class _Change(ABC):
    """What is done to each batch of a source; it can be pickled."""

    @abstractmethod
    def fields(self, own: Strings) -> Strings:
        """Fields of the changed source, where ``own`` are those of the source within."""

    def reads(self, fields: Iterable[str] | None, own: Strings) -> Iterable[str] | None:
        """Fields to read of the source within, where ``fields`` are asked for."""
        return fields

    @abstractmethod
    def __call__(self, batch: Predictions, fields: Iterable[str] | None) -> Predictions:
        """The changed batch."""

    def aligned(self, axes: Axes | None) -> _Change:
        """The same beside a source that follows ``axes``."""
        return self

    @abstractmethod
    def identity(self, span: tuple[int, int] | None) -> str:
        """What tells the change of rows ``span`` from another one."""


@dataclass(frozen=True)
class _ChangedPart(Part):
    part: Part
    change: _Change
    own: Strings

    def identity(self) -> str | None:
        """The part within, and what is done to it."""
        within = self.part.identity()
        return None if within is None else checksum(within, self.change.identity(self.span()))

    def span(self) -> tuple[int, int] | None:
        """That of the part within."""
        return self.part.span()

    def batches(
        self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Predictions]:
        """The part's batches, changed."""
        for batch in self.part.batches(self.change.reads(fields, self.own), rows):
            yield self.change(batch, fields)


class ChangedSource(Source):
    """A source whose batches are changed as they are read; everything else is that of the source within."""

    def __init__(self, source: Source, change: _Change) -> None:
        self.inner, self.change = source, change
        self.path, self.name, self.columns = source.path, source.name, source.columns
        self.encoding, self.where = source.encoding, source.where
        self.raw_text, self.decimal_comma = source.raw_text, source.decimal_comma
        self.index = source.index

    fields = property(lambda self: self.change.fields(self.inner.fields))
    classes = property(lambda self: self.inner.classes)
    rows = property(lambda self: self.inner.rows)
    own_columns = property(lambda self: self.inner.own_columns)
    axes = property(lambda self: self.inner.axes)
    lone_class = property(lambda self: getattr(self.inner, "lone_class", None))

    def holds(self, column: str) -> bool:
        """Whether the source within holds the column."""
        return self.inner.holds(column)

    def keys(self, column: str) -> Any:
        """Ids of the source within."""
        return self.inner.keys(column)

    def raw(self, columns: Sequence[str]) -> Iterator[Any]:
        """Columns of the source within as they are."""
        return self.inner.raw(columns)

    def encoded(self, encoding: FeatureEncoding) -> ChangedSource:
        """The source with features of its own columns, changed alike."""
        return ChangedSource(self.inner.encoded(encoding), self.change)

    def aligned(self, axes: Axes | None) -> ChangedSource:
        """The source aligned, changed alike."""
        return ChangedSource(self.inner.aligned(axes), self.change.aligned(axes))

    def parts(self, target_rows: int = PART_ROWS, each: Each = in_threads) -> list[Part]:
        """Parts of the source, changed as they are read."""
        fields = self.inner.fields
        return [
            _ChangedPart(part, self.change, fields) for part in self.inner.parts(target_rows, each)
        ]

    def batches(
        self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Predictions]:
        """Batches of the source, changed."""
        for batch in self.inner.batches(self.change.reads(fields, self.inner.fields), rows):
            yield self.change(batch, fields)

    def read(self, fields: Iterable[str] | None = None) -> Predictions:
        """All rows, changed."""
        return self.change(self.inner.read(self.change.reads(fields, self.inner.fields)), fields)


@dataclass(frozen=True)
class _Decision(_Change):
    threshold: float
    positive: int | str | None

    def fields(self, own: Strings) -> Strings:
        """Those of the source, and the decision."""
        return tuple(dict.fromkeys((*own, "prediction")))

    def __call__(self, batch: Predictions, fields: Iterable[str] | None) -> Predictions:
        if fields is None or any(
            name == "prediction" or FIELDS[name].of_classes for name in fields
        ):
            return decided(batch, self.threshold, self.positive)
        return batch  # ids and labels alone are given as they are

    def identity(self, span: tuple[int, int] | None) -> str:
        """The threshold and its class."""
        return repr((self.threshold, self.positive))


def decided_source(
    source: Source, threshold: float, positive: int | str | None = None
) -> ChangedSource:
    """A source of a binary model, decided by a threshold: it predicts the positive class where p >= threshold.

    source : with probabilities of two classes and without predictions; `InputError` where it is read, otherwise.
    threshold : a probability; `UsageError` outside [0, 1].
    positive : the positive class by name; None takes the one whose probability stands in the file alone, else the
        second.
    """
    lone = getattr(source, "lone_class", None)
    return ChangedSource(
        source, _Decision(check_threshold(threshold), lone if positive is None else positive)
    )


@dataclass(frozen=True)
class _RecordPart(Part):
    record: Predictions  # whose arrays travel with it

    def batches(
        self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Predictions]:
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
        columns = dict(record.columns)
        for name in extra:
            if name not in columns:
                value = getattr(record, name) if name in record.fields else None
                if not isinstance(value, np.ndarray) or value.ndim != 1:
                    raise UsageError(
                        f"the record has no column {name}; it has {', '.join([*record.fields, *columns])}"
                    )
                columns[name] = value
        self.record = replace(record, columns=columns, _cache={}) if extra else record
        self.path = record.source
        self.name = record.source or "record"
        self.columns = (*record.fields, *columns)

    fields = property(lambda self: self.record.fields)
    classes = property(lambda self: self.record.classes)
    rows = property(lambda self: self.record.rows)

    def holds(self, column: str) -> bool:
        """Whether the record has the field or column."""
        return column in self.columns

    def keys(self, column: str) -> Any:
        """A column, or a field with one value a row, as strings."""
        from .cells import key_array

        columns = self.record.columns
        return key_array(
            columns[column] if column in columns else getattr(self.record, column),
            column,
            self.path,
        )

    @property
    def own_columns(self) -> Strings:
        """Further columns of the record."""
        return tuple(name for name, values in self.record.columns.items() if values.ndim == 1)

    def raw(self, columns: Sequence[str]) -> Iterator[Any]:
        """Columns of the record, or fields with one value a row, as one Arrow record batch."""
        import pyarrow as pa

        from .cells import column_of

        cells = {}
        for name in columns:
            values = self.record.columns.get(name, getattr(self.record, name, None))
            if not isinstance(values, np.ndarray) or values.ndim != 1:
                raise no_column(name, self.columns, self.path)
            cells[name] = column_of(values, "raw", name)
        yield pa.record_batch(cells)

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
        out = RecordSource(
            replace(self.record, features=features, columns=columns, names=named, _cache={})
        )
        out.encoding = encoding
        return out

    @property
    def axes(self) -> Axes:
        """Names of the record's axes, in the order of its arrays."""
        record = self.record
        listed: dict[str, tuple[int | str, ...]] = dict(record.names)
        if record.classes is not None and _of_classes(record):
            listed["class"] = record.classes
        return Axes(
            record.classes, dict(record.names), _sizes(record), listed, not record.has_classes
        )

    def aligned(self, axes: Axes | None) -> RecordSource:
        """The record with its classes, models, judges and so on in the order given."""
        record = self.record if axes is None else realigned(self.record, axes)
        if record is self.record:
            return self
        out = RecordSource(record)
        out.encoding = self.encoding
        return out

    def parts(self, target_rows: int = PART_ROWS, each: Each = in_threads) -> list[Part]:
        """Slices of the record."""
        return [_RecordPart(piece) for piece in self.record.batches(target_rows)]

    def batches(
        self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Predictions]:
        """Slices of the record."""
        return self.record.batches(rows)

    def read(self, fields: Iterable[str] | None = None) -> Predictions:
        """The record itself."""
        return self.record


def realigned(record: Predictions, axes: Axes) -> Predictions:
    """The record with its axes in the order of others, matched by name."""
    record = _with_order(record, axes)
    if not record.has_classes:
        check_kind(True, axes, None, record.source)
    if axes.positions and record.classes is not None:
        return _with_positions(record, record.classes, axes)
    source_classes, target_classes = record.classes, axes.classes
    if source_classes is None or target_classes is None or source_classes == target_classes:
        return record
    return _with_classes(record, source_classes, target_classes, axes)


def _with_order(record: Predictions, axes: Axes) -> Predictions:
    """The record with its models, views, judges and features in the order of others."""
    orders: dict[str, Order] = {}
    names = dict(record.names)
    for axis, size in _sizes(record).items():
        order, axis_names = order_along(axis, names.get(axis), size, False, axes, record.source)
        if axis_names is not None:
            names[axis] = axis_names
        if order is not None:
            orders[axis] = order
    if not orders and names == record.names:
        return record
    return replace(record, names=names, _cache={}, **_reordered(record, orders))


def _reordered(record: Predictions, orders: Mapping[str, Order]) -> Json:
    """The fields that have one of these axes, in the order given."""
    return {
        field: np.take(getattr(record, field), orders[axis], axis=at)
        for field in record.fields
        for at, axis in enumerate(FIELDS[field].axes)
        if axis in orders
    }


def _with_positions(record: Predictions, classes: ClassNames, axes: Axes) -> Predictions:
    """The record with labels that are positions, which its classes count."""
    mixed = next(iter(_of_classes(record)), None)
    if mixed is not None:
        check_kind(False, axes, mixed, record.source)
    lookup = np.append(encode_positions(classes, "label"), np.int32(-1))
    return replace(
        record,
        classes=None,
        _cache={},
        **{name: lookup[codes] for name, codes in _coded(record).items()},
    )


def _with_classes(
    record: Predictions, source_classes: ClassNames, target_classes: ClassNames, axes: Axes
) -> Predictions:
    """The record with other class names, or another order of them."""
    listed = _of_classes(record)
    if (
        listed
        and len(source_classes) == len(target_classes)
        and only_counts(source_classes, target_classes)
    ):
        source_classes = listed_classes(len(target_classes), axes, record.source, listed[0])
    order = order_of(source_classes, target_classes, record.source) if listed else ()
    if listed and order == tuple(range(len(order))):
        return replace(record, classes=target_classes)
    return replace(
        record,
        classes=target_classes,
        _cache={},
        **_reordered(record, {"class": order}),
        **_recoded(record, source_classes, target_classes, axes.others),
    )


def _recoded(
    record: Predictions, source_classes: ClassNames, target_classes: ClassNames, others: bool
) -> Json:
    """The fields that hold classes, as positions among other ones; ``others``: labels may be of none of these."""
    where = {str(name): i for i, name in enumerate(target_classes)}
    lookup = np.array([where.get(str(name), -2) for name in source_classes] + [-1], dtype=np.int32)
    out = {}
    for name, codes in _coded(record).items():
        out[name] = np.where(codes < -1, -2, lookup[np.maximum(codes, -1)])
        if (out[name] == -2).any() and not (others and name == "label"):
            raise _unknown_class(record, name, out[name], source_classes, len(target_classes))
    return out


def _unknown_class(
    record: Predictions, name: str, codes: Array, source_classes: ClassNames, count: int
) -> InputError:
    """The error for the first cell whose class, -2, is none of those that are known."""
    at = np.unravel_index(int(np.argmax(codes == -2)), codes.shape)
    fault = NewClassError if name == "prediction" else ClassesError
    return fault(
        f"one of the {count} known classes",
        got=repr(source_classes[getattr(record, name)[at]]),
        remedy="give every class probabilities, those of classes that the model does not know 0",
        file=record.source,
        column=name,
        row=record.first_row + int(at[-1]) + 1,
    )


def _sizes(record: Predictions) -> dict[str, int]:
    """Lengths of the axes model, view, judge and feature that the record has."""
    pairs = [(axis, name) for name, axis in AXES.items() if record.has(name)]
    return {
        axis: getattr(record, name).shape[FIELDS[name].axes.index(axis)] for axis, name in pairs
    }


def _coded(record: Predictions) -> dict[str, Any]:
    """Fields of the record that hold classes."""
    return {name: getattr(record, name) for name in record.fields if FIELDS[name].cell == "class"}


def _of_classes(record: Predictions) -> list[str]:
    """Fields of the record with one entry for each class."""
    return [name for name in record.fields if FIELDS[name].of_classes]


_TRUTH = ("label", "correct")


def checksum_of_truth(truth: Predictions, columns: Iterable[str] = ()) -> str:
    """What tells these labels, confidences and further columns from others."""
    arrays = [
        truth.label,
        truth.correct,
        truth.confidence,
        *(truth.columns[name] for name in columns),
    ]
    return checksum(
        repr(truth.classes),
        str(len(truth)),
        *(array.tobytes() for array in arrays if array is not None),
    )


@dataclass(frozen=True, eq=False)
class _Beside(_Change):
    record: Predictions  # fields of every row, which take the place of the source's
    columns: Strings  # of it, which are added

    @property
    def replaced(self) -> Strings:
        """Fields that the source no longer gives: whatever truth it had goes with one of its kinds."""
        return _TRUTH if {*_TRUTH} & {*self.record.fields} else self.record.fields

    def fields(self, own: Strings) -> Strings:
        """Those of the source, and those beside it."""
        return (*(name for name in own if name not in self.replaced), *self.record.fields)

    def reads(self, fields: Iterable[str] | None, own: Strings) -> Iterable[str] | None:
        """Fields of the source itself; one of them where the others alone were asked for, since rows count."""
        if not self.replaced:
            return fields
        usual = [name for name in own if not FIELDS[name].on_request] if fields is None else fields
        others = tuple(name for name in usual if name not in self.replaced)
        readable = set(own) | (
            {"probabilities", "prediction"} if {"logits", "probabilities"} & set(own) else set()
        )
        return others if readable & set(others) else (*others, *own[:1])

    def __call__(self, batch: Predictions, fields: Iterable[str] | None) -> Predictions:
        rows = self.record.slice(batch.first_row, batch.first_row + len(batch))
        columns = {**batch.columns, **{name: rows.columns[name] for name in self.columns}}
        if "confidence" in self.replaced:
            lasting: Iterable[str] = ("top", "noted", "argmax")
        else:
            lasting = () if self.replaced else batch._cache
        return replace(
            batch,
            columns=columns,
            _cache={name: batch._cache[name] for name in lasting if name in batch._cache},
            **{name: getattr(rows, name) for name in self.replaced},
        )

    def aligned(self, axes: Axes | None) -> _Beside:
        """The truth by the names of the classes."""
        return self if axes is None else replace(self, record=realigned(self.record, axes))

    def identity(self, span: tuple[int, int] | None) -> str:
        """What stands beside these rows."""
        return checksum_of_truth(
            self.record if span is None else self.record.slice(*span), self.columns
        )


def source_beside(
    source: Source, record: Predictions, columns: Iterable[str] = ()
) -> ChangedSource:
    """A source and more of its rows: ``record`` holds `label` or `correct` of every one (-1 where unknown), or
    `confidence`; its ``columns`` come along.

    >>> from oodometer.store.memory import RecordSource
    >>> source = RecordSource(Predictions.from_classes([1, 0, 1]))
    >>> source_beside(source, Predictions.from_arrays(label=[1, 1, 1], classes=[0, 1])).read().accuracy
    0.6666666666666666
    """
    return ChangedSource(source, _Beside(record, tuple(columns)))
