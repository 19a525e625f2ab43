"""Source: a fitted file where a reference is wanted; verbs that read rows get the sample that it keeps."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from ...passes.reference import ReferenceSource
from ...persistence import ENDING
from ...store import RecordSource
from ...store.axes import Axes
from .contents import Contents

__all__ = ["FittedSource", "is_fitted"]


def is_fitted(data: Any) -> bool:
    """Whether something is a fitted file (told by its ending), or a fitted object in memory.

    >>> is_fitted("model.oodo"), is_fitted("reference.csv")
    (True, False)
    """
    if isinstance(data, (str, PathLike)):
        return Path(data).suffix.lower() == ENDING
    return isinstance(data, FittedSource) or hasattr(data, "__fitted_reference__")


class FittedSource(ReferenceSource):
    """The reference of a fitted file: its rows are those that the file keeps, its counts those of all."""

    def __init__(self, contents: Contents) -> None:
        super().__init__(contents.reference)
        self.contents = contents
        self.path = contents.file
        self.name = contents.fitted.name
        self.encoding = contents.encoding

    @classmethod
    def of(cls, data: Any) -> FittedSource:
        """The source of a fitted file's path, or of a fitted object; `InputError` for a file that is none."""
        if isinstance(data, cls):
            return data
        if isinstance(data, (str, PathLike)):
            return cls(Contents.read_file(data))
        return cls(data.__fitted_reference__())

    @property
    def axes(self) -> Axes:
        """Those of the reference as it was read."""
        return self.contents.axes

    def aligned(self, axes: Axes | None) -> RecordSource:
        """The same, where the order is its own; else its rows in the other order."""
        return self if axes is None or axes == self.axes else RecordSource(self.record).aligned(axes)
