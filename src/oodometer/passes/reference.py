"""The reference as the verbs read it: whole where it fits, a seeded sample of it where it does not."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, final

import numpy as np

from ..errors import MissingColumnsError
from ..inference.row_sample import key_bound
from ..kernels import cores, pool
from ..predictions import Predictions
from ..store import InPlace, Part, RecordSource, Source
from ..store.base import rows_of
from .below_chance import check_classes
from .folding import Execution, Progress
from .reference_sample import (
    MOST_ROWS,
    MOST_VALUES,
    SLACK,
    Gathered,
    Keyed,
    Reference,
    below,
    can_be_judged,
    keys_of,
    labelled_rows,
    most,
    smallest,
    width,
)

__all__ = ["FEW_ROWS", "Gathered", "Reference", "ReferenceSource", "gather_reference", "read_reference", "width"]

_PART_ROWS = 1 << 17
FEW_ROWS = 200


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
    execution: Execution | None = None,
) -> Reference:
    """Read a reference in one pass; of one larger than the limits a seeded uniform sample is kept.

    Each row has a scrambled number; the rows with the smallest are kept, so that the sample is the same however the
    rows are batched, and wherever they are read. Raises `InputError` where no row's correctness is known.
    """
    if isinstance(source, ReferenceSource):
        return source.reference
    found = gather_reference(source, fields, most_rows=most_rows, most_values=most_values, execution=execution)
    reference = found.joined()
    check_classes(reference.record, source.name)
    return reference


def gather_reference(
    source: Source,
    fields: Iterable[str] | None = None,
    *,
    most_rows: int = MOST_ROWS,
    most_values: int = MOST_VALUES,
    execution: Execution | None = None,
    in_parts: bool = False,
) -> Gathered:
    """The pass of `read_reference`, whose pieces are yet to be joined.

    It runs here, in threads, or, with the engine or the folder of an ``execution``, part by part there: where more rows
    are known to be there than are kept, and with ``in_parts`` always.
    """
    if isinstance(source, RecordSource):
        there = _in_memory(source, most_rows, most_values)
        if there is not None:
            return there
    elif execution is not None and (in_parts or source.rows is not None) and not execution.is_plain:
        parts = source.parts(_PART_ROWS, execution.each)
        limit = next((most(batch, most_rows, most_values) for part in parts for batch in part.batches(fields)), 1)
        if in_parts or (source.rows or 0) > limit:
            return _labelled(gather_parts(parts, fields, limit, execution), source)
    progress = None if execution is None else execution.progress
    return _labelled(_gather_here(source, fields, most_rows, most_values, progress), source)


def _in_memory(source: RecordSource, most_rows: int, most_values: int) -> Gathered | None:
    """The reference of a record in memory that need not be cut."""
    known = source.record.known() if can_be_judged(source.record) else ()
    if not isinstance(known, Predictions) or not 0 < len(known) <= most(known, most_rows, most_values):
        return None
    right, dropped = int(known.verdicts.sum()), len(source.record) - len(known)
    return Gathered(((None, known),), len(known), right, dropped, len(known))


def _gather_here(
    source: Source, fields: Iterable[str] | None, most_rows: int, most_values: int, progress: Progress | None
) -> Gathered:
    """The pass in this process."""

    def is_small(record: Predictions) -> bool:
        return source.rows is not None and source.rows <= most(record, most_rows, most_values)

    together = InPlace(None if isinstance(source, RecordSource) else source.rows, is_small)
    kept: list[Keyed] = []
    rows = correct = unlabelled = limit = held = 0
    highest = np.uint64(2**64 - 1)
    for batch in _read_ahead(source, fields, together, progress):
        limit = limit or most(batch, most_rows, most_values)
        there, known = labelled_rows(batch)
        unlabelled += len(batch) - len(known)
        if not len(known):
            continue
        rows += len(known)
        correct += int(known.verdicts.sum())
        if source.rows is not None and source.rows <= limit:
            kept.append((None, known))
            continue
        kept.append(below(keys_of(batch, there), known, highest))
        held += len(kept[-1][1])
        if held > SLACK * limit:
            highest, kept = smallest(kept, limit)
            held = sum(len(r) for _, r in kept)
    return Gathered(tuple(kept), rows, correct, unlabelled, limit, together.whole())


def _labelled(found: Gathered, source: Source) -> Gathered:
    """What was found; `InputError` where no row is labelled."""
    if not found.rows:
        raise MissingColumnsError(
            "a labelled reference: `label` with `prediction` or `probabilities`, or `correct`",
            got=f"{found.unlabelled} rows of unknown correctness; fields: {', '.join(source.fields) or 'none'}",
            remedy="give the file with the truth first, REFERENCE then TARGET; rename columns with --map theirs=ours",
            file=source.name,
        )
    return found


def _read_ahead(
    source: Source, fields: Iterable[str] | None, together: InPlace, progress: Progress | None
) -> Iterator[Predictions]:
    """All batches in order, the next parts being decoded on the other cores meanwhile."""
    workers, parts = cores(), source.parts(_PART_ROWS)
    if len(parts) == 1:
        yield from map(together.put, map(_looked_over, source.batches(fields)))
        return
    done = count(1)
    told = progress or (lambda done, total: None)
    if workers == 1:
        for part in parts:
            yield from map(together.put, map(_looked_over, part.batches(fields)))
            told(next(done), len(parts))
        return
    with pool(workers) as threads:
        coming: deque[Future[list[Predictions]]] = deque()
        for part in parts:
            coming.append(threads.submit(_load, part, fields, together))
            if len(coming) > workers:
                yield from coming.popleft().result()
                told(next(done), len(parts))
        while coming:
            yield from coming.popleft().result()
            told(next(done), len(parts))


def _load(part: Part, fields: Iterable[str] | None, together: InPlace) -> list[Predictions]:
    return [together.put(_looked_over(batch)) for batch in part.batches(fields)]


def _looked_over(batch: Predictions) -> Predictions:
    """The batch, with what its rows' truth needs worked out here, on this core; joining records keeps it."""
    if batch.probabilities is not None:
        _ = batch.top
    if can_be_judged(batch):
        _ = batch.verdicts
    return batch


_State = dict[str, Any]


@final
@dataclass(frozen=True)
class _Share:
    """The share that a part has in the sample: of its labelled rows those that can be among the ``limit`` smallest.

    ``rows_in_all`` labelled rows, at the least as many as there are, say below which number these lie; None: nobody
    knows how many there are, and a part keeps up to ``limit`` rows.
    """

    fields: tuple[str, ...] | None
    limit: int
    rows_in_all: int | None

    def __call__(self, part: Part) -> _State:
        bound = None if self.rows_in_all is None else key_bound(self.limit, self.rows_in_all)
        total: _State = {"kept": [], "rows": 0, "correct": 0, "unlabelled": 0}
        for batch in part.batches(self.fields):
            there, known = labelled_rows(batch)
            total["unlabelled"] += len(batch) - len(known)
            if not len(known):
                continue
            total["rows"] += len(known)
            total["correct"] += int(known.verdicts.sum())
            keys = keys_of(batch, there)
            if bound is not None:
                keys, known = below(keys, known, bound)
            total["kept"].append((keys, known))
        total["kept"] = _one(self._cut(total["kept"], 1.0))
        return total

    def merge(self, a: _State, b: _State) -> _State:
        """Two states as one."""
        out = {name: a[name] + b[name] for name in a}
        out["kept"] = self._cut(out["kept"], SLACK)
        return out

    def _cut(self, kept: list[Any], slack: float) -> list[Any]:
        held = sum(len(keys) for keys, _ in kept)
        return smallest(kept, self.limit)[1] if held > slack * self.limit else kept


def gather_parts(parts: Sequence[Part], fields: Iterable[str] | None, limit: int, execution: Execution) -> Gathered:
    """The reference of all parts, of which at most ``limit`` rows will be kept.

    Where many rows have no label, the shares turn out too small, and the parts are read once more.
    """
    share = _Share(None if fields is None else tuple(fields), limit, rows_of(parts))
    found = execution.fold(share, parts, share.merge)
    held = sum(len(keys) for keys, _ in found["kept"])
    if held < min(limit, found["rows"]):
        share = replace(share, rows_in_all=found["rows"])
        found = execution.fold(share, parts, share.merge)
    counts = (found["rows"], found["correct"], found["unlabelled"])
    return Gathered(tuple(found["kept"]), *counts, limit)


def _one(kept: list[Any]) -> list[Any]:
    """Rows of several batches as one record; joining copies them, so that no batch is held for a few of its rows."""
    if not kept:
        return []
    keys = np.concatenate([keys for keys, _ in kept])
    return [(keys, Predictions.concat([record for _, record in kept]))]
