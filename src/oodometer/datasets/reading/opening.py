"""Opening: whatever a user names as data becomes a source of examples."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import InputError, MissingExtraError
from ...store.tables import open_table
from ..base import Dataset, Modality
from ..hub import hub_rows
from .arrays import ArrayExamples
from .base import Columns, Examples
from .dialogues import DialogueExamples, Drawing
from .folder import FolderExamples
from .memory import DatasetExamples
from .table import TableExamples

__all__ = ["open_examples"]

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
