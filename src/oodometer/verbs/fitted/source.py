"""Source: a fitted file where a reference is wanted; verbs that read rows get the sample that it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from ...errors import InputError, OodometerError
from ...passes.reference import ReferenceSource
from ...persistence import ENDING
from ...store import RecordSource
from ...store.base import Axes
from .contents import Contents


def is_fitted(data: Any) -> bool:
    """Whether something is a fitted file (told by its ending), or a fitted object in memory.

    >>> is_fitted("model.oodo"), is_fitted("reference.csv")
    (True, False)
    """
    if isinstance(data, (str, PathLike)):
        return Path(data).suffix.lower() == ENDING
    return isinstance(data, FittedSource) or hasattr(data, "__fitted_reference__")


@contextmanager
def faults_of_fitted(reference: Any) -> Iterator[None]:
    """Inside, an error that nobody foresaw is one of a fitted file, where one is the reference.

    Its checksum says that it is whole, not that we wrote it: pieces of other kinds show where they are used.
    """
    try:
        yield
    except OodometerError:
        raise
    except Exception as error:
        given = reference if isinstance(reference, (list, tuple)) else [reference]
        file = next((str(one) for one in given if isinstance(one, (str, PathLike)) and is_fitted(one)), None)
        if file is None:
            raise
        raise InputError(
            "a fitted file as `oodometer fit` writes it",
            got=f"one that cannot be used ({' '.join(f'{type(error).__name__}: {error}'.split())[:160]})",
            remedy="fit it again; if that changes nothing, run with --debug and report it",
            file=file,
        ) from error


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
