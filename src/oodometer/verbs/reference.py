"""The reference as the verbs read it: whole where it fits, a seeded sample of it where it does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..calibrators.base import seeded_sample
from ..errors import InputError
from ..predictions import Predictions
from ..store import Source

__all__ = ["Reference", "read_reference"]

MOST_VALUES = 60_000_000  # numbers kept of a reference: 240 MB of float32
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
    source: Source, fields: Iterable[str] | None = None, most_values: int = MOST_VALUES
) -> Reference:
    """Read a reference in passes that never hold more than twice ``most_values`` numbers.

    Of a larger one a seeded sample is kept, uniform and the same however the rows are batched. Raises
    `InputError` where no row's correctness is known.
    """
    kept: list[Predictions] = []
    numbers: list[Array] = []
    held = rows = correct = unlabelled = 0
    limit = 0
    for batch in source.batches(fields):
        known = batch.known() if _can_be_judged(batch) else batch.take(np.zeros(len(batch), dtype=bool))
        unlabelled += len(batch) - len(known)
        rows += len(known)
        correct += int(known.verdicts.sum()) if len(known) else 0
        if not len(known):
            continue
        limit = limit or max(most_values // _width(known), 1)
        kept.append(known)
        numbers.append(np.arange(rows - len(known), rows))
        held += len(known)
        if held > 2 * limit:
            chosen = seeded_sample(np.concatenate(numbers), limit)
            kept, numbers = [Predictions.concat(kept).take(chosen)], [np.concatenate(numbers)[chosen]]
            held = limit
    if not rows:
        raise InputError(
            "a labelled reference: `label` with `prediction` or `probabilities`, or `correct`",
            got=f"{unlabelled} rows of unknown correctness; fields: {', '.join(source.fields) or 'none'}",
            remedy="give the file with the truth first, REFERENCE then TARGET; rename columns with --map theirs=ours",
            file=source.name,
        )
    record = Predictions.concat(kept)
    if len(record) > limit:
        record = record.take(seeded_sample(np.concatenate(numbers), limit))
    return Reference(record, rows, correct, unlabelled, len(record) < rows)


def _can_be_judged(batch: Predictions) -> bool:
    if batch.correct is not None:
        return True
    return batch.label is not None and any(batch.has(f) for f in ("prediction", "probabilities", "members"))


def _width(record: Predictions) -> int:
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
