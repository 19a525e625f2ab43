"""Opening: whatever a user names as data becomes a source of examples."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import InputError, MissingExtraError
from ...store.artifact_cache import content_of
from ...store.tables import open_table
from ..base import Dataset, Modality
from ..hub import hub_rows
from ..images import image_files
from .arrays import ArrayExamples
from .base import Batch, Columns, Examples, check_modality, decoded
from .dialogues import DialogueExamples, Drawing
from .table import TableExamples


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
