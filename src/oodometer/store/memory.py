"""Memory: a record as a source, and a record's classes put into another order by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..classes import ClassNames
from ..errors import InputError, UsageError
from ..predictions import Predictions
from .base import BATCH_ROWS, PART_ROWS, Part, Source, no_rows
from .columns import CLASS_AXIS

__all__ = ["RecordPart", "RecordSource", "is_positional", "order_of", "realigned"]


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
                    raise UsageError(
                        f"the record has no column {name}; it has {', '.join([*record.fields, *held])}"
                    )
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

    def aligned(self, classes: ClassNames | None) -> RecordSource:
        """The record with its classes in the order given."""
        return self if classes is None else RecordSource(realigned(self.record, classes))

    def parts(self, target_rows: int = PART_ROWS) -> list[Part]:
        """Slices of the record."""
        return [RecordPart(piece) for piece in self.record.batches(target_rows)]

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """Slices of the record."""
        return self.record.batches(rows)

    def read(self, fields: Iterable[str] | None = None) -> Predictions:
        """The record itself."""
        return self.record


def is_positional(own: ClassNames | None, wanted: ClassNames) -> bool:
    """Whether classes that only count from 0 are given names: then position alone tells which is which."""
    counted = own is None or own == tuple(range(len(own)))
    return (
        counted and (own is None or len(own) == len(wanted)) and all(isinstance(name, str) for name in wanted)
    )


def order_of(own: ClassNames, wanted: ClassNames, file: str | None = None) -> list[int]:
    """Positions in ``own`` of the classes ``wanted``; both must name the same classes."""
    where = {str(name): i for i, name in enumerate(own)}
    absent = [name for name in wanted if str(name) not in where]
    unknown = set(where) - {str(name) for name in wanted}
    if absent or unknown:
        shown = ", ".join(map(str, wanted[:6])) + (", ..." if len(wanted) > 6 else "")
        what = f"no class {absent[0]!r}" if absent else f"a class more, {sorted(unknown)[0]!r}"
        raise InputError(f"the {len(wanted)} known classes ({shown})", got=what, file=file, column="classes",
                         remedy="use the same classes in the reference and the target")  # fmt: skip
    return [where[str(name)] for name in wanted]


def realigned(record: Predictions, classes: ClassNames) -> Predictions:
    """The record with its class axis in the order of ``classes``, matched by name.

    >>> p = Predictions.from_probabilities([[0.9, 0.1]], label=["a"], classes=["a", "b"])
    >>> q = realigned(p, ("b", "a"))
    >>> q.probabilities.tolist(), q.label.tolist()
    ([[0.1, 0.9]], [1])
    """
    own = record.classes
    if own is None or own == classes:
        return record
    changes: dict[str, Any] = {}
    axis = [name for name in CLASS_AXIS if record.has(name)]
    if axis and is_positional(own, classes):
        return replace(record, classes=classes)
    if axis:
        order = order_of(own, classes, record.source)
        changes = {name: np.ascontiguousarray(getattr(record, name)[..., order]) for name in axis}
    where = {str(name): i for i, name in enumerate(classes)}
    lookup = np.array([where.get(str(name), -2) for name in own] + [-1], dtype=np.int32)
    for name in ("label", "prediction", "members", "views"):
        codes: Array | None = getattr(record, name)
        if codes is None:
            continue
        changes[name] = lookup[codes]
        if (changes[name] == -2).any():
            at = np.unravel_index(int(np.argmax(changes[name] == -2)), codes.shape)
            raise InputError(
                f"one of the {len(classes)} known classes", got=repr(own[codes[at]]), file=record.source, column=name,
                remedy="use null where the class is unknown; a class that the reference never had cannot be judged",
                row=record.first_row + int(at[-1]) + 1,
            )  # fmt: skip
    return replace(record, classes=classes, _cache={}, **changes)
