"""Table: texts, pairs, images in cells, or columns of numbers and words, from a file, a frame or a data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...arrays import Array
from ...errors import InputError, UsageError
from ...store.tables import RawTable
from ..base import Dataset, Modality, Table
from .base import IMAGES, TEXTS, Batch, Columns, Examples, check_found, check_modality, decoded, objects


class TableExamples(Examples):
    """A table: texts, pairs of texts, images in cells, or columns of numbers and words."""

    def __init__(self, table: RawTable, reads: Sequence[Modality], columns: Columns) -> None:
        self.table, self.name, self.file, self.rows = table, table.name, table.file, table.rows
        held = table.columns
        usual = {"text": TEXTS, "pair": TEXTS, "image": IMAGES}
        inputs = columns.inputs
        if not inputs:
            names = [name for one in reads for name in usual.get(one, ()) if name in held]
            inputs = tuple(names[:1])
        label = columns.label or ("label" if "label" in held and "label" not in inputs else None)
        self.id = columns.id or ("id" if "id" in held and "id" not in inputs else None)
        self.keep = tuple(dict.fromkeys((*columns.keep, *(n for n in ("time", "group") if n in held))))
        self.keep = tuple(name for name in self.keep if name not in inputs or name in columns.keep)
        if not inputs and "table" in reads:
            inputs = tuple(name for name in held if name not in (label, self.id, *self.keep))
        if not inputs:
            raise InputError(
                "a column with the inputs of the model",
                got=", ".join(held[:12]),
                file=table.file,
                remedy="name it with --input COLUMN (twice for a pair of texts)",
            )
        self.inputs = check_found(inputs, held, table.file, "a column of inputs", "--input")
        self.label = (
            None if label is None else check_found([label], held, table.file, "a column of labels", "--label")[0]
        )
        check_found([one for one in (self.id, *self.keep) if one], held, table.file, "a column", "--id or --keep")
        self.modality = _modality_of(table, self.inputs, reads)
        check_modality(self.modality, reads, table.file)

    @property
    def stamp(self) -> Any:
        """That of the file; None in memory."""
        return self.table.stamp

    def batches(self, rows: int, *, skip: bool = False, first: int = 0) -> Iterator[Batch]:
        """Rows of the table."""
        text = self.modality in ("text", "pair")
        kinds: dict[str, Any] = dict.fromkeys(self.inputs, "text" if text else "any")
        kinds |= dict.fromkeys(one for one in (self.label, self.id, *self.keep) if one and one not in kinds)
        kinds = {name: kind or "any" for name, kind in kinds.items()}
        done = 0
        for place, batch in enumerate(self.table.batches(kinds, rows)):
            if place >= first:
                yield self._batch(batch, done, skip)
            done += batch.num_rows
        if not done:
            raise InputError("at least one row", got="none", remedy="check what wrote it", file=self.file)

    def _batch(self, batch: Any, first: int, skip: bool) -> Batch:
        skipped: tuple[tuple[str, str], ...] = ()
        there = list(range(batch.num_rows))
        if self.modality == "table":
            inputs: Any = Table({name: _cells(batch.column(name)) for name in self.inputs})
        elif self.modality == "image":
            cells = batch.column(self.inputs[0]).to_pylist()
            names = [f"row {first + i + 1}" for i in there]
            base = None if self.file is None else Path(self.file).parent
            cells = [base / one if base is not None and isinstance(one, str) else one for one in cells]
            inputs, there, skipped = decoded(cells, names, skip, self.file, first)
        else:
            columns = [self._texts(batch.column(name), name, first) for name in self.inputs]
            inputs = tuple(columns[0]) if len(columns) == 1 else tuple(zip(*columns, strict=True))
        take = len(there) < batch.num_rows

        def some(name: str) -> list[Any]:
            values = batch.column(name).to_pylist()
            return [values[i] for i in there] if take else values

        data = Dataset(
            self.name,
            inputs,
            tuple(some(self.label)) if self.label else (),
            ids=tuple(map(str, some(self.id))) if self.id else (),
            source=self.name,
            modality=self.modality,
        )
        kept = {name: objects(some(name)) for name in self.keep}
        return Batch(data, first, kept, skipped, batch.num_rows)

    def _texts(self, column: Any, name: str, first: int) -> list[str]:
        texts: list[Any] = column.to_pylist()
        bad = next((i for i, one in enumerate(texts) if not isinstance(one, str)), None)
        if bad is not None:
            raise InputError(
                "a text",
                got=repr(texts[bad])[:60],
                remedy="fill it in or drop the row",
                file=self.file,
                row=first + bad + 1,
                column=name,
            )
        return texts


def _modality_of(table: RawTable, inputs: Sequence[str], reads: Sequence[Modality]) -> Modality:
    """What the columns hold, by their first row, among the modalities that the model reads."""
    if len(reads) == 1 and reads[0] != "pair":
        return reads[0]
    first = next(iter(table.batches(dict.fromkeys(inputs, "any"), 1)), None)
    if first is None or not first.num_rows:
        raise InputError("at least one row", got="none", remedy="check what wrote it", file=table.file)
    cells = [first.column(name)[0].as_py() for name in inputs]
    if "table" in reads and not ({"text", "pair"} & set(reads)):
        return "table"
    if len(cells) == 1 and isinstance(cells[0], (dict, bytes)):
        return "image"
    if len(cells) <= 2 and all(isinstance(one, str) for one in cells):
        if {"text", "pair"} & set(reads):
            return "text" if len(cells) == 1 else "pair"
        return "image" if len(cells) == 1 else "table"
    if "table" not in reads and len(cells) > 2:
        raise UsageError(f"expected one input column, or two for pairs of texts, got {len(cells)}")
    return "table" if "table" in reads else "text" if len(cells) == 1 else "pair"


def _cells(column: Any) -> Array:
    found: Array = column.to_numpy(zero_copy_only=False)
    return found
