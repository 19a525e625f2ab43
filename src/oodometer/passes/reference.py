"""The reference as the verbs read it: whole where it fits, a seeded sample of it where it does not."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, Ragged
from ..errors import MissingColumnsError
from ..fields import FIELDS
from ..inference.folds import scramble
from ..kernels import cores, pool
from ..predictions import Predictions
from ..store import InPlace, Part, RecordSource, Source

__all__ = ["Gathered", "Reference", "ReferenceSource", "gather_reference", "read_reference", "width"]

MOST_ROWS = 1_000_000
MOST_VALUES = 52_000_000  # numbers kept of a reference: 208 MB of float32
_PART_ROWS = 1 << 17
_SLACK = 1.25  # how far the limit may be passed before rows are dropped
FEW_ROWS = 200


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

    parts: tuple[tuple[Array | None, Predictions], ...]
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
            parts = _sampled(parts, self.limit)[1]
        record = Predictions.concat([r for _, r in parts if len(r)])
        return Reference(record, self.rows, self.correct, self.unlabelled, len(record) < self.rows)


class ReferenceSource(RecordSource):
    """A reference that was read before, for verbs that take a source: not all of its rows need be in the record."""

    def __init__(self, reference: Reference) -> None:
        super().__init__(reference.record)
        self.reference = reference


def read_reference(
    source: Source,
    fields: Iterable[str] | None = None,
    *,
    most_rows: int = MOST_ROWS,
    most_values: int = MOST_VALUES,
) -> Reference:
    """Read a reference in one pass; of one larger than the limits a seeded uniform sample is kept.

    Each row has a scrambled number; the rows with the smallest are kept, so that the sample is the same however the
    rows are batched. Raises `InputError` where no row's correctness is known.
    """
    if isinstance(source, ReferenceSource):
        return source.reference
    return gather_reference(source, fields, most_rows=most_rows, most_values=most_values).joined()


def gather_reference(
    source: Source,
    fields: Iterable[str] | None = None,
    *,
    most_rows: int = MOST_ROWS,
    most_values: int = MOST_VALUES,
) -> Gathered:
    """The pass of `read_reference`, whose pieces are yet to be joined."""
    if isinstance(source, RecordSource) and _can_be_judged(source.record):
        known = source.record.known()
        if 0 < len(known) <= min(most_rows, most_values // width(known)):  # it is in memory already
            right, dropped = int(known.verdicts.sum()), len(source.record) - len(known)
            return Gathered(((None, known),), len(known), right, dropped, len(known))

    def limit_of(record: Predictions) -> int:
        return max(min(most_rows, most_values // width(record)), 1)

    def is_small(record: Predictions) -> bool:
        return source.rows is not None and source.rows <= limit_of(record)

    together = InPlace(None if isinstance(source, RecordSource) else source.rows, is_small)
    kept: list[tuple[Array | None, Predictions]] = []
    rows = correct = unlabelled = limit = held = 0
    highest = np.uint64(2**64 - 1)
    for batch in _read_ahead(source, fields, together):
        known = batch.known() if _can_be_judged(batch) else batch.take(np.zeros(len(batch), dtype=bool))
        unlabelled += len(batch) - len(known)
        if not len(known):
            continue
        limit = limit or limit_of(known)
        rows, first = rows + len(known), rows
        correct += int(known.verdicts.sum())
        if source.rows is not None and source.rows <= limit:
            kept.append((None, known))
            continue
        kept.append(_below(scramble(np.arange(first, rows)), known, highest))
        held += len(kept[-1][1])
        if held > _SLACK * limit:
            highest, kept = _sampled(kept, limit)
            held = sum(len(r) for _, r in kept)
    if not rows:
        raise MissingColumnsError(
            "a labelled reference: `label` with `prediction` or `probabilities`, or `correct`",
            got=f"{unlabelled} rows of unknown correctness; fields: {', '.join(source.fields) or 'none'}",
            remedy="give the file with the truth first, REFERENCE then TARGET; rename columns with --map theirs=ours",
            file=source.name,
        )
    return Gathered(tuple(kept), rows, correct, unlabelled, limit, together.whole())


def _sampled(
    parts: Sequence[tuple[Array | None, Predictions]], limit: int
) -> tuple[Any, list[tuple[Array | None, Predictions]]]:
    """The lowest number that is not kept, and the ``limit`` rows with the smallest."""
    keys = [k for k, _ in parts if k is not None]
    highest = np.partition(np.concatenate(keys), limit)[limit]
    return highest, [_below(k, r, highest) for k, r in parts if k is not None]


def _read_ahead(source: Source, fields: Iterable[str] | None, together: InPlace) -> Iterator[Predictions]:
    """All batches in order, the next parts being decoded on the other cores meanwhile."""
    workers, parts = cores(), source.parts(_PART_ROWS)
    if workers == 1 or len(parts) == 1:
        yield from map(together.put, map(_looked_over, source.batches(fields)))
        return
    with pool(workers) as threads:
        coming: deque[Future[list[Predictions]]] = deque()
        for part in parts:
            coming.append(threads.submit(_load, part, fields, together))
            if len(coming) > workers:
                yield from coming.popleft().result()
        while coming:
            yield from coming.popleft().result()


def _load(part: Part, fields: Iterable[str] | None, together: InPlace) -> list[Predictions]:
    return [together.put(_looked_over(batch)) for batch in part.batches(fields)]


def _looked_over(batch: Predictions) -> Predictions:
    """The batch, with what its rows' truth needs worked out here, on this core; joining records keeps it."""
    if batch.probabilities is not None:
        _ = batch.top
    if _can_be_judged(batch):
        _ = batch.verdicts
    return batch


def _below(keys: Array, record: Predictions, highest: Any) -> tuple[Array | None, Predictions]:
    """The rows whose key is below the highest that is kept."""
    keep = keys < highest
    return (keys, record) if keep.all() else (keys[keep], record.take(keep))


def _can_be_judged(batch: Predictions) -> bool:
    if batch.correct is not None:
        return True
    return batch.label is not None and batch.has_prediction


def width(record: Predictions) -> int:
    """Numbers a row."""
    total = 1
    for name, field in FIELDS.items():
        value = getattr(record, name)
        if isinstance(value, Ragged):
            total += len(value.values) // max(record.rows, 1)
        elif value is not None and len(field.axes) > 1:
            total += value.size // max(record.rows, 1)
    return total
