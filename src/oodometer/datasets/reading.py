"""Reading: a user's own data, a table, dialogues, images, arrays or a data set of the hub, in batches of examples."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import InputError, MissingExtraError, UsageError
from ..store.artifact_cache import content_of
from ..store.source import RawTable, open_table
from .base import Dataset, Dialogue, Modality, Table
from .dialogues import TURNS, Replies, exchange, is_context, said, with_replies
from .files import hub_rows
from .images import HELD, LateImages, decode_image, image_files

TEXTS = ("text", "sentence", "input")
IMAGES = ("image", "img")


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
    columns : further columns, name -> array. skipped : what could not be read: its name, and why.
    """

    data: Dataset
    first_row: int
    columns: dict[str, Array] = field(default_factory=dict)
    skipped: tuple[tuple[str, str], ...] = ()
    read: int = 0


class Examples(ABC):
    """A source of examples that can be read again and again in batches."""

    name: str
    file: str | None = None
    modality: Modality
    rows: int | None = None
    labels_are_folders = False

    @abstractmethod
    def batches(self, rows: int, *, skip: bool = False, first: int = 0) -> Iterator[Batch]:
        """Batches of at most ``rows`` examples; ``skip`` leaves out images that do not decode, else `InputError`.

        Those before the ``first``, counted from 0, are passed over.
        """

    @property
    @abstractmethod
    def stamp(self) -> Any:
        """What tells these examples from others in the same place, ready for JSON; None where nothing can."""


def check_found(wanted: Sequence[str], held: Any, file: str | None, what: str, option: str) -> tuple[str, ...]:
    """The names that are wanted; `InputError` where one is not there: it says which there are."""
    for name in wanted:
        if name not in held:
            remedy = f"name one of them with {option}"
            raise InputError(what, got=f"no {name!r}; there are {', '.join(list(held)[:12])}", file=file, remedy=remedy)
    return tuple(wanted)


def check_modality(modality: Modality, reads: Sequence[Modality], file: str | None) -> None:
    """Raise `InputError` where a model does not read what the data hold."""
    if modality not in reads:
        expected = f"data of the kind {' or '.join(reads)}, which the model reads"
        raise InputError(expected, got=modality, remedy="name another model or other columns (--input)", file=file)


def decoded(
    images: Sequence[Any], names: Sequence[str], skip: bool, file: str | None, first: int
) -> tuple[Any, list[int], tuple[tuple[str, str], ...]]:
    """Pixels of images, positions of those that decode, and the others with the reason.

    Those that do not fit into `HELD` bytes are only looked at here, and decoded again when they are asked for.
    """
    makers: list[Callable[[], Array]] = []
    sizes, there, skipped, found, total = [], [], [], [], 0
    for place, image in enumerate(images):
        try:
            pixels = decode_image(image)
        except ValueError as error:
            if not skip:
                in_file = {"file": str(image)} if file is None else {"file": file, "row": first + place + 1}
                raise InputError(
                    "an image",
                    got=str(error),
                    remedy="mend it, make it smaller if it has too many pixels, or leave such images out with "
                    "--on-error skip",
                    **in_file,
                ) from error
            skipped.append((names[place], str(error)))
        else:
            there.append(place)
            total += pixels.nbytes
            sizes.append(pixels.nbytes)
            if total <= HELD:
                found.append(pixels)
            makers.append(partial(np.asarray, pixels) if total <= HELD else partial(decode_image, image))
    if total > HELD:
        return LateImages(makers, sizes), there, tuple(skipped)
    same = found and len({one.shape for one in found}) == 1
    return np.stack(found) if same else tuple(found), there, tuple(skipped)


def objects(cells: list[Any]) -> Array:
    """Cells of any type as an array of objects, shape (row,)."""
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out


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


_BESIDE = ("response", "candidates", "turn", "source_row")
_ROWS = 4096
_Context = tuple[int, Mapping[str, Any], tuple[str, ...], int]


@final
@dataclass(frozen=True)
class Drawing:
    """How replies get other candidates: how many in all, by which seed, from the replies of which table.

    ``replies`` of None are those of the data themselves.
    """

    candidates: int = 10
    seed: int = 0
    replies: Any = None


@final
class DialogueExamples(Examples):
    """A table of dialogues: contexts with candidates and the position of the right one, or with a response; or turns.

    Of ``turns`` each but the first is the reply of one example. A response without candidates is put among others that
    are drawn from all responses of the table (or of another one: shifted copies have those of their source). Dialogues
    without a turn, and of a single one, are counted and left out.
    """

    def __init__(self, table: RawTable, columns: Columns, drawing: Drawing | None = None) -> None:
        self.table, self.name, self.file, self.modality = table, table.name, table.file, "dialogue"
        held = table.columns
        usual = columns.inputs or tuple(name for name in TURNS if name in held)[:1]
        if not usual:
            expected = f"a column with the turns, such as {TURNS[0]}, or with a context"
            raise InputError(expected, got=", ".join(held[:12]), file=table.file, remedy="name it with --input COLUMN")
        self.turns = check_found(usual, held, table.file, "a column of turns", "--input")[0]
        named = [one for one in (columns.label, columns.id, *columns.keep) if one]
        check_found(named, held, table.file, "a column", "--label, --id or --keep")
        self.label, self.id = columns.label, columns.id
        self.keep = tuple(dict.fromkeys((*columns.keep, *(one for one in ("time", "group") if one in held))))
        beside = (*_BESIDE, "id", "label", *named, *self.keep)
        self._columns = tuple(dict.fromkeys(one for one in (self.turns, *beside) if one in held))
        self._drawing = drawing or Drawing()
        self._pool: Replies | None = None
        self.rows = table.rows if "response" in held or "candidates" in held else None

    @property
    def stamp(self) -> Any:
        """That of the file; None in memory."""
        return self.table.stamp

    def batches(self, rows: int, *, skip: bool = False, first: int = 0) -> Iterator[Batch]:
        """Contexts of the table, at most ``rows`` at once."""
        held: list[tuple[Mapping[str, Any], Dialogue, int | None, str]] = []
        skipped: list[tuple[str, str]] = []
        done = 0
        for number, row, context, file_row in self._contexts(skipped):
            if number <= first * rows:
                if number % rows == 0:
                    skipped.clear()
                    done += rows
                continue
            held.append((row, *self._example(number, row, context, file_row)))
            if len(held) == rows:
                yield self._batch(held, done, skipped)
                done += rows
                held, skipped[:] = [], []
        if held or (skipped and done >= first * rows):
            yield self._batch(held, done, skipped)

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        number = 0
        for batch in self.table.batches(dict.fromkeys(self._columns, "any"), _ROWS):
            for row in batch.to_pylist():
                number += 1
                yield number, row
        if not number:
            raise InputError("at least one row", got="none", remedy="check what wrote it", file=self.file)

    def _contexts(self, skipped: list[tuple[str, str]]) -> Iterator[_Context]:
        """Number of the context, its row, its turns, and the row of the table that it comes from."""
        number = 0
        for file_row, row in self._rows():
            turns = self._turns_of(row, file_row)
            if is_context(self.turns, row):
                least, why = 1, "a context without turns"
                found: list[Mapping[str, Any]] = [row]
            else:
                least, why = 2, "a dialogue of one turn, which has no reply" if turns else "a dialogue without turns"
                found = list(with_replies(row, self.turns, turns))
            if len(turns) < least:
                skipped.append((f"row {file_row}", why))
                continue
            if not found:
                skipped.append((f"row {file_row}", "a chat in which the assistant does not reply"))
            for one in found:
                number += 1
                yield number, one, turns if one is row else turns[: one["turn"]], file_row

    def _turns_of(self, row: Mapping[str, Any], number: int) -> tuple[str, ...]:
        value = row[self.turns]
        texts = [said(_bare(one)) for one in value] if isinstance(value, list) else [None]
        if any(one is None for one in texts):
            raise InputError(
                "a list of turns, each a text or an object with a text in it",
                got=f"{value!r}"[:60],
                remedy="mend the row, or name another column with --input",
                file=self.file,
                row=number,
                column=self.turns,
            )
        return tuple(map(str, texts))

    def _example(
        self, number: int, row: Mapping[str, Any], context: Sequence[str], file_row: int
    ) -> tuple[Dialogue, int | None, str]:
        place = {"file": self.file, "row": file_row}
        plain = {**row, "id": row[self.id]} if self.id else row
        found = exchange(plain, context, number=number, place=place, label=self.label)
        if found.candidates is not None:
            return Dialogue(found.context, found.candidates), found.label, found.id
        assert found.response is not None
        candidates, position = self.pool.among(found.id, found.response)
        return Dialogue(found.context, candidates), position, found.id

    @property
    def pool(self) -> Replies:
        """Replies that candidates are drawn from; read when they are first needed."""
        if self._pool is None:
            drawing = self._drawing
            source = self if drawing.replies is None else DialogueExamples(drawing.replies, Columns())
            self._pool = Replies(source.responses(), drawing.candidates, drawing.seed, source.file or source.name)
        return self._pool

    def responses(self) -> Iterator[str]:
        """The replies of all contexts, as far as the table gives them."""
        for _, row, _, _ in self._contexts([]):
            found = said(row.get("response"))
            if found is not None:
                yield found

    def _batch(self, held: Sequence[tuple[Any, ...]], first: int, skipped: Sequence[tuple[str, str]]) -> Batch:
        known = any(label is not None for _, _, label, _ in held)
        data = Dataset(
            self.name,
            tuple(one for _, one, _, _ in held),
            tuple(label for _, _, label, _ in held) if known else (),
            ids=tuple(name for _, _, _, name in held),
            source=self.name,
            modality="dialogue",
        )
        kept = {name: objects([row[name] for row, *_ in held]) for name in self.keep}
        return Batch(data, first, kept, tuple(skipped), len(held) + len(skipped))


def _bare(turn: Any) -> Any:
    """A turn as it was written: a table gives each object the keys of all, empty where it lacks them."""
    return {name: value for name, value in turn.items() if value is not None} if isinstance(turn, dict) else turn


class FolderExamples(Examples):
    """Images below a folder; the name of the subfolder is the label, the path inside the folder the id.

    Beside subfolders, images in the folder itself are of unknown class.
    """

    labels_are_folders = True

    def __init__(self, folder: Path, reads: Sequence[Modality]) -> None:
        self.files = image_files(folder)
        self.folder, self.name, self.file, self.rows = folder, str(folder), str(folder), len(self.files)
        self.modality = "image"
        check_modality("image", reads, str(folder))
        self._labelled = any(one.parent != folder for one in self.files)

    @property
    def stamp(self) -> Any:
        """Name and content of every image."""
        return [[str(one.relative_to(self.folder)), content_of(one)] for one in self.files]

    def batches(self, rows: int, *, skip: bool = False, first: int = 0) -> Iterator[Batch]:
        """Images by name."""
        for start in range(first * rows, len(self.files), rows):
            files = self.files[start : start + rows]
            names = [one.relative_to(self.folder).as_posix() for one in files]
            pixels, there, skipped = decoded(files, names, skip, None, start)
            homes = [files[i].parent for i in there]
            labels = tuple(None if one == self.folder else one.relative_to(self.folder).as_posix() for one in homes)
            data = Dataset(
                self.name,
                pixels,
                labels if self._labelled else (),
                ids=tuple(names[i] for i in there),
                source=self.name,
                modality="image",
            )
            yield Batch(data, start, skipped=skipped, read=len(files))


class DatasetExamples(Examples):
    """A data set as it is."""

    def __init__(self, data: Dataset, reads: Sequence[Modality]) -> None:
        self.data, self.name, self.rows, self.modality = data, data.name or "data", len(data), data.modality
        check_modality(data.modality, reads, data.source or None)

    @property
    def stamp(self) -> Any:
        """The fingerprint of the data set."""
        return self.data.fingerprint

    def batches(self, rows: int, *, skip: bool = False, first: int = 0) -> Iterator[Batch]:
        """Rows of the data set."""
        for start in range(first * rows, len(self.data), rows):
            part = self.data.take(range(start, min(start + rows, len(self.data))))
            yield Batch(part, start, read=len(part))


HUB = "hf:"


def open_examples(
    data: Any, reads: Sequence[Modality], columns: Columns | None = None, drawing: Drawing | None = None
) -> Examples:
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
    drawing :
        For dialogues: how replies get other candidates.

    Raises `InputError` for data that are not there, or a column that is missing: it names those that there are.
    """
    columns = columns or Columns()
    if isinstance(data, Dataset):
        return DatasetExamples(data, reads)
    if "dialogue" in reads:
        return _dialogues(data, columns, drawing)
    if isinstance(data, str) and data.startswith(HUB):
        name, _, split = data.removeprefix(HUB).partition(":")
        return TableExamples(open_table(hub_rows(name, split or "test")), reads, columns)
    if isinstance(data, (str, os.PathLike)):
        path = Path(data)
        if path.is_dir():
            if (path / "dataset_info.json").is_file() or (path / "dataset_dict.json").is_file():
                return TableExamples(open_table(_from_disk(path)), reads, columns)
            return FolderExamples(path, reads)
        if path.suffix.lower() == ".npz":
            return ArrayExamples(path, reads, columns)
    names = [*columns.inputs, *columns.keep, *(one for one in (columns.label, columns.id) if one)]
    return TableExamples(open_table(data, names), reads, columns)


def _dialogues(data: Any, columns: Columns, drawing: Drawing | None) -> Examples:
    if isinstance(data, (str, os.PathLike)) and Path(data).is_dir():
        data = _from_disk(Path(data))
    named = [one for one in (*columns.inputs, columns.label, columns.id, *columns.keep) if one]
    names = [*named, "response", "candidates", "turn", "source_row", "label", "id"]
    if drawing is not None and drawing.replies is not None:
        drawing = replace(drawing, replies=open_table(drawing.replies, ["response"]))
    return DialogueExamples(open_table(data, names), columns, drawing)


def _from_disk(path: Path) -> Any:
    try:
        from datasets import load_from_disk
    except ImportError as error:
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
