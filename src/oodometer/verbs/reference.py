"""The reference as the verbs read it: whole where it fits, a seeded sample of it where it does not."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..calibrators.base import scramble
from ..errors import InputError
from ..kernels import cores, pool
from ..predictions import Predictions
from ..store import Part, RecordSource, Source

__all__ = ["Reference", "read_reference", "width"]

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
    if isinstance(source, RecordSource) and _can_be_judged(source.record):
        known = source.record.known()
        if 0 < len(known) <= min(most_rows, most_values // width(known)):  # it is in memory already
            return Reference(
                known, len(known), int(known.verdicts.sum()), len(source.record) - len(known), False
            )
    kept: list[tuple[Array, Predictions]] = []
    rows = correct = unlabelled = limit = 0
    highest = np.uint64(2**64 - 1)
    for batch in _read_ahead(source, fields):
        known = batch.known() if _can_be_judged(batch) else batch.take(np.zeros(len(batch), dtype=bool))
        unlabelled += len(batch) - len(known)
        if not len(known):
            continue
        limit = limit or max(min(most_rows, most_values // width(known)), 1)
        keys = scramble(np.arange(rows, rows + len(known)))
        rows += len(known)
        correct += int(known.verdicts.sum())
        kept.append(_below(keys, known, highest))
        if sum(len(k) for k, _ in kept) > _SLACK * limit:
            highest = np.partition(np.concatenate([k for k, _ in kept]), limit)[limit]
            kept = [_below(k, r, highest) for k, r in kept]
    if not rows:
        raise InputError(
            "a labelled reference: `label` with `prediction` or `probabilities`, or `correct`",
            got=f"{unlabelled} rows of unknown correctness; fields: {', '.join(source.fields) or 'none'}",
            remedy="give the file with the truth first, REFERENCE then TARGET; rename columns with --map theirs=ours",
            file=source.name,
        )
    keys = np.concatenate([k for k, _ in kept])
    if len(keys) > limit:
        highest = np.partition(keys, limit)[limit]
        kept = [_below(k, r, highest) for k, r in kept]
    record = Predictions.concat([r for _, r in kept if len(r)])
    return Reference(record, rows, correct, unlabelled, len(record) < rows)


def _read_ahead(source: Source, fields: Iterable[str] | None) -> Iterator[Predictions]:
    """All batches in order, the next parts being decoded on the other cores meanwhile."""
    workers, parts = cores(), source.parts(_PART_ROWS)
    if workers == 1 or len(parts) == 1:
        yield from source.batches(fields)
        return
    with pool(workers) as threads:
        coming: deque[Future[list[Predictions]]] = deque()
        for part in parts:
            coming.append(threads.submit(_load, part, fields))
            if len(coming) > workers:
                yield from coming.popleft().result()
        while coming:
            yield from coming.popleft().result()


def _load(part: Part, fields: Iterable[str] | None) -> list[Predictions]:
    batches = list(part.batches(fields))
    for batch in batches:
        if batch.probabilities is not None:
            _ = batch.top  # worked out here, on this core; joining records keeps it
    return batches


def _below(keys: Array, record: Predictions, highest: Any) -> tuple[Array, Predictions]:
    """The rows whose key is below the highest that is kept."""
    keep = keys < highest
    return (keys, record) if keep.all() else (keys[keep], record.take(keep))


def _can_be_judged(batch: Predictions) -> bool:
    if batch.correct is not None:
        return True
    return batch.label is not None and any(batch.has(f) for f in ("prediction", "probabilities", "members"))


def width(record: Predictions) -> int:
    """Numbers a row."""
    total = 1
    for name in ("probabilities", "logits", "features"):
        value = getattr(record, name)
        total += 0 if value is None else value.shape[1]
    for name in ("members", "views", "votes"):
        value = getattr(record, name)
        total += 0 if value is None else len(value)
    if record.member_probabilities is not None:
        total += record.member_probabilities.shape[0] * record.member_probabilities.shape[2]
    return total
