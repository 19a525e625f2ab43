"""Base: what a source of predictions gives, and the parts of it that workers read by themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..classes import ClassNames
from ..errors import InputError, near_names
from ..kernels import side_by_side
from ..predictions import Predictions
from ..results.columns import UserColumn
from .axes import Axes

if TYPE_CHECKING:
    from .encoding import FeatureEncoding
    from .where import Condition


BATCH_ROWS = 65_536
PART_ROWS = 1_000_000

_MANY = 128  # parts of one file: enough for many workers, and few states to keep and to merge
_LONGEST = 1 << 20


def rows_of_a_part(target_rows: int, rows: int) -> int:
    """Rows in a part of a file of so many: ``target_rows``, and of large files more, up to a million.

    It depends on the file alone, so that the parts of old files stay what they are when new ones come.

    >>> [rows_of_a_part(1 << 17, rows) for rows in (1_000_000, 100_000_000, 10**10)]
    [131072, 781250, 1048576]
    """
    return max(1, target_rows, min(_LONGEST, rows // _MANY))


Each = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Work done on each of several items, wherever that is: what it gives, in the order of the items."""


def in_threads(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """What ``work`` gives for each item, in the threads of this process.

    >>> in_threads(str, [1, 2])
    ['1', '2']
    """
    return side_by_side([partial(work, item) for item in items])


class Part(ABC):
    """A small reference to consecutive rows; it can be pickled and read in another process."""

    @abstractmethod
    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """The part's rows as records of at most ``rows`` rows; ``first_row`` counts from the source's start."""

    def identity(self) -> str | None:
        """What tells these rows from any others, as long as their file is what it is; None for rows in memory."""
        return None

    def span(self) -> tuple[int, int] | None:
        """The first row and the one after the last, from the source's start; None where only a pass can tell."""
        return None


def rows_of(parts: Sequence[Part]) -> int | None:
    """The rows of all parts together; None where one of them does not know its own."""
    spans = [part.span() for part in parts]
    return sum(one[1] - one[0] for one in spans if one is not None) if spans and None not in spans else None


class Source(ABC):
    """Predictions that can be read again and again, whole, in batches or in parts.

    Reading with ``fields=None`` gives every field but ``input`` and ``output``. A field that the source lacks is
    left out; where ``probabilities`` is asked for and only ``logits`` are there, they are read instead, and where
    ``prediction`` is asked for and absent, the class axis it is the argmax of.
    """

    path: str | None
    name: str
    columns: tuple[str, ...]
    encoding: FeatureEncoding | None = None  # of the user's columns, where they are the features
    raw_text = False  # whether `raw` cells are written ones, as in CSV
    decimal_comma = False
    where: tuple[Condition, ...] = ()  # what holds of its rows, where others were left out

    @property
    @abstractmethod
    def fields(self) -> tuple[str, ...]:
        """Record fields that the source can give."""

    @property
    @abstractmethod
    def classes(self) -> ClassNames | None:
        """Names of the classes; None where the source has none. May cost one pass over its class columns."""

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """Number of rows, or None where only a pass over the file can tell and none has been made."""

    @abstractmethod
    def holds(self, column: str) -> bool:
        """Whether there is a column of this name, after renaming."""

    @abstractmethod
    def keys(self, column: str) -> Any:
        """A column of ids as an Arrow array of strings, as they are written: 7 and "7" agree, 007 is another one."""

    @property
    @abstractmethod
    def own_columns(self) -> tuple[str, ...]:
        """Columns with one cell a row that are no field of a record: the user's own."""

    @abstractmethod
    def raw(self, columns: Sequence[str]) -> Iterator[Any]:
        """One pass over columns as they are, in Arrow record batches of these names."""

    @property
    def users(self) -> tuple[UserColumn, ...]:
        """The user's columns that its features are made of."""
        return () if self.encoding is None else self.encoding.users

    @abstractmethod
    def encoded(self, encoding: FeatureEncoding) -> Source:
        """The same source, its `features` made of its own columns; `InputError` where one is missing."""

    @property
    @abstractmethod
    def axes(self) -> Axes:
        """Names and lengths along its axes, for other sources to follow."""

    @abstractmethod
    def aligned(self, axes: Axes | None) -> Source:
        """The same source with its axes in the order given, matched by name; `InputError` where names differ."""

    @abstractmethod
    def parts(self, target_rows: int = PART_ROWS, each: Each = in_threads) -> list[Part]:
        """References to consecutive pieces of about ``target_rows`` rows, in order, for workers.

        Where files have to be counted before, ``each`` does it.
        """

    @abstractmethod
    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """Consecutive records of at most ``rows`` rows (fewer where rows are very wide)."""

    def read(self, fields: Iterable[str] | None = None) -> Predictions:
        """Everything as one record."""
        return Predictions.concat(list(self.batches(fields, rows=4 * BATCH_ROWS)))


def no_column(column: str, columns: Sequence[str], file: str | None) -> InputError:
    """The error for a source without a column that is an input in the reference."""
    shown = ", ".join(columns[:12]) + (f", ... ({len(columns)} in all)" if len(columns) > 12 else "")
    near = near_names(column, columns)
    meant = f"did you mean {near[0]}? or " if near else ""
    return InputError(
        "the column, which is one of the features",
        got=f"no such column; its columns are {shown}",
        file=file,
        column=column,
        remedy=f"{meant}add it, or leave it out of --features",
    )


def no_rows(file: str | None) -> InputError:
    """The error for a source without a single row."""
    return InputError("at least one row", got="none", remedy="check what wrote it", file=file)
