"""Reading: a user's own data, a table, a folder of images, arrays or a data set of the hub, in batches of examples."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from ..store.tables import RawTable, open_table
from .base import Dataset, Modality, Table
from .hub import hub_rows
from .images import decode_image, image_files

__all__ = ["Batch", "Columns", "Examples", "open_examples"]

TEXTS = ("text", "sentence", "input")
IMAGES = ("image", "img")
HUB = "hf:"


@dataclass(frozen=True)
class Columns:
    """Which columns, or arrays, of the data are what.

    Parameters
    ----------
    inputs : what the model reads; two texts are a pair. None where the names are usual ones: ``text``, ``sentence`` or
        ``input``; ``image`` or ``img``; for a model that reads tables every column but the others named here.
    label : the true class; None: ``label`` where there is such a column.
    id : a name for each row; None: ``id`` where there is such a column.
    keep : further columns to carry along.
    """

    inputs: tuple[str, ...] = ()
    label: str | None = None
    id: str | None = None
    keep: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive examples, with what stands beside them.

    data : inputs, targets where there is a label, ids. first_row : position of the first row in the source, from 0.
    kept : further columns, name -> array. skipped : what could not be read: its name, and why.
    """

    data: Dataset
    first_row: int
    kept: dict[str, Array] = field(default_factory=dict)
    skipped: tuple[tuple[str, str], ...] = ()
    read: int = 0


class Examples(ABC):
    """A source of examples that can be read again and again in batches."""

    name: str
    file: str | None = None
    modality: Modality
    rows: int | None = None

    @abstractmethod
    def batches(self, rows: int, *, skip: bool = False) -> Iterator[Batch]:
        """Batches of at most ``rows`` examples; ``skip`` leaves out images that do not decode, else `InputError`."""

    @property
    @abstractmethod
    def stamp(self) -> Any:
        """What tells these examples from others in the same place, ready for JSON; None where nothing can."""


def open_examples(data: Any, reads: Sequence[Modality], columns: Columns | None = None) -> Examples:
    """Open what a model of some modalities is to be asked about.

    Parameters
    ----------
    data :
        A CSV, JSONL, Parquet or Arrow file, a frame, a mapping of columns, a Hugging Face data set (also ``hf:NAME`` or
        ``hf:NAME:SPLIT`` from the hub, and a folder that ``save_to_disk`` wrote), a folder of images (whose subfolders
        are the labels), an NPZ file of arrays, or a `Dataset`.
    reads :
        Modalities that the model takes.
    columns :
        What stands where.

    Raises `InputError` for data that are not there, or a column that is missing: it names those that there are.
    """
    columns = columns or Columns()
    if isinstance(data, Dataset):
        return _InMemory(data, reads)
    if isinstance(data, str) and data.startswith(HUB):
        name, _, split = data.removeprefix(HUB).partition(":")
        return _Table(open_table(hub_rows(name, split or "test")), reads, columns)
    if isinstance(data, (str, os.PathLike)):
        path = Path(data)
        if path.is_dir():
            if (path / "dataset_info.json").is_file() or (path / "dataset_dict.json").is_file():
                return _Table(open_table(_from_disk(path)), reads, columns)
            return _Folder(path, reads)
        if path.suffix.lower() == ".npz":
            return _Arrays(path, reads, columns)
    names = [*columns.inputs, *columns.keep, *(one for one in (columns.label, columns.id) if one)]
    return _Table(open_table(data, names), reads, columns)


class _InMemory(Examples):
    """A data set as it is."""

    def __init__(self, data: Dataset, reads: Sequence[Modality]) -> None:
        self.data, self.name, self.rows, self.modality = data, data.name or "data", len(data), data.modality
        _must_read(data.modality, reads, data.source or None)

    @property
    def stamp(self) -> Any:
        return self.data.fingerprint

    def batches(self, rows: int, *, skip: bool = False) -> Iterator[Batch]:
        for start in range(0, len(self.data), rows):
            part = self.data.take(range(start, min(start + rows, len(self.data))))
            yield Batch(part, start, read=len(part))


class _Folder(Examples):
    """Images below a folder; the name of the subfolder is the label, the path inside the folder the id."""

    def __init__(self, folder: Path, reads: Sequence[Modality]) -> None:
        self.files = image_files(folder)
        self.folder, self.name, self.file, self.rows = folder, str(folder), str(folder), len(self.files)
        self.modality = "image"
        _must_read("image", reads, str(folder))
        self._labelled = all(one.parent != folder for one in self.files)

    @property
    def stamp(self) -> Any:
        found = [(str(one.relative_to(self.folder)), one.stat()) for one in self.files]
        return [[name, about.st_size, about.st_mtime_ns] for name, about in found]

    def batches(self, rows: int, *, skip: bool = False) -> Iterator[Batch]:
        for start in range(0, len(self.files), rows):
            files = self.files[start : start + rows]
            names = [one.relative_to(self.folder).as_posix() for one in files]
            pixels, there, skipped = _decoded(files, names, skip, None, start)
            labels = tuple(files[i].parent.relative_to(self.folder).as_posix() for i in there)
            data = Dataset(
                self.name,
                pixels,
                labels if self._labelled else (),
                ids=tuple(names[i] for i in there),
                source=self.name,
                modality="image",
            )
            yield Batch(data, start, skipped=skipped, read=len(files))


class _Arrays(Examples):
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
        self._input = _found(inputs, self.arrays, str(path), "an array of inputs", "--input")[0]
        label = columns.label or next(
            (name for name in ("label", "labels", "y") if name in self.arrays), None
        )
        self._label = (
            None if label is None else _found([label], self.arrays, str(path), "an array", "--label")[0]
        )
        values = self.arrays[self._input]
        self.modality = (
            "image"
            if values.dtype == np.uint8 and values.ndim > 2
            else "text"
            if values.dtype.kind == "U"
            else "table"
        )
        self.rows = len(values)
        _must_read(self.modality, reads, str(path))
        for name in [one for one in (self._label, columns.id, *columns.keep) if one is not None]:
            if name not in self.arrays or len(self.arrays[name]) != self.rows:
                got = len(self.arrays[name]) if name in self.arrays else "no such array"
                raise InputError(
                    f"an array of {self.rows} entries",
                    got=str(got),
                    column=name,
                    file=str(path),
                    remedy="one a row",
                )

    @property
    def stamp(self) -> Any:
        assert self.file is not None
        about = os.stat(self.file)
        return [os.path.realpath(self.file), about.st_size, about.st_mtime_ns]

    def batches(self, rows: int, *, skip: bool = False) -> Iterator[Batch]:
        assert self.rows is not None
        values = self.arrays[self._input]
        for start in range(0, self.rows, rows):
            part = slice(start, min(start + rows, self.rows))
            inputs = self._inputs(values[part])
            targets = () if self._label is None else tuple(self.arrays[self._label][part].tolist())
            ids = (
                ()
                if self.columns.id is None
                else tuple(map(str, self.arrays[self.columns.id][part].tolist()))
            )
            data = Dataset(self.name, inputs, targets, ids=ids, source=self.name, modality=self.modality)
            kept = {name: self.arrays[name][part] for name in self.columns.keep}
            yield Batch(data, start, kept, read=part.stop - start)

    def _inputs(self, values: Array) -> Any:
        if self.modality == "text":
            return tuple(values.tolist())
        if self.modality == "image":
            return values
        return Table({f"x{i}": column for i, column in enumerate(values.reshape(len(values), -1).T)})


class _Table(Examples):
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
        self.inputs = _found(inputs, held, table.file, "a column of inputs", "--input")
        self.label = (
            None if label is None else _found([label], held, table.file, "a column of labels", "--label")[0]
        )
        _found([one for one in (self.id, *self.keep) if one], held, table.file, "a column", "--id or --keep")
        self.modality = _modality_of(table, self.inputs, reads)
        _must_read(self.modality, reads, table.file)

    @property
    def stamp(self) -> Any:
        return self.table.stamp

    def batches(self, rows: int, *, skip: bool = False) -> Iterator[Batch]:
        text = self.modality in ("text", "pair")
        kinds: dict[str, Any] = dict.fromkeys(self.inputs, "text" if text else "any")
        kinds |= dict.fromkeys(one for one in (self.label, self.id, *self.keep) if one and one not in kinds)
        kinds = {name: kind or "any" for name, kind in kinds.items()}
        done = 0
        for batch in self.table.batches(kinds, rows):
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
            inputs, there, skipped = _decoded(cells, names, skip, self.file, first)
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
        kept = {name: _objects(some(name)) for name in self.keep}
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


def _from_disk(path: Path) -> Any:
    try:
        from datasets import load_from_disk
    except ImportError as error:
        from ..errors import MissingExtraError

        raise MissingExtraError("reading a data set", "datasets", extra="hf") from error
    try:
        return load_from_disk(str(path))
    except Exception as error:  # damaged folders raise many classes
        raise InputError(
            "a data set that save_to_disk wrote",
            got=f"{type(error).__name__}: {error}"[:120],
            remedy="write it again",
            file=str(path),
        ) from error


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


def _found(wanted: Sequence[str], held: Any, file: str | None, what: str, option: str) -> tuple[str, ...]:
    for name in wanted:
        if name not in held:
            raise InputError(
                what,
                got=f"no {name!r}; there are {', '.join(list(held)[:12])}",
                file=file,
                remedy=f"name one of them with {option}",
            )
    if not wanted:
        raise InputError(what, got=", ".join(list(held)[:12]), file=file, remedy=f"name it with {option}")
    return tuple(wanted)


def _must_read(modality: Modality, reads: Sequence[Modality], file: str | None) -> None:
    if modality not in reads:
        raise InputError(
            f"data of the kind {' or '.join(reads)}, which the model reads",
            got=modality,
            remedy="name another model or other columns (--input)",
            file=file,
        )


def _decoded(
    images: Sequence[Any], names: Sequence[str], skip: bool, file: str | None, first: int
) -> tuple[Any, list[int], tuple[tuple[str, str], ...]]:
    """Pixels of images, positions of those that decode, and the others with the reason."""
    found, there, skipped = [], [], []
    for place, image in enumerate(images):
        try:
            found.append(decode_image(image))
        except ValueError as error:
            if not skip:
                in_file = {"file": str(image)} if file is None else {"file": file, "row": first + place + 1}
                raise InputError(
                    "an image",
                    got=str(error),
                    remedy="mend it, or leave such images out with --on-error skip",
                    **in_file,
                ) from error
            skipped.append((names[place], str(error)))
        else:
            there.append(place)
    pixels: Any = tuple(found)
    if found and len({one.shape for one in found}) == 1:
        pixels = np.stack(found)
    return pixels, there, tuple(skipped)


def _cells(column: Any) -> Array:
    found: Array = column.to_numpy(zero_copy_only=False)
    return found


def _objects(cells: list[Any]) -> Array:
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out
