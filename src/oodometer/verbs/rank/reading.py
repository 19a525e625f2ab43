"""Reading: the rows that live models are asked about: examples, a pool, a reference; each with its ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from ...datasets import Dataset
from ...datasets.reading import Batch, Columns, Examples, open_examples
from ...errors import InputError, UsageError
from ...models.base import Classifier
from ...rankings.answered import CHOSEN, shown, was_chosen

_BATCH = 4096  # rows of images or of a table that are asked at once; texts go in one call


@final
@dataclass(frozen=True)
class Rows:
    """Rows of a file as they were read.

    parts : inputs, texts in one part. targets : of all rows, empty without labels. ids : of all rows, their numbers
    where they are not ``named``. inputs : columns that were read. chosen : whether a row was chosen to be labelled,
    empty where nothing says so. clusters : cells of the column of clusters that was asked for. numbered : whether the
    file writes ids as whole numbers.
    """

    parts: tuple[Dataset, ...]
    targets: tuple[Any, ...]
    ids: tuple[str, ...]
    named: bool
    file: str
    modality: str
    inputs: tuple[str, ...]
    chosen: tuple[bool, ...] = ()
    clusters: tuple[Any, ...] = ()
    numbered: bool = False

    @property
    def texts(self) -> tuple[Any, ...]:
        """The inputs where they are texts or pairs, else none."""
        return tuple(one for part in self.parts for one in part.inputs) if self.modality in ("text", "pair") else ()


def read_rows(
    data: Any,
    opened: Sequence[Classifier],
    sources: Sequence[str],
    columns: Columns,
    *,
    label: bool,
    cluster: str | None = None,
) -> Rows:
    """All rows of a file, in batches for images and tables, in one part for texts."""
    examples = open_examples(data, opened[0].reads, columns)
    named = (*columns.inputs, columns.label, columns.id)
    held = getattr(getattr(examples, "table", None), "columns", ())
    key = getattr(examples, "id", None) if held else None
    more = (CHOSEN,) if label and CHOSEN not in named and CHOSEN in held else ()
    if cluster is not None:
        if cluster not in held:
            raise InputError(
                f"a column {cluster} that tells which rows depend on each other",
                got=shown(tuple(held), 12) or "no columns",
                remedy="name one of the examples with --cluster, or leave it out",
                file=examples.file or examples.name,
            )
        more = (*more, *(() if cluster in (*more, *named, key) else (cluster,)))
    if more or key:
        examples = open_examples(data, opened[0].reads, replace(columns, keep=(*more, *((key,) if key else ()))))
    _check_reads(examples, opened, sources, columns)
    batches: list[Batch] = list(examples.batches(_BATCH))
    parts = [one.data for one in batches]
    texts = examples.modality in ("text", "pair")
    if texts and len(parts) > 1:
        parts = [
            Dataset(examples.name, tuple(one for part in parts for one in part.inputs), modality=parts[0].modality)
        ]
    targets = tuple(one for batch in batches for one in batch.data.targets) if label else ()
    ids = tuple(one for batch in batches for one in batch.data.ids)
    file = examples.file or examples.name
    cells = [one for batch in batches for one in batch.columns.get(key, ())] if key else []
    _check_ids(ids, cells, file, key)
    rows = sum(len(part) for part in parts)
    return Rows(
        tuple(parts),
        targets,
        ids or tuple(map(str, range(1, rows + 1))),
        bool(ids),
        file,
        examples.modality,
        tuple(getattr(examples, "inputs", ())) if examples.modality != "image" else (),
        tuple(was_chosen(one) for batch in batches for one in batch.columns.get(CHOSEN, ())),
        ids
        if cluster == key and key
        else tuple(one for batch in batches for one in batch.columns.get(cluster or "", ())),
        bool(cells) and all(isinstance(one, int | np.integer) for one in cells),
    )


def _check_ids(ids: Sequence[str], cells: Sequence[Any], file: str, column: str | None) -> None:
    """Raise `InputError` for a row without an id beside others that have one, and for an id of two rows."""
    empty = next((row for row, one in enumerate(cells, 1) if one is None or one == "" or one != one), None)
    if empty is not None:
        raise InputError("an id", got="an empty cell", remedy="name each row", file=file, row=empty, column=column)
    if len(set(ids)) < len(ids):
        first: dict[str, int] = {}
        row = next(row for row, one in enumerate(ids, 1) if first.setdefault(one, row) < row)
        raise InputError(
            "ids that name one row each",
            got=f"{ids[row - 1]!r} twice, first in row {first[ids[row - 1]]}",
            remedy="mend them",
            file=file,
            row=row,
            column=column,
        )


def _check_reads(examples: Examples, opened: Sequence[Classifier], sources: Sequence[str], columns: Columns) -> None:
    for one, source in zip(opened, sources, strict=True):
        if examples.modality not in one.reads:
            raise InputError(
                f"models that read {examples.modality}, as {sources[0]} does",
                got=f"one that reads {' or '.join(one.reads)}",
                remedy="name models of the same kind of input",
                file=source,
            )
        if one.by_position and examples.modality == "table" and not columns.inputs:
            raise UsageError(
                f"{source} tells the columns of a table by their order alone, and another file may have another: name "
                "them in the order that it wants, with --input a --input b"
            )


def new_rows(pool: Rows, given: Rows) -> tuple[list[int], int]:
    """Places of the pool's rows that are not among the examples, and how many are: by id, else by the text itself."""
    if pool.named and given.named:
        mine, theirs = pool.ids, set(given.ids)
    elif pool.texts and given.texts:
        mine, theirs = pool.texts, set(given.texts)
    else:
        return list(range(len(pool.ids))), 0
    kept = [row for row, one in enumerate(mine) if one not in theirs]
    return kept, len(mine) - len(kept)


def row_ids(order: Sequence[tuple[Rows, int]]) -> tuple[str, ...]:
    """A name for each row: its id, or the number of its row, with the file where both files are only numbered."""
    files = {id(rows): rows for rows, _ in order}
    if len(files) == 1 or all(rows.named for rows in files.values()):
        return tuple(rows.ids[at] for rows, at in order)
    return tuple(rows.ids[at] if rows.named else f"{rows.file}: row {rows.ids[at]}" for rows, at in order)
