"""Base: what a source of predictions gives, and the parts of it that workers read by themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from ..classes import ClassNames
from ..errors import ClassesError, InputError, MissingColumnsError, UnknownColumnError, near_names
from ..fields import FIELDS
from ..kernels import side_by_side
from ..plain import Strings
from ..predictions import Predictions
from ..results.diagnosis import UserColumn
from .columns import AXES, class_names, shown

if TYPE_CHECKING:
    from .encoding import FeatureEncoding
    from .where import Condition


Order = tuple[int, ...]
_Name = TypeVar("_Name", bound=int | str)

_FIELD = {axis: field for field, axis in AXES.items()}
# Which of several models is judged, and which judge is the first, is told by their order: that of the reference.
_NO_ORDER = ("view", "feature")


@dataclass(frozen=True)
class Axes:
    """What the axes of a source are called, for other sources to follow.

    classes : names along the class axis, in the order to follow. names : likewise of the axes model, view, judge and
    feature, absent where entries only count from 0. sizes : lengths of these axes. listed : axis ("class" among them)
    -> the order in which lists and arrays without names of their own are to be read; absent where only the columns of
    a file show an order, which says nothing about lists elsewhere. positions : whether labels and predictions are
    positions among candidates, so that there are no classes. others : whether labels may be of classes that are none of
    these, as those of a target may; rows of them are errors of the model.
    """

    classes: ClassNames | None = None
    names: Mapping[str, Strings] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    listed: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)
    positions: bool = False
    others: bool = False

    @staticmethod
    def given(classes: ClassNames | None) -> Axes | None:
        """Class names that a user gave: the order to follow, and that of lists without names."""
        return None if classes is None else Axes(classes, listed={"class": classes})

    def in_name_order(self) -> Axes:
        """Classes, views and features in the order of their names, so that no file's order can move a number.

        >>> Axes(("b", "a"), names={"judge": ("z", "y"), "feature": ("q", "p")}).in_name_order().names
        {'judge': ('z', 'y'), 'feature': ('p', 'q')}
        """
        names = {
            axis: name_order(entries) if axis in _NO_ORDER else entries
            for axis, entries in self.names.items()
        }
        return replace(
            self, classes=None if self.classes is None else name_order(self.classes), names=names
        )

    def beside(self, other: Axes) -> Axes:
        """The same axes; where another source's lists have another order, lists without names have none to follow."""
        listed = {
            axis: entries
            for axis, entries in self.listed.items()
            if other.listed.get(axis, entries) == entries
        }
        return replace(self, listed=listed)


def check_kind(positions: bool, axes: Axes, column: str | None, file: str | None = None) -> None:
    """Labels are of the kind that is wanted: positions among candidates here and there, or classes."""
    fault = partial(InputError, file=file, column=column)
    if positions and axes.classes is not None:
        expected = (
            f"labels that are classes ({shown(axes.classes, 6)}), as named or as in the reference"
        )
        remedy = "give candidate_scores in the reference and the target, and name no classes"
        raise fault(expected, got="scores of candidates, whose labels are positions", remedy=remedy)
    if axes.positions and not positions:
        remedy = "positions among candidates are not classes: give candidate_scores in the reference and the target"
        raise fault("candidate_scores, as in the reference", got="classes", remedy=remedy)


def name_order(names: tuple[_Name, ...]) -> tuple[_Name, ...]:
    """Names in order: by value where all are written as integers, else by their characters."""
    counted = all(isinstance(name, int) for name in class_names([str(name) for name in names]))
    return tuple(
        sorted(
            names, key=(lambda name: (int(name), "")) if counted else lambda name: (0, str(name))
        )
    )


def order_of(
    source_classes: ClassNames, target_classes: ClassNames, file: str | None = None
) -> Order:
    """Positions in ``source_classes`` of the ``target_classes``; both must name the same classes."""
    where = {str(name): i for i, name in enumerate(source_classes)}
    absent = [name for name in target_classes if str(name) not in where]
    unknown = set(where) - {str(name) for name in target_classes}
    if absent or unknown:
        got = [f"no class {absent[0]!r}"] if absent else []
        got += [f"a class more, {min(unknown)!r}"] if unknown else []
        raise ClassesError(
            f"the {len(target_classes)} known classes ({shown(target_classes, 6)})",
            got=" and ".join(got),
            file=file,
            column="classes",
            remedy="use the same classes in the reference and the target",
        )
    return tuple(where[str(name)] for name in target_classes)


def listed_classes(
    length: int, axes: Axes, file: str | None = None, column: str | None = None
) -> ClassNames:
    """The classes of lists that name none: those of the lists they follow, else 0, 1, ..., which must be known."""
    classes = axes.classes or ()
    listed = axes.listed.get("class")
    if listed is not None and len(listed) == length:
        return listed
    counted = tuple(range(length))
    if {str(name) for name in classes} == {str(name) for name in counted}:
        return counted
    expected = f"lists whose classes have names ({shown(classes, 6)})"
    remedy = "the columns of another file do not say in which order lists are: write columns prob_<class>, or name the "
    remedy += "classes in the order of the lists with classes=[...]"
    raise InputError(expected, got="lists without names", file=file, column=column, remedy=remedy)


def order_along(
    axis: str,
    own_names: Strings | None,
    size: int,
    wide: bool,
    axes: Axes,
    file: str | None = None,
) -> tuple[Order | None, Strings | None]:
    """The order that brings one axis into line with that of ``axes`` (None: as it is), and its names then. Where one
    side alone has names, position tells which is which only among lists and arrays: columns (``wide``) stand in any
    order.
    """
    if axis not in axes.sizes:
        return None, own_names
    names, length = axes.names.get(axis), axes.sizes[axis]
    follows = axes.listed.get(axis)
    if own_names is None and names is not None and size == length and follows is not None:
        own_names = tuple(map(str, follows))
    field = _FIELD[axis]
    front = FIELDS[field].prefix or ""
    if own_names is not None and names is not None:
        order = _order_by_name(own_names, names, front, file)
        return (None if order == tuple(range(len(order))) else order), names
    fault = partial(InputError, file=file, column=field)
    if size != length:
        expected = f"{length} {field}, as in the reference"
        raise fault(expected, got=f"{size}", remedy=f"use the same {field} in every file")
    if (own_names is None) == (names is None) or (own_names is not None and not wide):
        return None, own_names
    named = names or own_names or ()
    got = f"names ({shown(named, 6)}) in {'this one' if names is None else 'the reference'} alone"
    expected = f"{field} that are named in every file or in none"
    raise fault(expected, got=got, remedy=f"write columns {front}<name> in every file")


def _order_by_name(available: Strings, names: Strings, front: str, file: str | None) -> Order:
    """Positions in ``available`` of these names; `InputError` where both differ, with ``front`` before each."""
    where = {name: i for i, name in enumerate(available)}
    absent = [front + name for name in names if name not in where]
    known = {*names}
    more = [front + name for name in available if name not in known]
    faults = [f"no {shown(absent, 6)}"] if absent else []
    faults += [f"{shown(more, 6)} more"] if more else []
    if faults:
        raise InputError(
            f"the reference's {len(names)} columns {front}<name>",
            got=" and ".join(faults),
            file=file,
            remedy="they are matched by name: use the same names in every file",
        )
    return tuple(where[name] for name in names)


def only_counts(source_classes: ClassNames, classes: ClassNames) -> bool:
    """Whether classes that only count from 0 are to have names that are strings: the numbers then tell positions."""
    return source_classes == tuple(range(len(source_classes))) and all(
        isinstance(name, str) for name in classes
    )


BATCH_ROWS = 65_536
PART_ROWS = 1_000_000

_MANY = 128  # parts of one file: enough for many workers, and few states to keep and to merge
_LONGEST = 1 << 20


def rows_of_a_part(target_rows: int, rows: int) -> int:
    """Rows in a part of a file: of large files more, up to a million; by the file alone, so that old parts stay."""
    return max(1, target_rows, min(_LONGEST, rows // _MANY))


Each = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Work done on each of several items, wherever that is: what it gives, in the order of the items."""


def in_threads(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """What ``work`` gives for each item, in the threads of this process."""
    return side_by_side([partial(work, item) for item in items])


class Part(ABC):
    """A small reference to consecutive rows; it can be pickled and read in another process."""

    @abstractmethod
    def batches(
        self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Predictions]:
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
    return (
        sum(span[1] - span[0] for span in spans if span is not None)
        if spans and None not in spans
        else None
    )


class Source(ABC):
    """Predictions that can be read again and again, whole, in batches or in parts.

    Reading with ``fields=None`` gives every field but ``input`` and ``output``. A field that the source lacks is
    left out; where ``probabilities`` is asked for and only ``logits`` are there, they are read instead, and where
    ``prediction`` is asked for and absent, the class axis it is the argmax of.
    """

    path: str | None
    name: str
    columns: Strings
    encoding: FeatureEncoding | None = None  # of the user's columns, where they are the features
    raw_text = False  # whether `raw` cells are written ones, as in CSV
    decimal_comma = False
    where: tuple[Condition, ...] = ()  # what holds of its rows, where others were left out
    # renamings of columns that it has not, where it was opened without regard to them (``as_far_as_known``)
    unread: Mapping[str, UnknownColumnError] = MappingProxyType({})
    lacking: MissingColumnsError | None = None  # what is to be said where it holds no field at all
    index: str | None = None  # the column that was a frame's index: pandas names rows by it
    notes: Strings = ()  # what is to be said of how a log was read

    @property
    @abstractmethod
    def fields(self) -> Strings:
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
    def own_columns(self) -> Strings:
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
        """Consecutive pieces of about ``target_rows`` rows, in order, for workers; ``each`` counts files."""

    @abstractmethod
    def batches(
        self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Predictions]:
        """Consecutive records of at most ``rows`` rows (fewer where rows are very wide)."""

    def read(self, fields: Iterable[str] | None = None) -> Predictions:
        """Everything as one record."""
        return Predictions.concat(list(self.batches(fields, rows=4 * BATCH_ROWS)))


def no_column(column: str, columns: Sequence[str], file: str | None) -> InputError:
    """The error for a source without a column that is an input in the reference."""
    near = near_names(column, columns)
    remedy = (
        f"did you mean {near[0]}? or " if near else ""
    ) + "add it, or leave it out of --features"
    return InputError(
        "the column, which is one of the features",
        got=f"no such column; its columns are {shown(columns)}",
        file=file,
        column=column,
        remedy=remedy,
    )


def no_rows(file: str | None) -> InputError:
    """The error for a source without a single row."""
    return InputError("at least one row", got="none", remedy="check what wrote it", file=file)
