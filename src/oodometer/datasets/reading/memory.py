"""Memory: a data set as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..base import Dataset, Modality
from .base import Batch, Examples, check_modality

__all__ = ["DatasetExamples"]


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
