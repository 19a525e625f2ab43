"""Reading: the rows that live models are asked about: examples, a pool, a reference; each with its ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from ...datasets import Dataset
from ...datasets.reading import Batch, Columns, Examples, open_examples
from ...errors import InputError, UsageError
from ...models.base import Classifier
from ...rankings.answered import CHOSEN, was_chosen

__all__ = ["Rows", "new_rows", "read_rows", "row_ids"]

_BATCH = 4096  # rows of images or of a table that are asked at once; texts go in one call


@final
@dataclass(frozen=True)
class Rows:
    """Rows of a file as they were read.

    parts : inputs, texts in one part. targets : of all rows, empty without labels. ids : of all rows, their numbers
    where they are not ``named``. inputs : columns that were read. chosen : whether a row was chosen to be labelled,
    empty where nothing says so.
    """

    parts: tuple[Dataset, ...]
    targets: tuple[Any, ...]
    ids: tuple[str, ...]
    named: bool
    file: str
    modality: str
    inputs: tuple[str, ...]
    chosen: tuple[bool, ...] = ()

    @property
    def texts(self) -> tuple[Any, ...]:
        """The inputs where they are texts or pairs, else none."""
        return tuple(one for part in self.parts for one in part.inputs) if self.modality in ("text", "pair") else ()


def read_rows(
    data: Any, opened: Sequence[Classifier], sources: Sequence[str], columns: Columns, *, label: bool
) -> Rows:
    """All rows of a file, in batches for images and tables, in one part for texts."""
    examples = open_examples(data, opened[0].reads, columns)
    named = (*columns.inputs, columns.label, columns.id)
    if label and CHOSEN not in named and CHOSEN in getattr(getattr(examples, "table", None), "columns", ()):
        examples = open_examples(data, opened[0].reads, replace(columns, keep=(CHOSEN,)))
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
    twice = next((one for one in ids if ids.count(one) > 1), None) if len(set(ids)) < len(ids) else None
    if twice is not None:
        raise InputError("ids that name one row each", got=f"{twice!r} twice", remedy="mend them", file=file)
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
