"""Opening: the sources of a verb, with one set of renamings for files that need not share all columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import UnknownColumnError, UsageError
from ..store import Source, as_source

__all__ = ["Opener"]


class Opener:
    """Opens several sources with the same renamings; a renaming must find its column in at least one of them.

    >>> opener = Opener({"truth": "label"})
    >>> _ = opener.open({"prediction": [0, 1], "truth": [0, 1]})
    >>> _ = opener.open({"prediction": [0, 1]})
    >>> opener.check()
    """

    def __init__(self, mapping: Mapping[str, str] | None) -> None:
        self._mapping = dict(mapping or {})
        self._used: set[str] = set()
        self._complaints: dict[str, UsageError] = {}

    def open(
        self, data: Any, classes: Sequence[int | str] | None = None, extra_columns: Iterable[str] = ()
    ) -> Source:
        """The source, renamed as far as its columns go."""
        mapping = dict(self._mapping)
        while True:
            try:
                source = as_source(
                    data, classes=classes, mapping=mapping or None, extra_columns=extra_columns
                )
            except UnknownColumnError as error:
                self._complaints[error.column] = error
                del mapping[error.column]
                continue
            self._used.update(mapping)
            return source

    def check(self) -> None:
        """Raise the complaint about a renaming that no source could use."""
        for column, error in self._complaints.items():
            if column not in self._used:
                raise error
