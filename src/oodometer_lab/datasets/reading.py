"""Reading: a user's own data, a table, dialogues, images, arrays or a data set of the hub, in batches of examples."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, final

import numpy as np

from oodometer.arrays import Array, present
from oodometer.errors import InputError, UsageError, needed
from oodometer.store.artifact_cache import content_of
from oodometer.store.source import RawTable, open_table

from .base import Dataset, Dialogue, Modality, Table
from .dialogues import TURNS, Replies, exchange, is_context, said, why_no_reply, with_replies
from .files import hub_rows
from .images import HELD, LateImages, decode_image, image_files

TEXTS = ("text", "sentence", "input")
IMAGES = ("image", "img")


@dataclass(frozen=True)
class ExampleColumns:
    """Which columns, or arrays, of the data are what: those that the model reads (two texts are a pair; by default the
    usual names, of a table every column but the others), the true class (``label``), a name for each row (``id``), and
    further ones to carry along.
    """

    inputs: tuple[str, ...] = ()
    label: str | None = None
    id: str | None = None
    keep: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive examples from ``first_row`` (from 0) on; further columns; what could not be read, and why."""

    data: Dataset
    first_row: int
    columns: dict[str, Array] = field(default_factory=dict)
    skipped: tuple[tuple[str, str], ...] = ()
    read: int = 0


class Examples:
    """A source of examples that can be read again and again in batches."""

    name: str
    file: str | None = None
    modality: Modality
    rows: int | None = None
    labels_are_folders = False
    table: RawTable  # where they stand in one

    def batches(self, rows: int, *, skip: bool = False, first: int = 0) -> Iterator[Batch]:
        """Batches of at most ``rows`` examples; ``skip`` leaves out images that do not decode, else `InputError`.

        Those before the ``first``, counted from 0, are passed over.
        """
        for start in range(first * rows, total := present(self.rows), rows):
            yield self._batch(slice(start, min(start + rows, total)), skip)

    def _batch(self, part: slice, skip: bool) -> Batch:
        """The examples at some places, of a source that knows how many there are."""
        raise NotImplementedError

    @property
    def stamp(self) -> Any:
        """What tells these examples from others in the same place, ready for JSON; None where nothing can."""
        return self.table.stamp

    def _data(self, inputs: Any, targets: tuple[Any, ...], ids: tuple[str, ...] = ()) -> Dataset:
        return Dataset(
            self.name, inputs, targets, ids=ids, source=self.name, modality=self.modality
        )

    def _no_rows(self) -> InputError:
        return InputError(
            "at least one row", got="none", remedy="check what wrote it", file=self.file
        )

    def _check_found(
        self, requested: Sequence[str], columns: Any, what: str, option: str
    ) -> tuple[str, ...]:
        """The names that are wanted; `InputError` where one is not there: it says which there are."""
        lacking = next((name for name in requested if name not in columns), None)
        if lacking is not None:
            got = f"no {lacking!r}; there are {', '.join(list(columns)[:12])}"
            raise InputError(
                what, got=got, file=self.file, remedy=f"name one of them with {option}"
            )
        return tuple(requested)

    def _check_modality(self, reads: Sequence[Modality], file: str | None) -> None:
        """Raise `InputError` where a model does not read what the data hold."""
        if self.modality not in reads:
            expected, remedy = (
                f"data of the kind {' or '.join(reads)}, which the model reads",
                "name another model",
            )
            raise InputError(
                expected,
                got=self.modality,
                remedy=f"{remedy} or other columns (--input)",
                file=file,
            )


def decoded(
    images: Sequence[Any], names: Sequence[str], skip: bool, file: str | None, first: int
) -> tuple[Any, list[int], tuple[tuple[str, str], ...]]:
    """Pixels of images, positions of those that decode, the others with reasons; beyond `HELD` bytes read late."""
    makers: list[Callable[[], Array]] = []
    sizes, decodable, skipped, pixels, total = [], [], [], [], 0
    for row, source in enumerate(images):
        try:
            image = decode_image(source)
        except ValueError as error:
            if not skip:
                in_file = (
                    {"file": str(source)}
                    if file is None
                    else {"file": file, "row": first + row + 1}
                )
                remedy = "mend it, make it smaller if it has too many pixels, or leave such images out with "
                raise InputError(
                    "an image", got=str(error), remedy=f"{remedy}--on-error skip", **in_file
                ) from error
            skipped.append((names[row], str(error)))
        else:
            decodable.append(row)
            total += image.nbytes
            sizes.append(image.nbytes)
            if total <= HELD:
                pixels.append(image)
            makers.append(
                partial(np.asarray, image) if total <= HELD else partial(decode_image, source)
            )
    if total > HELD:
        return LateImages(makers, sizes), decodable, tuple(skipped)
    same = pixels and len({array.shape for array in pixels}) == 1
    return np.stack(pixels) if same else tuple(pixels), decodable, tuple(skipped)


def objects(cells: list[Any]) -> Array:
    """Cells of any type as an array of objects, shape (row,)."""
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out


class TableExamples(Examples):
    """A table: texts, pairs of texts, images in cells, or columns of numbers and words."""

    def __init__(self, table: RawTable, reads: Sequence[Modality], columns: ExampleColumns) -> None:
        self.table, self.name, self.file, self.rows = table, table.name, table.file, table.rows
        available = table.columns
        usual = {"text": TEXTS, "pair": TEXTS, "image": IMAGES}
        likely = [name for kind in reads for name in usual.get(kind, ()) if name in available]
        inputs = columns.inputs or tuple(likely[:1])
        free = {*available} - {*inputs}
        label = columns.label or ("label" if "label" in free else None)
        self.id = columns.id or ("id" if "id" in free else None)
        times = [name for name in ("time", "group") if name in free]
        self.keep = tuple(dict.fromkeys((*columns.keep, *times)))
        if not inputs and "table" in reads:
            inputs = tuple(name for name in available if name not in (label, self.id, *self.keep))
        if not inputs:
            remedy = "name it with --input COLUMN (twice for a pair of texts)"
            got = ", ".join(available[:12])
            raise InputError(
                "a column with the inputs of the model", got=got, file=table.file, remedy=remedy
            )
        self.inputs = self._check_found(inputs, available, "a column of inputs", "--input")
        self._check_found([label] if label else [], available, "a column of labels", "--label")
        self._check_found(
            [name for name in (self.id, *self.keep) if name],
            available,
            "a column",
            "--id or (Python) keep=",
        )
        self.label, self.modality = label, self._modality_of(reads)
        self._check_modality(reads, table.file)

    def _modality_of(self, reads: Sequence[Modality]) -> Modality:
        """What the columns hold, by their first row, among the modalities that the model reads."""
        if len(reads) == 1 and reads[0] != "pair":
            return reads[0]
        cells = self._first_cells()
        alone, reads_tables = len(cells) == 1, "table" in reads
        reads_texts = bool({"text", "pair"} & set(reads))
        as_texts: Modality = "text" if alone else "pair"
        if reads_tables and not reads_texts:
            return "table"
        if alone and isinstance(cells[0], (dict, bytes)):
            return "image"
        if len(cells) <= 2 and all(isinstance(cell, str) for cell in cells):
            if reads_texts:
                return as_texts
            return "image" if alone else "table"
        if reads_tables:
            return "table"
        if len(cells) > 2:
            raise UsageError(
                f"expected one input column, or two for pairs of texts, got {len(cells)}"
            )
        return as_texts

    def _first_cells(self) -> list[Any]:
        """The inputs of the first row."""
        first = next(iter(self.table.batches(dict.fromkeys(self.inputs, "any"), 1)), None)
        if first is None or not first.num_rows:
            raise self._no_rows()
        return [first.column(name)[0].as_py() for name in self.inputs]

    def batches(self, rows: int, *, skip: bool = False, first: int = 0) -> Iterator[Batch]:
        """Rows of the table."""
        kinds: dict[str, Any] = dict.fromkeys(
            (name for name in (self.label, self.id, *self.keep) if name), "any"
        )
        kinds |= dict.fromkeys(self.inputs, "text" if self.modality in ("text", "pair") else "any")
        done = 0
        for number, batch in enumerate(self.table.batches(kinds, rows)):
            if number >= first:
                yield self._of(batch, done, skip)
            done += batch.num_rows
        if not done:
            raise self._no_rows()

    def _of(self, batch: Any, first: int, skip: bool) -> Batch:
        skipped: tuple[tuple[str, str], ...] = ()
        decodable = list(range(batch.num_rows))
        if self.modality == "table":
            inputs: Any = Table(
                {name: batch.column(name).to_numpy(zero_copy_only=False) for name in self.inputs}
            )
        elif self.modality == "image":
            cells = batch.column(self.inputs[0]).to_pylist()
            if self.file is not None:
                base = Path(self.file).parent
                cells = [base / cell if isinstance(cell, str) else cell for cell in cells]
            names = [f"row {first + i + 1}" for i in decodable]
            inputs, decodable, skipped = decoded(cells, names, skip, self.file, first)
        else:
            inputs = self._texts(batch, first)
        take = len(decodable) < batch.num_rows

        def values_of(name: str) -> list[Any]:
            values = batch.column(name).to_pylist()
            return [values[i] for i in decodable] if take else values

        targets = tuple(values_of(self.label)) if self.label else ()
        data = self._data(inputs, targets, tuple(map(str, values_of(self.id))) if self.id else ())
        return Batch(
            data,
            first,
            {name: objects(values_of(name)) for name in self.keep},
            skipped,
            batch.num_rows,
        )

    def _texts(self, batch: Any, first: int) -> tuple[Any, ...]:
        """Texts, or pairs of them; `InputError` for a cell that holds none."""
        texts = [batch.column(name).to_pylist() for name in self.inputs]
        for name, cells in zip(self.inputs, texts, strict=True):
            bad = next((i for i, cell in enumerate(cells) if not isinstance(cell, str)), None)
            if bad is not None:
                raise InputError(
                    "a text",
                    got=repr(cells[bad])[:60],
                    remedy="fill it in or drop the row",
                    file=self.file,
                    row=first + bad + 1,
                    column=name,
                )
        return tuple(texts[0]) if len(texts) == 1 else tuple(zip(*texts, strict=True))


def _arrays_of(path: Path) -> dict[str, Array]:
    """The arrays of an NPZ file by name."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except FileNotFoundError:
        raise InputError(
            "a file", got="no such file", remedy="check the path", file=str(path)
        ) from None
    # zip and numpy raise many classes for damaged files and for pickles
    except Exception as error:
        got, remedy = (
            f"{type(error).__name__}: {error}"[:120],
            "write it with np.savez, without objects",
        )
        raise InputError(
            "an NPZ file of plain arrays", got=got, remedy=remedy, file=str(path)
        ) from error


class ArrayExamples(Examples):
    """Arrays of an NPZ file, whose ``input`` is images (uint8), a table of numbers, or texts."""

    def __init__(self, path: Path, reads: Sequence[Modality], columns: ExampleColumns) -> None:
        self.file = self.name = str(path)
        self.arrays = _arrays_of(path)
        self.columns = columns
        usual = (*IMAGES, "images", *TEXTS, "x", "X")
        inputs = columns.inputs or tuple(name for name in usual if name in self.arrays)[:1]
        if not inputs:
            got, remedy = ", ".join(self.arrays), "name it with --input"
            raise InputError("an array of inputs", got=got, file=str(path), remedy=remedy)
        self.input = self._check_found(inputs, self.arrays, "an array of inputs", "--input")[0]
        self.label = columns.label or next(
            (name for name in ("label", "labels", "y") if name in self.arrays), None
        )
        self._check_found([self.label] if self.label else [], self.arrays, "an array", "--label")
        values = self.arrays[self.input]
        of_images = values.dtype == np.uint8 and values.ndim > 2
        self.modality = "image" if of_images else "text" if values.dtype.kind == "U" else "table"
        self.rows = len(values)
        self._check_modality(reads, str(path))
        for name in [
            column for column in (self.label, columns.id, *columns.keep) if column is not None
        ]:
            got = str(len(self.arrays[name])) if name in self.arrays else "no such array"
            if got != str(self.rows):
                expected = f"an array of {self.rows} entries"
                raise InputError(expected, got=got, column=name, file=str(path), remedy="one a row")

    @property
    def stamp(self) -> Any:
        """Path and content of the file."""
        return [os.path.realpath(self.name), content_of(self.name)]

    def _batch(self, part: slice, skip: bool) -> Batch:
        values = self.arrays[self.input][part]
        inputs: Any = values
        if self.modality == "text":
            inputs = tuple(values.tolist())
        elif self.modality == "table":
            inputs = Table(
                {f"x{i}": column for i, column in enumerate(values.reshape(len(values), -1).T)}
            )
        targets = () if self.label is None else tuple(self.arrays[self.label][part].tolist())
        ids = (
            ()
            if self.columns.id is None
            else tuple(map(str, self.arrays[self.columns.id][part].tolist()))
        )
        further = {name: self.arrays[name][part] for name in self.columns.keep}
        return Batch(
            self._data(inputs, targets, ids), part.start, further, read=part.stop - part.start
        )


LABELS = "labels.npy"
CONDITION = ("kind", "severity")  # columns that say how images were shifted


def _opened_array(file: Path) -> Array:
    """The array of an NPY file, read where it is used."""
    try:
        array: Array = np.load(file, mmap_mode="r", allow_pickle=False)
    # numpy raises many classes for damaged files and for pickles
    except Exception as error:
        got, remedy = "no such file", "put it beside the others"
        if file.is_file():
            got = f"{type(error).__name__}: {error}"[:120]
            remedy = "write it with np.save, without objects"
        raise InputError(
            "an NPY file of numbers", got=got, remedy=remedy, file=str(file)
        ) from error
    return array


@final
class StackedExamples(Examples):
    """Images as CIFAR-10-C has them: a folder of ``<kind>.npy``, or one of its files, with severities 1 to 5 one after
    another, uint8 (5 n, height, width, 3), beside ``labels.npy`` (5 n, or n). Only what is used is read.
    """

    def __init__(self, path: Path, reads: Sequence[Modality]) -> None:
        self.name, self.file, self.modality = str(path), str(path), "image"
        self._check_modality(reads, self.file)
        labels = (path if path.is_dir() else path.parent) / LABELS
        self.files = [
            *sorted({*(path.glob("*.npy") if path.is_dir() else [path])} - {labels}),
            labels,
        ]
        *self.images, self.labels = map(_opened_array, self.files)
        count = len(self.images[0]) if self.images else 0
        expected = "uint8 images (sample, height, width, 3), five severities of as many images in every file"
        for file, array in zip(self.files, (*self.images, self.labels), strict=True):
            plain = array.dtype == np.uint8 and array.ndim == 4 and array.shape[-1] == 3
            good = plain and count > 0 and count % 5 == 0 and len(array) == count
            if file == labels:
                expected = f"{count:,} labels, or {count // 5:,}, whole numbers or names"
                good = (
                    array.dtype.kind in "iuU"
                    and array.ndim == 1
                    and len(array) in {count, count // 5} - {0}
                )
            if not good:
                got, remedy = (
                    f"{array.dtype} of shape {array.shape}",
                    "write it so, or put images into an NPZ file",
                )
                raise InputError(expected, got=got, remedy=remedy, file=str(file))
        self.labels = np.tile(self.labels, count // len(self.labels))
        self.rows = count * len(self.images)

    @property
    def stamp(self) -> Any:
        """Name and content of every file."""
        return [[os.path.realpath(file), content_of(file)] for file in self.files]

    def _batch(self, part: slice, skip: bool) -> Batch:
        count, each = len(self.labels), len(self.labels) // 5
        file, at = np.divmod(np.arange(part.start, part.stop), count)
        columns = {"kind": objects([self.files[i].stem for i in file]), "severity": at // each + 1}
        ids = [
            f"{kind}/{level}/{row}"
            for kind, level, row in zip(*columns.values(), at % each, strict=True)
        ]
        pixels = np.concatenate([self.images[i][at[file == i]] for i in np.unique(file)])
        data = self._data(pixels, tuple(self.labels[at].tolist()), tuple(ids))
        return Batch(data, part.start, columns, read=len(at))


_BESIDE = ("response", "candidates", "turn", "source_row", "label", "id")
_ROWS = 4096


@final
@dataclass(frozen=True)
class Drawing:
    """How replies get other candidates: how many, by which seed, from which table (None: the data themselves)."""

    candidates: int = 10
    seed: int = 0
    replies: Any = None


@final
class DialogueExamples(Examples):
    """A table of dialogues: contexts with candidates and the position of the right one, or with a response, which is
    put among others drawn from all responses; or ``turns``, of which each but the first is a reply.
    """

    def __init__(
        self, table: RawTable, columns: ExampleColumns, drawing: Drawing | None = None
    ) -> None:
        self.table, self.name, self.file, self.modality = table, table.name, table.file, "dialogue"
        available = table.columns
        usual = columns.inputs or tuple(name for name in TURNS if name in available)[:1]
        if not usual:
            expected = f"a column with the turns, such as {TURNS[0]}, or with a context"
            raise InputError(
                expected,
                got=", ".join(available[:12]),
                file=table.file,
                remedy="name it with --input COLUMN",
            )
        self.turns = self._check_found(usual, available, "a column of turns", "--input")[0]
        named = [column for column in (columns.label, columns.id, *columns.keep) if column]
        self._check_found(named, available, "a column", "--label, --id or (Python) keep=")
        self.label, self.id = columns.label, columns.id
        self.keep = tuple(
            dict.fromkeys(
                (*columns.keep, *(column for column in ("time", "group") if column in available))
            )
        )
        every = dict.fromkeys((self.turns, *_BESIDE, *named, *self.keep))
        self._columns = tuple(column for column in every if column in available)
        self._drawing = drawing or Drawing()
        self.rows = table.rows if "response" in available or "candidates" in available else None

    def batches(self, rows: int, *, skip: bool = False, first: int = 0) -> Iterator[Batch]:
        """Contexts of the table, at most ``rows`` at once."""
        read: list[tuple[Mapping[str, Any], Dialogue, int | None, str]] = []
        skipped: list[tuple[str, str]] = []
        done = 0
        for number, (row, context, file_row) in enumerate(self._contexts(skipped), 1):
            if number <= first * rows:
                if number % rows == 0:
                    skipped.clear()
                    done += rows
                continue
            plain = {**row, "id": row[self.id]} if self.id else row
            where = {"file": self.file, "row": file_row}
            reply = exchange(plain, context, number=number, place=where, label=self.label)
            candidates, position = reply.candidates, reply.label
            if candidates is None:
                candidates, position = self._pool.among(reply.id, present(reply.response))
            read.append((row, Dialogue(reply.context, candidates), position, reply.id))
            if len(read) == rows:
                yield self._of(read, done, skipped)
                done += rows
                read, skipped[:] = [], []
        if read or (skipped and done >= first * rows):
            yield self._of(read, done, skipped)

    def _of(
        self, read: Sequence[tuple[Any, ...]], first: int, skipped: Sequence[tuple[str, str]]
    ) -> Batch:
        rows, inputs, labels, ids = tuple(zip(*read, strict=True)) or ((), (), (), ())
        data = self._data(inputs, labels if any(label is not None for label in labels) else (), ids)
        further = {name: objects([row[name] for row in rows]) for name in self.keep}
        return Batch(data, first, further, tuple(skipped), len(read) + len(skipped))

    def _contexts(
        self, skipped: list[tuple[str, str]]
    ) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...], int]]:
        """Each context with its row, its turns, and the number of the row of the table that it comes from."""
        batches = self.table.batches(dict.fromkeys(self._columns, "any"), _ROWS)
        file_row = 0
        for file_row, row in enumerate((row for batch in batches for row in batch.to_pylist()), 1):
            value = row[self.turns]
            texts = _texts_of(value)
            if texts is None:
                raise InputError(
                    "a list of turns, each a text or an object with a text in it",
                    got=f"{value!r}"[:60],
                    remedy="mend the row, or name another column with --input",
                    file=self.file,
                    row=file_row,
                    column=self.turns,
                )
            turns = tuple(texts)
            context = is_context(self.turns, row)
            replies = (
                ([row] if turns else []) if context else list(with_replies(row, self.turns, turns))
            )
            if not replies:
                skipped.append(
                    (
                        f"row {file_row}",
                        "a context without turns" if context else why_no_reply(turns),
                    )
                )
            for turn in replies:
                yield turn, turns if turn is row else turns[: turn["turn"]], file_row
        if not file_row:
            raise self._no_rows()

    @cached_property
    def _pool(self) -> Replies:
        """Replies that candidates are drawn from; read when they are first needed."""
        drawing = self._drawing
        source = (
            self if drawing.replies is None else DialogueExamples(drawing.replies, ExampleColumns())
        )
        responses = (said(row.get("response")) for row, *_ in source._contexts([]))
        texts = (response for response in responses if response is not None)
        return Replies(texts, drawing.candidates, drawing.seed, source.file or source.name)


def _texts_of(turns: Any) -> list[str] | None:
    """The texts of a list of turns; None where one has none. A table gives each object the keys of all."""
    if not isinstance(turns, list):
        return None
    texts = []
    for turn in turns:
        text = said(
            {k: v for k, v in turn.items() if v is not None} if isinstance(turn, dict) else turn
        )
        if text is None:
            return None
        texts.append(text)
    return texts


class FolderExamples(Examples):
    """Images below a folder; the subfolder is the label (beside such, images at the top have none), the path the id.
    Of folders as ImageNet-C has them, ``<kind>/<severity>/<class>``, these are columns.
    """

    labels_are_folders = True

    def __init__(self, folder: Path, reads: Sequence[Modality]) -> None:
        self.files = image_files(folder)
        self.folder, self.name, self.file, self.rows = (
            folder,
            str(folder),
            str(folder),
            len(self.files),
        )
        self.modality = "image"
        self._check_modality(reads, str(folder))
        homes = [file.relative_to(folder).parts for file in self.files]
        self._labelled = any(len(parts) > 1 for parts in homes)
        self._shifted = all(len(parts) > 3 and parts[1] in {*"12345"} for parts in homes)

    @property
    def stamp(self) -> Any:
        """Name and content of every image."""
        return [[str(file.relative_to(self.folder)), content_of(file)] for file in self.files]

    def _batch(self, part: slice, skip: bool) -> Batch:
        files = [label.relative_to(self.folder) for label in self.files[part]]
        names = [file.as_posix() for file in files]
        pixels, decodable, skipped = decoded(self.files[part], names, skip, None, part.start)
        homes = [files[i].parent.as_posix() for i in decodable]
        labels = tuple(None if label == "." else label for label in homes) if self._labelled else ()
        data = self._data(pixels, labels, tuple(names[i] for i in decodable))
        cells = [files[i].parts for i in decodable if self._shifted]
        numbers = np.array([int(parts[1]) for parts in cells])
        shifted = (
            {"kind": objects([parts[0] for parts in cells]), "severity": numbers} if cells else {}
        )
        return Batch(data, part.start, shifted, skipped=skipped, read=len(files))


class DatasetExamples(Examples):
    """A data set as it is."""

    def __init__(self, data: Dataset, reads: Sequence[Modality]) -> None:
        self.data, self.name, self.rows, self.modality = (
            data,
            data.name or "data",
            len(data),
            data.modality,
        )
        self._check_modality(reads, data.source or None)

    @property
    def stamp(self) -> Any:
        """The fingerprint of the data set."""
        return self.data.fingerprint

    def _batch(self, part: slice, skip: bool) -> Batch:
        return Batch(
            self.data.take(range(part.start, part.stop)), part.start, read=part.stop - part.start
        )


HUB = "hf:"


def open_examples(
    data: Any,
    reads: Sequence[Modality],
    columns: ExampleColumns | None = None,
    drawing: Drawing | None = None,
) -> Examples:
    """Open what a model of some modalities is to be asked about: a file, a frame, a mapping, a Hugging Face data set
    (also ``hf:NAME:SPLIT``, and a folder that ``save_to_disk`` wrote), a folder of images, an NPZ file, or a `Dataset`.
    """
    columns = columns or ExampleColumns()
    if isinstance(data, Dataset):
        return DatasetExamples(data, reads)
    names = [
        *columns.inputs,
        *columns.keep,
        *(column for column in (columns.label, columns.id) if column),
    ]
    if "dialogue" in reads:
        return _dialogues(data, names, columns, drawing)
    if isinstance(data, str) and data.startswith(HUB):
        name, _, split = data.removeprefix(HUB).partition(":")
        return TableExamples(open_table(hub_rows(name, split or "test")), reads, columns)
    if isinstance(data, (str, os.PathLike)):
        path = Path(data)
        if path.is_dir():
            return _in_folder(path, reads, columns)
        if path.suffix.lower() == ".npy":
            return StackedExamples(path, reads)
        if path.suffix.lower() == ".npz":
            return ArrayExamples(path, reads, columns)
    return TableExamples(open_table(data, names), reads, columns)


def _dialogues(
    data: Any, names: Sequence[str], columns: ExampleColumns, drawing: Drawing | None
) -> Examples:
    if isinstance(data, (str, os.PathLike)) and Path(data).is_dir():
        data = _from_disk(Path(data))
    if drawing is not None and drawing.replies is not None:
        drawing = replace(drawing, replies=open_table(drawing.replies, ["response"]))
    return DialogueExamples(open_table(data, [*names, *_BESIDE]), columns, drawing)


def _in_folder(path: Path, reads: Sequence[Modality], columns: ExampleColumns) -> Examples:
    """A data set that ``save_to_disk`` wrote, arrays of images, or images."""
    if (path / "dataset_info.json").is_file() or (path / "dataset_dict.json").is_file():
        return TableExamples(open_table(_from_disk(path)), reads, columns)
    endings = {file.suffix for file in path.iterdir()}
    if {".npy"} <= endings <= {".npy", ".json"} or (path / LABELS).is_file():
        return StackedExamples(path, reads)
    return FolderExamples(path, reads)


def _from_disk(path: Path) -> Any:
    library = needed("datasets", "reading a data set", extra="hf")
    try:
        return library.load_from_disk(str(path))
    except Exception as error:  # damaged folders raise many classes
        got = f"{type(error).__name__}: {error}"[:120]
        expected = "a data set that save_to_disk wrote"
        raise InputError(expected, got=got, remedy="write it again", file=str(path)) from error
