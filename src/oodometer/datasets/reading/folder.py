"""Folder: images below a folder, whose subfolders are the labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..base import Dataset, Modality
from ..images import file_stamp, image_files
from .base import Batch, Examples, check_modality, decoded

__all__ = ["FolderExamples"]


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
        """Name, size and time of change of every image."""
        return [[str(one.relative_to(self.folder)), *file_stamp(one)] for one in self.files]

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
