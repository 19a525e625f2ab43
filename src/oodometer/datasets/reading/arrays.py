"""Arrays: images, a table or texts in an NPZ file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import InputError
from ...store.artifact_cache import content_of
from ..base import Dataset, Modality, Table
from .base import IMAGES, TEXTS, Batch, Columns, Examples, check_found, check_modality


class ArrayExamples(Examples):
    """Arrays of an NPZ file: images (uint8), a table of numbers, or texts."""

    def __init__(self, path: Path, reads: Sequence[Modality], columns: Columns) -> None:
        self.file = self.name = str(path)
        try:
            with np.load(path, allow_pickle=False) as held:
                self.arrays = {name: held[name] for name in held.files}
        except FileNotFoundError:
            raise InputError("a file", got="no such file", remedy="check the path", file=str(path)) from None
        except Exception as error:  # zip and numpy raise many classes for damaged files and for pickles
            raise InputError(
                "an NPZ file of plain arrays",
                got=f"{type(error).__name__}: {error}"[:120],
                remedy="write it with np.savez, without objects",
                file=str(path),
            ) from error
        self.columns = columns
        usual = (*IMAGES, "images", *TEXTS, "x", "X")
        inputs = columns.inputs or tuple(name for name in usual if name in self.arrays)[:1]
        if not inputs:
            raise InputError(
                "an array of inputs", got=", ".join(self.arrays), file=str(path), remedy="name it with --input"
            )
        self._input = check_found(inputs, self.arrays, str(path), "an array of inputs", "--input")[0]
        label = columns.label or next((name for name in ("label", "labels", "y") if name in self.arrays), None)
        self._label = None if label is None else check_found([label], self.arrays, str(path), "an array", "--label")[0]
        values = self.arrays[self._input]
        self.modality = (
            "image" if values.dtype == np.uint8 and values.ndim > 2 else "text" if values.dtype.kind == "U" else "table"
        )
        self.rows = len(values)
        check_modality(self.modality, reads, str(path))
        for name in [one for one in (self._label, columns.id, *columns.keep) if one is not None]:
            if name not in self.arrays or len(self.arrays[name]) != self.rows:
                got = len(self.arrays[name]) if name in self.arrays else "no such array"
                raise InputError(
                    f"an array of {self.rows} entries", got=str(got), column=name, file=str(path), remedy="one a row"
                )

    @property
    def input(self) -> str:
        """Name of the array of inputs."""
        return self._input

    @property
    def stamp(self) -> Any:
        """Path and content of the file."""
        assert self.file is not None
        return [os.path.realpath(self.file), content_of(self.file)]

    def batches(self, rows: int, *, skip: bool = False, first: int = 0) -> Iterator[Batch]:
        """Rows of the arrays."""
        assert self.rows is not None
        values = self.arrays[self._input]
        for start in range(first * rows, self.rows, rows):
            part = slice(start, min(start + rows, self.rows))
            inputs = self._inputs(values[part])
            targets = () if self._label is None else tuple(self.arrays[self._label][part].tolist())
            ids = () if self.columns.id is None else tuple(map(str, self.arrays[self.columns.id][part].tolist()))
            data = Dataset(self.name, inputs, targets, ids=ids, source=self.name, modality=self.modality)
            kept = {name: self.arrays[name][part] for name in self.columns.keep}
            yield Batch(data, start, kept, read=part.stop - start)

    def _inputs(self, values: Array) -> Any:
        if self.modality == "text":
            return tuple(values.tolist())
        if self.modality == "image":
            return values
        return Table({f"x{i}": column for i, column in enumerate(values.reshape(len(values), -1).T)})
